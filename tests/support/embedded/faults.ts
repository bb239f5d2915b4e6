/**
 * What can go wrong with the server on demand? A fault says which requests, and what happens to them.
 * A fault is data: which requests it matches, and what happens to them.
 */
import type { Asked, Interception, Interceptor } from "../../../lib/embedded/server/http/request.ts";
import type { OpenWatch } from "../../../lib/embedded/server/http/watch.ts";
import { Refusal } from "../../../lib/embedded/server/refusal.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { abortable } from "../../../lib/runtime/tasks.ts";

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

/** The faults that are planted in a server, and the watches that they can break. */
export class Faults implements Interceptor {
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

  /** Strikes the request with the fault that matches it, if there is one. */
  async intercept(asked: Asked, signal: AbortSignal): Promise<Interception> {
    const effect = this.#next(asked);
    await this.#strike(effect, signal);
    return {
      register: (watch) => this.#register(watch, asked, effect),
      change: (response) => spoil(response, effect),
    };
  }

  /** The effect that strikes this request; `null` where none does. */
  #next(asked: Asked): Effect | null {
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
  async #strike(effect: Effect | null, signal: AbortSignal): Promise<void> {
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

  /** Keeps an open watch at hand until the returned function is called. */
  #register(watch: OpenWatch, asked: Asked, effect: Effect | null): () => void {
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

/** The handler of a kubelet, struck by these faults. A kubelet refuses in plain text. */
export function interceptKubelet(handle: Transport, faults: Faults): Transport {
  return async (request) => {
    const { method, url, signal } = request;
    try {
      const { change } = await faults.intercept({ method, path: new URL(url).pathname, isWatch: false }, signal);
      return change(await handle(request));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return new Response(error.message, { status: error.code, headers: { "content-type": "text/plain" } });
    }
  };
}

/** The part of the answer that arrives. */
function spoil(response: Response, effect: Effect | null): Response {
  if (effect?.kind === "garbage") {
    void response.body?.cancel();
    return new Response(effect.text, { headers: { "content-type": "application/json" } });
  }
  if (effect?.kind !== "truncate" || response.body === null) return response;
  return new Response(response.body.pipeThrough(cutAfter(effect.bytes)), response);
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
