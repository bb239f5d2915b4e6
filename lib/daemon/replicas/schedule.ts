/**
 * When is a ScaledObject due? Its activation loop and its scaling loop each have a fixed interval. The early scaling
 * check asks whether fresh usage would raise the replicas before the scaling loop is due.
 */
import { MIN_SCALING_INTERVAL_MS, type PodRates, SCALING_LOOP_MS, TargetUsage } from "../../horizontal/pod_metrics.ts";
import { toTolerance } from "../../horizontal/replica_calculator.ts";
import type { PodFacts } from "../../model/pod.ts";
import type {
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReport,
  Scale,
  ScaleAnswer,
} from "../../model/replicas_decision.ts";
import { listResourceTriggers, type ScaledObject, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { UnblockedResult } from "./blockers.ts";
import type { ComputeUsage, MeteredPods } from "./target_pods.ts";

/** A loop and its due time, epoch ms. "poll" is the activation loop, "tick" the scaling loop. */
export interface DueLoop {
  readonly loop: "poll" | "tick";
  readonly at: number;
}

interface LoopSchedule {
  readonly interval: FixedInterval;
  /** The last due time that was taken. */
  readonly servedAt: number;
}

/** The due times of one object. The loops of a paused object, and the activation loop of an invalid one, are never due. Clauses: R7. */
export class ReconcileSchedule {
  #activation: LoopSchedule | null = null;
  #scaling: LoopSchedule | null = null;

  /**
   * Follows a new or changed object. A new generation is due for activation now. A new object is due for scaling 15 s
   * later.
   */
  follow(before: ScaledObjectFacts | null, facts: ScaledObjectFacts, now: number): void {
    const { scaledObject } = facts;
    // An object that was unpaused starts like a new one. Clauses: R55.
    if (facts.isPaused) this.#scaling = null;
    if (facts.isPaused || scaledObject === null) {
      this.#activation = null;
      return;
    }
    this.#scaling ??= newLoop(now + SCALING_LOOP_MS, SCALING_LOOP_MS);
    if (this.#activation === null || before?.generation !== facts.generation) {
      this.#activation = newLoop(now, scaledObject.pollIntervalMs);
    }
  }

  /** Returns the loops that are due, by due time. The activation loop is first where both are due at the same time. */
  takeDue(now: number): readonly DueLoop[] {
    const [poll, tick] = [findDue(this.#activation, now), findDue(this.#scaling, now)];
    const due: DueLoop[] = [];
    if (poll !== null && this.#activation !== null) {
      this.#activation = { ...this.#activation, servedAt: poll };
      due.push({ loop: "poll", at: poll });
    }
    if (tick !== null && this.#scaling !== null) {
      this.#scaling = { ...this.#scaling, servedAt: tick };
      due.push({ loop: "tick", at: tick });
    }
    return due.toSorted((a, b) => a.at - b.at);
  }

  /** A loop that was taken but did not run is due again. */
  requeue({ loop, at }: DueLoop): void {
    if (loop === "poll") this.#activation = this.#activation && requeueLoop(this.#activation, at);
    else this.#scaling = this.#scaling && requeueLoop(this.#scaling, at);
  }

  /** Restarts the activation loop at `at`, unless it is due before. */
  activateBy(at: number, now: number): void {
    this.#activation = this.#activation && restartBy(this.#activation, { at, now });
  }

  /** Restarts the scaling loop now, unless it is due. Its next due times are 15 s apart. */
  scaleNow(now: number): void {
    this.#scaling = this.#scaling && restartBy(this.#scaling, { at: now, now });
  }

  /** Returns when a loop is due next, epoch ms; Infinity = never. */
  getNextAt(now: number): number {
    const next = [this.#activation, this.#scaling].map((loop) => {
      if (loop === null) return Infinity;
      return findDue(loop, now) ?? computeNextDue(loop.interval, now);
    });
    return Math.min(...next);
  }
}

function newLoop(startAt: number, periodMs: number): LoopSchedule {
  return { interval: { startAt, periodMs }, servedAt: -Infinity };
}

/** Returns the last due time that has passed. Earlier ones that were missed are dropped. */
function findDue(loop: LoopSchedule | null, now: number): number | null {
  const last = loop === null ? null : findLastDue(loop.interval, now);
  return loop !== null && last !== null && last > loop.servedAt ? last : null;
}

function restartBy(loop: LoopSchedule, { at, now }: { readonly at: number; readonly now: number }): LoopSchedule {
  const next = findDue(loop, now) ?? computeNextDue(loop.interval, now);
  return next > at ? newLoop(at, loop.interval.periodMs) : loop;
}

function requeueLoop(loop: LoopSchedule, at: number): LoopSchedule {
  return loop.servedAt === at ? { ...loop, servedAt: at - 1 } : loop;
}

/**
 * Due at `startAt` and every `periodMs` after it, steady epoch ms. The due time dates the decision: a policy of 15 s must see
 * the decision before as 15 s old.
 */
interface FixedInterval {
  readonly startAt: number;
  readonly periodMs: number;
}

/** Returns the first due time after `at`. */
function computeNextDue({ startAt, periodMs }: FixedInterval, at: number): number {
  if (at < startAt) return startAt;
  return startAt + (Math.floor((at - startAt) / periodMs) + 1) * periodMs;
}

/** Returns the last due time that is not after `now`; `null` before the first. */
function findLastDue({ startAt, periodMs }: FixedInterval, now: number): number | null {
  return now < startAt ? null : startAt + Math.floor((now - startAt) / periodMs) * periodMs;
}

interface EarlyScalingCheckOptions {
  readonly clock: Pick<Clock, "steady">;
  /** Returns what `decideReplicas` would return at `now`, epoch ms. The state does not change. */
  readonly preview: (observation: ReplicasObservation, now: number) => ReplicasOutcome;
  readonly computeUsage: ComputeUsage;
  readonly pods: () => readonly PodFacts[];
  readonly metered: Pick<MeteredPods, "get">;
}

export class EarlyScalingCheck {
  readonly #options: EarlyScalingCheckOptions;
  /** The object and scale of the last check, with later writes; `null` = blocked, or not checked yet. */
  #unblocked: Pick<UnblockedResult, "object" | "scale"> | null = null;
  /** Usage is fresh and above its target. */
  #isFresh = false;
  /** `null` before the first scaling loop. */
  #usage: TargetUsage | null = null;
  /** The next check is not earlier than this. Infinity before the first scaling loop. */
  #soonestAt = Infinity;

  constructor(options: EarlyScalingCheckOptions) {
    this.#options = options;
  }

  /** Returns when to check, epoch ms; Infinity = not before usage is fresh. */
  get dueAt(): number {
    return this.#isFresh ? this.#soonestAt : Infinity;
  }

  /**
   * A pod has new rates. Returns "raises" if `dueAt` has changed, and "grows" if the next readings may change it. Most
   * readings do neither.
   */
  onFreshUsage(before: PodRates | null, after: PodRates): ReturnType<TargetUsage["compare"]> {
    if (this.#usage === null) return null;
    this.#usage.replace(before, after);
    const change = this.#usage.compare();
    if (change === null || this.#isFresh || this.#unblocked === null) return null;
    if (!canGrow(this.#unblocked.object, this.#unblocked.scale)) return null;
    this.#isFresh = change === "raises";
    return change;
  }

  setUnblocked(clear: UnblockedResult | null): void {
    this.#unblocked = clear;
  }

  onAnswer(answer: ScaleAnswer): void {
    if (answer.kind !== "accepted" || this.#unblocked === null) return;
    const { object, scale } = this.#unblocked;
    this.#unblocked = { object, scale: { ...scale, replicas: answer.replicas } };
  }

  /** The scaling loop has used all the usage so far. */
  onScalingLoop(report: ReplicasReport): void {
    this.#isFresh = false;
    this.#soonestAt = this.#options.clock.steady() + MIN_SCALING_INTERVAL_MS;
    this.#usage = null;
    if (this.#unblocked === null) return;
    const { pods, metered } = this.#options;
    const { object } = this.#unblocked;
    const rates = pods().map(({ uid }) => metered.get(uid).rates);
    const tolerance = toTolerance(object.behavior).up;
    this.#usage = new TargetUsage({ resources: listResourceTriggers(object), rates, report, tolerance });
  }

  /** Returns whether the scaling loop would raise the replicas now. Rejects with the signal's reason only. */
  async wouldRaise(signal: AbortSignal): Promise<boolean> {
    const { clock, preview, computeUsage, pods } = this.#options;
    const at = clock.steady();
    this.#isFresh = false;
    this.#soonestAt = at + MIN_SCALING_INTERVAL_MS;
    if (this.#unblocked === null) return false;
    const { object, scale } = this.#unblocked;
    const resources = listResourceTriggers(object);
    const { triggers, readyPods } = await computeUsage({ object, resources, pods, at, signal });
    const { write } = preview({ kind: "tick", scale, triggers, readyPods }, at);
    return write !== null && write.replicas > scale.replicas;
  }
}

/** Returns whether a scaling loop may raise the replicas. From 0 only the activation loop does. */
export function canGrow({ maxReplicas }: Pick<ScaledObject, "maxReplicas">, { replicas }: Scale): boolean {
  return replicas > 0 && replicas < maxReplicas;
}
