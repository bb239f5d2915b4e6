/**
 * When is a ScaledObject due? Its activation loop and its scaling loop each have a fixed interval. The early scaling
 * check asks whether fresh usage would raise the replicas before the scaling loop is due.
 */
import {
  computeTargetUsage,
  isAboveTarget,
  MIN_SCALING_INTERVAL_MS,
  SCALING_LOOP_MS,
  type TargetUsage,
  type TriggerUsage,
} from "../../horizontal/pod_metrics.ts";
import type { PodFacts } from "../../model/pod.ts";
import type {
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReport,
  ScaleAnswer,
} from "../../model/replicas_decision.ts";
import { listResourceTriggers, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { UnblockedResult } from "./blockers.ts";
import type { ComputeUsage, MeteredPods } from "./target_pods.ts";

// What is due of one object: its poll half and its tick half, each by a grid of its own (R7), and a look again where
// one failed.

/** A half and when it was due, epoch ms. */
export interface DueLoop {
  readonly loop: "poll" | "tick";
  readonly at: number;
}

interface LoopSchedule {
  readonly interval: FixedInterval;
  /** The due time that was served last. */
  readonly servedAt: number;
}

/** Of one object, in wall time. Halves of a paused or invalid object are never due. */
export class ReconcileSchedule {
  #activation: LoopSchedule | null = null;
  #scaling: LoopSchedule | null = null;

  /** The object appeared or has changed: a new generation is polled at once, a first valid sight is ticked 15 s later. */
  follow(before: ScaledObjectFacts | null, facts: ScaledObjectFacts, now: number): void {
    const { scaledObject } = facts;
    // Unpaused is as new (R55).
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

  /** Halves that are due, the earlier one first, and the poll half first of both at once. */
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

  /** A half that was taken and did not run is due once more. */
  requeue({ loop, at }: DueLoop): void {
    if (loop === "poll") this.#activation = this.#activation && requeueLoop(this.#activation, at);
    else this.#scaling = this.#scaling && requeueLoop(this.#scaling, at);
  }

  /** Begins the polls anew at `at`, unless one is due by then. */
  activateBy(at: number, now: number): void {
    this.#activation = this.#activation && restartBy(this.#activation, { at, now });
  }

  /** Begins the ticks anew now, unless one is due: from here on they are 15 s apart again. */
  scaleNow(now: number): void {
    this.#scaling = this.#scaling && restartBy(this.#scaling, { at: now, now });
  }

  /** When a half is due next; Infinity = never. */
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

/** Of several that have passed the last one: the others are not made up. */
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

// When are the halves of an object due (R7)? At exact distances from a start, by steady time: what a tick records
// is dated by its due time, and a policy's period of 15 s must not see the tick before as younger. Due times that
// passed while podfit was busy are not made up.

/** Due at `startAt` and each `periodMs` after it, epoch ms. */
interface FixedInterval {
  readonly startAt: number;
  readonly periodMs: number;
}

/** The first due time after `at`. */
function computeNextDue({ startAt, periodMs }: FixedInterval, at: number): number {
  if (at < startAt) return startAt;
  return startAt + (Math.floor((at - startAt) / periodMs) + 1) * periodMs;
}

/** The due time that is served at `now`: the last one not after it; `null` before the first. */
function findLastDue({ startAt, periodMs }: FixedInterval, now: number): number | null {
  return now < startAt ? null : startAt + Math.floor((now - startAt) / periodMs) * periodMs;
}

// Would a tick raise replicas now? It is asked when usage of the target's pods is fresh: what a load needs does not
// wait for the grid of ticks (R7). Asks nobody, writes nothing, and leaves the state as it is; what the tick then
// comes to is its own.

/** Of one object. */
interface EarlyScalingCheckOptions {
  readonly clock: Pick<Clock, "steady">;
  /** What `decideReplicas` would return at `now`, epoch ms; the state stays as it is. */
  readonly preview: (observation: ReplicasObservation, now: number) => ReplicasOutcome;
  readonly computeUsage: ComputeUsage;
  readonly pods: () => readonly PodFacts[];
  readonly metered: Pick<MeteredPods, "get">;
}

export class EarlyScalingCheck {
  readonly #options: EarlyScalingCheckOptions;
  /** What the last look found, with what was written since; `null` = something stands in the way, or nothing is known yet. */
  #unblocked: Pick<UnblockedResult, "object" | "scale"> | null = null;
  #isFresh = false;
  #targets: TargetUsage = new Map();
  /** No sooner is it worth a look; Infinity before the first tick. */
  #soonestAt = Infinity;

  constructor(options: EarlyScalingCheckOptions) {
    this.#options = options;
  }

  /** When to look, epoch ms; Infinity = once usage is fresh. */
  get dueAt(): number {
    return this.#isFresh ? this.#soonestAt : Infinity;
  }

  /** Usage of some of the pods is fresh. Gives whether `dueAt` has changed. */
  onFreshUsage(): boolean {
    if (this.#isFresh || this.#unblocked === null) return false;
    const { object: { maxReplicas }, scale: { replicas } } = this.#unblocked;
    this.#isFresh = replicas > 0 && replicas < maxReplicas;
    return this.#isFresh;
  }

  setUnblocked(clear: UnblockedResult | null): void {
    this.#unblocked = clear;
  }

  onAnswer(answer: ScaleAnswer): void {
    if (answer.kind !== "accepted" || this.#unblocked === null) return;
    const { object, scale } = this.#unblocked;
    this.#unblocked = { object, scale: { ...scale, replicas: answer.replicas } };
  }

  /** A tick has looked at all there is. */
  onScalingLoop(report: ReplicasReport): void {
    this.#isFresh = false;
    this.#soonestAt = this.#options.clock.steady() + MIN_SCALING_INTERVAL_MS;
    this.#targets = computeTargetUsage(this.#getUsage(), report);
  }

  /** Rejects with the signal's reason only. */
  async wouldRaise(signal: AbortSignal): Promise<boolean> {
    const { clock, preview, computeUsage, pods } = this.#options;
    const at = clock.steady();
    this.#isFresh = false;
    this.#soonestAt = at + MIN_SCALING_INTERVAL_MS;
    // Costs little: most readings change nothing.
    if (this.#unblocked === null || !isAboveTarget(this.#getUsage(), this.#targets)) return false;
    const { object, scale } = this.#unblocked;
    const resources = listResourceTriggers(object);
    const { triggers, readyPods } = await computeUsage({ object, resources, pods, at, signal });
    const { write } = preview({ kind: "tick", scale, triggers, readyPods }, at);
    return write !== null && write.replicas > scale.replicas;
  }

  #getUsage(): TriggerUsage {
    const { pods, metered } = this.#options;
    if (this.#unblocked === null) return NO_USAGE;
    const rates = pods().map(({ uid }) => metered.get(uid).rates);
    return { resources: listResourceTriggers(this.#unblocked.object), rates };
  }
}

const NO_USAGE: TriggerUsage = { resources: [], rates: [] };
