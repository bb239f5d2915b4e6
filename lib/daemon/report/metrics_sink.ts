/**
 * The sink that counts (C52): evaluations, what they decided, what was resized and what the API server refused. Counts
 * are made where a figure changes, so an evaluation in which nothing happens costs two.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { ContainerDecision, Scaled } from "../../core/decision.ts";
import type { RefusalReason } from "../../core/reasons.ts";
import type { Answer, ResizeRequest } from "../../core/resize_request.ts";
import { resourceOf, sideOf, UNIT } from "../../units/resources.ts";
import type { AutoscalerName, Metrics } from "../metrics/metrics.ts";
import { type Evaluation, findOwner, type Sink } from "./sink.ts";

/** Where to count, and for whom. */
export interface MetricsSinkOptions {
  readonly metrics: Metrics;
  /** False for an autoscaler deleted while an answer was on its way: its series must not come back (C52). */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Never throws, as metrics do not. */
export function createMetricsSink(options: MetricsSinkOptions): Sink {
  const { metrics } = options;
  return (evaluation) => {
    const { input: { observation }, outcome: { implausible, decisions, scaled, enacted }, tookMs } = evaluation;
    if (implausible > 0) metrics.usageSkipped("implausible", implausible);
    if (observation.kind === "answered") {
      countRefusal(observation.answer, { request: observation.request, evaluation, options });
    }
    for (const decision of decisions) {
      const autoscaler = findOwner(evaluation, decision);
      if (autoscaler === null) continue;
      metrics.reconciled();
      metrics.evaluated(autoscaler, tookMs / 1000);
      countDecision(decision, autoscaler, metrics);
    }
    if (scaled !== null) countScaled(scaled, evaluation, options);
    if (enacted !== null) {
      const autoscaler = findOwner(evaluation, enacted);
      if (autoscaler === null) return;
      metrics.enacted({ ...nameOf(autoscaler), direction: toDirection(enacted.action) }, enacted.tookMs / 1000);
    }
  };
}

/** Candidates count once per new sample, sent or blocked (C52). */
function countDecision(
  { decision, candidates, isNewSample }: ContainerDecision,
  autoscaler: Autoscaler,
  metrics: Metrics,
): void {
  if (!isNewSample || decision.kind === "hold" || decision.kind === "revert") return;
  const name = nameOf(autoscaler);
  const direction = toDirection(decision.action);
  for (const key of candidates) {
    metrics.decided({ ...name, resource: resourceOf(key), side: sideOf(key), direction });
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
  const reason = readRefusal(answer);
  const autoscaler = findOwner(evaluation, request);
  if (reason === null || autoscaler === null) return;
  metrics.failed(autoscaler.namespace, reason);
  // To revert a stuck resize (C47) is no scale action.
  if (request.action !== "revert" && isKnown(autoscaler)) metrics.blocked({ ...nameOf(autoscaler), reason });
}

function readRefusal(answer: Answer): RefusalReason | null {
  if (answer.kind === "refused") return answer.reason;
  return answer.kind === "unconfirmed" ? "RetryLater" : null;
}

function countScaled(scaled: Scaled, evaluation: Evaluation, { metrics, isKnown }: MetricsSinkOptions): void {
  metrics.resourceUpdated();
  const autoscaler = findOwner(evaluation, scaled);
  if (autoscaler === null || !isKnown(autoscaler)) return;
  const direction = toDirection(scaled.action);
  for (const { key, from, to } of scaled.deltas) {
    const resource = resourceOf(key);
    metrics.resized({
      ...nameOf(autoscaler),
      resource,
      side: sideOf(key),
      direction,
      // Both resources count in the units that sizing rounds to: millicores and MiB.
      absolute: Math.abs(to - from) / UNIT[resource],
      percent: from === 0 ? 0 : Math.abs(to - from) / from * 100,
    });
  }
}

function nameOf({ namespace, name }: Autoscaler): AutoscalerName {
  return { namespace, name };
}

function toDirection(action: Scaled["action"]): "up" | "down" {
  return action === "scaleUp" ? "up" : "down";
}
