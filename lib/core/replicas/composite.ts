/**
 * What a formula makes of the external triggers (R61, R63, R64), as KEDA's HandleScalingModifiers.
 * https://github.com/kedacore/keda/blob/v2.20.2/pkg/scaling/modifiers/formula.go
 */
import type { Formula } from "../../scaled_object/formula.ts";
import type { Fallback } from "../../scaled_object/scaled_object.ts";
import { milliToDouble, truncMilli } from "../../units/milli.ts";
import type { ExternalMetric } from "./metrics.ts";

/** status.compositeScalerName. */
export const COMPOSITE_NAME = "composite-metric";

/** The one value that counts instead of those of the external triggers, thousandths, or why there is none. */
export type Composite =
  | { readonly kind: "value"; readonly milli: bigint }
  | { readonly kind: "failed"; readonly error: string };

export interface CompositeFacts {
  /** Of all external triggers, named or not. */
  readonly metrics: readonly ExternalMetric[];
  readonly fallback: Fallback | null;
  readonly half: "poll" | "tick";
}

/** A trigger in fallback makes it the fallback's value. The tick half then does not mind that another one fails; the poll half does. */
export function computeComposite(formula: Formula, { metrics, fallback, half }: CompositeFacts): Composite {
  const failed = metrics.find(({ result }) => result.kind === "failed");
  const fallen = metrics.find(({ result }) => result.kind === "fallback");
  if (failed?.result.kind === "failed" && (fallen === undefined || half === "poll")) {
    return { kind: "failed", error: `${failed.trigger.metricName}: ${failed.result.error}` };
  }
  if (fallen?.result.kind === "fallback") return { kind: "value", milli: fallen.result.milli };
  return runFormula(formula, { metrics, fallback });
}

function runFormula(formula: Formula, { metrics, fallback }: Omit<CompositeFacts, "half">): Composite {
  const result = formula.program.run(Object.fromEntries(listValues(metrics)));
  switch (result.kind) {
    case "error":
      return fail(`error trying to run custom formula: ${result.message}`);
    case "nil":
      return fallback === null
        ? fail("scalingModifiers formula evaluated to nil but no fallback is configured")
        : toComposite(fallback.replicas * formula.target);
    case "number":
      return toComposite(result.value);
  }
}

/** The formula sees values rounded to thousandths, as doubles, and nil for a trigger that has failed too often. */
function listValues(metrics: readonly ExternalMetric[]): readonly (readonly [string, number | null])[] {
  return metrics.flatMap(({ trigger: { name }, result }): readonly (readonly [string, number | null])[] => {
    if (name === null) return [];
    return [[name, result.kind === "value" ? milliToDouble(result.milli) : null]];
  });
}

/** Cut, not rounded. */
function toComposite(value: number): Composite {
  const milli = truncMilli(value);
  return milli === null ? fail(`formula gave ${value}, which is no amount`) : { kind: "value", milli };
}

function fail(error: string): Composite {
  return { kind: "failed", error };
}
