/**
 * Reports each evaluation of a pod: in the log, in metrics, as Kubernetes Events. `Refusals` reports when resizes of
 * an autoscaler are refused for a minute or longer.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { ContainerDecision, ScaleAction } from "../../model/decision.ts";
import { explainOtherPodfit } from "../../model/ownership.ts";
import type { RefusalReason } from "../../model/reasons.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { requestOrLimitOf, RESIZE_UNIT, resourceOf } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { assessAutoscaler } from "../../vertical/explain.ts";
import { formatName } from "../cluster/facts.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { type OnFailure, toStableText } from "../health.ts";
import type { AutoscalerName, Metrics } from "../metrics/metrics.ts";
import { type Evaluation, type EvaluationSink, findAutoscaler, type PendingResize } from "./controller.ts";

// The sink that logs: a resize at info, and at debug each decision with its reason and what led to it. The reasons are
// the words that events and metrics use (C53).

/** Never throws, as the log does not. */
export function createLogSink(log: Log): EvaluationSink {
  return (evaluation) => {
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
}

// The sink that publishes the notices of an evaluation as Kubernetes Events on their autoscalers (C50).

/** Never throws: what the recorder cannot write it counts and drops. */
export function createEventSink(recorder: Pick<EventRecorder, "publish">): EvaluationSink {
  return ({ input: { pod, contenders }, outcome: { notices } }) => {
    for (const notice of notices) {
      const autoscaler = contenders.find(({ uid }) => uid === notice.autoscaler);
      if (autoscaler !== undefined) recorder.publish(notice, { autoscaler, pod });
    }
  };
}

// The sink that counts (C52): evaluations, what they decided, what was resized and what the API server refused. Counts
// are made where a figure changes, so an evaluation in which nothing happens costs two.

/** Where to count, and for whom. */
interface MetricsSinkOptions {
  readonly metrics: Metrics;
  /** False for an autoscaler deleted while an answer was on its way: its series must not come back (C52). */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Never throws, as metrics do not. */
export function createMetricsSink(options: MetricsSinkOptions): EvaluationSink {
  const { metrics } = options;
  return (evaluation) => {
    const { input: { observation }, outcome: { implausible, decisions, scaled, enacted }, tookMs } = evaluation;
    if (implausible > 0) metrics.usageSkipped("implausible", implausible);
    if (observation.kind === "answered") {
      countRefusal(observation.answer, { request: observation.request, evaluation, options });
    }
    for (const decision of decisions) {
      const autoscaler = findAutoscaler(evaluation, decision);
      if (autoscaler === null) continue;
      metrics.reconciled();
      metrics.evaluated(autoscaler, tookMs / 1000);
      countDecision(decision, autoscaler, metrics);
    }
    if (scaled !== null) countScaled(scaled, evaluation, options);
    if (enacted !== null) {
      const autoscaler = findAutoscaler(evaluation, enacted);
      if (autoscaler === null) return;
      metrics.enacted({ ...toName(autoscaler), direction: toDirection(enacted.action) }, enacted.tookMs / 1000);
    }
  };
}

// The sink by which a sidecar says that it leaves its pod alone (C17): somebody has forgotten the label.

/** Says it once, and again when it has been otherwise in between. Of what other podfits leave to sidecars it says nothing. */
export function createSkippedPodSink(log: Pick<Log, "warn">): EvaluationSink {
  let isSaid = false;
  return ({ input }) => {
    if (input.isSidecar !== true) return;
    const why = explainOtherPodfit(input);
    if (why !== null && !isSaid) log.warn("The pod is not resized", { pod: formatName(input.pod), why });
    isSaid = why !== null;
  };
}

// The sink that tells when resizes of an autoscaler are refused for long and none is accepted. The first refusal for a
// reason of its own is an event already (C44); a server that is busy, or gives no answer, is none until it lasts.

/** Whom it tells. */
interface RefusalReporterOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly recorder: Pick<EventRecorder, "publish">;
  readonly onTrouble: OnFailure;
  /** False for an autoscaler deleted while an answer was on its way: nothing is kept of it. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

const CANNOT_RESIZE = "Cannot resize pods";

const BUSY_MESSAGE = "the API server is busy, and resizes wait for it";

/** What is over sooner heals by itself. */
const LONG_MS = 60_000;

/** Twice the longest wait after a refusal: whoever was refused before that wants nothing any more. */
const FORGET_MS = 20 * 60_000;

interface Episode {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly isLong: boolean;
  readonly isPublished: boolean;
}

/** Remembers since when each autoscaler has been refused. */
export class RefusalReporter {
  readonly #options: RefusalReporterOptions;
  /** By uid of the autoscaler. */
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

  /** Looks for requests that have waited for their turn for long, as the server is busy. To be called now and then. */
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
    // The other reasons have an event of their own from the first refusal on.
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
  /** How long it has lasted already, ms. */
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

/** Candidates count once per new sample, sent or blocked (C52). */
function countDecision(
  { decision, candidates, isNewSample }: ContainerDecision,
  autoscaler: Autoscaler,
  metrics: Metrics,
): void {
  if (!isNewSample || decision.kind === "hold" || decision.kind === "revert") return;
  const name = toName(autoscaler);
  const direction = toDirection(decision.action);
  for (const key of candidates) {
    metrics.decided({ ...name, resource: resourceOf(key), side: requestOrLimitOf(key), direction });
  }
  if (decision.kind === "blocked") metrics.blocked({ ...name, reason: decision.reason });
}

/**
 * A refused request is an error of the namespace, and a resize that was wanted and did not happen (C52). The sample
 * that led to it has counted as decided, not as blocked.
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
  // To revert a stuck resize (C47) is no scale action.
  if (request.action !== "revert" && isKnown(autoscaler)) metrics.blocked({ ...toName(autoscaler), reason });
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
      // Both resources count in the units that sizing rounds to: millicores and MiB.
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
