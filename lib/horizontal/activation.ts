/**
 * Is a ScaledObject active, and what follows from that?
 *
 * The tables of KEDA: which triggers are active, and which step the activation loop takes then. activation_loop.ts
 * performs the step.
 */
import { COMPOSITE_METRIC_NAME, type Formula, type ScaledObject } from "../model/scaled_object.ts";
import { milliToDouble } from "../units/numbers.ts";
import type { CompositeMetric, ExternalMetric } from "./external_metrics.ts";

/** What the triggers mean for the activation loop. */
export interface Activity {
  readonly isActive: boolean;
  /** A trigger failed, and no fallback replaces it. */
  readonly isError: boolean;
  /** The only failures are empty answers. */
  readonly isEmpty: boolean;
  /** Names of metrics. */
  readonly activeMetrics: readonly string[];
}

/**
 * Returns whether the object is active, and by which metrics. `composite` is `null` without a formula.
 * Clauses: R51, R63.
 */
export function computeActivity(
  object: ScaledObject,
  metrics: readonly ExternalMetric[],
  composite: CompositeMetric | null,
): Activity {
  const activity = object.formula === null || composite === null
    ? computeTriggerActivity(metrics)
    : computeFormulaActivity(object.formula, composite);
  // CPU and memory alone can never activate a target from zero.
  return metrics.length === 0 && !activity.isError ? { ...activity, isActive: true } : activity;
}

function computeTriggerActivity(metrics: readonly ExternalMetric[]): Activity {
  const active = metrics.filter(({ result }) =>
    result.kind === "fallback" || (result.kind === "value" && result.isActive)
  );
  const failed = metrics.flatMap(({ result }) => result.kind === "failed" ? [result] : []);
  return {
    isActive: active.length > 0,
    isError: failed.length > 0,
    isEmpty: failed.length > 0 && failed.every(({ isEmpty }) => isEmpty === true),
    activeMetrics: active.map(({ trigger }) => trigger.metricName),
  };
}

function computeFormulaActivity({ activationTarget }: Formula, composite: CompositeMetric): Activity {
  if (composite.kind === "failed") return { isActive: false, isError: true, isEmpty: false, activeMetrics: [] };
  const isActive = milliToDouble(composite.milli) > activationTarget;
  const isEmpty = composite.doubt !== undefined;
  return { isActive, isError: isEmpty, isEmpty, activeMetrics: isActive ? [COMPOSITE_METRIC_NAME] : [] };
}

export type ActivationStep =
  /** From zero or idle to at least one. */
  | "activate"
  /** Active, but some trigger failed. */
  | "doubt"
  | "stay"
  /** Failed triggers that fallback will replace, or that no fallback replaces. Neither scales to zero. */
  | "awaitFallback"
  | "fail"
  /** To idle or zero, after the cooldown. */
  | "deactivate"
  /** Inactive with fewer replicas than the minimum. */
  | "raise"
  | "rest";

/** The input of the table. */
export interface ActivationCase extends Pick<ScaledObject, "idleReplicas" | "minReplicas"> {
  /** By its triggers, or forced. */
  readonly isActive: boolean;
  readonly isError: boolean;
  readonly hasFallback: boolean;
  readonly replicas: number;
}

/**
 * Returns the step of KEDA's RequestScale.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/scaling/executor/scale_scaledobjects.go
 * Clauses: R52, R53.
 */
export function chooseActivationStep(it: ActivationCase): ActivationStep {
  return it.isActive ? chooseActive(it) : chooseInactive(it);
}

function chooseActive({ isError, idleReplicas, minReplicas, replicas }: ActivationCase): ActivationStep {
  if (replicas === 0 || (idleReplicas !== null && replicas < minReplicas)) return "activate";
  return isError ? "doubt" : "stay";
}

function chooseInactive({ isError, hasFallback, idleReplicas, minReplicas, replicas }: ActivationCase): ActivationStep {
  if (isError) return hasFallback ? "awaitFallback" : "fail";
  if (idleReplicas !== null && replicas > idleReplicas) return "deactivate";
  if (replicas > 0 && minReplicas === 0) return "deactivate";
  return idleReplicas === null && replicas < minReplicas ? "raise" : "rest";
}

/** Rounds down to what status.lastActiveTime can hold, epoch ms. Clauses: R52, R53, R56. */
export function toWholeSeconds(at: number): number {
  return Math.floor(at / 1000) * 1000;
}
