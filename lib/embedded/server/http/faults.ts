/**
 * What can go wrong with the server on demand? A fault says which requests, and what happens to them.
 * A fault is data: which requests it matches, and what happens to them.
 */
import type { Clock } from "../../../runtime/clock.ts";
import { abortable } from "../../../runtime/tasks.ts";
import { Refusal } from "../refusal.ts";
import type { OpenWatch } from "./watch.ts";

/** What happens to a request that a fault strikes. */
export type Effect =
  | { readonly kind: "slow"; readonly ms: number }
  /** There is no answer while the client waits. */
  | { readonly kind: "hang" }
  /** The connection breaks before an answer. */
  | { readonly kind: "disconnect" }
  /** The answer is cut off after this number of bytes, and the connection breaks. */
  | { readonly kind: "truncate"; readonly bytes: number }
  /** The answer is 200 with this body. */
  | { readonly kind: "garbage"; readonly text: string }
  | { readonly kind: "refuse"; readonly code: number; readonly message?: string; readonly retryAfterSeconds?: number }
  /** A new watch ends, breaks or falls silent after this time. */
  | { readonly kind: "closeWatch" | "dropWatch" | "silenceWatch"; readonly afterMs: number };

/** Which requests are struck, how often and by what. */
export interface Fault {
  readonly method?: string;
  readonly path?: RegExp;
  readonly isWatch?: boolean;
  /** This number of matching requests is answered normally first. */
  readonly after?: number;
  /** It strikes so often; without it, until it is disposed of. */
  readonly times?: number;
  readonly effect: Effect;
}

/** The properties of a request that a fault matches. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
}

/** The faults that are planted in a server, and the watches that they can break. */
export class Faults {
  /** How far the server's clock is ahead, in timestamps and in the Date header, in ms. */
  skewMs = 0;
  readonly #clock: Clock;
  readonly #active = new Set<{ readonly fault: Fault; matched: number }>();
  readonly #watches = new Map<OpenWatch, Asked>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(fault: Fault): Disposable {
    const active = { fault, matched: 0 };
    this.#active.add(active);
    return { [Symbol.dispose]: () => void this.#active.delete(active) };
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Every open watch of these paths ends, as when the server goes down for a moment. */
  dropWatches(path = /./): void {
    for (const watch of this.#listWatches(path)) watch.drop(new TypeError("connection reset"));
  }

  /** Ends them without an error. */
  closeWatches(path = /./): void {
    for (const watch of this.#listWatches(path)) watch.close();
  }

  silenceWatches(path = /./): void {
    for (const watch of this.#listWatches(path)) watch.silence();
  }

  /** Open watches lag behind until what is returned is called: then all of it comes at once. */
  holdWatches(path = /./): () => void {
    const releases = this.#listWatches(path).map((watch) => watch.hold());
    return () => releases.forEach((release) => release());
  }

  /** The effect that strikes this request; `null` where none does. */
  next(asked: Asked): Effect | null {
    let found: Effect | null = null;
    for (const active of this.#active) {
      const { after = 0, times = Infinity, effect } = active.fault;
      if (!isMatched(active.fault, asked)) continue;
      active.matched++;
      if (active.matched > after && active.matched <= after + times) found ??= effect;
    }
    return found;
  }

  /** Before the answer: throws, waits, or does nothing. */
  async strike(effect: Effect | null, signal: AbortSignal): Promise<void> {
    switch (effect?.kind) {
      case "slow":
        return await this.#clock.sleep(effect.ms, signal);
      case "hang":
        return await abortable(new Promise<never>(() => {}), signal);
      case "disconnect":
        throw new TypeError("connection reset");
      case "refuse":
        throw toRefusal(effect);
    }
  }

  /** The part of the answer that arrives. */
  spoil(response: Response, effect: Effect | null): Response {
    if (effect?.kind === "garbage") {
      void response.body?.cancel();
      return new Response(effect.text, { headers: { "content-type": "application/json" } });
    }
    if (effect?.kind !== "truncate" || response.body === null) return response;
    return new Response(response.body.pipeThrough(cutAfter(effect.bytes)), response);
  }

  /** Keeps an open watch at hand until the returned function is called. */
  register(watch: OpenWatch, asked: Asked, effect: Effect | null): () => void {
    this.#watches.set(watch, asked);
    const over = new AbortController();
    if (effect?.kind === "closeWatch" || effect?.kind === "dropWatch" || effect?.kind === "silenceWatch") {
      this.#clock.sleep(effect.afterMs, over.signal).then(() => {
        if (effect.kind === "closeWatch") watch.close();
        else if (effect.kind === "dropWatch") watch.drop(new TypeError("connection reset"));
        else watch.silence();
      }, () => {});
    }
    return () => {
      over.abort();
      this.#watches.delete(watch);
    };
  }

  #listWatches(path: RegExp): readonly OpenWatch[] {
    return [...this.#watches].filter(([, asked]) => path.test(asked.path)).map(([watch]) => watch);
  }
}

function isMatched({ method, path, isWatch }: Fault, asked: Asked): boolean {
  return (method ?? asked.method) === asked.method && (path ?? /./).test(asked.path) &&
    (isWatch ?? asked.isWatch) === asked.isWatch;
}

const REASONS: Readonly<Record<number, string>> = {
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function toRefusal({ code, message, retryAfterSeconds }: Effect & { readonly kind: "refuse" }): Refusal {
  return new Refusal(code, {
    message: message ?? (code === 429 ? "Too many requests, please try again later." : "an error on the server"),
    ...(REASONS[code] === undefined ? {} : { reason: REASONS[code] }),
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  });
}

function cutAfter(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left < 0) controller.error(new TypeError("connection reset"));
    },
  });
}
