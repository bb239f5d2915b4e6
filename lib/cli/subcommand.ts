/** What commands beside the daemon have in common: their own words for what is wrong, and none of the daemon's flags. */
import type { Command } from "commander";

export interface Subcommand {
  /** Says what is wrong with the arguments of a command. */
  readonly toComplaint: (text: string, command: string) => string;
}

/** Of the daemon's flags none has a meaning here; after the command's name commander refuses them by itself. */
export function refuseDaemonFlags(command: Command): void {
  const [flag] = Object.keys(command.parent?.opts() ?? {});
  const name = command.parent?.options.find((option) => option.attributeName() === flag)?.long;
  if (flag !== undefined) command.error(`option '${name}' is the daemon's and has no meaning for ${command.name()}`);
}
