/** The command line: runs the command that the arguments name, and turns a start-up error into one clear line. */
import { CommanderError } from "commander";
import type { DemoOptions } from "./demo/options.ts";
import { createProgram } from "./run/options.ts";
import type { SimulateOptions } from "./simulate/options.ts";
import type { SuggestOptions } from "./suggest/options.ts";
import { writeError } from "./output.ts";
import { run } from "./run/run.ts";
import { StartError } from "./run/start_error.ts";

/** Runs a command to its end and sets the exit code of the process. Never rejects. */
export async function main(args: readonly string[]): Promise<void> {
  const commands = { run, lint: startLint, demo: startDemo, simulate: startSimulate, suggest: startSuggest };
  const program = createProgram((name) => Deno.env.get(name), commands).exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    Deno.exitCode = report(error);
  }
}

/** Loads `lint` on request, because the daemon needs no YAML parser. */
async function startLint(paths: readonly string[]): Promise<void> {
  const { lint } = await import("./lint/lint.ts");
  Deno.exitCode = await lint(paths);
}

/** Loads `demo` on request, because the daemon needs no embedded cluster. */
async function startDemo(options: DemoOptions): Promise<void> {
  const { demo } = await import("./demo/demo.ts");
  Deno.exitCode = await demo(options);
}

/** Loads `simulate` on request, because the daemon needs no model of a node. */
async function startSimulate(options: SimulateOptions): Promise<void> {
  const { simulate } = await import("./simulate/simulate.ts");
  Deno.exitCode = await simulate(options);
}

/** Loads `suggest` on request, as `simulate`. */
async function startSuggest(options: SuggestOptions): Promise<void> {
  const { suggest } = await import("./suggest/suggest.ts");
  Deno.exitCode = await suggest(options);
}

function report(error: unknown): number {
  // commander has printed it already: help, version, or what is wrong with a flag.
  if (error instanceof CommanderError) return error.exitCode;
  if (error instanceof StartError) writeError(error.message);
  else writeError(error instanceof Error ? error.stack ?? error.message : String(error));
  return 1;
}
