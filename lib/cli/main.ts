/** The command line: reads arguments and environment, runs the command, turns a start-up error into one clear line. */
import { CommanderError } from "commander";
import type { DemoOptions } from "./demo/options.ts";
import { createProgram } from "./run/options.ts";
import { writeError } from "./output.ts";
import { run } from "./run/run.ts";
import { StartError } from "./run/start_error.ts";

export async function main(args: readonly string[]): Promise<void> {
  const program = createProgram((name) => Deno.env.get(name), {
    ...{ run, lint: startLint, demo: startDemo },
  }).exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    Deno.exitCode = report(error);
  }
}

/** Loaded when it is asked for: its parser is no part of the daemon. */
async function startLint(paths: readonly string[]): Promise<void> {
  const { lint } = await import("./lint/lint.ts");
  Deno.exitCode = await lint(paths);
}

/** Brings a whole cluster along. */
async function startDemo(options: DemoOptions): Promise<void> {
  const { demo } = await import("./demo/demo.ts");
  Deno.exitCode = await demo(options);
}

function report(error: unknown): number {
  // Already printed by commander: help, version, or what is wrong with a flag.
  if (error instanceof CommanderError) return error.exitCode;
  if (error instanceof StartError) writeError(error.message);
  else writeError(error instanceof Error ? error.stack ?? error.message : String(error));
  return 1;
}
