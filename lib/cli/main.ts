/** The command line: reads arguments and environment, runs the command, turns a start-up error into one clear line. */
import { CommanderError } from "commander";
import { createProgram } from "./options.ts";
import { writeError } from "./output.ts";
import { run } from "./run.ts";
import { StartError } from "./start_error.ts";

export async function main(args: readonly string[]): Promise<void> {
  const program = createProgram((name) => Deno.env.get(name), run).exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    Deno.exitCode = report(error);
  }
}

function report(error: unknown): number {
  // Already printed by commander: help, version, or what is wrong with a flag.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
  if (error instanceof StartError) writeError(error.message);
  else writeError(error instanceof Error ? error.stack ?? error.message : String(error));
  return 1;
}
