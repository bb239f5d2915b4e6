/**
 * The steps of one reconcile of a ScaledObject: when is it due, what blocks it, which readings does it use, what does
 * `decideReplicas` return? The early scaling check asks whether fresh usage would raise the replicas now.
 */
import { decideReplicas } from "../../horizontal/decide.ts";
import { toTransferredNotice } from "../../horizontal/events.ts";
import { needsTemplate } from "../../horizontal/initial_requests.ts";
import {
  computeTargetUsage,
  isAboveTarget,
  MIN_SCALING_INTERVAL_MS,
  SCALING_LOOP_MS,
  type TargetUsage,
  type TriggerUsage,
} from "../../horizontal/pod_metrics.ts";
import { seedReplicasState } from "../../horizontal/status.ts";
import type { PodFacts } from "../../model/pod.ts";
import type {
  Blocker,
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReport,
  Scale,
  ScaleAnswer,
  TriggerReadings,
} from "../../model/replicas_decision.ts";
import type { ReplicasState } from "../../model/replicas_state.ts";
import {
  listExternalTriggers,
  listResourceTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
} from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Semaphore } from "../../runtime/limits.ts";
import type { TriggerReader } from "../../triggers/reader.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { type ScaledObjectCache, toTargetRef } from "../cluster/scaled_objects.ts";
import type { HpaPodSets, PodSet, SelectorIndex } from "../cluster/selector_index.ts";
import { type Conflict, type DeleteHpa, findConflict } from "./conflicts.ts";
import type { ReplicasSink } from "./reports.ts";
import type { ScaleClient } from "./scale_client.ts";
import type { ComputeUsage, MeteredPods, TargetPods, WorkloadUsage } from "./target_pods.ts";
import type { Templates } from "./templates.ts";

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
    const next = [this.#activation, this.#scaling].map((half) => {
      if (half === null) return Infinity;
      return findDue(half, now) ?? computeNextDue(half.interval, now);
    });
    return Math.min(...next);
  }

  /** The clock was set by `stepMs`. */
  followClockStep(stepMs: number): void {
    this.#activation = this.#activation && shiftLoop(this.#activation, stepMs);
    this.#scaling = this.#scaling && shiftLoop(this.#scaling, stepMs);
  }
}

function newLoop(startAt: number, periodMs: number): LoopSchedule {
  return { interval: { startAt, periodMs }, servedAt: -Infinity };
}

/** Of several that have passed the last one: the others are not made up. */
function findDue(half: LoopSchedule | null, now: number): number | null {
  const last = half === null ? null : findLastDue(half.interval, now);
  return half !== null && last !== null && last > half.servedAt ? last : null;
}

function restartBy(half: LoopSchedule, { at, now }: { readonly at: number; readonly now: number }): LoopSchedule {
  const next = findDue(half, now) ?? computeNextDue(half.interval, now);
  return next > at ? newLoop(at, half.interval.periodMs) : half;
}

function requeueLoop(half: LoopSchedule, at: number): LoopSchedule {
  return half.servedAt === at ? { ...half, servedAt: at - 1 } : half;
}

function shiftLoop({ interval, servedAt }: LoopSchedule, stepMs: number): LoopSchedule {
  return { interval: shiftInterval(interval, stepMs), servedAt: servedAt + stepMs };
}

// When are the halves of an object due (R7)? At exact distances from a start, by the wall clock: what a tick records
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

/** The same grid once the clock was set by `stepMs`: what it measures is the time that passes. */
function shiftInterval(grid: FixedInterval, stepMs: number): FixedInterval {
  return { ...grid, startAt: grid.startAt + stepMs };
}

// May an object be acted on now? Its manifest, its target's scale, who else writes, and the authentications that it
// names, in this order: the first that is wrong stands in the way, and is said (R3, R6, R16, R30, R75 to R78).

/** What is known of one object beside its facts. */
interface BlockerCheckRequest {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly transferredUid: string | null;
  /** Asks every trigger once, as before an HPA is taken over: `null`, or what they lack. */
  readonly tryTriggers: (object: ScaledObject) => Promise<string | null>;
  readonly signal: AbortSignal;
}

/** What the look came to. */
export type BlockerCheckResult =
  | {
    readonly kind: "clear";
    readonly object: ScaledObject;
    readonly scale: Scale;
    readonly warnings: readonly string[];
    /** The HPA that was deleted just now. */
    readonly transferred: HpaFacts | null;
  }
  | { readonly kind: "obstructed"; readonly blocker: Blocker; readonly warnings: readonly string[] };

