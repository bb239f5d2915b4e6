/**
 * Tells an outcome to everyone who wants to know: log, metrics, events and the autoscaler's status. The same reasons
 * everywhere (C53).
 */
import type { ContainerDecision, Outcome, Scaled } from "../../core/decision.ts";
import type { LastScale } from "../../autoscaler/conditions.ts";
import { readAssessments } from "../../core/propose/assess.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Log } from "../../runtime/log.ts";
import { resourceOf, sideOf, UNIT } from "../../units/resources.ts";
import { formatName } from "../inventory/facts.ts";
import type { Tracked } from "../inventory/tracked.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Recorder } from "./recorder.ts";

export type Report = (outcome: Outcome, tracked: Tracked, tookMs: number) => void;

export interface ReportOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorder: Pick<Recorder, "publish">;
  readonly onScaled: (policy: Autoscaler, scale: LastScale) => void;
  /** False for an autoscaler deleted while an answer was on its way: its series must not come back (C52). */
  readonly isKnown: (policy: Autoscaler) => boolean;
}

export function createReport({ log, metrics, recorder, onScaled, isKnown }: ReportOptions): Report {
  return (outcome, { pod, contenders }, tookMs) => {
    if (outcome.implausible > 0) metrics.usageSkipped("absurd", outcome.implausible);
    for (const notice of outcome.notices) {
      const policy = contenders.find(({ uid }) => uid === notice.autoscaler);
      if (policy !== undefined) recorder.publish(notice, { autoscaler: policy, pod });
    }
    for (const decision of outcome.decisions) {
      metrics.reconciled();
      metrics.evaluated(decision.policy, tookMs / 1000);
      countDecision(decision, metrics);
      if (log.level === "debug") logDecision(decision, outcome, { pod, log });
    }
    if (outcome.request !== null) logOrder(outcome, pod.name, log);
    if (outcome.scaled !== null) tellScaled(outcome.scaled, pod.name, { log, metrics, onScaled, isKnown });
    if (outcome.enacted !== null) {
      const { policy, action, tookMs: appliedMs } = outcome.enacted;
      metrics.enacted({ ...nameOf(policy), direction: toDirection(action) }, appliedMs / 1000);
      log.debug("Enacted", { autoscaler: formatName(policy), pod: pod.name, tookMs: appliedMs });
    }
  };
}

/** Candidates count once per new sample, sent or blocked (C52). */
function countDecision({ policy, decision, candidates, isNewSample }: ContainerDecision, metrics: Metrics): void {
  if (!isNewSample || decision.kind === "hold" || decision.kind === "return") return;
  const direction = toDirection(decision.action);
  for (const key of candidates) {
    metrics.decided({ ...nameOf(policy), resource: resourceOf(key), side: sideOf(key), direction });
  }
  if (decision.kind === "blocked") metrics.blocked({ ...nameOf(policy), reason: decision.reason });
}

function logDecision(
  { policy, decision, isNewSample }: ContainerDecision,
  { state }: Outcome,
  { pod, log }: { pod: PodFacts; log: Log },
): void {
  const assessments = readAssessments(policy, state, pod);
  const utilization = Object.fromEntries(
    assessments.map(({ key, utilizationPercent }) => [key, utilizationPercent && Math.round(utilizationPercent)]),
  );
  const where = {
    autoscaler: formatName(policy),
    pod: pod.name,
    container: policy.containerName,
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
    case "return":
      return log.debug("Decided", { ...where, action: "return", reason: decision.reason });
  }
}

function logOrder({ request: order }: Outcome, pod: string, log: Log): void {
  if (order === null) return;
  log.debug("Resizing", { autoscaler: formatName(order.policy), pod, container: order.container, why: order.why });
}

function tellScaled(
  { policy, action, at, change, deltas }: Scaled,
  pod: string,
  { log, metrics, onScaled, isKnown }: Pick<ReportOptions, "log" | "metrics" | "onScaled" | "isKnown">,
): void {
  metrics.resourceUpdated();
  log.info("Resized pod", { autoscaler: formatName(policy), pod, container: policy.containerName, action, change });
  if (!isKnown(policy)) return;
  const direction = toDirection(action);
  for (const { key, from, to } of deltas) {
    const resource = resourceOf(key);
    metrics.resized({
      ...nameOf(policy),
      resource,
      side: sideOf(key),
      direction,
      // Both resources count in the units that sizing rounds to: millicores and MiB.
      absolute: Math.abs(to - from) / UNIT[resource],
      percent: from === 0 ? 0 : Math.abs(to - from) / from * 100,
    });
  }
  onScaled(policy, { at, action, change });
}

function nameOf({ namespace, name }: Autoscaler): { namespace: string; name: string } {
  return { namespace, name };
}

function toDirection(action: "scaleUp" | "scaleDown"): "up" | "down" {
  return action === "scaleUp" ? "up" : "down";
}
