/**
 * Reports each evaluation of a pod: in the log, in metrics, as Kubernetes Events. `Refusals` reports when resizes of an
 * autoscaler are refused for a minute or longer.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { ContainerDecision, Direction, ScaleAction } from "../../model/decision.ts";
import { explainOtherPodfit } from "../../model/ownership.ts";
import type { BlockReason, LimitReason, Notice, NoticeName, RefusalReason } from "../../model/reasons.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { requestOrLimitOf, RESIZE_UNIT, type ResourceField, resourceOf } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { assessAutoscaler } from "../../vertical/explain.ts";
import { findScaleUpLimit } from "../../vertical/outcome.ts";
import { formatName } from "../cluster/facts.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { type OnFailure, toStableText } from "../health.ts";
import type { AutoscalerName, FieldChange, Metrics } from "../metrics/metrics.ts";
import {
  type EvaluatedPod,
  type Evaluation,
  type EvaluationSink,
  findAutoscaler,
  type PendingResize,
  type QuietEvaluation,
  withQuiet,
} from "./controller.ts";

/**
 * Returns a sink that logs a resize at info, and each decision with its reason at debug. The reasons are those of
 * events and metrics. Never throws. Clauses: C53.
 */
export function createLogSink(log: Log): EvaluationSink {
  const sink = (evaluation: Evaluation) => {
    const { decisions, request, scaled, enacted } = evaluation.outcome;
    if (log.level === "debug") {
      for (const decision of decisions) logDecision(decision, evaluation, log);
    }
    if (request !== null) logRequest(request, evaluation, log);
    if (scaled !== null) logScaled(scaled, evaluation, log);
    if (enacted !== null) {
      const { tookMs } = enacted;
      log.debug("Enacted", { autoscaler: nameOwner(evaluation, enacted), pod: evaluation.input.pod.name, tookMs });
    }
  };
  return log.level === "debug" ? withQuiet(sink) : sink;
}

/**
 * Returns a sink that publishes the notices of an evaluation as Kubernetes Events on their autoscalers. Never throws.
 * Clauses: C50.
 */
export function createEventSink(recorder: Pick<EventRecorder, "publish">): EvaluationSink {
  return ({ input: { pod, contenders }, outcome: { notices } }) => {
    for (const notice of notices) {
      const autoscaler = contenders.find(({ uid }) => uid === notice.autoscaler);
      if (autoscaler !== undefined) recorder.publish(notice, { autoscaler, pod });
    }
  };
}

/**
 * Returns a sink that repeats on the pod what `kubectl describe pod` should show: each resize, an OOM kill without an
 * answer, a restart that podfit causes or avoids, and a scale-up that has begun to be limited. Mode recommend changes
 * no pod and writes no event on one. Never throws. Clauses: L58.
 */
export function createPodEventSink(recorder: Pick<EventRecorder, "publish">): EvaluationSink {
  return (evaluation) => {
    const { input: { pod, observation }, outcome: { notices } } = evaluation;
    for (const notice of notices) {
      const isRevert = notice.name === "ResizePending" && observation.kind === "answered";
      if (POD_NOTICES.has(notice.name) || isRevert) publish(notice);
    }
    for (const notice of listBegunLimits(evaluation)) publish(notice);

    function publish(notice: Notice): void {
      const autoscaler = evaluation.input.contenders.find(({ uid }) => uid === notice.autoscaler);
      if (autoscaler?.mode === "apply") recorder.publish(notice, { autoscaler, pod, isOnPod: true });
    }
  };
}

const POD_NOTICES: ReadonlySet<NoticeName> = new Set([
  "ScaleUp",
  "ScaleDown",
  "Inherited",
  "ResizeMayRestart",
  "OOMKilled",
]);

/** Returns one notice for each view whose scale-up is limited since this evaluation. */
function listBegunLimits({ before, input, outcome }: Evaluation): readonly Notice[] {
  const { views } = outcome.state;
  if (views === before.views) return [];
  const begun: Notice[] = [];
  for (const key in views) {
    const view = views[key];
    const reason = findScaleUpLimit(view);
    if (view === undefined || reason === null || findScaleUpLimit(before.views[key]) !== null) continue;
    const autoscaler = input.contenders.find((one) => one.key === key);
    if (autoscaler !== undefined) {
      begun.push(toLimited(reason, { autoscaler, container: view.container, input, outcome }));
    }
  }
  return begun;
}

