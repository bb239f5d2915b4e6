/** What the commands besides the daemon have in common. */
import { type Command, CommanderError } from "commander";
import { EXIT } from "./exit_codes.ts";
import { StartError } from "./run/start_error.ts";

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
export function endAsUnusable(error: CommanderError): never {
  throw error.exitCode === EXIT.ok ? error : new CommanderError(EXIT.unusable, error.code, error.message);
}

/** Gives what `read` gives; what is wrong with a value is told as what is wrong with a flag, in the same words and with the same code. */
export function checked<T>(command: Command, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return command.error(error.message);
  }
}

/** For options that may be given several times; `true` = it was given without a value before. */
export function collect(value: string, before: readonly string[] | true = []): readonly string[] {
  return before === true ? [value] : [...before, value];
}

/** One line in the words of every other start-up error. */
export function toComplaint(text: string, command: string): string {
  return `podfit: ${
    text.replace(/^error: /, "").trim().replaceAll("\n", " ").replace(/\.$/, "")
  }; see ${command} --help\n`;
}
