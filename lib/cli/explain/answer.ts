/** What explain, record and top do around their answers: open the way, end by a signal, say what went wrong, and see what a terminal shows. */
import { readConsoleSize } from "../demo/screen.ts";
import { EXIT } from "../exit_codes.ts";
import { writeError } from "../terminal/output.ts";
import { StartError } from "../run/start_error.ts";
import { listenForSignals } from "../signals.ts";
import { type Access, openAccess } from "./access.ts";
import type { AccessOptions } from "./access_options.ts";
import { DebugError } from "./debug_source.ts";
import type { TextOptions } from "./paint.ts";

/** Resolves to the exit code: 0 = answered, or ended by a signal; 1 = there is no answer, which is told. */
export async function answer(
  options: AccessOptions,
  work: (access: Access, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  using ending = listenForSignals();
  const { signal } = ending;
  try {
    await using access = await openAccess(options, signal);
    await work(access, signal);
    return EXIT.ok;
  } catch (error) {
    if (signal.aborted) return EXIT.ok;
    if (!(error instanceof DebugError) && !(error instanceof StartError)) throw error;
    writeError(error.message);
    return EXIT.failed;
  }
}

/** For what is printed once; a pipe's lines are as long as they are. */
export function readTextOptions(): TextOptions {
  const isTerminal = Deno.stdout.isTerminal();
  return { hasColor: isTerminal && !Deno.noColor, columns: isTerminal ? readConsoleSize().columns : Infinity };
}
