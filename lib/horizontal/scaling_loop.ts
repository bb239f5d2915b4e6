/**
 * The scaling loop: scales between the minimum and the maximum, as the HPA controller's reconcileAutoscaler.
 *
 * Each metric gives a proposal; the largest one passes the stabilization windows, the rate policies and the bounds.
 */
import type {
  ReplicasInput,
  ReplicasNotice,
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReason,
  ReplicasReport,
  ScaleWrite,
} from "../model/replicas_decision.ts";
import type { Condition, Conditions, ReplicasState, ReportedTopics, ScalingHistory } from "../model/replicas_state.ts";
import {
  type Behavior,
  COMPOSITE_METRIC_NAME,
  type ExternalTrigger,
  type Formula,
  type MetricSource,
  type MetricType,
  type ResourceTrigger,
  type ScaledObject,
} from "../model/scaled_object.ts";
import { disablePausedDirections, type LimitedReplicas, limitRate, stabilize, startHistory } from "./behavior.ts";
import {
  dropScaling,
  GOT_SCALE,
  IDLE_SCALING_DISABLED,
  mirrorHpaActive,
  SCALING_DISABLED,
  type Stabilization,
  toAbleToScale,
  toHpaActive,
  toReadyNow,
  toScalingLimited,
} from "./conditions.ts";
import { evaluateTriggers, type Evaluation, reportScaling } from "./evaluation.ts";
import { findTopic, setTopic } from "./events.ts";
import { listScalingMetrics, nameScalingMetric, type ScalingMetric } from "./external_metrics.ts";
import { proposeByPods, reportWideGrowth } from "./joint/proposal.ts";
import {
  chooseNeed,
  type NeedResult,
  proposeByPodValues,
  proposeByValue,
  type ReplicasProposal,
  toTolerance,
} from "./replica_calculator.ts";

/** One observation of the loop. */
interface ScalingFacts {
  readonly observation: TickObservation;
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
}

/** Returns the outcome of one scaling loop. Never throws. Clauses: R54. */
export function runScalingLoop(before: ReplicasState, facts: ScalingFacts): ReplicasOutcome {
  const { observation, input, object } = facts;
  const { scale: { replicas }, triggers: readings, readyPods } = observation;
  const evaluation = evaluateTriggers(before, { input, object, half: "tick", readings, replicas, readyPods });
  if (isAtIdleReplicas(before, object, replicas)) return skipAtIdleReplicas(evaluation, facts);
  const behavior = disablePausedDirections(object);
  const subjects = listScalingMetrics(object);
  const outcome = computeDesiredReplicas(evaluation.state.history, {
    now: input.now,
    replicas,
    minReplicas: object.minReplicas,
    maxReplicas: object.maxReplicas,
    behavior,
    propose: () => subjects.map((subject) => proposeFor(subject, { observation, input, evaluation, behavior })),
    metricNames: subjects.map(nameScalingMetric),
  });
  const { proposals } = outcome;
  const growth = reportWideGrowth(evaluation.state.notified, { subjects, proposals, readings });
  const isFirst = evaluation.state.history === null;
  const invalid = reportInvalidMetrics(growth.notified, { outcome, isFirst });
  const state: ReplicasState = {
    ...evaluation.state,
    history: outcome.history,
    conditions: {
      ...dropScaling(evaluation.state.conditions),
      ...nextReady(before.conditions.Ready, input),
      ...mirrorHpaActive(outcome.conditions),
    },
    isScaleInPending: hasScaleInPending(outcome, { object, behavior, replicas }),
    notified: invalid.notified,
  };
  const notices = [...evaluation.notices, ...growth.notices, ...invalid.notices];
  return { state, write: toScaleWrite(outcome, facts), notices, report: toScalingReport(outcome, evaluation, facts) };
}

/**
 * Returns whether the scaling loop depends on metrics. At zero and at idle replicas it rests, and outside of the bounds it
 * writes the bound. Clauses: R32, R54.
 */
export function needsMetrics(state: ReplicasState, object: ScaledObject, replicas: number): boolean {
  if (isAtIdleReplicas(state, object, replicas)) return false;
  return replicas >= Math.max(1, object.minReplicas) && replicas <= object.maxReplicas;
}

/** At idle replicas only the activation loop decides; this loop would raise them to the minimum at once. */
function isAtIdleReplicas({ isActive }: ReplicasState, { idleReplicas }: ScaledObject, replicas: number): boolean {
  return isActive === false && idleReplicas !== null && idleReplicas > 0 && replicas <= idleReplicas;
}

