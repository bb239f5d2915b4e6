/** What both halves do with the readings of external triggers: count failures, let fallback stand in, run the formula (R40, R61, R70, R72). */
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import { type Composite, computeComposite } from "./composite.ts";
import { toFallback } from "./condition_words.ts";
import { countFailures, hasFallenBack } from "./fallback.ts";
import type { TriggerReadings } from "./input.ts";
import { type ExternalMetric, readMetrics } from "./metrics.ts";
import type { ReplicasNotice } from "./notices.ts";
import { notifyOfFailed } from "./notify/failed_triggers.ts";
import type { ReplicasState } from "./state.ts";

/** The triggers of one pass. */
export interface Evaluation {
  /** With failures counted, condition Fallback set, and what people are notified of noted. */
  readonly state: ReplicasState;
  /** One for each external trigger. */
  readonly metrics: readonly ExternalMetric[];
  /** `null` without a formula. */
  readonly composite: Composite | null;
  readonly notices: readonly ReplicasNotice[];
}

export interface Evaluated {
  readonly object: ScaledObject;
  readonly half: "poll" | "tick";
  readonly readings: TriggerReadings;
  /** scale.spec.replicas. */
  readonly replicas: number;
  /** `null` = the target has no pod. */
  readonly readyPods: number | null;
}

export function evaluate(before: ReplicasState, { object, half, ...facts }: Evaluated): Evaluation {
  const failures = countFailures(before.failures, object, facts.readings);
  const metrics = readMetrics(object, { ...facts, failures });
  const { formula, fallback } = object;
  const composite = formula === null ? null : computeComposite(formula, { metrics, fallback, half });
  // Where the tick half needs no metric nobody asks for one, and that is no failure.
  const asked = metrics.filter(({ trigger }) => facts.readings.has(trigger.index));
  const { notified, notices } = notifyOfFailed(before.notified, asked, asked.length === 0 ? null : composite);
  const conditions = { ...before.conditions, Fallback: toFallback(hasFallenBack(failures, object)) };
  return { state: { ...before, failures, conditions, notified }, metrics, composite, notices };
}
