/**
 * How often is a node read, and which readings are its tracked pods evaluated with (C20)? Metered pods want more readings: a kubelet has new samples of
 * a container each 10 to 19 s, of each at another moment, and a load that grows is to be seen soon (R20). Evaluations stay as often as manifests ask for.
 */
import type { Clock } from "../../runtime/clock.ts";
import type { Tracked } from "../inventory/tracked.ts";

/** Of one node. */
export interface NodePaceOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly tracked: ReadonlyMap<string, Tracked>;
  readonly metered: ReadonlyMap<string, unknown>;
  /** The operator's; no node is read more often for metered pods. `null` = no limit. */
  readonly minPollIntervalMs: number | null;
}

/** How often usage of metered pods is read, ms. */
const METERED_MS = 5_000;

export class NodePace {
  readonly #options: NodePaceOptions;
  readonly #meteredMs: number;
  /** Of its tracked pods; `null` once they have changed: asked for once a poll, they change a hundred thousand times in a burst. */
  #ownMs: number | null = null;
  #roundAt = -Infinity;

  constructor(options: NodePaceOptions) {
    this.#options = options;
    this.#meteredMs = Math.max(METERED_MS, options.minPollIntervalMs ?? 0);
  }

  /** From reading to reading; Infinity for a node without pods. */
  get intervalMs(): number {
    return this.#options.metered.size === 0 ? this.#readOwnMs() : Math.min(this.#readOwnMs(), this.#meteredMs);
  }

  noteTracked(): void {
    this.#ownMs = null;
  }

  /** Whether the tracked pods are evaluated with the reading that has come now: as often as they ask for, to half a reading. */
  beginRound(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#roundAt + this.#meteredMs / 2 < this.#readOwnMs()) return false;
    this.#roundAt = now;
    return true;
  }

  #readOwnMs(): number {
    if (this.#ownMs !== null) return this.#ownMs;
    let intervalMs = Infinity;
    for (const { contenders } of this.#options.tracked.values()) {
      for (const { pollIntervalMs } of contenders) intervalMs = Math.min(intervalMs, pollIntervalMs);
    }
    return this.#ownMs = intervalMs;
  }
}
