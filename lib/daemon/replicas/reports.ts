/**
 * Reports each decision about a ScaledObject: as Kubernetes Events, in the log, in metrics and in its status. A report
 * that throws is logged, and the others still run.
 */
import { SCALER_NAMES } from "../../api/keda_activation.ts";
import { toKept } from "../../horizontal/conditions.ts";
import { findBlockerReason, toStaleState } from "../../horizontal/lifecycle.ts";
import { type ScaledObjectStatus, seedState, toScaledObjectStatus } from "../../horizontal/status.ts";
import type { ReplicasInput, ReplicasOutcome, ReplicasReport, TriggerReport } from "../../model/replicas_decision.ts";
import type { ReplicasState } from "../../model/replicas_state.ts";
import {
  type ExternalTrigger,
  isPolled,
  listExternalTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
  type Trigger,
} from "../../model/scaled_object.ts";
import {
  type AuthenticationFacts,
  formatUsers,
} from "../../resources/trigger_authentication/trigger_authentication.ts";
import { type Clock, computeWallAheadMs } from "../../runtime/clock.ts";
import type { RunQueued } from "../../runtime/event_loop.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatName } from "../cluster/facts.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { ReplicaMetrics, TriggerName } from "../metrics/metrics.ts";
import { checkInTurns, type SweepOptions } from "../status/sweep.ts";
import {
  type AuthenticationStatus,
  pickOwnStatus,
  type StatusWriter,
  type SweepContext,
  toAuthenticationStatus,
} from "../status/writer.ts";

/** One decision about one object. */
export interface ReplicasEvaluation {
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly outcome: ReplicasOutcome;
  readonly tookMs: number;
  /** Ms between the due time of the loop and its start. */
  readonly lateMs: number;
}

/** A question to an external trigger. Cached readings are not reported. */
interface AskedTrigger {
  readonly object: ScaledObjectFacts;
  readonly trigger: ExternalTrigger;
  readonly seconds: number;
  /** The answer had no value. */
  readonly isEmpty: boolean;
}

/** Receives what happens. A sink may throw: the others still run. */
export interface ReplicasSink {
  onPass?(evaluation: ReplicasEvaluation): void;
  onAsked?(asked: AskedTrigger): void;
  /** The object appeared, or its spec has changed. It may be invalid. */
  onObject?(facts: ScaledObjectFacts): void;
  /** The object was deleted: the sink removes everything about it. */
  onGone?(facts: ScaledObjectFacts): void;
}

/** An object and its state now; `null` before the first decision. */
export interface ScaledObjectSnapshot {
  readonly facts: ScaledObjectFacts;
  readonly state: ReplicasState | null;
}

/** Returns one sink that calls all. A sink that throws is reported to `onError`, and the others still run. */
export function combineReplicasSinks(
  sinks: readonly ReplicasSink[],
  onError: (error: unknown) => void,
): Required<ReplicasSink> {
  const toEach = (call: (sink: ReplicasSink) => void) => {
    for (const sink of sinks) {
      try {
        call(sink);
      } catch (error) {
        onError(error);
      }
    }
  };
  return {
    onPass: (evaluation) => toEach((sink) => sink.onPass?.(evaluation)),
    onAsked: (asked) => toEach((sink) => sink.onAsked?.(asked)),
    onObject: (facts) => toEach((sink) => sink.onObject?.(facts)),
    onGone: (facts) => toEach((sink) => sink.onGone?.(facts)),
  };
}

/**
 * Returns a sink that publishes notices as Events on the ScaledObject. It never throws: the recorder counts and drops
 * what it cannot write. Clauses: R92.
 */
export function createReplicasEvents(recorder: Pick<EventRecorder, "publish">): ReplicasSink {
  return {
    onPass({ input: { object: { namespace, name, uid } }, outcome: { notices } }) {
      const autoscaler = { kind: "ScaledObject", namespace, name, uid } as const;
      for (const notice of notices) recorder.publish(notice, { autoscaler });
    },
  };
}

