/** What the commands besides the daemon have in common. */
import type { Command } from "commander";

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

/** One line in the words of every other start-up error. */
export function toComplaint(text: string, command: string): string {
  return `podfit: ${
    text.replace(/^error: /, "").trim().replaceAll("\n", " ").replace(/\.$/, "")
  }; see ${command} --help\n`;
}
