/**
 * A process beside the one that measures, spoken with in lines of JSON: what it is told on its stdin, what it says on
 * its stdout. It ends when nobody can tell it anything any more.
 */

export interface Worker extends AsyncDisposable {
  readonly tell: (message: unknown) => Promise<void>;
  /** What it says next. */
  readonly hear: () => Promise<unknown>;
}

/** To put a thousand nodes into a store takes some twenty seconds. */
const HEAR_MS = 300_000;
const END_MS = 10_000;

/** `file`: of this folder. It plays other machines, so it runs at idle priority, behind whoever is measured. */
export function startWorker(file: string): Worker {
  const child = new Deno.Command("chrt", {
    args: ["--idle", "0", Deno.execPath(), "run", "--quiet", "-P=dev", new URL(file, import.meta.url).pathname],
    cwd: new URL("../../../", import.meta.url).pathname,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const messages = readMessages(child.stdout);
  return {
    tell: (message) => writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)),
    async hear() {
      const { promise, reject } = Promise.withResolvers<never>();
      const tooLong = setTimeout(() => reject(new Error(`Cannot go on: "${file}" says nothing`)), HEAR_MS);
      const { value, done } = await Promise.race([messages.next(), promise]).finally(() => clearTimeout(tooLong));
      if (done === true) throw new Error(`Cannot go on: "${file}" ended with ${(await child.status).code}`);
      return value;
    },
    async [Symbol.asyncDispose]() {
      await writer.close().catch(() => {});
      const impatience = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await child.status;
      clearTimeout(impatience);
      await messages.return(undefined);
    },
  };
}

/** Of a worker: what it is told, line by line. */
export function hearMessages(): AsyncGenerator<unknown> {
  return readMessages(Deno.stdin.readable);
}

/** Of a worker. */
export async function say(message: unknown): Promise<void> {
  const writer = Deno.stdout.writable.getWriter();
  await writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
  writer.releaseLock();
}

async function* readMessages(stream: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    const lines = `${text}${part}`.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