/** Returns a sink that logs a change of replicas at info, and each loop at debug. It never throws. Clauses: R94. */
export function createReplicasLog(log: Log): ReplicasSink {
  return {
    onPass(evaluation) {
      logAnswer(evaluation, log);
      logBlocker(evaluation, log);
      logKept(evaluation, log);
      const { input: { object }, outcome: { report } } = evaluation;
      if (report !== null && log.level === "debug") log.debug("Evaluated", { ...toReportFields(object, report) });
    },
  };
}

/**
 * Returns `s0-prometheus: value 12, 4 replicas (ratio 1.2; 10 ready, 1 unready, 0 missing)`, or the error of the
 * trigger.
 */
export function formatTrigger({ metricName, value, error, proposal }: TriggerReport): string {
  if (error !== null) return `${metricName}: ${error}`;
  const text = value === null ? metricName : `${metricName}: value ${value}`;
  if (proposal === null) return text;
  const { replicas, lo, hi, ratio, ready, unready, missing } = proposal;
  const range = lo === hi ? "" : ` (${lo} to ${hi})`;
  const counts = `${ready} ready, ${unready} unready, ${missing} missing`;
  return `${text}, ${replicas} replicas${range}, ${ratio === null ? "" : `ratio ${ratio.toPrecision(4)}, `}${counts}`;
}

/**
 * Returns a sink for the metric families of KEDA and podfit. It never throws. `isKnown` is false for a deleted object,
 * so that a late answer adds no series. Clauses: R93.
 */
export function createReplicasMetrics(
  { metrics, isKnown }: { readonly metrics: ReplicaMetrics; readonly isKnown: (uid: string) => boolean },
): ReplicasSink {
  return {
    onPass(evaluation) {
      if (!isKnown(evaluation.input.object.uid)) return;
      recordEvaluation(evaluation, metrics);
      recordAnswer(evaluation, metrics);
    },
    onAsked({ object, trigger, seconds, isEmpty }) {
      if (!isKnown(object.uid)) return;
      metrics.asked(toTriggerName(object, trigger, trigger.metricName), seconds);
      const { source } = trigger;
      if (isEmpty && source.kind === "prometheus") {
        const { namespace, name } = object;
        const of = { namespace, name, triggerName: trigger.name ?? "", metric: trigger.metricName };
        metrics.answeredEmpty({ ...of, ignoresNullValues: source.ignoresNullValues });
      }
    },
    onObject(facts) {
      metrics.forgetTriggers(facts);
      metrics.setPaused(facts, facts.isPaused);
    },
    onGone: (facts) => metrics.forget(facts),
  };
}

interface ReplicasSweepOptions {
  readonly clock: Pick<Clock, "now" | "steady" | "monotonic">;
  readonly compute: RunQueued;
  readonly list: () => Iterable<ScaledObjectSnapshot>;
  readonly writer: Pick<StatusWriter<ScaledObjectStatus>, "write" | "getDueAtMs" | "settle" | "isIdle" | "forget">;
  readonly metrics: Pick<ReplicaMetrics, "setRegistered">;
  /** `null` = KEDA writes the statuses of authentications. */
  readonly authentications: Pick<AuthenticationUsers, "sweep" | "isIdle" | "settle"> | null;
  /** False while the lists of the namespace are incomplete: then its statuses are not written, unless one is stale. */
  readonly isKnown: (namespace: string) => boolean;
  /** Returns the list of the namespace that has become stale: then its statuses say so. `null` = none. */
  readonly findStale: (namespace: string) => string | null;
}

/** What the status of an object depends on. `stale`: the stale list. */
interface CheckedSnapshot extends ScaledObjectSnapshot {
  readonly stale: string | null;
}

/**
 * Writes the statuses of all ScaledObjects that have changed, once a second. Counts the registered objects and
 * triggers. Clauses: R90, R93.
 */
