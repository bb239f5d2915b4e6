/** Bodies of answers that are made while they are read: each piece when the reader has room for it, so that a long one blocks nobody. */
import { systemClock } from "../../runtime/clock.ts";

/** Work, ms, between two turns of the event loop. */
const STRETCH_MS = 2;

/**
 * The event loop turns between pieces that take some time. `holding` is disposed of after the last one, or when the reader has gone, also
 * before the first; pieces that are waited for have to end then.
 */
export function toTextStream(
  pieces: Iterable<string> | AsyncIterable<string>,
  holding: Disposable,
): ReadableStream<Uint8Array> {
  const encoded = encodeInRounds(pieces);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await encoded.next();
        if (done !== true) return controller.enqueue(value);
        holding[Symbol.dispose]();
        controller.close();
      } catch (error) {
        holding[Symbol.dispose]();
        throw error;
      }
    },
    async cancel() {
      holding[Symbol.dispose]();
      await encoded.return(undefined);
    },
  }, { highWaterMark: 0 });
}

async function* encodeInRounds(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let restedMs = systemClock.monotonic();
  for await (const piece of pieces) {
    yield encoder.encode(piece);
    if (systemClock.monotonic() - restedMs < STRETCH_MS) continue;
    await systemClock.sleep(0);
    restedMs = systemClock.monotonic();
  }
}
