/**
 * The sink that logs: a resize at info, and at debug each decision with its reason and what led to it. The reasons are
 * the words that events and metrics use (C53).
 */
import type { ContainerDecision, Scaled } from "../../core/decision.ts";
import { readAssessments } from "../../core/propose/assess.ts";
import type { ResizeRequest } from "../../core/resize_request.ts";
import type { Log } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import { type Evaluation, findOwner, type Sink } from "./sink.ts";

/** Never throws, as the log does not. */
export function createLogSink(log: Log): Sink {
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

function logDecision(decided: ContainerDecision, evaluation: Evaluation, log: Log): void {
  const { input: { pod }, outcome: { state } } = evaluation;
  const { decision, isNewSample } = decided;
  const autoscaler = findOwner(evaluation, decided);
  if (autoscaler === null) return;
  const utilization = Object.fromEntries(
    readAssessments(autoscaler, state, pod)
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

function logScaled(scaled: Scaled, evaluation: Evaluation, log: Log): void {
  const { action, change } = scaled;
  log.info("Resized pod", {
    autoscaler: nameOwner(evaluation, scaled),
    pod: evaluation.input.pod.name,
    container: scaled.container,
    action,
    change,
  });
}

function nameOwner(evaluation: Evaluation, owned: Parameters<typeof findOwner>[1]): string | null {
  const owner = findOwner(evaluation, owned);
  return owner && formatName(owner);
}
