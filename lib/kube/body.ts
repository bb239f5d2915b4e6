/**
 * Response bodies that nobody can hang or flood: every read ends with the signal or with silence, every size is bounded.
 * Cancelling the reader is what ends a read, so it works even for a transport that doesn't error its body on abort.
 */
import type { Clock } from "../runtime/clock.ts";
import { BodyBuffer, type BufferPool } from "../runtime/buffer_pool.ts";

export interface BodyOptions {
  readonly limitBytes: number;
  readonly signal: AbortSignal;
  /** With both, a wait of more than `silentMs` for the next bytes rejects with a TimeoutError. */
  readonly clock?: Clock;
  readonly silentMs?: number;
}

export interface TextOptions extends BodyOptions {
  /** For whoever reads many large bodies: the bytes are read straight into memory of this pool, and given back to it. */
  readonly buffers?: BufferPool;
}

/** A body has more than `limitBytes` bytes. */
export class BodyTooLarge extends Error {}

/**
 * Gives the whole body, read as UTF-8. Rejects with BodyTooLarge as soon as it passes `limitBytes`, with the signal's
 * reason, with a TimeoutError after silence, and with the body's own error. Never holds more than twice `limitBytes`.
 */
export async function readText(response: Response, options: TextOptions): Promise<string> {
  const declaredBytes = Number(response.headers.get("content-length"));
  if (declaredBytes > options.limitBytes) {
    await discard(response);
    throw tooLarge(options);
  }
  const { buffers } = options;
  const buffer = buffers?.take() ?? new BodyBuffer();
  for await (const chunk of readChunks(response, options, buffers && (() => buffer.free()))) {
    buffer.append(chunk);
    if (buffer.length > options.limitBytes) throw tooLarge(options);
  }
  const text = buffer.decode();
  buffers?.release(buffer);
  return text;
}

/**
 * The complete lines of each chunk, without empty ones. Splits bytes, so a character cut by a chunk's end stays whole,
 * and decodes once a chunk. What follows the last newline when the body ends is dropped: it was cut off.
 */
export async function* readLines(response: Response, options: BodyOptions): AsyncGenerator<readonly string[]> {
  let rest: Uint8Array[] = [];
  let restLength = 0;
  for await (const chunk of readChunks(response, options)) {
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

/** The start of an error's body, or nothing: enough for a Status. */
export async function readErrorText(response: Response, signal: AbortSignal): Promise<string> {
  let text = "";
  try {
    for await (const chunk of readChunks(response, { limitBytes: ERROR_TEXT_BYTES, signal })) {
      text += UTF8.decode(chunk);
      if (text.length >= ERROR_TEXT_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  return text;
}

/** Native fetch says "fetch failed" and means its cause; other errors speak for themselves. */
export function readMessage(error: unknown): string {
  let telling = error;
  while (telling instanceof TypeError && telling.message === "fetch failed" && telling.cause) telling = telling.cause;
  const message = telling instanceof Error ? telling.message : String(telling);
  return oneLine(message.replace(/^error sending request for url \(.*?\): (client error \(\w+\): )?/, ""));
}

export async function discard(response: Response): Promise<void> {
  // A body that has already failed rejects here too, and there is nothing left to do about it.
  await response.body?.cancel().catch(() => {});
}

/** Text from outside, fit for a message. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, " ").trim().slice(0, ERROR_TEXT_LENGTH);
}

const UTF8 = new TextDecoder();
const NEWLINE = 10;
const ERROR_TEXT_BYTES = 16 * 1024;
const ERROR_TEXT_LENGTH = 500;

/** With `open` the bytes are read into what it gives, where the body can do that: each chunk lies there then. */
async function* readChunks(
  response: Response,
  options: BodyOptions,
  open?: () => Uint8Array<ArrayBuffer>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (response.body === null) return;
  const { signal } = options;
  const reader = openReader(response.body, open);
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (true) {
      signal.throwIfAborted();
      const { done, value } = await readNext(reader, options);
      signal.throwIfAborted();
      // At its end too a body gives the memory back that it was to fill.
      if (value !== undefined) yield value;
      if (done) return;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel().catch(() => {});
  }
}

interface Reader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array<ArrayBuffer> | undefined }>;
  readonly cancel: (reason?: unknown) => Promise<void>;
}

/** What fetch gives is a stream of bytes; a body of node:http, or of a test, need not be. */
function openReader(body: NonNullable<Response["body"]>, open?: () => Uint8Array<ArrayBuffer>): Reader {
  if (open !== undefined) {
    try {
      const reader = body.getReader({ mode: "byob" });
      return { read: () => reader.read(open()), cancel: (reason) => reader.cancel(reason) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return body.getReader();
}

async function readNext(reader: Reader, { clock, silentMs }: BodyOptions): ReturnType<Reader["read"]> {
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