/** Nothing stands in the way. */
export type UnblockedResult = Extract<BlockerCheckResult, { readonly kind: "clear" }>;

/** Where it looks. */
interface CheckBlockersOptions {
  readonly scales: Pick<ScaleClient, "get">;
  readonly objects: ScaledObjectCache;
  readonly sets: Pick<SelectorIndex, "setsOf">;
  readonly hpaPods: Pick<HpaPodSets, "refresh">;
  readonly deleteHpa: DeleteHpa;
  /** Nothing is deleted either. */
  readonly dryRun: boolean;
}

/** Looks once; does not reject. */
export type CheckBlockers = (looker: BlockerCheckRequest) => Promise<BlockerCheckResult>;

export function createCheckBlockers(options: CheckBlockersOptions): CheckBlockers {
  return async (looker) => {
    const { scaledObject, restoring, isDeleting } = looker.facts;
    const object = scaledObject ?? (isDeleting ? restoring : null);
    if (object === null) return toBlockedResult({ kind: "invalid" });
    const reading = await options.scales.get(object, looker.signal);
    if (reading.kind === "obstacle") return toBlockedResult(reading.blocker);
    const set = looker.pods.follow({ selector: reading.selector, object });
    options.hpaPods.refresh(object.namespace);
    const conflict = findCurrentConflict({ object, set, transferredUid: looker.transferredUid }, options);
    const warnings = [...(looker.facts.limited ?? []), ...conflict.warnings];
    // What is restored at the end (R57) asks no trigger, and takes nothing over.
    const obstacle = conflict.blocker ?? (isDeleting ? null : findMissingAuthentication(object, options.objects));
    if (obstacle !== null) return toBlockedResult(obstacle, warnings);
    const toTransfer = isDeleting ? null : conflict.transfer;
    const refusal = toTransfer && (await looker.tryTriggers(object) ?? await transferHpa(toTransfer, looker, options));
    if (refusal !== null) return toBlockedResult({ kind: "check", reason: "OtherHPA", message: refusal }, warnings);
    return { kind: "clear", object, scale: reading.scale, warnings, transferred: toTransfer };
  };
}

function toBlockedResult(obstacle: Blocker, warnings: readonly string[] = []): BlockerCheckResult {
  return { kind: "obstructed", blocker: obstacle, warnings };
}

/** Of what the watches show now, without asking anybody: to be called again right before each write. */
export function findCurrentConflict(
  { object, set, transferredUid }: {
    readonly object: ScaledObject;
    readonly set: PodSet | null;
    readonly transferredUid: string | null;
  },
  { objects, sets }: Pick<CheckBlockersOptions, "objects" | "sets">,
): Conflict {
  const { uid, namespace } = object;
  const target = toTargetRef(object.target);
  return findConflict({
    object,
    transferredUid,
    hpas: objects.listHpasOf(namespace, target),
    scaledObjects: objects.listObjectsOf(namespace, target).filter((other) => other.uid !== uid),
    overlapping() {
      const holders = new Set<string>();
      for (const pod of set?.pods.keys() ?? []) {
        for (const other of sets.setsOf(pod)) for (const holder of other.holders) holders.add(holder);
      }
      holders.delete(uid);
      const known = [...holders].map((holder) => ({ namespace, uid: holder }));
      return {
        hpas: known.flatMap((key) => objects.findHpa(key) ?? []).filter((hpa) => !isSameTarget(hpa, object)),
        scaledObjects: known.flatMap((key) => objects.find(key) ?? []).filter((one) =>
          one.scaledObject !== null && !one.isDeleting
        ),
      };
    },
  });
}

/** Of the same target there is a clearer word. */
function isSameTarget({ target }: HpaFacts, object: ScaledObject): boolean {
  const own = toTargetRef(object.target);
  return target.group === own.group && target.kind === own.kind && target.name === own.name;
}

/** R16: heals by itself once it is there. */
function findMissingAuthentication(object: ScaledObject, objects: ScaledObjectCache): Blocker | null {
  const { namespace } = object;
  for (const { authentication: ref } of listExternalTriggers(object)) {
    if (ref === null) continue;
    const place = ref.kind === "TriggerAuthentication" ? namespace : null;
    const found = objects.findAuthentication({ ...ref, namespace: place });
    if (found === null) return toTriggerFailed(`${ref.kind} "${ref.name}" is not there: create it`);
    const [problem] = found.problems;
    if (found.authentication !== null) continue;
    const why = problem === undefined ? "" : `: ${problem.path}: ${problem.message}`;
    return toTriggerFailed(`${ref.kind} "${ref.name}" is invalid${why}`);
  }
  return null;
}

