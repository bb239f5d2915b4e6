/**
 * How is a command of podfit made? All but `run`, `help` and `version` are made by `defineCommand`.
 *
 * A definition lists the command's flags, the text of its help and how its flags become options. The work of the
 * command is given later, because `commands.ts` loads it only when the command runs.
 */
import { Argument, Command, CommanderError, Option, type OptionValues } from "commander";
import { getConsoleSize } from "../terminal/screen.ts";
import { breakLines } from "../terminal/text.ts";
import { describeSubjects, type SubjectKind } from "./parse_values.ts";
import { EXIT, formatExitCodes, StartError } from "./process.ts";

/** The value of an environment variable, `undefined` when it is not set. */
export type GetEnv = (name: string) => string | undefined;

/** What the program gives to each of its commands. */
export interface CommandContext {
  /** Turns commander's complaint about the arguments of a command into podfit's. */
  readonly toComplaint: (text: string, command: string) => string;
  readonly getEnv: GetEnv;
}

/** What was typed, and where. */
export interface Typed<Given> {
  readonly given: Given;
  /** The arguments, in their order. */
  readonly args: readonly string[];
  readonly getEnv: GetEnv;
  /** The program with all its commands. */
  readonly program: Command;
}

interface CommandDefinition<Given, Options> {
  readonly name: string;
  readonly description: string;
  readonly argument?: Argument;
  readonly flags: readonly Option[];
  /** Text of the help after the flags. Lines with an indent stay as they are. */
  readonly notes: string;
  readonly examples: readonly Example[];
  /** For a check: when its exit code is 1. */
  readonly found?: string;
  /** Returns the checked options. A StartError is reported as a flag error. */
  readonly parse: (typed: Typed<Given>) => Options;
}

/** An argument that names objects of a cluster, whose names shells complete. */
export class SubjectArgument extends Argument {
  readonly kinds: readonly SubjectKind[];

  constructor(notation: string, kinds: readonly SubjectKind[], description = describeSubjects(kinds)) {
    super(notation, description);
    this.kinds = kinds;
  }
}

/** Makes the command for commander. Its parse throws a CommanderError with the exit code. */
type CreateCommand<Options> = (context: CommandContext, work: (options: Options) => Promise<void>) => Command;

/** Returns the function that makes the command. */
export function defineCommand<Given extends OptionValues, Options>(
  { name, description, argument, flags, notes, examples, found, parse }: CommandDefinition<Given, Options>,
): CreateCommand<Options> {
  return ({ toComplaint, getEnv }, work) => {
    const command = new Command(name).description(description);
    if (argument !== undefined) command.addArgument(argument);
    for (const flag of flags) command.addOption(flag);
    command.helpOption("-h, --help", "print this help and exit")
      .addHelpText("after", () => wrapHelp(`${notes}\n${formatExitCodes(found === undefined ? {} : { found })}\n`))
      .configureOutput({ outputError: (text, write) => write(toComplaint(text, `podfit ${name}`)) })
      .allowExcessArguments(false)
      .exitOverride(throwExit)
      .action(async () => {
        const typed = { given: command.opts<Given>(), args: command.args, getEnv };
        await work(orFlagError(command, () => parse({ ...typed, program: command.parent ?? command })));
      });
    return addExamples(command, examples);
  };
}

/** For commander's exitOverride(): what it has printed is help or the version, or a complaint, which ends with 2. */
export function throwExit(error: CommanderError): never {
  throw error.exitCode === EXIT.ok ? error : new CommanderError(EXIT.failed, error.code, error.message);
}

/** Lines of help are no longer, because a reader loses the line. */
const MAX_HELP_COLUMNS = 120;

/** Returns how wide help may be: as the terminal, or 80 columns where it goes into a pipe. */
export function getHelpColumns(): number {
  return Math.min(MAX_HELP_COLUMNS, Deno.stdout.isTerminal() ? getConsoleSize().columns : 80);
}

/** A longer term stands on a line of its own, above its description. */
const MAX_TERM_COLUMNS = 32;

/** Returns a row of help, as commander's formatItem() does. */
export function formatHelpItem(term: string, termColumns: number, description: string): string {
  const columns = getHelpColumns();
  if (termColumns > MAX_TERM_COLUMNS) {
    return [`  ${term}`, ...breakLines(`        ${description}`, { columns })].join("\n");
  }
  const [first = "", ...more] = breakLines(description, { columns: columns - termColumns - 4 });
  return [`  ${term.padEnd(termColumns)}  ${first}`, ...more.map((line) => `${" ".repeat(termColumns + 4)}${line}`)]
    .join("\n").trimEnd();
}

/** Returns the paragraphs of a help text, broken at the width of the help. Lines with an indent stay as they are. */
export function wrapHelp(text: string, columns = getHelpColumns()): string {
  return text.split("\n\n").map((paragraph) =>
    paragraph.split("\n").reduce<string[]>((lines, line) => {
      const last = lines.at(-1);
      const goesOn = last !== undefined && ![last, line].some((one) => one === "" || one.startsWith(" "));
      return goesOn ? [...lines.slice(0, -1), `${last} ${line}`] : [...lines, line];
    }, []).flatMap((line) => line.startsWith(" ") ? [line] : breakLines(line, { columns })).join("\n")
  ).join("\n\n");
}

/** What is wrong with a value is reported as commander reports a wrong flag, with the same code. */
function orFlagError<T>(command: Command, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return command.error(error.message);
  }
}

/** Returns one line in the form of every other start error. */
export function formatFlagError(text: string, command: string): string {
  return `podfit: ${
    text.replace(/^error: /, "").trim().replaceAll("\n", " ").replace(/\.$/, "")
  }; see ${command} --help\n`;
}

interface FlagSettings {
  readonly fallback?: string;
  /** Shown by completion; the command's own parser checks them. */
  readonly choices?: readonly string[] | undefined;
  readonly isRepeatable?: boolean | undefined;
  readonly isRequired?: boolean;
}

/** Returns a flag of a command, in commander's notation: `-f, --filename <path>`. */
export function createFlag(flags: string, description: string, settings: FlagSettings = {}): Option {
  const { fallback, choices, isRepeatable = false, isRequired = false } = settings;
  const option = new Option(flags, description).makeOptionMandatory(isRequired);
  if (fallback !== undefined) option.default(fallback);
  if (choices !== undefined) option.argChoices = [...choices];
  return isRepeatable ? option.argParser(collectValues) : option;
}

/** For options that may be given several times; `true` = it was given without a value before. */
function collectValues(value: string, before: readonly string[] | true = []): readonly string[] {
  return before === true ? [value] : [...before, value];
}

/** What it does, and the line to type, in which `podfit ` is replaced by the program's name. */
type Example = readonly [what: string, line: string];

/** Adds the examples to the end of a command's help, under the name that podfit is called by. Returns the command. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  return command.addHelpText("after", ({ command: asked }) => formatExamples(getRootName(asked), examples));
}

function formatExamples(program: string, examples: readonly Example[]): string {
  return ["Examples:", ...examples.map(([what, line]) => `  # ${what}\n  ${renameProgram(line, program)}`)].join("\n");
}

function renameProgram(line: string, program: string): string {
  return line.replace(/(^|[\s(])podfit(?= )/, (_, before: string) => `${before}${program}`);
}

function getRootName(command: Command): string {
  return command.parent === null ? command.name() : getRootName(command.parent);
}
