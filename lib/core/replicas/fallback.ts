/**
 * What stands for a trigger that has failed too often (R70, R71), as KEDA's doFallback.
 * https://github.com/kedacore/keda/blob/v2.20.2/pkg/fallback/fallback.go
 */
import type { MetricType } from "../../scaled_object/formula.ts";
import { listExternalTriggers } from "../../scaled_object/list_triggers.ts";
import type { Fallback, FallbackBehavior, ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ExternalTrigger } from "../../scaled_object/trigger.ts";
import { milliToDouble } from "../../units/milli.ts";
import type { TriggerReading, TriggerReadings } from "./input.ts";

/** Failures in a row by metric name. */
export type Failures = Readonly<Record<string, number>>;

/** Counts each fresh evaluation, of either half, once; a repetition and a cached value count neither way. Without fallback nothing is counted. */
export function countFailures(before: Failures, object: ScaledObject, readings: TriggerReadings): Failures {
  if (object.fallback === null) return {};
  const counts: [string, number][] = [];
  for (const { index, metricName } of listExternalTriggers(object)) {
    const count = countFailure(readFailures(before, metricName), readings.get(index));
    if (count !== null) counts.push([metricName, count]);
  }
  return Object.fromEntries(counts);
}

/** Of the metrics that there are still, where there is fallback still. */
export function keepFailures(before: Failures, object: ScaledObject): Failures {
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
export function readFailures(failures: Failures, metricName: string): number | null {
  return Object.hasOwn(failures, metricName) ? failures[metricName] ?? null : null;
}

/** More failures than the threshold: a threshold of 3 is passed by the fourth. */
export function isFallenBack(failures: Failures, metricName: string, fallback: Fallback | null): boolean {
  return fallback !== null && (readFailures(failures, metricName) ?? 0) > fallback.failureThreshold;
}

/** Any trigger of the object is above its threshold (R72). */
export function hasFallenBack(failures: Failures, object: ScaledObject): boolean {
  return listExternalTriggers(object).some(({ metricName }) => isFallenBack(failures, metricName, object.fallback));
}

/** What fallback may look at. */
export interface FallbackFacts {
  /** scale.spec.replicas. */
  readonly replicas: number;
  /** `null` = the target has no pod. */
  readonly readyPods: number | null;
}

/** The value of a fallen trigger, thousandths: (1000 * target) * k, cut. `null` where there is none: of type Value, without ready pods. */
export function toFallbackValue(
  object: ScaledObject,
  trigger: ExternalTrigger,
  { replicas, readyPods }: FallbackFacts,
): bigint | null {
  const { fallback, formula } = object;
  if (fallback === null) return null;
  const target = formula?.target ?? (trigger.targetMilli === null ? null : milliToDouble(trigger.targetMilli));
  const asked = readReplicas(fallback, replicas);
  const metricType: MetricType = formula?.metricType ?? trigger.metricType;
  if (target === null || (metricType === "Value" && (readyPods ?? 0) === 0)) return null;
  const k = metricType === "Value" ? asked / (readyPods ?? 0) : asked;
  return cut(target * 1000 * k);
}

function readReplicas({ behavior, replicas }: Fallback, current: number): number {
  return CHOICES[behavior](replicas, current);
}

const CHOICES: Readonly<Record<FallbackBehavior, (replicas: number, current: number) => number>> = {
  static: (replicas) => replicas,
  currentReplicas: (_, current) => current,
  currentReplicasIfHigher: Math.max,
  currentReplicasIfLower: Math.min,
  // With a formula the trigger is nil in it; there is no other use for it.
  scalingModifiers: (replicas) => replicas,
};

/** To an integer, at most what an int64 holds. */
function cut(milli: number): bigint {
  return milli >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(Math.trunc(milli));
}