/** A pod that lacks a request may come or go between two activation loops. */
function nextReady(before: Condition | undefined, input: ReplicasInput): Conditions {
  const isAboutLack = before?.status === "True" || before?.reason === "ScaledObjectCheckFailed";
  return isAboutLack ? { Ready: toReadyNow(input) } : {};
}

function skipAtIdleReplicas(evaluation: Evaluation, facts: ScalingFacts): ReplicasOutcome {
  const { state, notices } = evaluation;
  const { message } = IDLE_SCALING_DISABLED;
  const desired = facts.observation.scale.replicas;
  const skipped = { desired, reason: "Idle", message, need: null, stabilized: null, proposals: [] } as const;
  const conditions = { ...dropScaling(state.conditions), HPAActive: IDLE_SCALING_DISABLED, AbleToScale: GOT_SCALE };
  return {
    state: { ...state, conditions, isScaleInPending: false },
    write: null,
    notices,
    report: toScalingReport(skipped, evaluation, facts),
  };
}

function toScalingReport(
  { desired, reason, message, need, stabilized, proposals }: Omit<ScalingOutcome, "history" | "conditions">,
  evaluation: Evaluation,
  { observation, object }: ScalingFacts,
): ReplicasReport {
  const { scale: { replicas }, triggers: readings } = observation;
  const triggers = reportScaling(object, { ...evaluation, readings, proposals });
  return { half: "tick", replicas, desired, reason, message, triggers, need, stabilized };
}

function toScaleWrite(
  { desired, reason, message }: ScalingOutcome,
  { observation, input }: ScalingFacts,
): ScaleWrite | null {
  const { scale } = observation;
  if (desired === scale.replicas) return null;
  const change = `New size: ${desired}; reason: ${message}`;
  return { from: scale, replicas: desired, half: "tick", at: input.now, reason, message: change };
}

interface PendingFacts {
  readonly object: ScaledObject;
  readonly behavior: Behavior | null;
  readonly replicas: number;
}

/**
 * Returns whether all triggers ask for fewer replicas, by either baseline, and replicas may fall. If they may not, pods
 * may shrink. Clauses: R86.
 */
function hasScaleInPending({ proposals }: ScalingOutcome, { object, behavior, replicas }: PendingFacts): boolean {
  if (replicas <= Math.max(1, object.minReplicas) || behavior?.scaleDown.select === "Disabled") return false;
  return proposals.length > 0 && proposals.every((proposal) => proposal.kind === "proposal" && proposal.hi < replicas);
}

/** The input of one scaling loop. */
export interface ScalingInput {
  /** When the loop was due, epoch ms. */
  readonly now: number;
  readonly replicas: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** With paused directions disabled; `null` = none. */
  readonly behavior: Behavior | null;
  /** In the order of the triggers. Called only if replicas are within the bounds. */
  readonly propose: () => readonly ReplicasProposal[];
  /** The names of the metrics in messages, in the same order. */
  readonly metricNames?: readonly string[];
}

/** The result of one scaling loop. */
export interface ScalingOutcome {
  /** With the need recorded. `recordRescale` adds a write once it is accepted. */
  readonly history: ScalingHistory;
  /** The wanted replicas; the same as before = nothing to write. */
  readonly desired: number;
  readonly reason: ReplicasReason;
  readonly message: string;
  readonly need: number | null;
  readonly stabilized: number | null;
  /** Empty if none was computed. */
  readonly proposals: readonly ReplicasProposal[];
  /** HPAActive, AbleToScale and ScalingLimited as the controller sets them; absent = unchanged. */
  readonly conditions: Conditions;
}

/**
 * Returns what the HPA controller would do, in its order: bounds, proposals, choice, windows, rates. Outside of the
 * bounds replicas return at once: no metric is asked and no need is recorded. `history` is `null` at first sight, also
 * after a pause or a restart.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 * Clauses: R31, R32, R40, R41, R42, R43.
 */
