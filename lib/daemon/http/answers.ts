/** Answers that are good for a while: asked for once by however many want them at once, and no more kept than a bound. */
import type { Clock } from "../../runtime/clock.ts";

/** An answer and how long it is good for. */
export interface Answer<T> {
  readonly value: T;
  readonly keepMs: number;
}

interface Kept<T> {
  readonly value: T;
  readonly untilMs: number;
}

/** By key. A failure is not kept. */
export class Answers<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #most: number;
  readonly #kept = new Map<string, Kept<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor({ clock, most }: { readonly clock: Pick<Clock, "monotonic">; readonly most: number }) {
    this.#clock = clock;
    this.#most = most;
  }

  /** What was answered last, also where it is good no more; undefined where that is forgotten. */
  last(key: string): T | undefined {
    return this.#kept.get(key)?.value;
  }

  /** Rejects as `ask` does. */
  get(key: string, ask: () => Promise<Answer<T>>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonic() < kept.untilMs) return Promise.resolve(kept.value);
    const asking = this.#asking.get(key) ?? this.#ask(key, ask).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(key: string, ask: () => Promise<Answer<T>>): Promise<T> {
    const { value, keepMs } = await ask();
    this.#kept.delete(key);
    if (this.#kept.size >= this.#most) this.#dropNextToEnd();
    this.#kept.set(key, { value, untilMs: this.#clock.monotonic() + keepMs });
    return value;
  }

  /** Answers that are good for long outlive a flood of those that are not. */
  #dropNextToEnd(): void {
    const all = [...this.#kept].sort(([, a], [, b]) => a.untilMs - b.untilMs);
    const [first] = all[0] ?? [];
    if (first !== undefined) this.#kept.delete(first);
  }
}
