/** The command line: runs the command that the arguments name, and turns a start-up error into one clear line. */
import { CommanderError } from "commander";
import { createCommands } from "./commands.ts";
import { EXIT } from "./exit_codes.ts";
import { createProgram } from "./run/options.ts";
import { redact } from "../runtime/secrets.ts";
import { writeDiagnostic, writeError } from "./terminal/output.ts";
import { readProgramName } from "./program_name.ts";
import { run } from "./run/run.ts";
import { StartError } from "./run/start_error.ts";

/** Runs a command to its end and sets the exit code of the process. Never rejects. */
export async function main(args: readonly string[]): Promise<void> {
  const commands = createCommands({ getEnv, perform: async (work) => void (Deno.exitCode = await work()) });
  const program = createProgram(getEnv, { run, commands }, readOwnName()).exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    Deno.exitCode = report(error);
  }
}

function readOwnName(): string {
  const { mainModule, build: { standalone } } = Deno;
  return readProgramName({ isStandalone: standalone, readExecPath: () => Deno.execPath(), mainModule });
}

function getEnv(name: string): string | undefined {
  return Deno.env.get(name);
}

function report(error: unknown): number {
  // commander has printed it already: help, version, or what is wrong with a flag.
  if (error instanceof CommanderError) return error.exitCode;
  if (error instanceof StartError) writeError(error.message);
  else writeDiagnostic(`podfit: ${redact(error instanceof Error ? error.stack ?? error.message : String(error))}\n`);
  return EXIT.failed;
}
