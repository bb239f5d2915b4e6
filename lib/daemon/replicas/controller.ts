/**
 * The controller of one ScaledObject: it runs the activation loop and the scaling loop, writes /scale, and handles the
 * end of the object. It alone writes the object's state.
 */
import { SCALING_LOOP_MS } from "../../horizontal/pod_metrics.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { ScaleAnswer, ScaleWrite } from "../../model/replicas_decision.ts";
import type { ReplicasState } from "../../model/replicas_state.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../model/scaled_object.ts";
import { type Clock, watchClockSteps } from "../../runtime/clock.ts";
import type { TriggerReader } from "../../triggers/reader.ts";
import { isSameObject } from "../cluster/scaled_objects.ts";
import { FINALIZER, needsFinalizerChange, type SetFinalizer } from "./conflicts.ts";
import {
  type BlockerCheckResult,
  type CheckBlockers,
  type DueLoop,
  EarlyScalingCheck,
  type FetchedReadings,
  type FetchReadings,
  type ReadingsRequest,
  ReconcileSchedule,
  ReplicaDecisions,
  type UnblockedResult,
} from "./reconcile.ts";
import type { ReplicasSink } from "./reports.ts";
import { isRetryable, type ScaleClient } from "./scale_client.ts";
import type { ComputeUsage, MeteredPods, TargetPods } from "./target_pods.ts";

// The life of one ScaledObject: its halves by their clocks, one at a time (R7, R8), what stands in their way, its
// writes, and its end. It alone writes the object's state.

/** Runs until its signal aborts, or the object is gone. */
export class ScaledObjectController {
  readonly #options: ScaledObjectControllerOptions;
  readonly #schedule = new ReconcileSchedule();
  readonly #takeStep: () => number;
  #facts: ScaledObjectFacts;
  readonly #decisions: ReplicaDecisions;
  /** Something has changed that is to be looked at now, and whether the object itself has. */
  #mustReconcile = true;
  #hasObjectChanged = true;
  /** The last change was not passed on yet, or what it asks for is not written. */
  #isChangePending = true;
  #blockedBy: "look" | "triggers" | null = null;
  #retryAt = Infinity;
  #hasCoupledTrigger = false;
  #isEnded = false;
  #wakeUp = new AbortController();
  readonly #queries: TriggerQueries;
  readonly #finalization: Finalization;
  readonly #earlyCheck: EarlyScalingCheck;
  readonly #blockers: Blockers;
  readonly #listPods = () => [...this.#options.pods.set?.pods.values() ?? []];