function toLimited(
  reason: LimitReason,
  { autoscaler: { uid }, container, input: { pod }, outcome: { decisions } }: LimitedContainer,
): Notice {
  const own = decisions.find((one) => one.autoscaler === uid && one.container === container)?.decision;
  const why = own !== undefined && "message" in own && own.reason === reason ? `: ${own.message}` : "";
  const message =
    `container "${container}" of pod "${pod.name}" needs more, and cannot be given more until something ` +
    `changes (${reason})${why}`;
  return { autoscaler: uid, name: "Limited", message };
}

interface LimitedContainer extends Pick<Evaluation, "input" | "outcome"> {
  readonly autoscaler: Autoscaler;
  readonly container: string;
}

interface MetricsSinkOptions {
  readonly metrics: Metrics;
  /** False for an autoscaler that was deleted while an answer was under way. Its series must not appear again. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/**
 * Returns a sink that counts evaluations, decisions, resizes and refusals. It counts only what changes, so an
 * evaluation without change costs two counts. Never throws. Clauses: C52.
 */
export function createMetricsSink(options: MetricsSinkOptions): EvaluationSink {
  const { metrics } = options;
  const sink = (evaluation: Evaluation) => {
    const { input: { observation }, outcome: { implausible, decisions, scaled, enacted }, tookMs } = evaluation;
    if (implausible > 0) metrics.usageSkipped("implausible", implausible);
    if (observation.kind === "answered") {
      countRefusal(observation.answer, { request: observation.request, evaluation, options });
    }
    for (const decision of decisions) {
      countDecision(decision, evaluation, { isNewSample: decision.isNewSample, tookMs, metrics });
    }
    if (scaled !== null) countScaled(scaled, evaluation, options);
    if (enacted !== null) {
      const autoscaler = findAutoscaler(evaluation, enacted);
      if (autoscaler === null) return;
      metrics.enacted({ ...toName(autoscaler), direction: toDirection(enacted.action) }, enacted.tookMs / 1000);
    }
  };
  return Object.assign(sink, {
    onQuiet: ({ verdict, tookMs }: QuietEvaluation) => {
      for (const decision of verdict.decisions) {
        countDecision(decision, { input: verdict }, { isNewSample: verdict.isNewSample(decision), tookMs, metrics });
      }
    },
  });
}

/**
 * Returns a sink that logs when a sidecar does not resize its own pod, because the label is missing. It logs once per
 * episode, and nothing in other modes. Clauses: C17.
 */
export function createSkippedPodSink(log: Pick<Log, "warn">): EvaluationSink {
  let isSaid = false;
  return ({ input }) => {
    if (input.isSidecar !== true) return;
    const why = explainOtherPodfit(input);
    if (why !== null && !isSaid) log.warn("The pod is not resized", { pod: formatName(input.pod), why });
    isSaid = why !== null;
  };
}

interface RefusalReporterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly recorder: Pick<EventRecorder, "publish">;
  readonly onTrouble: OnFailure;
  /** False for an autoscaler that was deleted while an answer was under way. Nothing is remembered about it. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

const CANNOT_RESIZE = "Cannot resize pods";

const BUSY_MESSAGE = "the API server is busy, and resizes wait for it";

/** Shorter episodes are not reported. */
const LONG_MS = 60_000;

/** Twice the longest wait after a refusal. After this time without a refusal, the episode is over. */
const FORGET_MS = 20 * 60_000;

interface Episode {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly isLong: boolean;
  readonly isPublished: boolean;
}

/**
 * Reports when resizes of an autoscaler are refused for a minute or longer and none is accepted. Other reasons than
 * RetryLater have an event of their own at the first refusal, which `createEventSink` publishes. Clauses: C44.
 */
export class RefusalReporter {
  readonly #options: RefusalReporterOptions;
  /** By autoscaler uid. */
  readonly #episodes = new Map<string, Episode>();

  constructor(options: RefusalReporterOptions) {
    this.#options = options;
  }

