/**
 * What replaces the value of a trigger that has failed too often?
 *
 * Failures are counted by metric. Above the threshold the fallback's replicas count, as in KEDA.
 */
import type { TriggerReading, TriggerReadings } from "../model/replicas_decision.ts";
import type { Failures } from "../model/replicas_state.ts";
import {
  type ExternalTrigger,
  type Fallback,
  type FallbackBehavior,
  hasOwnFallback,
  listExternalTriggers,
  type MetricType,
  type ScaledObject,
} from "../model/scaled_object.ts";
import { MAX_MILLI, milliToDouble, toMilli } from "../units/numbers.ts";
import { type DoubtFacts, EMPTY_ERROR, findAnswers, isDoubted } from "./empty_answers.ts";
import type { ExternalMetric, MetricResult } from "./external_metrics.ts";

interface MetricFacts extends FallbackFacts, DoubtFacts {
  readonly readings: TriggerReadings;
  /** Whether empty answers are doubted now. */
  readonly isDoubting: boolean;
  /** With the readings of this loop counted. */
  readonly failures: Failures;
}

/** One for each external trigger, in their order. Clauses: R17, R51, R58, R70, R71. */
export function computeExternalMetrics(object: ScaledObject, facts: MetricFacts): readonly ExternalMetric[] {
  return listExternalTriggers(object).map((trigger) => ({
    trigger,
    result: computeExternalMetric(object, trigger, facts),
  }));
}

function computeExternalMetric(object: ScaledObject, trigger: ExternalTrigger, facts: MetricFacts): MetricResult {
  const reading: TriggerReading | undefined = facts.readings.get(trigger.index);
  if (reading?.kind === "value") {
    const { value, milli = toMilli(value) } = reading;
    if (facts.isDoubting && findAnswers(facts.answers, trigger.metricName)?.hadValue && isDoubted(trigger, facts)) {
      return { kind: "failed", error: EMPTY_ERROR, isEmpty: true };
    }
    // Activation compares the exact value, replicas use the rounded one.
    return { kind: "value", milli, isActive: value > trigger.activation };
  }
  const error = reading?.kind === "failed" ? reading.message : "it was not asked";
  if (!isInFallback(facts.failures, trigger.metricName, object.fallback)) return { kind: "failed", error };
  return toFallbackResult(object, trigger, { facts, error });
}

function toFallbackResult(
  object: ScaledObject,
  trigger: ExternalTrigger,
  { facts, error }: { readonly facts: FallbackFacts; readonly error: string },
): MetricResult {
  if (object.fallback?.behavior === "scalingModifiers" && object.formula !== null) return { kind: "nil", error };
  const milli = toFallbackValue(object, trigger, facts);
  const why = object.formula === null && trigger.targetMilli === null ? "it has no valid target" : "no pod is ready";
  return milli === null
    ? { kind: "failed", error: `${error} (and no fallback, as ${why})` }
    : { kind: "fallback", milli, error };
}

/**
 * Counts each new evaluation of either loop once. A shared or cached value is not counted. Without fallback nothing is
 * counted.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/fallback/fallback.go
 * Clauses: R70, R71.
 */
export function countFailures(before: Failures, object: ScaledObject, readings: TriggerReadings): Failures {
  if (object.fallback === null) return {};
  const counts: [string, number][] = [];
  for (const { index, metricName } of listExternalTriggers(object).filter(hasOwnFallback)) {
    const count = countFailure(findFailureCount(before, metricName), readings.get(index));
    if (count !== null) counts.push([metricName, count]);
  }
  return Object.fromEntries(counts);
}

/** Keeps the counts of metrics that still exist, if there is still a fallback. */
export function keepCurrentFailures(before: Failures, object: ScaledObject): Failures {
  return countFailures(before, object, new Map());
}

/** `null` = it was never evaluated. */
function countFailure(before: number | null, reading: TriggerReading | undefined): number | null {
  if (reading === undefined || reading.kind === "pods" || !reading.isCounted) return before;
  return reading.kind === "failed" ? Math.min((before ?? 0) + 1, MAX_FAILURES) : 0;
}

/** The status has an int32. */
const MAX_FAILURES = 2 ** 31 - 1;

/** Failures in a row of one metric; `null` = it was never evaluated. */
export function findFailureCount(failures: Failures, metricName: string): number | null {
  return Object.hasOwn(failures, metricName) ? failures[metricName] ?? null : null;
}

/** Returns whether there are more failures than the threshold: a threshold of 3 is passed by the fourth. */
function isInFallback(failures: Failures, metricName: string, fallback: Fallback | null): boolean {
  return fallback !== null && (findFailureCount(failures, metricName) ?? 0) > fallback.failureThreshold;
}

/** Returns whether any trigger of the object is above its threshold. Clauses: R72. */
export function hasTriggerInFallback(failures: Failures, object: ScaledObject): boolean {
  return listExternalTriggers(object).some(({ metricName }) => isInFallback(failures, metricName, object.fallback));
}

/** What a fallback value depends on. */
interface FallbackFacts {
  /** scale.spec.replicas. */
  readonly replicas: number;
  /** `null` = the target has no pod. */
  readonly readyPods: number | null;
}

/**
 * Returns the value of a trigger in fallback, thousandths: (1000 * target) * k, cut. `null` if there is none: type
 * Value without ready pods, or a trigger whose target is a mistake.
 */
export function toFallbackValue(
  object: ScaledObject,
  trigger: ExternalTrigger,
  { replicas, readyPods }: FallbackFacts,
): bigint | null {
  const { fallback, formula } = object;
  if (fallback === null) return null;
  const target = formula?.target ?? (trigger.targetMilli === null ? null : milliToDouble(trigger.targetMilli));
  const wanted = chooseFallbackReplicas(fallback, replicas);
  const metricType: MetricType = formula?.metricType ?? trigger.metricType;
  if (target === null || (metricType === "Value" && (readyPods ?? 0) === 0)) return null;
  const k = metricType === "Value" ? wanted / (readyPods ?? 0) : wanted;
  return truncateMilli(target * 1000 * k);
}

function chooseFallbackReplicas({ behavior, replicas }: Fallback, current: number): number {
  return REPLICAS_BY_BEHAVIOR[behavior](replicas, current);
}

const REPLICAS_BY_BEHAVIOR: Readonly<Record<FallbackBehavior, (replicas: number, current: number) => number>> = {
  static: (replicas) => replicas,
  currentReplicas: (_, current) => current,
  currentReplicasIfHigher: Math.max,
  currentReplicasIfLower: Math.min,
  // With a formula the trigger is nil in it, so this is not used.
  scalingModifiers: (replicas) => replicas,
};

/** Cuts to an integer, at most what an int64 holds. */
function truncateMilli(milli: number): bigint {
  return milli >= 2 ** 63 ? MAX_MILLI : BigInt(Math.trunc(milli));
}
