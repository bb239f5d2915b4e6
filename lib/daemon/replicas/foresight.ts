/**
 * Would a tick raise replicas now? It is asked when usage of the target's pods is fresh: what a load needs does not wait for the grid of ticks (R7). Asks
 * nobody, writes nothing, and leaves the state as it is; what the tick then comes to is its own.
 */
import {
  isAboveTarget,
  readTargetUsage,
  SOONEST_TICK_MS,
  type TargetUsage,
  type TriggerUsage,
} from "../../core/replicas/early_tick.ts";
import type { ScaleAnswer } from "../../core/replicas/input.ts";
import type { ReplicasReport } from "../../core/replicas/report.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Clock } from "../../runtime/clock.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { Clear } from "./look.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { Passes } from "./passes.ts";
import type { ReadUsage } from "./read_usage.ts";

/** Of one object. */
export interface ForesightOptions {
  readonly clock: Pick<Clock, "now">;
  readonly passes: Pick<Passes, "foresee">;
  readonly readUsage: ReadUsage;
  readonly pods: () => readonly PodFacts[];
  readonly metered: Pick<MeteredPods, "read">;
}

export class Foresight {
  readonly #options: ForesightOptions;
  /** What the last look found, with what was written since; `null` = something stands in the way, or nothing is known yet. */
  #clear: Pick<Clear, "object" | "scale"> | null = null;
  #isFresh = false;
  #targets: TargetUsage = new Map();
  /** No sooner is it worth a look; Infinity before the first tick. */
  #soonestAt = Infinity;

  constructor(options: ForesightOptions) {
    this.#options = options;
  }

  /** When to look, epoch ms; Infinity = once usage is fresh. */
  get dueAt(): number {
    return this.#isFresh ? this.#soonestAt : Infinity;
  }

  /** Usage of some of the pods is fresh. Gives whether `dueAt` has changed. */
  note(): boolean {
    if (this.#isFresh || this.#clear === null) return false;
    const { object: { maxReplicas }, scale: { replicas } } = this.#clear;
    this.#isFresh = replicas > 0 && replicas < maxReplicas;
    return this.#isFresh;
  }

  noteLook(clear: Clear | null): void {
    this.#clear = clear;
  }

  noteAnswer(answer: ScaleAnswer): void {
    if (answer.kind !== "accepted" || this.#clear === null) return;
    const { object, scale } = this.#clear;
    this.#clear = { object, scale: { ...scale, replicas: answer.replicas } };
  }

  /** A tick has looked at all there is. */
  noteTick(report: ReplicasReport): void {
    this.#isFresh = false;
    this.#soonestAt = this.#options.clock.now() + SOONEST_TICK_MS;
    this.#targets = readTargetUsage(this.#readUsage(), report);
  }

  /** Rejects with the signal's reason only. */
  async isRaising(signal: AbortSignal): Promise<boolean> {
    const { clock, passes, readUsage, pods } = this.#options;
    const at = clock.now();
    this.#isFresh = false;
    this.#soonestAt = at + SOONEST_TICK_MS;
    // Costs little: most readings change nothing.
    if (this.#clear === null || !isAboveTarget(this.#readUsage(), this.#targets)) return false;
    const { object, scale } = this.#clear;
    const resources = listResourceTriggers(object);
    const { triggers, readyPods } = await readUsage({ object, resources, pods, at, signal });
    const { write } = passes.foresee({ kind: "tick", scale, triggers, readyPods }, at);
    return write !== null && write.replicas > scale.replicas;
  }

  #readUsage(): TriggerUsage {
    const { pods, metered } = this.#options;
    if (this.#clear === null) return NO_USAGE;
    const rates = pods().map(({ uid }) => metered.read(uid).rates);
    return { resources: listResourceTriggers(this.#clear.object), rates };
  }

  /** The clock was set by `stepMs`. */
  step(stepMs: number): void {
    this.#soonestAt += stepMs;
  }
}

const NO_USAGE: TriggerUsage = { resources: [], rates: [] };
