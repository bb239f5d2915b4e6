/**
 * What all commands share in commander: help with examples, complaints about flags, exit codes, and `-o text|json`.
 *
 * Every module `options.ts` of a command builds its command with these functions.
 */
import { type Command, CommanderError, Option } from "commander";
import { parseChoice } from "./parse_values.ts";
import { EXIT, StartError } from "./process.ts";

// What the commands besides the daemon have in common.

export interface Subcommand {
  /** Turns commander's complaint about the arguments of a command into podfit's. */
  readonly toComplaint: (text: string, command: string) => string;
}

/** Ends with an error when a flag of the daemon stands before the command's name. commander refuses later ones. */
export function refuseDaemonFlags(command: Command): void {
  const [flag] = Object.keys(command.parent?.opts() ?? {});
  const name = command.parent?.options.find((option) => option.attributeName() === flag)?.long;
  if (flag !== undefined) command.error(`option '${name}' is the daemon's and has no meaning for ${command.name()}`);
}

/** For commander's exitOverride: a wrong argument ends a command with code 2 where 1 is one of its answers. */
export function exitUnusable(error: CommanderError): never {
  throw error.exitCode === EXIT.ok ? error : new CommanderError(EXIT.unusable, error.code, error.message);
}

/** Gives what `read` gives; what is wrong with a value is told as what is wrong with a flag, in the same words and with the same code. */
export function orFlagError<T>(command: Command, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return command.error(error.message);
  }
}

/** For options that may be given several times; `true` = it was given without a value before. */
export function collectValues(value: string, before: readonly string[] | true = []): readonly string[] {
  return before === true ? [value] : [...before, value];
}

/** One line in the words of every other start-up error. */
export function formatFlagError(text: string, command: string): string {
  return `podfit: ${
    text.replace(/^error: /, "").trim().replaceAll("\n", " ").replace(/\.$/, "")
  }; see ${command} --help\n`;
}

// What --help says beside commander's own lists: examples, under the name that podfit is called by.

/** What it does, and the line to type, in which `podfit ` is the program's name. */
type Example = readonly [what: string, line: string];

/** Adds the examples to the end of a command's help; gives the command. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  return command.addHelpText("after", ({ command: asked }) => formatExamples(getRootName(asked), examples));
}

/** An option of a few words, which help and completion show; whoever reads it checks it. */
export function createChoice(flags: string, description: string, choices: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...choices];
  return option;
}

/** One line each for what it does and how. */
function formatExamples(program: string, examples: readonly Example[]): string {
  return ["Examples:", ...examples.map(([what, line]) => `  # ${what}\n  ${renameProgram(line, program)}`)].join("\n");
}

function renameProgram(line: string, program: string): string {
  return line.replace(/(^|[\s(])podfit(?= )/, (_, before: string) => `${before}${program}`);
}

/** `podfit`, or what it is called instead. */
function getRootName(command: Command): string {
  return command.parent === null ? command.name() : getRootName(command.parent);
}

// `-o text|json`, for commands that say the same in words and as data.

const TEXT_FORMATS = ["text", "json"] as const;

export function addFormatFlag(command: Command): Command {
  return command.addOption(createChoice("-o, --output <format>", "how it is printed", TEXT_FORMATS).default("text"));
}

/** Throws a StartError for any other word. */
export function parseIsJson(text: string): boolean {
  return parseChoice({ name: "--output", text }, TEXT_FORMATS) === "json";
}

// The daemon's options: flags and their environment variables, parsed and checked by one way for both. With
// `terminal/output.ts` and `runtime/log.ts` the only place that reads arguments and environment.

/** The value of an environment variable, `undefined` when it is not set. */
export type GetEnv = (name: string) => string | undefined;