function toTriggerFailed(message: string): Blocker {
  return { kind: "check", reason: "TriggerFailed", message };
}

async function transferHpa(
  hpa: HpaFacts,
  { signal }: BlockerCheckRequest,
  { deleteHpa, dryRun }: CheckBlockersOptions,
): Promise<string | null> {
  if (dryRun) return `The target would be taken over from hpa "${hpa.name}": nothing is deleted in a dry run`;
  return await deleteHpa(hpa, signal);
}

// Reads the triggers of one object for one half (R50): external ones are asked, cpu and memory ones look at the
// target's pods.

/** What one half is decided on, beside the scale: `triggers` has those of the half. */
export type FetchedReadings =
  | WorkloadUsage & { readonly kind: "gathered"; readonly triggers: TriggerReadings }
  /** An authentication or a secret is missing (R16). */
  | { readonly kind: "obstructed"; readonly message: string };

/** One half of one object. */
export interface ReadingsRequest {
  readonly object: ScaledObject;
  readonly reader: TriggerReader;
  readonly pods: () => readonly PodFacts[];
  readonly due: DueLoop;
  readonly signal: AbortSignal;
}

interface FetchReadingsOptions {
  readonly templates: Pick<Templates, "fetch">;
  readonly metered: Pick<MeteredPods, "get">;
  readonly computeUsage: ComputeUsage;
  readonly fetches: Semaphore;
}

/** Rejects with the signal's reason only. */
export type FetchReadings = (request: ReadingsRequest) => Promise<FetchedReadings>;

export function createFetchReadings(options: FetchReadingsOptions): FetchReadings {
  return async (request) => {
    const { object, reader, due: { loop, at }, signal, pods } = request;
    const external = await reader.read(object, loop, { now: at, signal });
    if (external.kind === "obstructed") return external;
    const resources = loop === "tick" ? listResourceTriggers(object) : [];
    if (resources.length > 0) await fetchTemplates(request, options);
    const usage = await options.computeUsage({ object, resources, pods, at, signal });
    return { ...usage, kind: "gathered", triggers: new Map([...external.readings, ...usage.triggers]) };
  };
}

/** Only of pods that were resized before podfit saw them (R82). */
async function fetchTemplates(
  { object, pods, signal }: ReadingsRequest,
  { templates, metered, fetches }: FetchReadingsOptions,
) {
  const unknown = pods().filter((pod) => needsTemplate(pod, metered.get(pod.uid).recorded));
  if (unknown.length === 0) return;
  using _slot = await fetches.acquire(signal);
  await templates.fetch(object, unknown, signal);
}

// The state of one ScaledObject, and each pass of it through the fold.

/** Whose passes they are, and who hears of them. */
interface ReplicaDecisionsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly dryRun: boolean;
  readonly sink: Pick<Required<ReplicasSink>, "onPass">;
  readonly facts: ScaledObjectFacts;
  readonly getFacts: () => ScaledObjectFacts;
}

/** When a pass is, and what else is said of it. */
interface DecisionContext {
  /** When the half was due, or what happened was seen, epoch ms. */
  readonly now: number;
  readonly lateMs?: number;
  /** The HPA that was deleted before it (R76). */
  readonly transferred?: HpaFacts | null;
}

/** What a half is decided on, and how late it is. */
interface LoopReadings {
  readonly scale: Scale;
  readonly triggers: TriggerReadings;
  /** `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  readonly lateMs: number;
}

/** Begins with what the object's status tells of the life before. */
export class ReplicaDecisions {
  readonly #options: ReplicaDecisionsOptions;
  #state: ReplicasState;
  #hasDecided = false;
  /** What every pass warns of until it is set anew (R77). */
  warnings: readonly string[] = [];

  constructor(options: ReplicaDecisionsOptions) {
    this.#options = options;
    this.#state = seedReplicasState(options.facts.status);
  }

  /** `null` before the first pass. */
  get state(): ReplicasState | null {
    return this.#hasDecided ? this.#state : null;
  }