export function computeDesiredReplicas(history: ScalingHistory | null, input: ScalingInput): ScalingOutcome {
  const { now, replicas, maxReplicas, behavior } = input;
  const minReplicas = Math.max(1, input.minReplicas);
  const known = history ?? startHistory(replicas, now);
  const conditions: Conditions = { AbleToScale: GOT_SCALE };
  const unasked = { history: known, need: null, stabilized: null, proposals: [], conditions } as const;
  if (replicas === 0) {
    const { message } = SCALING_DISABLED;
    const disabled = { ...conditions, HPAActive: SCALING_DISABLED };
    return { ...unasked, desired: 0, reason: "ScalingDisabled", message, conditions: disabled };
  }
  if (replicas > maxReplicas) {
    const message = "Current number of replicas above Spec.MaxReplicas";
    return { ...unasked, desired: maxReplicas, reason: "ScaledIn", message };
  }
  if (replicas < minReplicas) {
    const message = "Current number of replicas below Spec.MinReplicas";
    return { ...unasked, desired: minReplicas, reason: "ScaledOut", message };
  }
  const proposals = input.propose();
  const found = chooseNeed(proposals, replicas);
  if (found.kind === "invalid") {
    const { reason, message, cause } = found;
    const failed: Conditions = { ...conditions, HPAActive: { status: "False", reason, message } };
    return { ...unasked, desired: replicas, reason: "MetricInvalid", message: cause, proposals, conditions: failed };
  }
  const { need } = found;
  const { stabilized, history: next } = stabilize(known, { now, replicas, need, behavior });
  const limited = limitRate(known, { now, replicas, stabilized, minReplicas, maxReplicas, behavior });
  const by = stabilized === need ? null : toStabilization(need, input);
  return {
    history: next,
    desired: limited.desired,
    ...explainOutcome({ found, by, limited }, input),
    need,
    stabilized,
    proposals,
    conditions: {
      HPAActive: toHpaActive(nameMetric(input, found.index)),
      AbleToScale: toAbleToScale(by),
      ScalingLimited: toScalingLimited(limited.limit),
    },
  };
}

/** Without behavior there is only the window for scale-in. */
function toStabilization(need: number, { behavior, replicas }: ScalingInput): Stabilization {
  return behavior !== null && need >= replicas ? "ScaleUpStabilized" : "ScaleDownStabilized";
}

interface FoundNeed {
  readonly found: Extract<NeedResult, { readonly kind: "need" }>;
  readonly by: Stabilization | null;
  readonly limited: LimitedReplicas;
}

/** A change has the controller's words; otherwise the last step that keeps replicas is named. */
function explainOutcome(
  { found, by, limited }: FoundNeed,
  input: ScalingInput,
): Pick<ScalingOutcome, "reason" | "message"> {
  const { replicas } = input;
  const { desired, limit } = limited;
  if (desired !== replicas) {
    const message = found.need < replicas
      ? "All metrics below target"
      : `${nameMetric(input, found.index)} above target`;
    return { reason: desired > replicas ? "ScaledOut" : "ScaledIn", message };
  }
  if (limit !== null) return { reason: limit, message: toScalingLimited(limit).message };
  if (by !== null) return { reason: by, message: toAbleToScale(by).message };
  const reason = found.decider.hold ?? "WithinTolerance";
  return { reason, message: HOLD_MESSAGES[reason] };
}

const HOLD_MESSAGES = {
  WithinTolerance: "the metrics ask for as many replicas as there are",
  VerticalFirst: "pods can still grow in place, and would be too few with their initial requests",
  VerticalUp: "the usage of pods at their CPU limit understates what they need",
} as const;

function nameMetric({ metricNames }: ScalingInput, index: number): string {
  return metricNames?.[index] ?? "metric";
}

type TickObservation = Extract<ReplicasObservation, { readonly kind: "tick" }>;

/** What a proposal depends on. */
interface ProposalFacts {
  readonly observation: TickObservation;
  readonly input: ReplicasInput;
  readonly evaluation: Evaluation;
  /** With paused directions disabled. */
  readonly behavior: Behavior | null;
}

/** Returns the proposal of one trigger or of the formula. Clauses: R34, R35, R36, R37, R38, R39, R61. */
function proposeFor(subject: ScalingMetric, facts: ProposalFacts): ReplicasProposal {
  switch (subject.kind) {
    case "resource":
      return proposeForResource(subject, facts);
    case "external":
      return proposeForExternal(subject, facts);
    case "composite":
      return proposeForFormula(subject.formula, facts);
  }
}

/** Replicas do not fall while the formula has an empty answer as 0. Clauses: R58. */
function proposeForFormula(formula: Formula, facts: ProposalFacts): ReplicasProposal {
  const { composite } = facts.evaluation;
  const propose = (value: MetricValue) => proposeForValue(value, { ...formula, name: COMPOSITE_METRIC_NAME, facts });
  const proposal = propose(findCompositeValue(facts));
  if (composite?.kind !== "value" || composite.doubt === undefined || proposal.kind === "failed") return proposal;
  return proposal.replicas < facts.observation.scale.replicas ? propose({ error: composite.doubt }) : proposal;
}

