/**
 * The controller of one ScaledObject: it runs the activation loop and the scaling loop, writes /scale, and handles the
 * end of the object. It alone writes the object's state.
 *
 *     Running <-- nothing blocks ----- Blocked
 *        |                                ^
 *        |   a blocker is found           |     A reconcile checks for blockers first. Then it writes what a change
 *        +--------------------------------+     of the object asks for. Then each loop that is due asks its triggers,
 *        |                                |     decides and writes.
 *        |   the object is being deleted  |
 *        +--> Ending <--------------------+     Ending restores the replicas once and removes the finalizer.
 *               |
 *               +--> Ended                      Any state ends when the API server has removed the object.
 */
import { decideReplicas } from "../../horizontal/decide.ts";
import { toTransferredNotice } from "../../horizontal/events.ts";
import { needsTemplate } from "../../horizontal/initial_requests.ts";
import { type PodRates, SCALING_LOOP_MS } from "../../horizontal/pod_metrics.ts";
import { needsMetrics } from "../../horizontal/scaling_loop.ts";
import { seedState } from "../../horizontal/status.ts";
import type { PodFacts } from "../../model/pod.ts";
import type {
  Blocker,
  ReplicasInput,
  ReplicasObservation,
  ReplicasOutcome,
  ScaleAnswer,
  ScaleWrite,
  TriggerReadings,
} from "../../model/replicas_decision.ts";
import type { ReplicasState } from "../../model/replicas_state.ts";
import {
  FINALIZER,
  listExternalTriggers,
  listResourceTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
} from "../../model/scaled_object.ts";
import { checkFormulaRun } from "../../resources/scaled_object/scaled_object.ts";
import type { WorkBudget } from "../../runtime/budget.ts";
import { type Clock, computeWallAheadMs, Pause } from "../../runtime/clock.ts";
import type { RunQueued } from "../../runtime/event_loop.ts";
import type { Semaphore } from "../../runtime/limits.ts";
import type { TriggerReader } from "../../triggers/reader.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { isSameObject, toTargetRef } from "../cluster/scaled_objects.ts";
import { findAdoptionBlocker } from "./adoption.ts";
import {
  type BlockerCheckResult,
  checkBlockers,
  type CheckBlockersContext,
  findCurrentConflict,
  findRefusal,
  findRestored,
  hasOriginalReplicas,
  toTriggerFailed,
  type UnblockedResult,
} from "./blockers.ts";
import { needsFinalizerChange, type SetFinalizer } from "./conflicts.ts";
import type { DeactivationLimit } from "./deactivations.ts";
import { REQUEST_MS } from "./query_limits.ts";
import type { ReplicasSink } from "./reports.ts";
import { canGrow, type DueLoop, EarlyScalingCheck, ReconcileSchedule } from "./schedule.ts";
import { isRetryable, type ScaleClient } from "./scale_client.ts";
import type { ComputeUsage, MeteredPods, TargetPods, WorkloadUsage } from "./target_pods.ts";
import type { Templates } from "./templates.ts";

/** What the controllers of all ScaledObjects share. */
export interface ControllerParts extends CheckBlockersContext {
  readonly clock: Clock;
  readonly compute: RunQueued;
  readonly budget: WorkBudget;
  readonly scales: ScaleClient;
  readonly deactivations: DeactivationLimit;
  /** `--keda-deactivation`. */
  readonly kedaDeactivation: boolean;
  readonly computeUsage: ComputeUsage;
  readonly metered: Pick<MeteredPods, "get">;
  readonly templates: Pick<Templates, "fetch">;
  /** Limits how many objects fetch templates at the same time. */
  readonly fetches: Semaphore;
  readonly setFinalizer: SetFinalizer;
  readonly sink: Pick<Required<ReplicasSink>, "onPass">;
  /** The replicas of a deleted object could not be restored. */
  readonly onUnrestored: (facts: ScaledObjectFacts, cause: string) => void;
  /** Asked right before each write. */
  readonly isLeading: () => boolean;
  /** False while the lists of the namespace are incomplete: then nothing is done, and only the end of an object goes on. */
  readonly canScale: (namespace: string) => boolean;
  /** Returns the stale list for which `canScale` is false; `null` = none, or a list has never come. */
  readonly findStale: (namespace: string) => string | null;
}

