/**
 * The command line: runs the command that the arguments name, and turns an error at the start into one clear line.
 *
 * The exit code of the process is set here and nowhere else.
 */
import { CommanderError } from "commander";
import { redact } from "../runtime/secrets.ts";
import { throwExit } from "./command/command.ts";
import { EXIT, getProgramName, StartError } from "./command/process.ts";
import { createCommands } from "./commands.ts";
import { NAMES_COMMAND } from "./completion/spec.ts";
import { createProgram, toArguments } from "./run/options.ts";
import { run } from "./run/run.ts";
import { writeDiagnostic, writeError } from "./terminal/output.ts";

/** Runs a command to its end and sets the exit code of the process. Never rejects. */
export async function main(args: readonly string[]): Promise<void> {
  const commands = createCommands(async (work) => void (Deno.exitCode = await work()));
  const program = createProgram(getEnv, { run, commands }, getOwnName()).exitOverride(throwExit);
  if (args[0] === NAMES_COMMAND) {
    return await (await import("./completion/completion.ts")).printNames(args.slice(1), { program, getEnv });
  }
  try {
    await program.parseAsync([...toArguments(args, getEnv)], { from: "user" });
  } catch (error) {
    Deno.exitCode = report(error);
  }
}

function getOwnName(): string {
  const { mainModule, build: { standalone } } = Deno;
  return getProgramName({ isStandalone: standalone, getExecPath: () => Deno.execPath(), mainModule });
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
