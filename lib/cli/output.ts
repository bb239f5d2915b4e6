/** What commands print for people. */
const encoder = new TextEncoder();

export function writeError(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`podfit: ${text}\n`));
}

/** A pipe may take a part at a time; false when its reader has gone (`| head`). */
export function writeOutput(text: string): boolean {
  let bytes = encoder.encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    return false;
  }
}
