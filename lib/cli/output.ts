/** What commands print for people: answers to stdout, complaints to stderr. */
const encoder = new TextEncoder();

export function writeLine(text: string): void {
  Deno.stdout.writeSync(encoder.encode(`${text}\n`));
}

export function writeError(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`podfit: ${text}\n`));
}
