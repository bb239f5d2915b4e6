/** What log, metrics and people learn of each trigger (R94). */
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import { milliToDouble } from "../../units/milli.ts";
import { type Composite, COMPOSITE_NAME } from "./composite.ts";
import type { Evaluation } from "./evaluate.ts";
import type { TriggerReadings } from "./input.ts";
import type { ExternalMetric } from "./metrics.ts";
import type { ProposalReport, TriggerReport } from "./report.ts";
import { listSubjects, type Subject } from "./subjects.ts";
import type { Proposal } from "./tick/proposal.ts";

type Values = Pick<Evaluation, "metrics" | "composite">;

/** In the order of the triggers, the formula last. With a formula the activity of single triggers says nothing. */
export function reportPolled(object: ScaledObject, values: Values): readonly TriggerReport[] {
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
  if (formula === null || composite === null) return sort([...resources, ...externals]);
  const report = reportComposite(composite, null);
  const isOver = report.value !== null && report.value > formula.activationTarget;
  return [...sort([...resources, ...externals]), { ...report, isActive: isOver }];
}

interface Ticked extends Values {
  readonly readings: TriggerReadings;
  /** Of the subjects, in their order; empty where none was asked. */
  readonly proposals: readonly Proposal[];
}

/** In the same order. */
export function reportTicked(object: ScaledObject, ticked: Ticked): readonly TriggerReport[] {
  const { metrics, composite, readings, proposals } = ticked;
  const subjects = listSubjects(object);
  const proposalOf = (isIt: (subject: Subject) => boolean) => proposals[subjects.findIndex(isIt)] ?? null;
  const reports = object.triggers.map((trigger): TriggerReport => {
    const proposal = proposalOf((subject) => subject === trigger);
    if (trigger.kind === "resource") return reportResource(trigger, { readings, proposal });
    const metric = metrics.find((one) => one.trigger === trigger);
    const isAsked = metric !== undefined && readings.has(trigger.index);
    const said = isAsked ? reportExternal(metric, proposal) : NOTHING_SAID;
    return { ...said, index: trigger.index, type: trigger.type, metricName: trigger.metricName, isActive: null };
  });
  if (composite === null || proposals.length === 0) return reports;
  return [...reports, reportComposite(composite, proposalOf(({ kind }) => kind === "composite"))];
}

const NOTHING_SAID = { value: null, error: null, isActive: null, proposal: null };

function reportExternal({ trigger, result }: ExternalMetric, proposal: Proposal | null): TriggerReport {
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

function reportComposite(composite: Composite, proposal: Proposal | null): TriggerReport {
  const said = composite.kind === "value"
    ? { value: milliToDouble(composite.milli), error: null }
    : { value: null, error: composite.error };
  const names = { index: 0, type: "composite", metricName: COMPOSITE_NAME };
  return { ...names, ...said, isActive: null, proposal: toProposalReport(proposal) };
}

/** Usage is the sum over all pods that have a metric, in cores or bytes. */
function reportResource(
  { index, type }: ResourceTrigger,
  { readings, proposal }: { readonly readings: TriggerReadings; readonly proposal: Proposal | null },
): TriggerReport {
  const reading = readings.get(index);
  const sum = reading?.kind === "pods"
    ? reading.pods.reduce((total, { metric }) => total + (metric?.milli ?? 0n), 0n)
    : null;
  const error = proposal?.kind === "failed" ? proposal.message : null;
  const value = sum === null ? null : milliToDouble(sum);
  return { index, type, metricName: type, value, error, isActive: null, proposal: toProposalReport(proposal) };
}

function toProposalReport(proposal: Proposal | null): ProposalReport | null {
  if (proposal?.kind !== "proposal") return null;
  const { replicas, lo, hi, ratio, ready, unready, missing } = proposal;
  return { replicas, lo, hi, ratio, ready, unready, missing };
}

function sort(reports: readonly TriggerReport[]): readonly TriggerReport[] {
  return reports.toSorted((one, other) => one.index - other.index);
}