  readonly sink: EvaluationSink = (evaluation) => {
    const { observation } = evaluation.input;
    if (observation.kind !== "answered") return;
    const { request, answer } = observation;
    const autoscaler = findAutoscaler(evaluation, request);
    if (autoscaler === null || !this.#options.isKnown(autoscaler)) return;
    if (answer.kind === "accepted") return this.#end(autoscaler);
    const refusal = findRefusal(answer);
    if (refusal !== null) this.#record(autoscaler, refusal);
  };

  /** Records requests that have waited long for a permit because the server is busy. Call it from time to time. */
  sweep(listQueued: (forMs: number) => Iterable<PendingResize>): void {
    const nowMs = this.#options.clock.monotonic();
    for (const { tracked: { autoscalers }, request } of listQueued(LONG_MS)) {
      const autoscaler = autoscalers.find(({ uid }) => uid === request.autoscaler);
      if (autoscaler === undefined || !this.#options.isKnown(autoscaler)) continue;
      const before = this.#episodes.get(autoscaler.uid);
      if (before?.isLong === true && nowMs - before.lastMs < LONG_MS) continue;
      this.#record(autoscaler, { reason: "RetryLater", message: BUSY_MESSAGE, forMs: LONG_MS });
    }
  }

  /** The autoscaler was deleted. */
  forget(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    this.#end(autoscaler);
  }

  #end(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    if (!this.#episodes.delete(autoscaler.uid)) return;
    this.#options.onTrouble({ kind: "recovered", what: CANNOT_RESIZE, subject: formatName(autoscaler) });
  }

  #record(autoscaler: Autoscaler, { reason, message, forMs = 0 }: Refusal): void {
    const { clock, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const nowMs = clock.monotonic();
    const before = this.#episodes.get(uid);
    const isSame = before !== undefined && nowMs - before.lastMs < FORGET_MS;
    const sinceMs = Math.min(isSame ? before.sinceMs : nowMs, nowMs - forMs);
    const isLong = nowMs - sinceMs >= LONG_MS;
    const isPublished = isSame && before.isPublished;
    // The other reasons have an event at the first refusal already.
    const isNews = isLong && reason === "RetryLater" && !isPublished;
    this.#episodes.set(uid, { sinceMs, lastMs: nowMs, isLong, isPublished: isPublished || isNews });
    if (!isLong) return;
    onTrouble({
      kind: "failure",
      level: "warn",
      message: CANNOT_RESIZE,
      autoscaler,
      fields: { reason, why: message },
      topic: { what: CANNOT_RESIZE, reason, subject: formatName(autoscaler) },
    });
    if (isNews) this.#publish(autoscaler, toStableText(message));
  }

  #publish(autoscaler: Autoscaler, why: string): void {
    const message = `No resize was accepted for ${formatDuration(LONG_MS)} or more (RetryLater): ${why}`;
    this.#options.recorder.publish({ name: "ScaleFailed", message }, { autoscaler });
  }
}

interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
  /** How long it has lasted, ms. */
  readonly forMs?: number;
}

function findRefusal(answer: Answer): Refusal | null {
  if (answer.kind === "refused") return answer;
  return answer.kind === "unconfirmed" ? { reason: "RetryLater", message: answer.message } : null;
}

function logDecision(decided: ContainerDecision, evaluation: Evaluation, log: Log): void {
  const { input: { pod }, outcome: { state } } = evaluation;
  const { decision, isNewSample } = decided;
  const autoscaler = findAutoscaler(evaluation, decided);
  if (autoscaler === null) return;
  const utilization = Object.fromEntries(
    assessAutoscaler(autoscaler, state, pod)
      .map(({ key, utilizationPercent }) => [key, utilizationPercent && Math.round(utilizationPercent)]),
  );
  const where = {
    autoscaler: formatName(autoscaler),
    pod: pod.name,
    container: decided.container,
    isNewSample,
    utilization,
  };
  switch (decision.kind) {
    case "hold":
      return log.debug("Held", { ...where, reason: decision.reason, why: decision.message });
    case "blocked": {
      const { action, reason, message } = decision;
      return log.debug("Blocked", { ...where, action, reason, why: message });
    }
    case "resize":
      return log.debug("Decided", { ...where, action: decision.action });
    case "revert":
      return log.debug("Decided", { ...where, action: "revert", reason: decision.reason });
  }
}

function logRequest(request: ResizeRequest, evaluation: Evaluation, log: Log): void {
  log.debug("Resizing", {
    autoscaler: nameOwner(evaluation, request),
    pod: evaluation.input.pod.name,
    container: request.container,
    why: request.why,
  });
}

function logScaled(scaled: ScaleAction, evaluation: Evaluation, log: Log): void {
  const { action, change } = scaled;
  log.info("Resized pod", {
    autoscaler: nameOwner(evaluation, scaled),
    pod: evaluation.input.pod.name,
    container: scaled.container,
    action,
    change,
  });
}

function nameOwner(evaluation: Evaluation, owned: Parameters<typeof findAutoscaler>[1]): string | null {
  const owner = findAutoscaler(evaluation, owned);
  return owner && formatName(owner);
}

