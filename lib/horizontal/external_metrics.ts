/**
 * What is the value of each external metric, and of the formula over them?
 *
 * The formula (scalingModifiers) gives one value that counts instead of the external triggers. The scaling loop asks
 * for a proposal for each metric that is listed here.
 */
import {
  COMPOSITE_METRIC_NAME,
  type ExternalTrigger,
  type Fallback,
  type Formula,
  listResourceTriggers,
  type ResourceTrigger,
  type ScaledObject,
  type Trigger,
} from "../model/scaled_object.ts";
import { milliToDouble, truncMilli } from "../units/numbers.ts";

/** The one value that counts instead of those of the external triggers, thousandths, or why it is missing. */
export type CompositeMetric =
  /** `doubt`: a trigger counts as 0 because its answer is empty, so replicas must not fall for this value. */
  | { readonly kind: "value"; readonly milli: bigint; readonly doubt?: string }
  | { readonly kind: "failed"; readonly error: string };

interface CompositeFacts {
  /** The metrics of all external triggers, named or not. */
  readonly metrics: readonly ExternalMetric[];
  readonly fallback: Fallback | null;
  readonly half: "poll" | "tick";
}

/**
 * A trigger in fallback makes it the fallback's value. The scaling loop then ignores another failed trigger; the
 * activation loop does not. A doubted empty answer is 0 in the formula.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/scaling/modifiers/formula.go
 * Clauses: R61, R63, R64.
 */
export function computeComposite(formula: Formula, { metrics, fallback, half }: CompositeFacts): CompositeMetric {
  const failed = metrics.find(({ result }) => result.kind === "failed" && result.isEmpty !== true);
  const replaced = metrics.find(({ result }) => result.kind === "fallback");
  if (failed?.result.kind === "failed" && (replaced === undefined || half === "poll")) {
    return { kind: "failed", error: `${failed.trigger.metricName}: ${failed.result.error}` };
  }
  if (replaced?.result.kind === "fallback") return { kind: "value", milli: replaced.result.milli };
  const composite = runFormula(formula, { metrics, fallback });
  const empty = metrics.find(({ result }) => result.kind === "failed" && result.isEmpty === true);
  if (empty?.result.kind !== "failed" || composite.kind === "failed") return composite;
  return { ...composite, doubt: `${empty.trigger.metricName}: ${empty.result.error}` };
}

/** One external trigger and its value. */
export interface ExternalMetric {
  readonly trigger: ExternalTrigger;
  readonly result: MetricResult;
}

/** `error` is why the query failed. Amounts are thousandths. */
export type MetricResult =
  | { readonly kind: "value"; readonly milli: bigint; readonly isActive: boolean }
  /** It has failed too often; this replaces its value. */
  | { readonly kind: "fallback"; readonly milli: bigint; readonly error: string }
  /** It has failed too often; it is nil in the formula. */
  | { readonly kind: "nil"; readonly error: string }
  /** `isEmpty`: it answered without a value, which may mean that the metric is missing. */
  | { readonly kind: "failed"; readonly error: string; readonly isEmpty?: boolean };

/** Runs the formula with the current values. Clauses: R17, R51, R70, R71. */
function runFormula(formula: Formula, { metrics, fallback }: Omit<CompositeFacts, "half">): CompositeMetric {
  const result = formula.program.run(Object.fromEntries(listFormulaValues(metrics)));
  switch (result.kind) {
    case "error":
      return failComposite(`error trying to run custom formula: ${result.message}`);
    case "nil":
      return fallback === null
        ? failComposite("scalingModifiers formula evaluated to nil but no fallback is configured")
        : toCompositeMetric(fallback.replicas * formula.target);
    case "number":
      return toCompositeMetric(result.value);
  }
}

/** The formula gets values rounded to thousandths, as doubles, and nil for a trigger that has failed too often. */
function listFormulaValues(metrics: readonly ExternalMetric[]): readonly (readonly [string, number | null])[] {
  return metrics.flatMap(({ trigger: { name }, result }): readonly (readonly [string, number | null])[] => {
    if (name === null) return [];
    if (result.kind === "failed" && result.isEmpty === true) return [[name, 0]];
    return [[name, result.kind === "value" ? milliToDouble(result.milli) : null]];
  });
}

/** Cut, not rounded. */
function toCompositeMetric(value: number): CompositeMetric {
  const milli = truncMilli(value);
  return milli === null ? failComposite(`formula gave ${value}, which is not an amount`) : { kind: "value", milli };
}

function failComposite(error: string): CompositeMetric {
  return { kind: "failed", error };
}

export type ScalingMetric = Trigger | { readonly kind: "composite"; readonly formula: Formula };

/** In the order of the triggers, the formula last. Clauses: R61. */
export function listScalingMetrics(object: ScaledObject): readonly ScalingMetric[] {
  const { triggers, formula } = object;
  if (formula === null) return triggers;
  return [...listResourceTriggers(object), { kind: "composite", formula }];
}

/** Returns the name that the HPA controller uses in messages. */
export function nameScalingMetric(subject: ScalingMetric): string {
  switch (subject.kind) {
    case "resource":
      return nameResourceMetric(subject);
    case "external":
      return nameExternalMetric(subject);
    case "composite":
      return `external metric ${COMPOSITE_METRIC_NAME}`;
  }
}

function nameExternalMetric({ source, metricName }: ExternalTrigger): string {
  if (source.kind !== "metric" || source.of.kind === "external") return `external metric ${metricName}`;
  return source.of.kind === "pods" ? `pods metric ${source.metric}` : `${source.of.objectKind} metric ${source.metric}`;
}

function nameResourceMetric({ type, container, target }: ResourceTrigger): string {
  const what = container === null ? `${type} resource` : `${type} container resource`;
  return target.kind === "Utilization" ? `${what} utilization (percentage of request)` : what;
}