export class ReplicasSweep {
  readonly #options: ReplicasSweepOptions;
  /** By uid: the snapshots whose status is written, or is to be written at `dueAtMs`, monotonic ms. */
  readonly #settled = new Map<string, CheckedSnapshot & { readonly dueAtMs: number }>();

  constructor(options: ReplicasSweepOptions) {
    this.#options = options;
  }

  /** Returns whether all writes have ended. */
  get isIdle(): boolean {
    const { writer, authentications } = this.#options;
    return writer.isIdle && authentications?.isIdle !== false;
  }

  forget(uid: string): void {
    this.#settled.delete(uid);
    this.#options.writer.forget(uid);
  }

  /**
   * Resolves when each changed status is written, has failed, or is postponed; with `waits: false` it does not wait for
   * writes. Never rejects. The last sweep postpones nothing.
   */
  async sweep(signal: AbortSignal, { isLast = false, waits = true }: SweepOptions = {}): Promise<void> {
    const { writer, authentications, findStale } = this.#options;
    if (isLast) await Promise.all([writer.settle(), authentications?.settle()]);
    const users = new Map<string, string[]>();
    const context: SweepContext = { signal, isLast };
    const writes: Promise<void>[] = [];
    const registered = { triggers: new Map<string, number>(), objects: new Map<string, number>() };
    const staleLists = new Map<string, string | null>();
    await checkInTurns(this.#options.list(), this.#options.compute, (listed) => {
      const { namespace } = listed.facts;
      let stale = staleLists.get(namespace);
      if (stale === undefined) staleLists.set(namespace, stale = findStale(namespace));
      const snapshot = { ...listed, stale };
      countRegistered(snapshot.facts, registered);
      addUser(users, snapshot.facts);
      if (this.#isSettled(snapshot) && !isLast) return false;
      const writing = this.#update(snapshot, context);
      if (writing !== null) writes.push(writing);
      return true;
    });
    this.#options.metrics.setRegistered(registered);
    if (authentications !== null) writes.push(...await authentications.sweep(users, context));
    if (waits) await Promise.all(writes);
  }

  /** Returns `null` when nothing is written now. */
  #update(snapshot: CheckedSnapshot, context: SweepContext): Promise<void> | null {
    const { facts, stale } = snapshot;
    const state = this.#findReported(snapshot);
    if (state === null) return null;
    const { writer, clock } = this.#options;
    const status = toScaledObjectStatus(facts, state, computeWallAheadMs(clock));
    const isShared = facts.adoption !== null;
    const object = isShared ? { ...facts, status: pickOwnStatus(facts.status) } : facts;
    const isMinor = facts.scaledObject !== null && !isPolled(facts.scaledObject);
    const writing = writer.write(
      {
        object,
        isStale: stale === "scaledobjects",
        isShared,
        status,
        ...(isMinor && { minorField: "lastActiveTime" }),
      },
      context,
    );
    if (writing instanceof Promise) {
      this.#settled.delete(facts.uid);
      return writing;
    }
    const dueAtMs = writing === null ? Infinity : writer.getDueAtMs(facts.uid);
    this.#settled.set(facts.uid, { ...snapshot, dueAtMs });
    return null;
  }

  /** Returns the state that the status shows; `null` = none yet. */
  #findReported({ facts, state, stale }: CheckedSnapshot): ReplicasState | null {
    if (stale === null) return this.#options.isKnown(facts.namespace) ? state : null;
    // The status may be that of another podfit, from before the list was stale.
    return toStaleState(state ?? seedState(facts, computeWallAheadMs(this.#options.clock)), stale, facts);
  }

  #isSettled({ facts, state, stale }: CheckedSnapshot): boolean {
    const known = this.#settled.get(facts.uid);
    if (known === undefined || known.facts !== facts || known.state !== state || known.stale !== stale) return false;
    return this.#options.clock.monotonic() < known.dueAtMs;
  }
}

