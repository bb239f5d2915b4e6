/**
 * The way between one podfit and the API server, with what can go wrong on it alone: nobody else of the cluster notices.
 * It sees every request and every line of every answer, so it also knows how old what podfit knows is.
 */
import { abortable } from "../../../lib/runtime/tasks.ts";
import type { ApiServer, Transport } from "../../../lib/kube/transport.ts";
import { type Clock, isTimeoutError } from "../../../lib/runtime/clock.ts";
import { Body } from "./wire_body.ts";

/** What becomes of a request, or of the answers that are under way. */
export type Effect =
  /** There is no answer for as long as podfit waits. */
  | { readonly kind: "hang" }
  | { readonly kind: "slow"; readonly ms: number }
  /** No connection: it fails with these words. */
  | { readonly kind: "fail"; readonly message: string }
  /** It arrives, and the answer is lost. */
  | { readonly kind: "loseAnswer" }
  /** Answers come a byte at a time. */
  | { readonly kind: "dribble"; readonly everyMs: number }
  | { readonly kind: "answer"; readonly answer: () => Response };

/** Which requests are struck, and by what. */
export interface WireFault {
  readonly method?: string;
  readonly path?: RegExp;
  readonly isWatch?: boolean;
  /** It strikes so often; without it, until it is disposed of. */
  readonly times?: number;
  readonly effect: Effect;
}

/** A request as the wire sees it. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
  /** Its body, of a PATCH or POST. */
  readonly text: string;
}

/** What is told of each request. `code` is 0 where no answer came. */
export interface WireListener {
  readonly onSend?: (sent: Sent) => void;
  readonly onAnswer?: (sent: Sent, code: number) => void;
}

/** One podfit's way to the API server. */
export class Wire {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #listener: WireListener;
  readonly #faults = new Set<{ readonly fault: WireFault; struck: number }>();
  readonly #bodies = new Set<Body>();
  /** By path of the collection, monotonic ms. */
  readonly #contacts = new Map<string, number>();
  /** Requests and parts of answers that have passed. */
  steps = 0;
  /** Called at each of them, before it passes. */
  onStep: (step: number) => void = () => {};
  #isCut = false;

  constructor(transport: Transport, { clock, ...listener }: { readonly clock: Clock } & WireListener) {
    this.#transport = transport;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** The API server at the other end, for a podfit. */
  toServer(server: ApiServer): ApiServer {
    return { ...server, transport: this.send };
  }

  /** Until it is disposed of, where it has no `times`. */
  add(fault: WireFault): Disposable {
    const active = { fault, struck: 0 };
    this.#faults.add(active);
    return { [Symbol.dispose]: () => void this.#faults.delete(active) };
  }

  /** Every answer under way breaks, as when the server goes down. */
  breakAnswers(): void {
    for (const body of [...this.#bodies]) body.fail(new TypeError("connection reset"));
  }

  /** Nothing passes in either direction any more, as of a process that is no more. */
  cut(): void {
    this.#isCut = true;
  }

  /** When the server last told something whole of a collection, monotonic ms: an answered list, a line of a watch. */
  contactMs(path: string): number | null {
    return this.#contacts.get(path) ?? null;
  }

  /** The collections that were asked for. */
  get collections(): readonly string[] {
    return [...this.#contacts.keys()];
  }

  readonly send: Transport = async (request) => {
    const sent = await readSent(request);
    const { signal } = request;
    this.#pass();
    if (this.#isCut) return await never(signal);
    this.#listener.onSend?.(sent);
    try {
      const response = await this.#exchange(request, sent);
      this.#pass();
      if (this.#isCut) return await never(signal);
      this.#listener.onAnswer?.(sent, response.status);
      return this.#open(response, { sent, signal });
    } catch (error) {
      if (!signal.aborted || isTimeoutError(signal.reason)) this.#listener.onAnswer?.(sent, 0);
      throw error;
    }
  };

  async #exchange(request: Request, sent: Sent): Promise<Response> {
    const effect = this.#next(sent);
    switch (effect?.kind) {
      case "hang":
        return await never(request.signal);
      case "slow":
        await this.#clock.sleep(effect.ms, request.signal);
        return await this.#transport(request);
      case "fail":
        throw new TypeError(effect.message);
      case "answer":
        return effect.answer();
      case "loseAnswer":
        await (await this.#transport(request)).body?.cancel();
        throw new TypeError("connection reset");
      default:
        return await this.#transport(request);
    }
  }

  #open(response: Response, { sent, signal }: { readonly sent: Sent; readonly signal: AbortSignal }): Response {
    const { body } = response;
    if (body === null || sent.method !== "GET") return response;
    const note = () => this.#contacts.set(sent.path, this.#clock.monotonic());
    const opened = new Body(body, {
      clock: this.#clock,
      signal,
      dribbleMs: () => this.#readDribble(sent),
      onPart: (part) => {
        this.#pass();
        // A list counts once it is whole, a watch by its lines.
        if (sent.isWatch && response.ok && part.includes(NEWLINE)) note();
        return !this.#isCut;
      },
      onEnd: () => {
        this.#bodies.delete(opened);
        if (response.ok) note();
      },
      onFail: () => this.#bodies.delete(opened),
    });
    this.#bodies.add(opened);
    return new Response(opened.stream, response);
  }

  #readDribble(sent: Sent): number {
    for (const { fault } of this.#faults) {
      if (fault.effect.kind === "dribble" && matches(fault, sent)) return fault.effect.everyMs;
    }
    return 0;
  }

  #next(sent: Sent): Effect | null {
    for (const active of this.#faults) {
      const { fault } = active;
      if (!matches(fault, sent) || active.struck >= (fault.times ?? Infinity)) continue;
      active.struck++;
      return fault.effect;
    }
    return null;
  }

  #pass(): void {
    this.onStep(++this.steps);
  }
}

const NEWLINE = 10;

async function readSent(request: Request): Promise<Sent> {
  const { pathname, searchParams } = new URL(request.url);
  const { method } = request;
  const text = method === "GET" ? "" : await request.clone().text();
  return { method, path: pathname, isWatch: searchParams.get("watch") === "true", text };
}

function matches({ method, path, isWatch }: WireFault, sent: Sent): boolean {
  return (method ?? sent.method) === sent.method && (path ?? /./).test(sent.path) &&
    (isWatch ?? sent.isWatch) === sent.isWatch;
}

function never(signal: AbortSignal): Promise<never> {
  return abortable(new Promise<never>(() => {}), signal);
}