interface ScaledObjectControllerOptions {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
  /** Epoch ms. The activation loop is due then, the scaling loop 15 s later. */
  readonly startAt: number;
}

type ControllerPhase =
  | { readonly kind: "Running" }
  /** "check" = the check before each reconcile found it. "triggers" = the triggers of a loop cannot be asked. */
  | { readonly kind: "Blocked"; readonly by: "check" | "triggers" }
  | { readonly kind: "Ending"; readonly startedMs: number; readonly isRestored: boolean }
  | { readonly kind: "Ended" };

/** What one loop decides on: `triggers` has the readings of that loop. */
type LoopReadings =
  | WorkloadUsage & { readonly kind: "gathered"; readonly triggers: TriggerReadings }
  /** An authentication or a secret is missing. */
  | { readonly kind: "obstructed"; readonly message: string };

const NOTHING_ASKED: LoopReadings = { kind: "gathered", triggers: new Map(), readyPods: null, isCoupled: null };

interface DecisionContext {
  /** When the loop was due, or when the observation was made, epoch ms. */
  readonly now: number;
  readonly lateMs?: number;
  /** The HPA that was deleted before the decision. */
  readonly transferred?: HpaFacts | null;
}

/** The wait while the lists of a namespace are incomplete. */
const UNKNOWN_RETRY_MS = 1_000;

/** The wait after a failure that no loop repeats. */
const RETRY_MS = SCALING_LOOP_MS;

/** How long a write waits until the status has the replicas from before podfit. */
const MAX_RECORD_MS = 60_000;

/** How long the end of an object waits until the replicas can be restored. */
const MAX_RESTORE_MS = 5 * 60_000;

const OVER_BUDGET =
  "the ScaledObjects of this namespace use more of podfit's time than one namespace may, so their triggers are asked " +
  "late: use fewer triggers, smaller answers, shorter formulas or a longer pollingInterval";

/** One controller for each ScaledObject. Clauses: R6, R7, R8, R50, R55, R57, R76. */
export class ScaledObjectController {
  readonly #parts: ControllerParts;
  readonly #pods: TargetPods;
  readonly #reader: TriggerReader;
  readonly #schedule = new ReconcileSchedule();
  readonly #earlyCheck: EarlyScalingCheck;
  #phase: ControllerPhase = { kind: "Running" };
  #facts: ScaledObjectFacts;
  /** As the watch shows it. `#facts` is invalid if its formula fails when it is tried. */
  #watched: ScaledObjectFacts;
  #replicasState: ReplicasState;
  #hasDecided = false;
  /** The last change of the object: "unseen" = no reconcile has seen it. "unwritten" = /scale does not show it yet. */
  #change: "unseen" | "unwritten" | "none" = "unseen";
  /** A reconcile is due then, whatever the schedule says, epoch ms. -Infinity = now, Infinity = never. */
  #reconcileAt = -Infinity;
  /** When the triggers were read last, one was coupled to the size of the pods. */
  #hasCoupledTrigger = false;
  /** Since when a write waits for originalReplicaCount in the status, monotonic ms; `null` = none waits. */
  #unrecordedMs: number | null = null;
  /** The uid of the HPA that was deleted for this object. */
  #transferredUid: string | null = null;
  #warnings: readonly string[] = [];
  /** What pods lack for a cpu or memory trigger; `null` = nothing, or not known. */
  #lack: string | null = null;
  /** Between two reconciles; `null` while it does not run. */
  #pause: Pause | null = null;
  /** Cancels the questions to triggers: a change or the end does not wait for answers. */
  #questions = new AbortController();