  decide(observation: ReplicasObservation, { now, lateMs = 0, transferred = null }: DecisionContext): ReplicasOutcome {
    const { clock, sink, dryRun, getFacts } = this.#options;
    const startedMs = clock.monotonic();
    const before = this.#state;
    const warnings = this.warnings.length > 0 ? { warnings: this.warnings } : {};
    const input = { now, object: getFacts(), observation, dryRun, ...warnings };
    const decided = decideReplicas(before, input);
    const outcome = transferred === null ? decided : addTransferNotice(decided, transferred);
    this.#state = outcome.state;
    this.#hasDecided = true;
    sink.onPass({ before, input, outcome, tookMs: clock.monotonic() - startedMs, lateMs });
    return outcome;
  }

  decideLoop({ loop, at: now }: DueLoop, { lateMs, ...seen }: LoopReadings): ReplicasOutcome {
    const observation: ReplicasObservation = loop === "poll"
      ? { ...seen, kind: loop, readyPods: seen.readyPods ?? 0 }
      : { ...seen, kind: loop };
    return this.decide(observation, { now, lateMs });
  }

  /** What a pass would come to if it were made now: nobody hears of it. */
  preview(observation: ReplicasObservation, now: number): ReplicasOutcome {
    return decideReplicas(this.#state, { now, object: this.#options.getFacts(), observation, dryRun: false });
  }

  /** The clock was set by `stepMs`. */
  followClockStep(stepMs: number): void {
    this.#state = shiftReplicasState(this.#state, stepMs);
  }
}

/** R76. */
function addTransferNotice(outcome: ReplicasOutcome, hpa: HpaFacts): ReplicasOutcome {
  const { name, minReplicas: min, maxReplicas: max, desiredReplicas } = hpa;
  const notice = toTransferredNotice({ name, min, max, desired: desiredReplicas ?? 0 });
  return { ...outcome, notices: [...outcome.notices, notice] };
}

// States are dated by the wall clock; what they measure is the time that passes.

/** The same state once the clock was set by `stepMs`. */
function shiftReplicasState(state: ReplicasState, stepMs: number): ReplicasState {
  const { history, lastActiveAt, scaledInAt } = state;
  const stepAll = <T extends { readonly at: number }>(all: readonly T[]) =>
    all.map((one) => ({ ...one, at: one.at + stepMs }));
  return {
    ...state,
    // In whole seconds, as it is stored.
    lastActiveAt: lastActiveAt === null ? null : lastActiveAt + Math.round(stepMs / 1000) * 1000,
    scaledInAt: scaledInAt === null ? null : scaledInAt + stepMs,
    history: history && { needs: stepAll(history.needs), ups: stepAll(history.ups), downs: stepAll(history.downs) },
  };
}

// Would a tick raise replicas now? It is asked when usage of the target's pods is fresh: what a load needs does not
// wait for the grid of ticks (R7). Asks nobody, writes nothing, and leaves the state as it is; what the tick then
// comes to is its own.

/** Of one object. */
interface EarlyScalingCheckOptions {
  readonly clock: Pick<Clock, "now">;
  readonly decisions: Pick<ReplicaDecisions, "preview">;
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
    this.#soonestAt = this.#options.clock.now() + MIN_SCALING_INTERVAL_MS;
    this.#targets = computeTargetUsage(this.#getUsage(), report);
  }

  /** Rejects with the signal's reason only. */
  async wouldRaise(signal: AbortSignal): Promise<boolean> {
    const { clock, decisions, computeUsage, pods } = this.#options;
    const at = clock.now();
    this.#isFresh = false;
    this.#soonestAt = at + MIN_SCALING_INTERVAL_MS;
    // Costs little: most readings change nothing.
    if (this.#unblocked === null || !isAboveTarget(this.#getUsage(), this.#targets)) return false;
    const { object, scale } = this.#unblocked;
    const resources = listResourceTriggers(object);
    const { triggers, readyPods } = await computeUsage({ object, resources, pods, at, signal });
    const { write } = decisions.preview({ kind: "tick", scale, triggers, readyPods }, at);
    return write !== null && write.replicas > scale.replicas;
  }

  #getUsage(): TriggerUsage {
    const { pods, metered } = this.#options;
    if (this.#unblocked === null) return NO_USAGE;
    const rates = pods().map(({ uid }) => metered.get(uid).rates);
    return { resources: listResourceTriggers(this.#unblocked.object), rates };
  }

  /** The clock was set by `stepMs`. */
  followClockStep(stepMs: number): void {
    this.#soonestAt += stepMs;
  }
}

const NO_USAGE: TriggerUsage = { resources: [], rates: [] };
