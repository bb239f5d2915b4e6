/**
 * A process that is stopped for a while, as by SIGSTOP: time goes on, its timers ring when it goes on itself, and what it
 * was about to send is not sent before. Its wall clock may be set apart from that of the others, and its way be cut.
 */
import { abortable } from "../../lib/runtime/tasks.ts";
import type { Transport } from "../../lib/kube/transport.ts";
import { type Clock, type Timeout, timeoutError } from "../../lib/runtime/clock.ts";

export class Pausable {
  /** How far its wall clock is ahead. */
  skewMs = 0;
  /** What it sends arrives nowhere. */
  isCut = false;
  /** Called before a request may be held. */
  onSend: (request: Request) => void = () => {};
  readonly clock: Clock;
  readonly #plain: Clock;
  #paused: PromiseWithResolvers<void> | null = null;

  constructor(clock: Clock) {
    this.#plain = clock;
    this.clock = {
      now: () => clock.now() + this.skewMs,
      steady: () => clock.steady(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => this.#sleep(ms, signal),
      timeout: (ms) => this.#timeout(ms),
    };
  }

  get isPaused(): boolean {
    return this.#paused !== null;
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  /** A pause holds a request before it is sent, and an answer before it is seen. */
  wrap(transport: Transport): Transport {
    return async (request, options) => {
      this.onSend(request);
      await this.#running();
      options?.beforeSend?.();
      const response =
        await (this.isCut ? abortable(new Promise<never>(() => {}), request.signal) : transport(request));
      await this.#running();
      return response;
    };
  }

  async #running(): Promise<void> {
    while (this.#paused !== null) await this.#paused.promise;
  }

  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#plain.sleep(ms, signal);
    if (signal === undefined) await this.#running();
    else await abortable(this.#running(), signal);
  }

  #timeout(ms: number): Timeout {
    const controller = new AbortController();
    const over = new AbortController();
    this.#plain.sleep(ms, over.signal).then(() => this.#running()).then(() => {
      if (!over.signal.aborted) controller.abort(timeoutError(ms));
    }).catch(() => {});
    return { signal: controller.signal, [Symbol.dispose]: () => over.abort() };
  }
}
