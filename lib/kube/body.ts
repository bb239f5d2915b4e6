/**
 * How is the body of a response read within bounds? Every size has a limit, and every read ends when its signal aborts
 * or the connection is silent.
 *
 * A read ends by cancelling its reader. That works even for a transport that does not error its body on abort.
 */
import { BodyBuffer, type BufferPool } from "../runtime/buffers.ts";
import type { Clock } from "../runtime/clock.ts";

/** The part of a Response that is read here, for answers that are not Responses. */
export interface Answer {
  readonly headers: { readonly get: (name: string) => string | null };
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | PulledBody | null;
}

/** A body that is copied straight into the reader's memory, without a stream. */
export interface PulledBody {
  /**
   * Resolves to the number of bytes at the memory's start: 0 at the end of the body and after `cancel`, else 1 or more.
   * Rejects when the body is cut off. Calls do not overlap.
   */
  readonly fill: (memory: Uint8Array<ArrayBuffer>) => Promise<number>;
  /** Gives up the rest of the body. Never rejects. */
  readonly cancel: (reason?: unknown) => Promise<void>;
}

export interface BodyOptions {
  readonly limitBytes: number;
  readonly signal: AbortSignal;
  /** With a clock and `silentMs`, a wait of more than `silentMs` for the next bytes rejects with a TimeoutError. */
  readonly clock?: Clock;
  readonly silentMs?: number;
}

interface BytesOptions extends BodyOptions {
  /** For readers of many large bodies: the bytes go straight into memory of this pool. */
  readonly buffers?: BufferPool;
  /** For readers that limit how many large bodies are under way. */
  readonly large?: {
    readonly aboveBytes: number;
    /**
     * Called once, for a body that has this many bytes. The rest is read when it resolves; a rejection ends the read. So
     * does the signal that it resolves to.
     */
    readonly admit: () => Promise<AbortSignal>;
  };
}

/** A body has more than `limitBytes` bytes. */
export class BodyTooLarge extends Error {}

/**
 * Returns the whole body, read as UTF-8. Rejects with BodyTooLarge as soon as it passes `limitBytes`, with the signal's
 * reason, with a TimeoutError after silence, and with the body's own error. Never holds more than twice `limitBytes`.
 */
export async function readText(answer: Answer, options: BodyOptions): Promise<string> {
  return (await readBytes(answer, options)).decode();
}

/** Like `readText`, but returns the bytes. The caller gives a pool's buffer back to it. */
export async function readBytes(answer: Answer, options: BytesOptions): Promise<BodyBuffer> {
  const declaredBytes = Number(answer.headers.get("content-length"));
  if (declaredBytes > options.limitBytes) {
    await discard(answer);
    throw tooLarge(options);
  }
  const { buffers, limitBytes, large } = options;
  const { body } = answer;
  const buffer = buffers?.take() ?? new BodyBuffer();
  if (body === null) return buffer;
  // One byte beyond the limit is enough to know that the body is too large.
  await using chunks = new ChunkReader(body, options, buffers && (() => buffer.free(limitBytes + 1)));
  while (true) {
    const { done, value } = await chunks.next();
    const before = buffer.length;
    if (value !== undefined) buffer.append(value);
    if (buffer.length > limitBytes) throw tooLarge(options);
    if (done) return buffer;
    if (large === undefined || before >= large.aboveBytes || buffer.length < large.aboveBytes) continue;
    chunks.endWith(await large.admit());
  }
}

/**
 * Yields the complete lines of each chunk, read as UTF-8, without empty ones. A line that the body's end cuts off is
 * dropped. Throws BodyTooLarge for a line of more than `limitBytes`, and the errors of readText(). Splits bytes before
 * it decodes them, so that a character cut by a chunk's end stays whole.
 */
export async function* readLines(response: Response, options: BodyOptions): AsyncGenerator<readonly string[]> {
  let rest: Uint8Array[] = [];
  let restLength = 0;
  for await (const chunk of streamChunks(response, options)) {
    const first = chunk.indexOf(NEWLINE);
    restLength += first === -1 ? chunk.length : first;
    if (restLength > options.limitBytes) throw tooLarge(options);
    if (first === -1) {
      rest.push(chunk);
      continue;
    }
    const end = chunk.lastIndexOf(NEWLINE);
    const complete = chunk.subarray(0, end);
    rest.push(complete);
    const bytes = rest.length === 1 ? complete : concat(rest, restLength - first + end);
    const after = chunk.subarray(end + 1);
    rest = after.length > 0 ? [after] : [];
    restLength = after.length;
    yield UTF8.decode(bytes).split("\n").filter((line) => line !== "");
  }
}

