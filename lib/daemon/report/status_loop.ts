/** The loop that keeps statuses current: a sweep each second, a last one at the end, and whether it turns at all. */
import type { Clock } from "../../runtime/clock.ts";
import type { StatusSweep } from "./status_sweep.ts";

const SWEEP_MS = 1_000;
const STUCK_MS = 60_000;
const LAST_STATUS_MS = 5_000;

/** Notes its own progress from the moment that it is made. */
export class StatusLoop {
  readonly #clock: Pick<Clock, "monotonic" | "sleep" | "timeout">;
  #progressMs: number;

  constructor(clock: Pick<Clock, "monotonic" | "sleep" | "timeout">) {
    this.#clock = clock;
    this.#progressMs = clock.monotonic();
  }

  /** True once it has made no progress for a minute. */
  get isStuck(): boolean {
    return this.#clock.monotonic() - this.#progressMs > STUCK_MS;
  }

  /** A sweep of many autoscalers makes progress while it goes on. */
  readonly noteProgress = (): void => {
    this.#progressMs = this.#clock.monotonic();
  };

  /** Sweeps until the signal aborts; `before` and `after` are called around each sweep. */
  async run(
    status: Pick<StatusSweep, "sweep">,
    { signal, before = () => {}, after = () => {} }: {
      readonly signal: AbortSignal;
      readonly before?: () => void;
      readonly after?: () => void;
    },
  ): Promise<void> {
    while (!signal.aborted) {
      this.noteProgress();
      before();
      await status.sweep(signal);
      after();
      await this.#clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }

  /** The last resizes may have been answered while everything else was ending. */
  async writeLast(status: Pick<StatusSweep, "sweep">): Promise<void> {
    using timeout = this.#clock.timeout(LAST_STATUS_MS);
    await status.sweep(timeout.signal, { isLast: true });
  }
}
