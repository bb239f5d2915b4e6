/** What --help says beside commander's own lists: examples, under the name that podfit is called by. */
import type { Command } from "commander";

/** What it does, and its arguments without podfit's own name. */
export type Example = readonly [what: string, args: string];

/** Adds the examples to the end of a command's help; gives the command. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  return command.addHelpText("after", ({ command: asked }) => formatExamples(readProgramName(asked), examples));
}

/** One line each for what it does and how. */
export function formatExamples(program: string, examples: readonly Example[]): string {
  return ["Examples:", ...examples.map(([what, args]) => `  # ${what}\n  ${program} ${args}`)].join("\n").trimEnd();
}

/** `podfit`, or what it is called instead. */
function readProgramName(command: Command): string {
  return command.parent === null ? command.name() : readProgramName(command.parent);
}