function proposeForResource(
  trigger: ResourceTrigger,
  { observation, input, behavior }: ProposalFacts,
): ReplicasProposal {
  const reading = observation.triggers.get(trigger.index);
  const { replicas } = observation.scale;
  if (reading?.kind === "pods") {
    const wallNow = input.now + (input.wallAheadMs ?? 0);
    return proposeByPods(trigger, { ...reading, replicas, now: wallNow, tolerance: toTolerance(behavior) });
  }
  const reason = trigger.container === null ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric";
  const cause = reading?.kind === "failed" ? reading.message : "it was not read";
  return { kind: "failed", reason, message: `failed to get ${trigger.type} usage: ${cause}` };
}

/** Thousandths, or why it is missing. */
type MetricValue = { readonly milli: bigint } | { readonly error: string };

/** The value of a fallback is one for all pods. Clauses: M17. */
function proposeForExternal(trigger: ExternalTrigger, facts: ProposalFacts): ReplicasProposal {
  const { index, source, metricName: name, targetMilli } = trigger;
  const value = findExternalValue(index, facts);
  const reading = facts.observation.triggers.get(index);
  const values = reading?.kind === "value" ? reading.byPod : undefined;
  if (values !== undefined && targetMilli !== null && "milli" in value) {
    const { replicas } = facts.observation.scale;
    return proposeByPodValues({ values, targetMilli, replicas, tolerance: toTolerance(facts.behavior) });
  }
  return proposeForValue(value, {
    ...trigger,
    name,
    of: source.kind === "metric" ? source.of.kind : "external",
    facts,
  });
}

function findExternalValue(index: number, { evaluation }: ProposalFacts): MetricValue {
  const result = evaluation.metrics.find(({ trigger }) => trigger.index === index)?.result;
  if (result === undefined) return { error: "it was not asked" };
  // The value of a fallback counts like any other.
  return result.kind === "value" || result.kind === "fallback" ? { milli: result.milli } : { error: result.error };
}

/**
 * A negative value asks for nothing: the controller would treat it as an overflow, and scale to the maximum.
 * Clauses: R63.
 */
function findCompositeValue({ evaluation: { composite } }: ProposalFacts): MetricValue {
  if (composite === null) return { error: "it was not computed" };
  return composite.kind === "value" && composite.milli < 0n ? { milli: 0n } : composite;
}

interface ValueTarget {
  readonly name: string;
  readonly targetMilli: bigint | null;
  readonly metricType: MetricType;
  /** "external" unless given. */
  readonly of?: MetricSource["of"]["kind"];
  readonly facts: ProposalFacts;
}

const FAILURES = {
  external: "FailedGetExternalMetric",
  object: "FailedGetObjectMetric",
  pods: "FailedGetPodsMetric",
} as const;

function proposeForValue(value: MetricValue, target: ValueTarget): ReplicasProposal {
  const { name, targetMilli, metricType, of = "external", facts } = target;
  if ("error" in value || targetMilli === null) {
    const cause = "error" in value ? value.error : "it has no target";
    return { kind: "failed", reason: FAILURES[of], message: `failed to get ${name} ${of} metric: ${cause}` };
  }
  const { scale: { replicas, statusReplicas }, readyPods } = facts.observation;
  const tolerance = toTolerance(facts.behavior);
  return proposeByValue({
    valueMilli: value.milli,
    targetMilli,
    metricType,
    replicas,
    statusReplicas,
    readyPods,
    tolerance,
    isOfObject: of === "object",
  });
}

const NEED_TOPIC = "need";

/** The first loop after a start or a pause: there is hardly any usage yet, so it is not reported. */
const FIRST_LOOP = "early";

/** Messages name a pod, and another one each time, so only a new kind of metric is reported. Clauses: R92. */
function reportInvalidMetrics(
  notified: ReportedTopics,
  { outcome: { reason, message, conditions }, isFirst }: {
    readonly outcome: ScalingOutcome;
    readonly isFirst: boolean;
  },
): { readonly notified: ReportedTopics; readonly notices: readonly ReplicasNotice[] } {
  if (reason !== "MetricInvalid") return { notified: setTopic(notified, NEED_TOPIC, null), notices: [] };
  if (isFirst) return { notified: setTopic(notified, NEED_TOPIC, FIRST_LOOP), notices: [] };
  const kind = conditions.HPAActive?.reason ?? reason;
  if (findTopic(notified, NEED_TOPIC) === kind) return { notified, notices: [] };
  return {
    notified: setTopic(notified, NEED_TOPIC, kind),
    notices: [{ name: "FailedComputeMetricsReplicas", message }],
  };
}