/**
 * Returns the first 16 KiB of an error's body, enough for a Status, or the part that could be read. Rejects with the
 * signal's reason only.
 */
export async function readErrorText(answer: Answer, signal: AbortSignal): Promise<string> {
  let text = "";
  try {
    for await (const chunk of streamChunks(answer, { limitBytes: ERROR_TEXT_BYTES, signal })) {
      text += UTF8.decode(chunk);
      if (text.length >= ERROR_TEXT_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  return text;
}

/** Cancels a body that is not read. Never rejects. */
export async function discard({ body }: Answer): Promise<void> {
  // A body that has failed already rejects here too.
  await body?.cancel().catch(() => {});
}

const UTF8 = new TextDecoder();

const NEWLINE = 10;

const ERROR_TEXT_BYTES = 16 * 1024;

/** Of a pulled body whose reader has no memory of its own. */
const CHUNK_BYTES = 16 * 1024;

async function* streamChunks({ body }: Answer, options: BodyOptions): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (body === null) return;
  await using chunks = new ChunkReader(body, options);
  while (true) {
    const { done, value } = await chunks.next();
    if (value !== undefined) yield value;
    if (done) return;
  }
}

/** Reads a body until its signal aborts; disposal gives up the rest. */
class ChunkReader implements AsyncDisposable {
  readonly #reader: Reader;
  readonly #options: BodyOptions;
  #overdue: AbortSignal | null = null;
  readonly #cancel = () => {
    const { signal } = this.#options;
    void this.#reader.cancel(signal.aborted ? signal.reason : this.#overdue?.reason).catch(() => {});
  };

  /** With `open`, and if the body supports it, the bytes are read into the memory that `open` returns. */
  constructor(body: NonNullable<Answer["body"]>, options: BodyOptions, open?: () => Uint8Array<ArrayBuffer>) {
    this.#reader = openReader(body, open);
    this.#options = options;
    options.signal.addEventListener("abort", this.#cancel, { once: true });
  }

  /** A BYOB read returns its memory at the end of the body too, as an empty chunk. */
  async next(): ReturnType<Reader["read"]> {
    this.#throwIfAborted();
    const chunk = await nextChunk(this.#reader, this.#options);
    this.#throwIfAborted();
    return chunk;
  }

  /** This signal ends the reads from now on, too. */
  endWith(signal: AbortSignal): void {
    this.#overdue = signal;
    signal.addEventListener("abort", this.#cancel, { once: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#cancel);
    await this.#reader.cancel().catch(() => {});
  }

  #throwIfAborted(): void {
    this.#options.signal.throwIfAborted();
    this.#overdue?.throwIfAborted();
  }
}

interface Reader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array<ArrayBuffer> | undefined }>;
  readonly cancel: (reason?: unknown) => Promise<void>;
}

/** The body of a fetch supports BYOB reads. One of node:http, or of a test, may not. */
function openReader(body: NonNullable<Answer["body"]>, open?: () => Uint8Array<ArrayBuffer>): Reader {
  if ("fill" in body) {
    const memory = open ?? (() => new Uint8Array(CHUNK_BYTES));
    return { read: () => pullChunk(body, memory()), cancel: (reason) => body.cancel(reason) };
  }
  if (open !== undefined) {
    try {
      const reader = body.getReader({ mode: "byob" });
      return { read: () => fillBuffer(reader, open()), cancel: (reason) => reader.cancel(reason) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return body.getReader();
}

/** Without `min` each piece that arrives would need a read, and a small read costs as much as a large one. */
function fillBuffer(reader: ReadableStreamBYOBReader, memory: Uint8Array<ArrayBuffer>): ReturnType<Reader["read"]> {
  return reader.read(memory, { min: memory.length });
}

async function pullChunk(body: PulledBody, memory: Uint8Array<ArrayBuffer>): ReturnType<Reader["read"]> {
  const bytes = await body.fill(memory);
  return bytes === 0 ? { done: true } : { done: false, value: memory.subarray(0, bytes) };
}

async function nextChunk(reader: Reader, { clock, silentMs }: BodyOptions): ReturnType<Reader["read"]> {
  if (clock === undefined || silentMs === undefined) return await reader.read();
  using silence = clock.timeout(silentMs);
  silence.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  const result = await reader.read();
  silence.signal.throwIfAborted();
  return result;
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function tooLarge({ limitBytes }: BodyOptions): BodyTooLarge {
  return new BodyTooLarge(`more than ${limitBytes} bytes`);
}
