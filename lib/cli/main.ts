/** The command line: runs the command that the arguments name, and turns a start-up error into one clear line. */
import { CommanderError } from "commander";
import type { DemoOptions } from "./demo/options.ts";
import type { ExplainOptions } from "./explain/options.ts";
import { createProgram } from "./run/options.ts";
import { writeError } from "./output.ts";
import { run } from "./run/run.ts";
import type { TopOptions } from "./top/options.ts";
import { StartError } from "./run/start_error.ts";

/** Runs a command to its end and sets the exit code of the process. Never rejects. */
export async function main(args: readonly string[]): Promise<void> {
  const commands = { run, lint: startLint, demo: startDemo, explain: startExplain, top: startTop };
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

/** Loads `explain` on request, with all that it words. */
async function startExplain(options: ExplainOptions): Promise<void> {
  const { explain } = await import("./explain/explain.ts");
  Deno.exitCode = await explain(options);
}

/** Loads `top` on request, as `explain`. */
async function startTop(options: TopOptions): Promise<void> {
  const { top } = await import("./top/top.ts");
  Deno.exitCode = await top(options);
}

function report(error: unknown): number {
  // commander has printed it already: help, version, or what is wrong with a flag.
  if (error instanceof CommanderError) return error.exitCode;
  if (error instanceof StartError) writeError(error.message);
  else writeError(error instanceof Error ? error.stack ?? error.message : String(error));
  return 1;
}
