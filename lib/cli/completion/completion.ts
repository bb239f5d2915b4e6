/** `podfit completion` prints a script that makes a shell complete podfit's commands, flags and their values. */
import type { Command } from "commander";
import { writeOutput } from "../terminal/output.ts";
import { formatBash, formatKubectl } from "./bash.ts";
import { formatFish } from "./fish.ts";
import type { Shell } from "./shells.ts";
import { type CommandSpec, readSpec } from "./spec.ts";
import { formatZsh } from "./zsh.ts";

const FORMATS: Readonly<Record<Shell, (spec: CommandSpec) => string>> = {
  bash: formatBash,
  zsh: formatZsh,
  fish: formatFish,
  kubectl: formatKubectl,
};

/** Prints the script for the program. */
export function completion(shell: Shell, program: Command): void {
  writeOutput(formatCompletion(shell, program));
}

/** Gives the script. */
export function formatCompletion(shell: Shell, program: Command): string {
  return FORMATS[shell](readSpec(program));
}