  constructor(options: ScaledObjectControllerOptions) {
    this.#options = options;
    this.#facts = options.facts;
    this.#decisions = new ReplicaDecisions({ ...options, getFacts: () => this.#facts });
    this.#takeStep = watchClockSteps(options.clock);
    this.#queries = new TriggerQueries(options.fetchReadings);
    const [passes, listPods] = [this.#decisions, this.#listPods];
    const foresight = this.#earlyCheck = new EarlyScalingCheck({ ...options, decisions: passes, pods: listPods });
    this.#blockers = new Blockers({
      ...options,
      decisions: passes,
      earlyCheck: foresight,
      listPods,
      queries: this.#queries,
    });
    this.#finalization = new Finalization({
      ...options,
      decisions: passes,
      checkBlockers: (signal) => this.#blockers.check(this.#facts, signal),
      write: (write, of) => this.#write(write, of),
    });
    this.#schedule.follow(null, options.facts, options.startAt);
  }

  get facts(): ScaledObjectFacts {
    return this.#facts;
  }

  /** `null` before the first pass. */
  get state(): ReplicasState | null {
    return this.#decisions.state;
  }

  /** Some trigger was coupled when it was read last (R80). */
  get hasCoupledTrigger(): boolean {
    return this.#hasCoupledTrigger;
  }

  /** The object as the watch shows it now. Gives whether more than its status has changed. */
  put(facts: ScaledObjectFacts): boolean {
    const before = this.#facts;
    this.#facts = facts;
    if (isSameObject(before, facts)) return false;
    this.#schedule.follow(before, facts, this.#options.clock.now());
    this.#hasObjectChanged = true;
    this.reconcileNow();
    return true;
  }

  /** Looks again now at what stands in the way. */
  reconcileNow(): void {
    this.#mustReconcile = true;
    this.#wakeUp.abort();
    this.#queries.cancel();
  }

  /** Usage of some of the target's pods is fresh. */
  onFreshUsage(): void {
    if (this.#earlyCheck.onFreshUsage()) this.#wakeUp.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, isKnown } = this.#options;
    while (!signal.aborted && !this.#isEnded) {
      this.#wakeUp = new AbortController();
      this.#followClockStep();
      const now = clock.now();
      const dueAt = isKnown(this.#facts.namespace) ? this.#getNextAt(now) : now + UNKNOWN_RETRY_MS;
      const nextAt = Math.min(dueAt, this.#earlyCheck.dueAt);
      if (nextAt > now) {
        await clock.sleep(nextAt - now, AbortSignal.any([signal, this.#wakeUp.signal])).catch(() => {});
      } else if (dueAt <= now) await this.#reconcile(signal);
      else if (await this.#earlyCheck.wouldRaise(signal)) this.#schedule.scaleNow(clock.now());
    }
  }

  /** The object was removed from the API server. */
  onDeleted(): void {
    if (!this.#facts.isDeleting) {
      this.#facts = { ...this.#facts, isDeleting: true };
      this.#decisions.decide({ kind: "deleted", scale: null }, { now: this.#options.clock.now() });
    }
    this.#isEnded = true;
    this.#wakeUp.abort();
  }

  #getNextAt(now: number): number {
    if (this.#mustReconcile) return now;
    if (this.#facts.isDeleting) return this.#retryAt;
    return Math.min(this.#retryAt, this.#schedule.getNextAt(now));
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    this.#isChangePending ||= this.#hasObjectChanged;
    this.#mustReconcile = this.#hasObjectChanged = false;
    this.#retryAt = Infinity;
    if (this.#facts.isDeleting) {
      if (!await this.#finalization.tryFinalize(this.#facts, signal)) this.#retry();
      return;
    }
    const { clock } = this.#options;
    const looked = await this.#blockers.check(this.#facts, signal);
    const wasObstructed = this.#blockedBy === "look";
    if (looked.kind === "obstructed") {
      this.#schedule.takeDue(clock.now());
      return this.#block(looked, "look");
    }
    if (wasObstructed) this.#blockedBy = null;
    if (needsFinalizerChange(this.#facts) && !this.#options.dryRun) {
      const isSet = await this.#options.setFinalizer(this.#facts, looked.object.restoresReplicas, signal);
      if (!isSet) this.#retry();
    }
    let current: BlockerCheckResult | null = looked;
    if (this.#isChangePending || wasObstructed || looked.transferred !== null) {
      current = await this.#handleChange(looked, signal) ? null : looked;
      this.#schedule.activateBy(clock.now(), clock.now());
    }
    for (const one of this.#schedule.takeDue(clock.now())) {
      if (signal.aborted) return;
      if (this.#hasObjectChanged) {
        this.#schedule.requeue(one);
        continue;
      }
      current ??= await this.#blockers.check(this.#facts, signal);
      if (current.kind === "obstructed") return this.#block(current, "look");
      const hasWritten: boolean = await this.#runLoop(one, { ...current, signal });
      if (hasWritten) current = null;
    }
  }

  #block({ blocker }: Extract<BlockerCheckResult, { kind: "obstructed" }>, by: "look" | "triggers"): void {
    const { clock } = this.#options;
    this.#blockedBy = by;
    // Halves look again by themselves.
    if (this.#schedule.getNextAt(clock.now()) === Infinity) this.#retryAt = clock.now() + RETRY_MS;
    this.#decisions.decide({ kind: "obstructed", obstacle: blocker }, { now: clock.now() });
  }

  /** Gives whether replicas were, or may have been, written. */
  async #handleChange(looked: UnblockedResult, signal: AbortSignal): Promise<boolean> {
    const [now, { transferred }] = [this.#options.clock.now(), looked];
    const outcome = this.#decisions.decide({ kind: "changed", scale: looked.scale }, { now, transferred });
    // Once written, it stays as it is set by hand, whatever came in the way and went (R55).
    const answer = this.#isChangePending ? await this.#write(outcome.write, { object: looked.object, signal }) : null;
    this.#isChangePending = answer !== null && answer.kind !== "accepted";
    if (this.#isChangePending) this.#retry();
    return answer !== null;
  }

  async #runLoop(due: DueLoop, of: UnblockedResult & { readonly signal: AbortSignal }): Promise<boolean> {
    const { reader, clock } = this.#options;
    const { object, scale, signal } = of;
    const lateMs = clock.now() - due.at;
    const gathered = await this.#queries.fetch({ object, reader, pods: this.#listPods, due, signal });
    if (gathered === null || this.#hasObjectChanged) {
      this.#schedule.requeue(due);
      return false;
    }
    if (gathered.kind === "obstructed") {
      const obstacle = { kind: "check", reason: "TriggerFailed", message: gathered.message } as const;
      this.#block({ kind: "obstructed", blocker: obstacle, warnings: [] }, "triggers");
      return false;
    }
    const { triggers, readyPods } = gathered;
    this.#hasCoupledTrigger = gathered.isCoupled ?? this.#hasCoupledTrigger;
    if (this.#blockedBy === "triggers") {
      this.#blockedBy = null;
      this.#decisions.decide({ kind: "changed", scale }, { now: due.at });
      if (due.loop === "tick") this.#schedule.activateBy(clock.now(), clock.now());
    }
    const outcome = this.#decisions.decideLoop(due, { scale, triggers, readyPods, lateMs });
    if (outcome.report?.half === "tick") this.#earlyCheck.onScalingLoop(outcome.report);
    const answer = await this.#write(outcome.write, { object, signal });
    const isPutOff = due.loop === "poll" && answer !== null && isRetryable(answer);
    if (isPutOff) this.#schedule.activateBy(clock.now() + RETRY_MS, clock.now());
    return answer !== null;
  }

  #retry(): void {
    this.#retryAt = this.#options.clock.now() + RETRY_MS;
  }

  /** `null` where nothing was to be written. */
  async #write(
    write: ScaleWrite | null,
    { object, signal }: { readonly object: ScaledObject; readonly signal: AbortSignal },
  ): Promise<ScaleAnswer | null> {
    if (write === null) return null;
    const { scales, mayWrite, pods, clock } = this.#options;
    const isCurrent = () =>
      !this.#hasObjectChanged && mayWrite(object, { pods, transferredUid: this.#blockers.transferredUid });
    const { namespace, target } = object;
    const answer = await scales.write({ namespace, target, write, mayWrite: isCurrent, signal });
    this.#decisions.decide({ kind: "answered", write, answer }, { now: clock.now() });
    this.#earlyCheck.onAnswer(answer);
    return answer;
  }

  #followClockStep(): void {
    const stepMs = this.#takeStep();
    if (stepMs === 0) return;
    this.#schedule.followClockStep(stepMs);
    this.#decisions.followClockStep(stepMs);
    this.#earlyCheck.followClockStep(stepMs);
    if (this.#retryAt < Infinity) this.#retryAt += stepMs;
  }
}

// What the runner of one ScaledObject is made of.

/** What every runner shares. */
export interface ControllerParts {
  readonly clock: Clock;
  readonly dryRun: boolean;
  readonly scales: ScaleClient;
  readonly checkBlockers: CheckBlockers;
  readonly fetchReadings: FetchReadings;
  readonly computeUsage: ComputeUsage;
  readonly metered: Pick<MeteredPods, "get">;
  readonly setFinalizer: SetFinalizer;
  /** A deleted object's replicas could not be restored (R57). */
  readonly onUnrestored: (facts: ScaledObjectFacts, cause: string) => void;
  readonly sink: Pick<Required<ReplicasSink>, "onPass">;
  /** Right before each write: whether this podfit leads, and nobody else writes. */
  readonly mayWrite: (
    object: ScaledObject,
    of: { readonly pods: TargetPods; readonly transferredUid: string | null },
  ) => boolean;
  /** False while what the namespace's objects depend on is not known (any more): then nothing is done. */
  readonly isKnown: (namespace: string) => boolean;
}

/** What is one runner's own. */
interface ScaledObjectControllerOptions extends ControllerParts {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
  /** When it begins, epoch ms: its polls then, its ticks 15 s later (R7). */
  readonly startAt: number;
}

/** How long to wait where too little is known, or something failed that no half repeats. */
const UNKNOWN_RETRY_MS = 1_000;

const RETRY_MS = SCALING_LOOP_MS;

// Questions to triggers of one object that are not waited for any more once something has changed: an edit or the end
// does not wait for an answer.

/** One half at a time. */
class TriggerQueries {
  readonly #fetchReadings: FetchReadings;
  #current = new AbortController();

  constructor(gather: FetchReadings) {
    this.#fetchReadings = gather;
  }

  /** `null` = it was cut short. Rejects as `gather` does. */
  async fetch(request: ReadingsRequest): Promise<FetchedReadings | null> {
    const { signal } = this.#current = new AbortController();
    try {
      return await this.#fetchReadings({ ...request, signal: AbortSignal.any([request.signal, signal]) });
    } catch (error) {
      if (request.signal.aborted || !signal.aborted) throw error;
      return null;
    }
  }

  /** Asks all of them, and forgets what they say: `null`, or what they lack to be asked at all. */
  async checkAll(request: Omit<ReadingsRequest, "due">, at: number): Promise<string | null> {
    const gathered = await this.fetch({ ...request, due: { loop: "tick", at } });
    if (gathered === null) return "the ScaledObject has changed meanwhile";
    return gathered.kind === "obstructed" ? gathered.message : null;
  }

  cancel(): void {
    this.#current.abort();
  }
}

// Looks for the runner of one object, and remembers what a look leaves: the HPA that was taken over, what passes warn
// of, and what foresight goes by.

interface BlockersOptions extends Pick<ScaledObjectControllerOptions, "checkBlockers" | "reader" | "pods" | "clock"> {
  readonly queries: TriggerQueries;
  readonly decisions: ReplicaDecisions;
  readonly earlyCheck: EarlyScalingCheck;
  readonly listPods: () => readonly PodFacts[];
}

/** One look at a time. */
class Blockers {
  readonly #options: BlockersOptions;
  #transferredUid: string | null = null;

  constructor(options: BlockersOptions) {
    this.#options = options;
  }

  /** Of the HPA that was deleted for this object. */
  get transferredUid(): string | null {
    return this.#transferredUid;
  }

  /** Does not reject. */
  async check(facts: ScaledObjectFacts, signal: AbortSignal): Promise<BlockerCheckResult> {
    const { checkBlockers, reader, pods, clock, queries, decisions, earlyCheck, listPods } = this.#options;
    const tryTriggers = (object: ScaledObject) =>
      queries.checkAll({ object, reader, pods: listPods, signal }, clock.now());
    const looked = await checkBlockers({ facts, transferredUid: this.#transferredUid, tryTriggers, pods, signal });
    decisions.warnings = looked.warnings;
    earlyCheck.setUnblocked(looked.kind === "clear" ? looked : null);
    if (looked.kind === "clear" && looked.transferred !== null) this.#transferredUid = looked.transferred.uid;
    return looked;
  }
}

// The end of a ScaledObject (R57): what is to be restored is restored, once, and the finalizer goes. It goes also
// where the API server does not let the replicas be restored, as nobody could delete the object or its namespace else.

/** How long what may pass is waited for. */
const MAX_RESTORE_MS = 5 * 60_000;

/** Whose end it is; `write` gives `null` where nothing was to be written. */
interface FinalizationOptions
  extends Pick<ScaledObjectControllerOptions, "clock" | "dryRun" | "pods" | "setFinalizer" | "onUnrestored"> {
  readonly decisions: ReplicaDecisions;
  readonly checkBlockers: (signal: AbortSignal) => Promise<BlockerCheckResult>;
  readonly write: (
    write: ScaleWrite | null,
    of: { readonly object: ScaledObject; readonly signal: AbortSignal },
  ) => Promise<ScaleAnswer | null>;
}

/** Of one object. */
class Finalization {
  readonly #options: FinalizationOptions;
  #startedMs: number | null = null;
  #isSettled = false;

  constructor(options: FinalizationOptions) {
    this.#options = options;
  }

  /** Tries once; gives whether nothing is left to do. */
  async tryFinalize(facts: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const { dryRun, pods, setFinalizer } = this.#options;
    if (!this.#isSettled && !await this.#restore(facts, signal)) return false;
    this.#isSettled = true;
    pods[Symbol.dispose]();
    if (dryRun || !facts.finalizers.includes(FINALIZER)) return true;
    return await setFinalizer(facts, false, signal);
  }

  /** Gives whether that is settled, one way or the other. */
  async #restore(facts: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const { clock, decisions, checkBlockers, write } = this.#options;
    this.#startedMs ??= clock.monotonic();
    const object = facts.scaledObject ?? facts.restoring;
    const looked = object === null ? null : await checkBlockers(signal);
    const isUnread = looked?.kind === "obstructed" && looked.blocker.kind === "scale";
    if (isUnread && (signal.aborted || !this.#isTimedOut())) return false;
    const scale = looked?.kind === "clear" ? looked.scale : null;
    const outcome = decisions.decide({ kind: "deleted", scale }, { now: clock.now() });
    if (isUnread) return this.#giveUp(facts, "the target's scale cannot be read");
    const answer = object === null ? null : await write(outcome.write, { object, signal });
    if (answer === null || answer.kind === "accepted") return true;
    if (signal.aborted || (isRetryable(answer) && !this.#isTimedOut())) return false;
    return this.#giveUp(facts, answer.kind === "dropped" ? "somebody else writes them" : answer.message);
  }

  #isTimedOut(): boolean {
    const { clock } = this.#options;
    return this.#startedMs !== null && clock.monotonic() - this.#startedMs >= MAX_RESTORE_MS;
  }

  #giveUp(facts: ScaledObjectFacts, cause: string): true {
    this.#options.onUnrestored(facts, cause);
    return true;
  }
}
