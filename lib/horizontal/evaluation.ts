/**
 * What are the values of the triggers in this loop, and what is reported of each?
 *
 * Both loops begin here: failures are counted, fallback replaces values, and the formula runs.
 */
import type {
  ProposalReport,
  ReplicasInput,
  ReplicasNotice,
  TriggerReadings,
  TriggerReport,
} from "../model/replicas_decision.ts";
import type { ReplicasState } from "../model/replicas_state.ts";
import {
  COMPOSITE_METRIC_NAME,
  listResourceTriggers,
  type ResourceTrigger,
  type ScaledObject,
} from "../model/scaled_object.ts";
import { milliToDouble } from "../units/numbers.ts";
import { toFallback } from "./conditions.ts";
import { nextAnswers } from "./empty_answers.ts";
import { reportFailedTriggers } from "./events.ts";
import {
  type CompositeMetric,
  computeComposite,
  type ExternalMetric,
  listScalingMetrics,
  type ScalingMetric,
} from "./external_metrics.ts";
import { computeExternalMetrics, countFailures, hasTriggerInFallback } from "./fallback.ts";
import type { ReplicasProposal } from "./replica_calculator.ts";

/** The values of the triggers in one loop. */
export interface Evaluation {
  /** With failures counted, the condition Fallback set, and new events recorded. */
  readonly state: ReplicasState;
  /** One for each external trigger. */
  readonly metrics: readonly ExternalMetric[];
  /** `null` without a formula. */
  readonly composite: CompositeMetric | null;
  readonly notices: readonly ReplicasNotice[];
}

interface EvaluationFacts {
  readonly input: Pick<ReplicasInput, "now" | "kedaDeactivation">;
  readonly object: ScaledObject;
  readonly half: "poll" | "tick";
  readonly readings: TriggerReadings;
  /** scale.spec.replicas. */
  readonly replicas: number;
  /** `null` = the target has no pod. */
  readonly readyPods: number | null;
}

/** Returns the values of the external triggers and of the formula. Never throws. Clauses: R40, R61, R70, R72. */
export function evaluateTriggers(
  before: ReplicasState,
  { input, object, half, ...facts }: EvaluationFacts,
): Evaluation {
  const { now, kedaDeactivation = false } = input;
  const { readings, replicas } = facts;
  const failures = countFailures(before.failures, object, readings);
  const answers = nextAnswers(before.answers, { object, readings, now });
  const isDoubting = !kedaDeactivation && replicas > (object.idleReplicas ?? object.minReplicas);
  const { pollIntervalMs } = object;
  const metrics = computeExternalMetrics(object, { ...facts, failures, answers, isDoubting, pollIntervalMs, now });
  const { formula, fallback } = object;
  const composite = formula === null ? null : computeComposite(formula, { metrics, fallback, half });
  // If the scaling loop needs no metric, none is fetched, and that is not a failure.
  const fetched = metrics.filter(({ trigger }) => readings.has(trigger.index));
  const { notified, notices } = reportFailedTriggers(before.notified, fetched, fetched.length === 0 ? null : composite);
  const conditions = { ...before.conditions, Fallback: toFallback(hasTriggerInFallback(failures, object)) };
  return { state: { ...before, failures, answers, conditions, notified }, metrics, composite, notices };
}

type TriggerValues = Pick<Evaluation, "metrics" | "composite">;

/**
 * In the order of the triggers, the formula last. With a formula, the activity of single triggers is not reported.
 * Clauses: R94.
 */
export function reportActivation(object: ScaledObject, values: TriggerValues): readonly TriggerReport[] {
  const { formula } = object;
  const isActive = formula === null ? true : null;
  const resources = listResourceTriggers(object).map(({ index, type }): TriggerReport => (
    { index, type, metricName: type, value: null, error: null, isActive, proposal: null }
  ));
  const externals = values.metrics.map((metric) => {
    const report = reportExternal(metric, null);
    return formula === null ? report : { ...report, isActive: null };
  });
  const { composite } = values;
  if (formula === null || composite === null) return sortByIndex([...resources, ...externals]);
  const report = reportComposite(composite, null);
  const isOver = report.value !== null && report.value > formula.activationTarget;
  return [...sortByIndex([...resources, ...externals]), { ...report, isActive: isOver }];
}

