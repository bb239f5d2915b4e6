/** The body of one answer between a server and a podfit: it may dribble, be swallowed, or break. */
import type { Clock } from "../../../lib/runtime/clock.ts";

/** What may happen to it on its way. */
export interface BodyOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The time between two bytes; 0 = they come as they are. */
  readonly dribbleMs: () => number;
  /** False: it is swallowed. */
  readonly onPart: (part: Uint8Array) => boolean;
  readonly onEnd: () => void;
  readonly onFail: () => void;
}

/** The body of one answer on its way. */
export class Body {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #over = new AbortController();
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #options: BodyOptions;

  constructor(source: ReadableStream<Uint8Array>, options: BodyOptions) {
    this.#reader = source.getReader();
    this.#options = options;
    const abort = () => this.fail(options.signal.reason);
    options.signal.addEventListener("abort", abort, { once: true });
    this.#over.signal.addEventListener("abort", () => options.signal.removeEventListener("abort", abort));
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#over.signal.addEventListener("abort", () => {
          const { reason } = this.#over.signal;
          if (reason !== ENDED) controller.error(reason);
        });
      },
      pull: (controller) => this.#pull(controller),
      cancel: () => this.fail(ENDED),
    });
  }

  fail(reason: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#options.onFail();
    this.#over.abort(reason);
    void this.#reader.cancel().catch(() => {});
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    const { signal } = this.#over;
    try {
      const { done, value } = await this.#reader.read();
      if (signal.aborted) return;
      if (done) {
        this.#options.onEnd();
        this.#over.abort(ENDED);
        controller.close();
        return;
      }
      await this.#hand(value, controller);
    } catch (error) {
      this.fail(error);
    }
  }

  async #hand(value: Uint8Array, controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    const { dribbleMs, clock, onPart } = this.#options;
    const { signal } = this.#over;
    let rest: Uint8Array = value;
    while (rest.length > 0) {
      const everyMs = dribbleMs();
      if (everyMs > 0) await clock.sleep(everyMs, signal).catch(() => {});
      if (signal.aborted) return;
      const part = everyMs > 0 ? rest.subarray(0, 1) : rest;
      rest = rest.subarray(part.length);
      if (!onPart(part)) return await new Promise<never>(() => {});
      controller.enqueue(new Uint8Array(part));
    }
  }
}

const ENDED = new DOMException("The answer has ended", "AbortError");
