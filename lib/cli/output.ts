/** What commands print for people. */
const encoder = new TextEncoder();

export function writeError(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`podfit: ${text}\n`));
}
