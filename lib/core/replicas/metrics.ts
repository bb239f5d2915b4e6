/** What each external trigger came to in one pass of either half, once fallback has had its say (R17, R51, R70, R71). */
import { listExternalTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ExternalTrigger } from "../../scaled_object/trigger.ts";
import { toMilli } from "../../units/milli.ts";
import { type Failures, type FallbackFacts, isFallenBack, toFallbackValue } from "./fallback.ts";
import type { TriggerReading, TriggerReadings } from "./input.ts";

/** One external trigger and its value. */
export interface ExternalMetric {
  readonly trigger: ExternalTrigger;
  readonly result: MetricResult;
}

/** `error` is why asking failed. Amounts are thousandths. */
export type MetricResult =
  | { readonly kind: "value"; readonly milli: bigint; readonly isActive: boolean }
  /** It has failed too often, and this stands for its value. */
  | { readonly kind: "fallback"; readonly milli: bigint; readonly error: string }
  /** It has failed too often, and the formula sees nil. */
  | { readonly kind: "nil"; readonly error: string }
  | { readonly kind: "failed"; readonly error: string };

export interface MetricFacts extends FallbackFacts {
  readonly readings: TriggerReadings;
  /** With this pass's readings counted. */
  readonly failures: Failures;
}

/** One for each external trigger, in their order. */
export function readMetrics(object: ScaledObject, facts: MetricFacts): readonly ExternalMetric[] {
  return listExternalTriggers(object).map((trigger) => ({ trigger, result: readMetric(object, trigger, facts) }));
}

function readMetric(object: ScaledObject, trigger: ExternalTrigger, facts: MetricFacts): MetricResult {
  const reading: TriggerReading | undefined = facts.readings.get(trigger.index);
  if (reading?.kind === "value") {
    const { value } = reading;
    // Activation is held against the value as it came, replicas against the rounded one.
    return { kind: "value", milli: toMilli(value), isActive: value > trigger.activation };
  }
  const error = reading?.kind === "failed" ? reading.message : "it was not asked";
  if (!isFallenBack(facts.failures, trigger.metricName, object.fallback)) return { kind: "failed", error };
  return replaceFailed(object, trigger, { facts, error });
}

function replaceFailed(
  object: ScaledObject,
  trigger: ExternalTrigger,
  { facts, error }: { readonly facts: FallbackFacts; readonly error: string },
): MetricResult {
  if (object.fallback?.behavior === "scalingModifiers" && object.formula !== null) return { kind: "nil", error };
  const milli = toFallbackValue(object, trigger, facts);
  return milli === null
    ? { kind: "failed", error: `${error} (and no fallback, as no pod is ready)` }
    : { kind: "fallback", milli, error };
}
