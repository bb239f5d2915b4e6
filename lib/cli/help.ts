/** What --help says beside commander's own lists: examples, under the name that podfit is called by. */
import { type Command, Option } from "commander";

/** What it does, and the line to type, in which `podfit ` is the program's name. */
export type Example = readonly [what: string, line: string];

/** Adds the examples to the end of a command's help; gives the command. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  return command.addHelpText("after", ({ command: asked }) => formatExamples(readProgramName(asked), examples));
}

/** An option of a few words, which help and completion show; whoever reads it checks it. */
export function createChoice(flags: string, description: string, choices: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...choices];
  return option;
}

/** One line each for what it does and how. */
export function formatExamples(program: string, examples: readonly Example[]): string {
  return ["Examples:", ...examples.map(([what, line]) => `  # ${what}\n  ${rename(line, program)}`)].join("\n");
}

function rename(line: string, program: string): string {
  return line.replace(/(^|[\s(])podfit(?= )/, (_, before: string) => `${before}${program}`);
}

/** `podfit`, or what it is called instead. */
function readProgramName(command: Command): string {
  return command.parent === null ? command.name() : readProgramName(command.parent);
}
