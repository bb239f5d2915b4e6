/** Prints what commands say to people. */
import { redact } from "../runtime/secrets.ts";

/** Writes a line to stderr, with the program's name before it. Never throws: it is the last that can be said. */
export function writeError(text: string): void {
  try {
    Deno.stderr.writeSync(encoder.encode(`podfit: ${redact(text)}\n`));
  } catch {
    // Closed, or busy with log lines that nobody reads.
  }
}

/** Writes all of a text to stdout. Gives false when the reader of the pipe has ended, as `head` does. */
export function writeOutput(text: string): boolean {
  let bytes = encoder.encode(text);
  try {
    // A pipe may accept a part at a time.
    while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    return false;
  }
}

const encoder = new TextEncoder();