interface AuthenticationUsersOptions {
  readonly compute: RunQueued;
  readonly list: () => Iterable<AuthenticationFacts>;
  readonly writer: Pick<StatusWriter<AuthenticationStatus>, "write" | "settle" | "isIdle" | "forget">;
  /** False while users may be missing. `null` = of the whole cluster. */
  readonly isKnown: (namespace: string | null) => boolean;
}

/** Writes into the status of each authentication which ScaledObjects use it. Clauses: R99. */
export class AuthenticationUsers {
  readonly #options: AuthenticationUsersOptions;
  #known: ReadonlySet<string> = new Set();

  constructor(options: AuthenticationUsersOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#options.writer.isIdle;
  }

  settle(): Promise<void> {
    return this.#options.writer.settle();
  }

  /** `users`: names of ScaledObjects by `toUsersKey`. Returns the writes that have begun. */
  async sweep(users: ReadonlyMap<string, readonly string[]>, context: SweepContext): Promise<readonly Promise<void>[]> {
    const { compute, list, writer, isKnown } = this.#options;
    const writes: Promise<void>[] = [];
    const known = new Set<string>();
    for (const one of list()) {
      known.add(one.uid);
      if (!isKnown(one.namespace) || one.name === "") continue;
      await compute(() => {
        const status = toAuthenticationStatus(formatUsers(one.users, users.get(toUsersKey(one)) ?? []));
        const object = { ...one, namespace: one.namespace ?? "", status: toAuthenticationStatus(one.users) };
        const writing = writer.write({ object, isStale: false, status }, context);
        if (writing instanceof Promise) writes.push(writing);
      });
    }
    for (const uid of this.#known) if (!known.has(uid)) writer.forget(uid);
    this.#known = known;
    return writes;
  }
}

function toUsersKey({ kind, namespace, name }: Pick<AuthenticationFacts, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace ?? ""}/${name}`;
}

function addUser(users: Map<string, string[]>, { namespace, name, scaledObject, isDeleting }: ScaledObjectFacts): void {
  for (const { authentication } of scaledObject === null || isDeleting ? [] : listExternalTriggers(scaledObject)) {
    if (authentication === null) continue;
    const isOfCluster = authentication.kind === "ClusterTriggerAuthentication";
    const key = toUsersKey({ ...authentication, namespace: isOfCluster ? null : namespace });
    const names = users.get(key) ?? [];
    names.push(name);
    users.set(key, names);
  }
}

function countRegistered(
  { namespace, scaledObject }: ScaledObjectFacts,
  { triggers, objects }: { readonly triggers: Map<string, number>; readonly objects: Map<string, number> },
): void {
  objects.set(namespace, (objects.get(namespace) ?? 0) + 1);
  for (const { type } of scaledObject?.triggers ?? []) triggers.set(type, (triggers.get(type) ?? 0) + 1);
}

function logAnswer({ input: { object, observation } }: ReplicasEvaluation, log: Log): void {
  if (observation.kind !== "answered") return;
  const { write, answer } = observation;
  const fields = {
    scaledObject: formatName(object),
    target: object.scaledObject?.target.name ?? null,
    from: write.from.replicas,
    to: write.replicas,
    half: write.half,
    reason: write.reason,
    why: write.message,
  };
  if (answer.kind === "accepted") return log.info("Set replicas", fields);
  if (answer.kind === "dropped") return log.debug("Not setting replicas: something changed before the write", fields);
  if (answer.kind === "held") return log.debug("Holding a deactivation", { ...fields, why: answer.message });
  const code = answer.kind === "refused" ? answer.code : 0;
  log.warn("Cannot set replicas, trying again", { ...fields, code, error: answer.message });
}

/** Logs a blocker once, and not again at each loop. */
function logBlocker(
  { before, input: { object, observation }, outcome: { state } }: ReplicasEvaluation,
  log: Log,
): void {
  const why = state.conditions.Ready?.message;
  if (observation.kind !== "obstructed" || before.conditions.Ready?.message === why) return;
  log.info("Leaving replicas alone", {
    scaledObject: formatName(object),
    reason: findBlockerReason(observation.obstacle),
    why,
  });
}

/** Nothing else tells a person why `kubectl delete` does not end. */
function logKept({ input: { object, observation, dryRun }, outcome: { state } }: ReplicasEvaluation, log: Log): void {
  const why = state.conditions.Ready?.message;
  // The status may have these words from an earlier dry run.
  if (observation.kind !== "deleted" || !dryRun || why !== toKept(object).message) return;
  log.warn("A dry run leaves the finalizer of a deleted ScaledObject", { scaledObject: formatName(object), why });
}

function toReportFields(
  object: { readonly namespace: string; readonly name: string },
  report: ReplicasReport,
): LogFields {
  const { half, replicas, desired, reason, message, need, stabilized, triggers } = report;
  return {
    scaledObject: formatName(object),
    half,
    replicas,
    desired,
    reason,
    why: message,
    need,
    stabilized,
    triggers: triggers.map(formatTrigger),
  };
}

function recordEvaluation(
  { before, input, outcome, tookMs, lateMs }: ReplicasEvaluation,
  metrics: ReplicaMetrics,
): void {
  const { object, observation } = input;
  const { report, state } = outcome;
  if (observation.kind === "obstructed" && before.conditions.Ready?.message !== state.conditions.Ready?.message) {
    metrics.failed(object);
    const reason = findBlockerReason(observation.obstacle);
    if (reason !== null) metrics.held(object, reason);
  }
  if (observation.kind === "poll") metrics.began(object, lateMs / 1000);
  if (report === null) return;
  metrics.evaluated(object, tookMs / 1000);
  const { replicas, desired, need, reason } = report;
  metrics.setReplicas(object, { current: replicas, desired, need });
  if (outcome.write === null && reason !== null) metrics.held(object, reason);
  recordTriggers(object, report, metrics);
}

function recordTriggers(facts: ScaledObjectFacts, { triggers }: ReplicasReport, metrics: ReplicaMetrics): void {
  for (const report of triggers) {
    const of = toReportName(facts, report);
    metrics.setTrigger(of, report);
    metrics.triggerEvaluated(of, report.error !== null);
  }
}

function recordAnswer({ input: { object, observation } }: ReplicasEvaluation, metrics: ReplicaMetrics): void {
  if (observation.kind !== "answered") return;
  const { write: { from, half }, answer } = observation;
  if (answer.kind === "held") metrics.held(object, "DeactivationHeld");
  if (answer.kind === "refused" || answer.kind === "unanswered") metrics.failed(object);
  if (answer.kind !== "accepted") return;
  metrics.wrote(object, { direction: answer.replicas < from.replicas ? "down" : "up", half });
}

function toReportName(facts: ScaledObjectFacts, { index, metricName, type }: TriggerReport): TriggerName {
  const trigger = findTrigger(facts.scaledObject, index);
  // A composite combines all external triggers. It is not one of them. Clauses: R61.
  if (trigger === null || type === "composite") {
    return { namespace: facts.namespace, name: facts.name, metric: metricName, scaler: metricName, index };
  }
  return toTriggerName(facts, trigger, metricName);
}

function toTriggerName({ namespace, name }: ScaledObjectFacts, trigger: Trigger, metric: string): TriggerName {
  const scaler = trigger.name ?? SCALER_NAMES.get(trigger.type) ?? `${trigger.type}Scaler`;
  return { namespace, name, metric, scaler, index: trigger.index };
}

function findTrigger(object: ScaledObject | null, index: number): Trigger | null {
  return object?.triggers.find((trigger) => trigger.index === index) ?? null;
}
