/** Is a ScaledObject active, and by which triggers (R51, R63), as KEDA's getScaledObjectState. */
import type { Formula } from "../../../scaled_object/formula.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { milliToDouble } from "../../../units/milli.ts";
import { type Composite, COMPOSITE_NAME } from "../composite.ts";
import type { ExternalMetric } from "../metrics.ts";

/** What the poll half goes by. */
export interface Activity {
  readonly isActive: boolean;
  /** Some trigger failed, and no fallback stands for it. */
  readonly isError: boolean;
  /** Names of metrics. */
  readonly activeMetrics: readonly string[];
}

/** `composite` is `null` without a formula. */
export function readActivity(
  object: ScaledObject,
  metrics: readonly ExternalMetric[],
  composite: Composite | null,
): Activity {
  const activity = object.formula === null || composite === null
    ? readByTriggers(metrics)
    : readByFormula(object.formula, composite);
  // CPU and memory alone could never lift a target from zero.
  return metrics.length === 0 && !activity.isError ? { ...activity, isActive: true } : activity;
}

function readByTriggers(metrics: readonly ExternalMetric[]): Activity {
  const active = metrics.filter(({ result }) =>
    result.kind === "fallback" || (result.kind === "value" && result.isActive)
  );
  return {
    isActive: active.length > 0,
    isError: metrics.some(({ result }) => result.kind === "failed"),
    activeMetrics: active.map(({ trigger }) => trigger.metricName),
  };
}

function readByFormula({ activationTarget }: Formula, composite: Composite): Activity {
  if (composite.kind === "failed") return { isActive: false, isError: true, activeMetrics: [] };
  const isActive = milliToDouble(composite.milli) > activationTarget;
  return { isActive, isError: false, activeMetrics: isActive ? [COMPOSITE_NAME] : [] };
}