  constructor(parts: ControllerParts, { facts, pods, reader, startAt }: ScaledObjectControllerOptions) {
    this.#parts = parts;
    this.#pods = pods;
    this.#reader = reader;
    this.#facts = facts;
    this.#watched = facts;
    this.#replicasState = seedState(facts, computeWallAheadMs(parts.clock));
    this.#earlyCheck = new EarlyScalingCheck({
      clock: parts.clock,
      computeUsage: parts.computeUsage,
      metered: parts.metered,
      pods: this.#listPods,
      preview: (observation, now) =>
        decideReplicas(this.#replicasState, { ...this.#toTimes(now), object: this.#facts, observation, dryRun: false }),
    });
    this.#schedule.follow(null, facts, startAt);
  }

  get facts(): ScaledObjectFacts {
    return this.#facts;
  }

  /** `null` before the first decision. */
  get replicasState(): ReplicasState | null {
    return this.#hasDecided ? this.#replicasState : null;
  }

  get hasCoupledTrigger(): boolean {
    return this.#hasCoupledTrigger;
  }

  /** Takes the object as the watch shows it now. Returns whether more than its status has changed. */
  put(facts: ScaledObjectFacts): boolean {
    const before = this.#facts;
    const isSame = isSameObject(this.#watched, facts);
    this.#watched = facts;
    this.#facts = isSame && before.problems.length > 0 ? withProblems(facts, before) : facts;
    if (isSame) {
      if (this.#unrecordedMs !== null && hasOriginalReplicas(facts)) this.#writeRecorded();
      return false;
    }
    this.#schedule.follow(before, facts, this.#parts.clock.steady());
    this.#change = "unseen";
    this.reconcileNow();
    return true;
  }

  /** The status has the replicas from before podfit now: the loops decide again what waited for that. */
  #writeRecorded(): void {
    const now = this.#parts.clock.steady();
    this.#unrecordedMs = null;
    this.#schedule.activateBy(now, now);
    this.reconcileNow();
  }

  reconcileNow(): void {
    this.#reconcileAt = -Infinity;
    this.#pause?.end();
    this.#questions.abort();
  }

  /** One of the target's pods has new rates. */
  onFreshUsage(before: PodRates | null, after: PodRates): void {
    const change = this.#earlyCheck.onFreshUsage(before, after);
    if (change === "raises") this.#pause?.end();
    else if (change === "grows") this.#pods.setPace({ mayGrow: true, isGrowing: true });
  }

  /** The object was removed from the API server. */
  onDeleted(): void {
    // An object that was given back to KEDA still exists.
    if (!this.#facts.isDeleting && this.#facts.adoption === null) {
      this.#facts = { ...this.#facts, isDeleting: true, finalizers: [] };
      this.#decide({ kind: "deleted", scale: null }, { now: this.#parts.clock.steady() });
    }
    this.#enter({ kind: "Ended" });
    this.#parts.deactivations.leave(this.#facts);
    this.#pause?.end();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, canScale } = this.#parts;
    using pause = new Pause(clock, signal);
    this.#pause = pause;
    while (!signal.aborted && this.#phase.kind !== "Ended") {
      const now = clock.steady();
      const { namespace, isDeleting } = this.#facts;
      const dueAt = isDeleting || canScale(namespace) ? this.#getDueAt(now) : now + UNKNOWN_RETRY_MS;
      const nextAt = Math.min(dueAt, this.#earlyCheck.dueAt);
      if (nextAt > now) await pause.until(clock.monotonic() + nextAt - now);
      else if (dueAt <= now) await this.#reconcile(signal);
      else if (await this.#earlyCheck.wouldRaise(signal)) this.#schedule.scaleNow(clock.steady());
    }
  }

  #getDueAt(now: number): number {
    return this.#facts.isDeleting ? this.#reconcileAt : Math.min(this.#reconcileAt, this.#schedule.getNextAt(now));
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { clock, dryRun, setFinalizer } = this.#parts;
    const isUnseen = this.#change === "unseen";
    if (isUnseen) this.#change = "unwritten";
    const isUnwritten = this.#change === "unwritten";
    this.#reconcileAt = Infinity;
    if (isUnseen) await this.#tryFormula(this.#watched);
    if (this.#facts.isDeleting) return await this.#end(signal);
    const checked = await this.#checkBlockers(signal);
    if (checked.kind === "blocked") {
      // Loops that are due are skipped. They are not made up for.
      this.#schedule.takeDue(clock.steady());
      return this.#block("check", checked.blocker);
    }
    const wasBlocked = this.#phase.kind === "Blocked" && this.#phase.by === "check";
    if (wasBlocked) this.#enter({ kind: "Running" });
    if (needsFinalizerChange(this.#facts) && !dryRun) {
      if (!await setFinalizer(this.#facts, checked.object.restoresReplicas, signal)) this.#retry();
    }
    let current: BlockerCheckResult | null = checked;
    if (isUnwritten || wasBlocked || checked.transferred !== null) {
      current = await this.#handleChange(checked, isUnwritten, signal) ? null : checked;
      this.#schedule.activateBy(clock.steady(), clock.steady());
    }
    for (const due of this.#schedule.takeDue(clock.steady())) {
      if (signal.aborted) return;
      if (this.#hasUnseenChange()) {
        this.#schedule.requeue(due);
        continue;
      }
      current ??= await this.#checkBlockers(signal);
      if (current.kind === "blocked") return this.#block("check", current.blocker);
      const hasWritten = await this.#runLoop(due, current, signal);
      if (hasWritten) current = null;
    }
  }

  /** Once for each change, and not where the watch is parsed: there one tenant's formulas would delay all others. */
  async #tryFormula(watched: ScaledObjectFacts): Promise<void> {
    if (!watched.scaledObject?.formula) return;
    const tried = await this.#parts.compute(() => checkFormulaRun(watched), watched.namespace);
    if (tried === watched || !isSameObject(watched, this.#watched)) return;
    this.#facts = withProblems(this.#watched, tried);
    this.#schedule.follow(watched, tried, this.#parts.clock.steady());
  }

  /** Does not reject. */
  async #checkBlockers(signal: AbortSignal): Promise<BlockerCheckResult> {
    // Used only before an HPA is deleted: its triggers must answer first.
    const tryTriggers = async (object: ScaledObject) => {
      const readings = await this.#askTriggers(object, { loop: "tick", at: this.#parts.clock.steady() }, signal);
      if (readings === null) return "the ScaledObject has changed in the meantime";
      if (readings.kind === "obstructed") return readings.message;
      for (const one of readings.triggers.values()) if (one.kind === "failed") return one.message;
      return null;
    };
    this.#parts.budget.spend(this.#facts.namespace, { ms: REQUEST_MS });
    const checked = await checkBlockers({
      facts: this.#facts,
      transferredUid: this.#transferredUid,
      tryTriggers,
      pods: this.#pods,
      signal,
    }, this.#parts);
    this.#warnings = checked.warnings;
    this.#lack = checked.kind === "clear" ? checked.lack : null;
    this.#earlyCheck.setUnblocked(checked.kind === "clear" ? checked : null);
    if (checked.kind === "clear" && checked.transferred !== null) this.#transferredUid = checked.transferred.uid;
    return checked;
  }

  #block(by: "check" | "triggers", blocker: Blocker): void {
    const { clock } = this.#parts;
    this.#enter({ kind: "Blocked", by });
    this.#pods.setPace({ mayGrow: false });
    this.#parts.deactivations.leave(this.#facts);
    // A loop that is due later checks again.
    if (this.#schedule.getNextAt(clock.steady()) === Infinity) this.#retry();
    this.#decide({ kind: "obstructed", obstacle: blocker }, { now: clock.steady() });
  }

  /** Returns whether replicas were, or may have been, written. */
  async #handleChange(
    { object, scale, transferred }: UnblockedResult,
    isUnwritten: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { write } = this.#decide({ kind: "changed", scale }, { now: this.#parts.clock.steady(), transferred });
    if (this.#facts.isPaused) {
      this.#pods.setPace({ mayGrow: false });
      this.#parts.deactivations.leave(this.#facts);
    }
    // A change is written once. After that, replicas that a person sets stay, also after a blocker has ended.
    const answer = isUnwritten ? await this.#write(write, object, signal) : null;
    const hasFailed = answer !== null && answer.kind !== "accepted";
    if (!this.#hasUnseenChange()) this.#change = hasFailed ? "unwritten" : "none";
    if (hasFailed) this.#retry();
    return answer !== null;
  }

  /** Returns whether replicas were, or may have been, written. */
  async #runLoop(due: DueLoop, { object, scale }: UnblockedResult, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#parts;
    const { loop, at: now } = due;
    const lateMs = clock.steady() - now;
    const isObstructed = this.#phase.kind === "Blocked" && this.#phase.by === "triggers";
    // Only a loop that asks finds out whether what was missing has come.
    const isAsking = loop === "poll" || isObstructed || needsMetrics(this.#replicasState, object, scale.replicas);
    const readings = isAsking ? await this.#askTriggers(object, due, signal) : NOTHING_ASKED;
    if (readings === null || this.#hasUnseenChange()) {
      this.#schedule.requeue(due);
      return false;
    }
    if (readings.kind === "obstructed") {
      this.#block("triggers", toTriggerFailed(readings.message));
      return false;
    }
    const { triggers, readyPods } = readings;
    this.#hasCoupledTrigger = readings.isCoupled ?? this.#hasCoupledTrigger;
    if (isObstructed) {
      this.#enter({ kind: "Running" });
      this.#decide({ kind: "changed", scale }, { now });
      if (loop === "tick") this.#schedule.activateBy(clock.steady(), clock.steady());
    }
    const observation: ReplicasObservation = loop === "poll"
      ? { kind: loop, scale, triggers, readyPods: readyPods ?? 0 }
      : { kind: loop, scale, triggers, readyPods };
    const { report, write } = this.#decide(observation, { now, lateMs });
    if (report?.half === "tick") {
      this.#earlyCheck.onScalingLoop(report);
      this.#pods.setPace({ mayGrow: canGrow(object, scale) });
    }
    if (loop === "poll" && write?.reason !== "Deactivated") this.#parts.deactivations.leave(object);
    const answer = await this.#write(write, object, signal);
    if (loop === "poll" && answer !== null && isRetryable(answer)) {
      this.#schedule.activateBy(clock.steady() + RETRY_MS, clock.steady());
    }
    return answer !== null;
  }

  /** Resolves to `null` when a change cancelled the questions. Rejects with the signal's reason only. */
  async #askTriggers(object: ScaledObject, due: DueLoop, signal: AbortSignal): Promise<LoopReadings | null> {
    const { signal: cancelled } = this.#questions = new AbortController();
    try {
      return await this.#fetchReadings(object, due, AbortSignal.any([signal, cancelled]));
    } catch (error) {
      if (signal.aborted || !cancelled.aborted) throw error;
      return null;
    }
  }

  async #fetchReadings(object: ScaledObject, { loop, at }: DueLoop, signal: AbortSignal): Promise<LoopReadings> {
    if (listExternalTriggers(object).length > 0) await this.#parts.budget.wait(object.namespace, signal);
    const external = await this.#reader.read(object, loop, { now: at + computeWallAheadMs(this.#parts.clock), signal });
    if (external.kind === "obstructed") return external;
    const resources = loop === "tick" ? listResourceTriggers(object) : [];
    if (resources.length > 0) await this.#fetchTemplates(object, signal);
    const usage = await this.#parts.computeUsage({ object, resources, pods: this.#listPods, at, signal });
    return { ...usage, kind: "gathered", triggers: new Map([...external.readings, ...usage.triggers]) };
  }

  /** Only for pods that were resized before podfit saw them. */
  async #fetchTemplates(object: ScaledObject, signal: AbortSignal): Promise<void> {
    const { metered, fetches, templates } = this.#parts;
    const unknown = this.#listPods().filter((pod) => needsTemplate(pod, metered.get(pod.uid).recorded));
    if (unknown.length === 0) return;
    using _slot = await fetches.acquire(signal, { lane: object.namespace });
    await templates.fetch(object, unknown, signal);
  }

  #decide(observation: ReplicasObservation, context: DecisionContext): ReplicasOutcome {
    const { clock, sink, dryRun, budget, kedaDeactivation } = this.#parts;
    const { namespace } = this.#facts;
    const { now, lateMs = 0, transferred = null } = context;
    const startedMs = clock.monotonic();
    const before = this.#replicasState;
    const warnings = budget.isDelayed(namespace) ? [...this.#warnings, OVER_BUDGET] : this.#warnings;
    const input = {
      ...this.#toTimes(now),
      object: this.#facts,
      observation,
      dryRun,
      ...(warnings.length > 0 && { warnings }),
      ...(this.#lack !== null && { lack: this.#lack }),
      ...(kedaDeactivation && { kedaDeactivation }),
    };
    const decided = decideReplicas(before, input);
    const outcome = transferred === null ? decided : addTransferNotice(decided, transferred);
    this.#replicasState = outcome.state;
    this.#hasDecided = true;
    const tookMs = clock.monotonic() - startedMs;
    budget.spend(namespace, { ms: tookMs });
    sink.onPass({ before, input, outcome, tookMs, lateMs });
    return outcome;
  }

  #toTimes(now: number): Pick<ReplicasInput, "now" | "wallAheadMs"> {
    const wallAheadMs = computeWallAheadMs(this.#parts.clock);
    return wallAheadMs === 0 ? { now } : { now, wallAheadMs };
  }

  /** Resolves to `null` where nothing was to be written. */
  async #write(write: ScaleWrite | null, object: ScaledObject, signal: AbortSignal): Promise<ScaleAnswer | null> {
    if (write === null) return null;
    const { scales, clock, deactivations } = this.#parts;
    const { namespace, target } = object;
    const isDeactivated = write.reason === "Deactivated";
    const held = isDeactivated ? deactivations.take(object) : null;
    const answer: ScaleAnswer = held !== null
      ? { kind: "held", message: held }
      : await scales.write({ namespace, target, write, mayWrite: () => this.#mayWrite(object), signal });
    if (isDeactivated && (answer.kind === "dropped" || answer.kind === "refused")) deactivations.refund(object);
    // The write was cut off as podfit, its term or the object ends. It may have arrived, so it does not count as a failure.
    if (signal.aborted && answer.kind === "unanswered") return answer;
    this.#decide({ kind: "answered", write, answer }, { now: clock.steady() });
    this.#earlyCheck.onAnswer(answer);
    return answer;
  }

  #mayWrite(object: ScaledObject): boolean {
    const { isLeading, canScale } = this.#parts;
    if (this.#hasUnseenChange() || !isLeading() || !canScale(object.namespace)) return false;
    if (this.#awaitsRecord(object)) return false;
    const hpas = this.#parts.objects.listHpasOf(object.namespace, toTargetRef(object.target));
    if (findAdoptionBlocker(this.#facts, hpas) !== null) return false;
    const query = { object, set: this.#pods.set, transferredUid: this.#transferredUid };
    return findCurrentConflict(query, this.#parts).blocker === null;
  }

  /** If podfit ended after the write, the next one could not restore the replicas. Clauses: R6. */
  #awaitsRecord({ restoresReplicas }: ScaledObject): boolean {
    if (!restoresReplicas || this.#facts.isDeleting || hasOriginalReplicas(this.#facts)) return false;
    const now = this.#parts.clock.monotonic();
    this.#unrecordedMs ??= now;
    return now - this.#unrecordedMs < MAX_RECORD_MS;
  }

  /**
   * Restores the replicas once and removes the finalizer. It removes it also where the API server does not let the
   * replicas be restored: otherwise the object and its namespace could not be deleted. After a write without an answer, and
   * where podfit ended before the finalizer was removed, the scale is read again. It is written again only if a person has
   * set other replicas within these seconds: a write that never arrived looks the same.
   */
  async #end(signal: AbortSignal): Promise<void> {
    const { clock, dryRun, setFinalizer, canScale } = this.#parts;
    const facts = this.#facts;
    this.#parts.deactivations.leave(facts);
    const isFirst = this.#phase.kind !== "Ending";
    const ending = this.#phase.kind === "Ending"
      ? this.#phase
      : { kind: "Ending", startedMs: clock.monotonic(), isRestored: false } as const;
    this.#enter(ending);
    if (facts.adoption !== null) {
      this.#pods[Symbol.dispose]();
      // KEDA lets the object go. If it has not done so soon, the conditions say that the end lasts.
      if (isFirst) this.#retry();
      else this.#decide({ kind: "deleted", scale: null }, { now: clock.steady() });
      return;
    }
    if (!ending.isRestored && !await this.#restore(facts, ending.startedMs, signal)) {
      return this.#retry(canScale(facts.namespace) ? RETRY_MS : UNKNOWN_RETRY_MS);
    }
    this.#enter({ ...ending, isRestored: true });
    this.#pods[Symbol.dispose]();
    if (dryRun || !facts.finalizers.includes(FINALIZER)) return;
    if (!await setFinalizer(facts, false, signal)) this.#retry();
  }

  /** Returns whether the replicas are restored, or cannot be. */
  async #restore(facts: ScaledObjectFacts, startedMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, dryRun, onUnrestored, canScale } = this.#parts;
    const isTimedOut = () => clock.monotonic() - startedMs >= MAX_RESTORE_MS;
    // Without the finalizer they were restored before: the deletion waits for another finalizer, and podfit has started again.
    const isOurs = facts.finalizers.includes(FINALIZER);
    const isRestoring = isOurs && !dryRun && this.#replicasState.originalReplicas !== null;
    const object = isRestoring ? findRestored(facts) : null;
    const isUnknown = object !== null && !canScale(facts.namespace);
    const checked = object === null || isUnknown ? null : await this.#checkBlockers(signal);
    const isUnread = checked?.kind === "blocked" && checked.blocker.kind === "scale";
    const unread = isUnknown ? this.#findUnreadList() : isUnread ? "the target's scale cannot be read" : null;
    if (unread !== null && signal.aborted) return false;
    const scale = checked?.kind === "clear" ? checked.scale : null;
    const { write } = this.#decide({ kind: "deleted", scale }, { now: clock.steady() });
    if (unread !== null && !isTimedOut()) return false;
    const refusal = unread ?? findRefusal(checked);
    if (refusal !== null) {
      onUnrestored(facts, refusal);
      return true;
    }
    const answer = object === null ? null : await this.#write(write, object, signal);
    if (answer === null || answer.kind === "accepted") return true;
    if (signal.aborted || (isRetryable(answer) && !isTimedOut())) return false;
    onUnrestored(facts, answer.kind === "dropped" ? "another writer sets them, or podfit may not" : answer.message);
    return true;
  }

  #findUnreadList(): string {
    const list = this.#parts.findStale(this.#facts.namespace);
    return list === null ? "a list that podfit needs was never read" : `the list of ${list} cannot be read`;
  }

  #enter(state: ControllerPhase): void {
    if (this.#phase.kind !== "Ended") this.#phase = state;
  }

  #retry(waitMs = RETRY_MS): void {
    if (this.#reconcileAt > -Infinity) this.#reconcileAt = this.#parts.clock.steady() + waitMs;
  }

  #hasUnseenChange(): boolean {
    return this.#change === "unseen";
  }

  readonly #listPods = (): readonly PodFacts[] => [...this.#pods.set?.pods.values() ?? []];
}

/** Returns the object as the watch shows it, invalid for the reason that was found before. */
function withProblems(
  watched: ScaledObjectFacts,
  { scaledObject, restoring, problems }: ScaledObjectFacts,
): ScaledObjectFacts {
  return { ...watched, scaledObject, restoring, problems };
}

function addTransferNotice(outcome: ReplicasOutcome, hpa: HpaFacts): ReplicasOutcome {
  const { name, minReplicas: min, maxReplicas: max, desiredReplicas } = hpa;
  const notice = toTransferredNotice({ name, min, max, desired: desiredReplicas ?? 0 });
  return { ...outcome, notices: [...outcome.notices, notice] };
}