interface ScalingValues extends TriggerValues {
  readonly readings: TriggerReadings;
  /** One for each scaling metric, in their order; empty if none was computed. */
  readonly proposals: readonly ReplicasProposal[];
}

/** Returns the reports of a scaling loop, in the order of the triggers, the formula last. */
export function reportScaling(object: ScaledObject, ticked: ScalingValues): readonly TriggerReport[] {
  const { metrics, composite, readings, proposals } = ticked;
  const subjects = listScalingMetrics(object);
  const proposalOf = (isIt: (subject: ScalingMetric) => boolean) => proposals[subjects.findIndex(isIt)] ?? null;
  const reports = object.triggers.map((trigger): TriggerReport => {
    const proposal = proposalOf((subject) => subject === trigger);
    if (trigger.kind === "resource") return reportResource(trigger, { readings, proposal });
    const metric = metrics.find((one) => one.trigger === trigger);
    const isAsked = metric !== undefined && readings.has(trigger.index);
    const report = isAsked ? reportExternal(metric, proposal) : EMPTY_REPORT;
    return { ...report, index: trigger.index, type: trigger.type, metricName: trigger.metricName, isActive: null };
  });
  if (composite === null || proposals.length === 0) return reports;
  return [...reports, reportComposite(composite, proposalOf(({ kind }) => kind === "composite"))];
}

const EMPTY_REPORT = { value: null, error: null, isActive: null, proposal: null };

function reportExternal({ trigger, result }: ExternalMetric, proposal: ReplicasProposal | null): TriggerReport {
  const { index, type, metricName } = trigger;
  const hasValue = result.kind === "value" || result.kind === "fallback";
  return {
    index,
    type,
    metricName,
    value: hasValue ? milliToDouble(result.milli) : null,
    error: result.kind === "value" ? null : result.error,
    isActive: result.kind === "value" ? result.isActive : result.kind === "fallback",
    proposal: toProposalReport(proposal),
  };
}

function reportComposite(composite: CompositeMetric, proposal: ReplicasProposal | null): TriggerReport {
  const report = composite.kind === "value"
    ? { value: milliToDouble(composite.milli), error: composite.doubt ?? null }
    : { value: null, error: composite.error };
  const names = { index: 0, type: "composite", metricName: COMPOSITE_METRIC_NAME };
  return { ...names, ...report, isActive: null, proposal: toProposalReport(proposal) };
}

/** Usage is the sum over all pods that have a metric, in cores or bytes. */
function reportResource(
  { index, type }: ResourceTrigger,
  { readings, proposal }: { readonly readings: TriggerReadings; readonly proposal: ReplicasProposal | null },
): TriggerReport {
  const reading = readings.get(index);
  const sum = reading?.kind === "pods"
    ? reading.pods.reduce((total, { metric }) => total + (metric?.milli ?? 0n), 0n)
    : null;
  const error = proposal?.kind === "failed" ? proposal.message : null;
  const value = sum === null ? null : milliToDouble(sum);
  return { index, type, metricName: type, value, error, isActive: null, proposal: toProposalReport(proposal) };
}

function toProposalReport(proposal: ReplicasProposal | null): ProposalReport | null {
  if (proposal?.kind !== "proposal") return null;
  const { replicas, lo, hi, ratio, ready, unready, missing } = proposal;
  return { replicas, lo, hi, ratio, ready, unready, missing };
}

function sortByIndex(reports: readonly TriggerReport[]): readonly TriggerReport[] {
  return reports.toSorted((one, other) => one.index - other.index);
}