/** Counts the evaluation of a container, and its candidates once per new sample, sent or blocked. Clauses: C52. */
function countDecision(
  decided: ContainerDecision,
  evaluation: EvaluatedPod,
  { isNewSample, tookMs, metrics }: Pick<Evaluation, "tookMs"> & {
    readonly isNewSample: boolean;
    readonly metrics: Metrics;
  },
): void {
  const autoscaler = findAutoscaler(evaluation, decided);
  if (autoscaler === null) return;
  metrics.reconciled();
  metrics.evaluated(autoscaler, tookMs / 1000);
  const { decision, candidates } = decided;
  if (!isNewSample || decision.kind === "hold" || decision.kind === "revert") return;
  const labels = toLabels(autoscaler);
  for (const key of candidates) metrics.decided(labels[decision.action][key]);
  if (decision.kind === "blocked") metrics.blocked(labels.toBlocked(decision.reason));
}

/** The labels of one autoscaler's series. Equal labels are one object, by which metrics find a series again. */
interface DecisionLabels {
  readonly scaleUp: Readonly<Record<ResourceField, FieldChange>>;
  readonly scaleDown: Readonly<Record<ResourceField, FieldChange>>;
  readonly toBlocked: (reason: BlockReason) => Parameters<Metrics["blocked"]>[0];
}

const LABELS = new WeakMap<Autoscaler, DecisionLabels>();

function toLabels(autoscaler: Autoscaler): DecisionLabels {
  let labels = LABELS.get(autoscaler);
  if (labels === undefined) LABELS.set(autoscaler, labels = newLabels(toName(autoscaler)));
  return labels;
}

function newLabels(name: AutoscalerName): DecisionLabels {
  const blocked = new Map<BlockReason, AutoscalerName & { readonly reason: BlockReason }>();
  return {
    scaleUp: toChanges(name, "up"),
    scaleDown: toChanges(name, "down"),
    toBlocked(reason) {
      const known = blocked.get(reason) ?? { ...name, reason };
      blocked.set(reason, known);
      return known;
    },
  };
}

function toChanges(name: AutoscalerName, direction: Direction): Readonly<Record<ResourceField, FieldChange>> {
  const toChange = (key: ResourceField) => {
    return { ...name, resource: resourceOf(key), side: requestOrLimitOf(key), direction };
  };
  return {
    "cpu.requests": toChange("cpu.requests"),
    "cpu.limits": toChange("cpu.limits"),
    "memory.requests": toChange("memory.requests"),
    "memory.limits": toChange("memory.limits"),
  };
}

/**
 * Counts a refused request as an error of the namespace and as a blocked resize. The sample that led to it was counted
 * as decided, not as blocked. Clauses: C52.
 */
function countRefusal(
  answer: Answer,
  { request, evaluation, options: { metrics, isKnown } }: {
    readonly request: ResizeRequest;
    readonly evaluation: Evaluation;
    readonly options: MetricsSinkOptions;
  },
): void {
  const reason = findRefusalReason(answer);
  const autoscaler = findAutoscaler(evaluation, request);
  if (reason === null || autoscaler === null) return;
  metrics.failed(autoscaler.namespace, reason);
  // A revert of a stuck resize is not a scale action.
  if (request.action !== "revert" && isKnown(autoscaler)) metrics.blocked(toLabels(autoscaler).toBlocked(reason));
}

function findRefusalReason(answer: Answer): RefusalReason | null {
  if (answer.kind === "refused") return answer.reason;
  return answer.kind === "unconfirmed" ? "RetryLater" : null;
}

function countScaled(scaled: ScaleAction, evaluation: Evaluation, { metrics, isKnown }: MetricsSinkOptions): void {
  metrics.resourceUpdated();
  const autoscaler = findAutoscaler(evaluation, scaled);
  if (autoscaler === null || !isKnown(autoscaler)) return;
  const direction = toDirection(scaled.action);
  for (const { key, from, to } of scaled.deltas) {
    const resource = resourceOf(key);
    metrics.resized({
      ...toName(autoscaler),
      resource,
      side: requestOrLimitOf(key),
      direction,
      // Both are counted in the units that sizing rounds to: millicores and MiB.
      absolute: Math.abs(to - from) / RESIZE_UNIT[resource],
      percent: from === 0 ? 0 : Math.abs(to - from) / from * 100,
    });
  }
}

function toName({ namespace, name }: Autoscaler): AutoscalerName {
  return { namespace, name };
}

function toDirection(action: ScaleAction["action"]): "up" | "down" {
  return action === "scaleUp" ? "up" : "down";
}
