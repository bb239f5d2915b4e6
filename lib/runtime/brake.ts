/**
 * When may a server be asked again that has said it is busy? One brake for all who ask it: while it holds nobody asks;
 * then one asks for all, and the others go on when that one was served, or wait longer when it was not.
 */
import { backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/** What waits are made of. */
export interface BrakeOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly random: () => number;
}

/** The server has said that it is busy. */
export interface Busy {
  /** How long to wait as it asked, ms; `null` = it did not say. */
  readonly waitMs: number | null;
}

/** Leave to ask once. Disposal without a note leaves it to the next to find out. */
export interface Pass extends Disposable {
  /** What came of it; `null` = the server was not busy. */
  note(busy: Busy | null): void;
}

const BASE_MS = 1_000;
const LONGEST_MS = 30_000;
/** Whoever asks for a longer wait gets one for that request, but not for all. */
const LONGEST_ASKED_MS = 60_000;
/** After so long without a busy answer waits begin anew. */
const CALM_MS = 60_000;
const FOR_EVER_MS = 24 * 3_600_000;

/** Shared by all who ask one server. */
export class Brake {
  readonly #options: BrakeOptions;
  readonly #waiting = new Set<() => void>();
  #isHeld = false;
  #isProbing = false;
  #heldUntilMs = -Infinity;
  #times = 0;

  constructor(options: BrakeOptions) {
    this.#options = options;
  }

  /** `null` while it holds, and while another asks for all. */
  tryPass(): Pass | null {
    if (!this.#isHeld) return this.#newPass(false);
    if (this.#isProbing || this.#options.clock.monotonic() < this.#heldUntilMs) return null;
    this.#isProbing = true;
    return this.#newPass(true);
  }

  /** Resolves when the caller may ask, in order of arrival. Rejects with `signal.reason` as soon as the signal aborts. */
  async pass(signal: AbortSignal): Promise<Pass> {
    for (;;) {
      signal.throwIfAborted();
      const pass = this.tryPass();
      if (pass !== null) return pass;
      await this.#wait(signal);
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const waking = new AbortController();
    const wake = () => waking.abort();
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    const waitMs = this.#isProbing ? FOR_EVER_MS : this.#heldUntilMs - clock.monotonic();
    await clock.sleep(waitMs, waking.signal).catch(() => {});
    signal.removeEventListener("abort", wake);
    this.#waiting.delete(wake);
  }

  #newPass(isProbe: boolean): Pass {
    let isOpen = isProbe;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#isProbing = false;
      this.#wakeAll();
    };
    return {
      note: (busy) => {
        if (busy !== null) this.#hold(busy);
        else if (isOpen) this.#isHeld = false;
        close();
      },
      [Symbol.dispose]: close,
    };
  }

  /** Of those that were under way together each may be answered so: that is one time. */
  #hold({ waitMs }: Busy): void {
    const { clock, random } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - this.#heldUntilMs > CALM_MS) this.#times = 0;
    if (nowMs >= this.#heldUntilMs) this.#times++;
    const ownMs = backoffMs(this.#times - 1, { baseMs: BASE_MS, maxMs: LONGEST_MS, random });
    const untilMs = nowMs + Math.max(ownMs, Math.min(waitMs ?? 0, LONGEST_ASKED_MS));
    this.#isHeld = true;
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs);
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
