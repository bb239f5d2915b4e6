/**
 * From the records of a ScaledObject and its pods to the reasons for the number of pods, and what the next change
 * waits for.
 */
import { toTolerance } from "../../horizontal/replica_calculator.ts";
import { parseConditions, toScaledObjectStatus } from "../../horizontal/status.ts";
import type { ReplicasReport } from "../../model/replicas_decision.ts";
import { OWN_CONDITION_TYPES, type ReplicasState } from "../../model/replicas_state.ts";
import type { Adoption, ScaledObjectFacts, ScalingRules, Trigger } from "../../model/scaled_object.ts";
import type { PodLine, ScaledObjectLine } from "../../record/record.ts";
import { resourceOf } from "../../units/resources.ts";
import { formatAge, formatClock, formatCount, formatPercent, formatSize, formatWait } from "../terminal/numbers.ts";
import { type ExplainOptions, explainPod, getExplainedNow } from "./explain_pod.ts";
import { formatWorkloadAnswer } from "./answers.ts";
import type {
  ContainerExplanation,
  KedaExplanation,
  PodSummary,
  TriggerOrigin,
  WorkloadExplanation,
} from "./explanation.ts";

interface WorkloadOptions extends ExplainOptions {
  /** The newest lines of the workload's pods. */
  readonly pods: readonly PodLine[];
}

/** A workload of which only the pods are sized. */
interface PlainWorkload extends WorkloadOptions {
  readonly namespace: string;
  /** `deployment/web` */
  readonly target: string;
  /** The first sentence, where it is not about replicas. */
  readonly answer?: string;
}

/** The same for a workload whose number of pods podfit does not set. */
export function explainPlainWorkload(
  { namespace, target, now, pods, unknown = [], answer }: PlainWorkload,
): WorkloadExplanation {
  const [, name = target] = target.split("/");
  const at = Math.max(...pods.map(({ record: { input } }) => input.now));
  const whole =
    `podfit sizes ${formatCount(pods.length, "pod")} of ${target}. It does not set the number of replicas: ` +
    "no ScaledObject that it scales is about it.";
  return {
    kind: "workload",
    namespace,
    name,
    answer: answer ?? whole,
    origin: "",
    at,
    now,
    unknown,
    target,
    ...NOTHING_COMPUTED,
    pods: pods.map((line) => summarizePod(line, now)),
  };
}

const NOTHING_COMPUTED = {
  replicas: null,
  desired: null,
  minReplicas: null,
  maxReplicas: null,
  idleReplicas: null,
  reason: null,
  message: "",
  need: null,
  stabilized: null,
  triggers: [],
  behavior: null,
  needs: [],
  isScaleInPending: false,
  conditions: {},
  keda: null,
  writes: [],
  next: [],
  blockedUntil: null,
} as const;

/** Returns the explanation from the lines of one ScaledObject, oldest first; `null` without any. */
export function explainWorkload(
  lines: readonly ScaledObjectLine[],
  options: WorkloadOptions,
): WorkloadExplanation | null {
  const newest = lines.at(-1);
  if (newest === undefined) return null;
  const { now: wallNow, pods, unknown = [] } = options;
  const { namespace, name, record: { input, outcome: { state } } } = newest;
  const object = input.object.scaledObject;
  const now = getExplainedNow(wallNow - (input.wallAheadMs ?? 0), input.now);
  const report = findReport(lines);
  const explained = {
    kind: "scaledObject",
    namespace,
    name,
    at: input.now,
    now,
    unknown,
    target: findTargetName(newest) ?? "unknown",
    replicas: findReplicas(lines),
    desired: report?.desired ?? null,
    minReplicas: object?.minReplicas ?? null,
    maxReplicas: object?.maxReplicas ?? null,
    idleReplicas: object?.idleReplicas ?? null,
    reason: report?.reason ?? null,
    message: report?.message ?? "",
    need: report?.need ?? null,
    stabilized: report?.stabilized ?? null,
    triggers: listTriggers(lines, report).map((one) => ({
      ...one,
      target: describeTarget(
        object?.triggers.find(({ index, kind }) =>
          index === one.index && (kind === "resource" || one.type !== "composite")
        ),
      ),
    })),
    behavior: object?.behavior ?? null,
    needs: state.history?.needs ?? [],
    isScaleInPending: state.isScaleInPending,
    conditions: listConditions(input.object, state),
    keda: explainKeda(input.object),
    writes: listWrites(lines),
    pods: pods.map((line) => summarizePod(line, wallNow)),
  } as const;
  const facts = { ...explained, state, cooldownMs: object?.cooldownMs ?? 0 };
  const block = findBlock(facts);
  const blockedUntil = block?.until ?? null;
  return {
    ...explained,
    next: block === null ? listReplicaNeeds(facts) : [block.text],
    blockedUntil,
    ...formatWorkloadAnswer({ ...explained, blockedUntil }, lines[0]?.since ?? now),
  };
}

/**
 * Next to KEDA, podfit's conditions have names of their own. KEDA's words for an HPA that it deleted, and for a pause
 * that is not podfit's, would mislead: of these only what podfit found itself is shown.
 */
function listConditions(facts: ScaledObjectFacts, state: ReplicasState): WorkloadExplanation["conditions"] {
  const { adoption } = facts;
  if (adoption === null) return state.conditions;
  const { Ready: _ready, Active: _active, Fallback: _fallback, Paused, HPAActive, ...others } = state.conditions;
  return {
    ...parseConditions(toScaledObjectStatus(facts, state), OWN_CONDITION_TYPES),
    ...(Paused?.status === "True" && { Paused }),
    ...(HPAActive?.status === "False" && adoption.isKedaPaused && { HPAActive }),
    ...others,
  };
}

function explainKeda({ adoption, scaledObject }: ScaledObjectFacts): KedaExplanation | null {
  if (adoption === null) return null;
  const { isKedaPaused, problem } = adoption;
  const sources = (scaledObject?.triggers ?? []).map(findOrigin);
  return { isPaused: isKedaPaused, record: getRecordState(adoption), problem, sources };
}

function getRecordState({ problem, lacksRecord, isStale, record }: Adoption): KedaExplanation["record"] {
  if (problem !== null) return "unusable";
  if (lacksRecord) return "missing";
  if (isStale) return "stale";
  return record === null ? "not needed" : "fits";
}

function findOrigin(trigger: Trigger): TriggerOrigin {
  if (trigger.kind === "resource") return { metricName: trigger.type, measuredBy: "podfit", problem: null };
  const { metricName, source, isServedByKeda, authentication } = trigger;
  if (source.kind === "keda") return { metricName, measuredBy: "keda", problem: source.problem };
  return { metricName, measuredBy: isServedByKeda && authentication !== null ? "either" : "podfit", problem: null };
}

/** From the newest scaling loop, else from the newest activation loop, which has no proposal. */
function findReport(lines: readonly ScaledObjectLine[]): ReplicasReport | null {
  const reports = lines.flatMap(({ record: { outcome: { report } } }) => report ?? []);
  return reports.findLast(({ half }) => half === "tick") ?? reports.at(-1) ?? null;
}

/** A scaling loop that needs no metric has asked for none, and an earlier loop may have. */
function listTriggers(lines: readonly ScaledObjectLine[], report: ReplicasReport | null): ReplicasReport["triggers"] {
  const isAsked = ({ triggers }: ReplicasReport) =>
    triggers.some(({ value, error, proposal }) => value !== null || error !== null || proposal !== null);
  if (report === null || isAsked(report)) return report?.triggers ?? [];
  const reports = lines.flatMap(({ record: { outcome: { report } } }) => report ?? []);
  return reports.findLast(isAsked)?.triggers ?? report.triggers;
}

function findReplicas(lines: readonly ScaledObjectLine[]): number | null {
  for (const { record: { input: { observation } } } of lines.toReversed()) {
    if (observation.kind === "answered" && observation.answer.kind === "accepted") return observation.answer.replicas;
    if ("scale" in observation && observation.scale !== null) return observation.scale.replicas;
  }
  return null;
}

/** The newest first. */
function listWrites(lines: readonly ScaledObjectLine[]): WorkloadExplanation["writes"] {
  return lines.flatMap(({ record: { input: { now, observation } } }) => {
    if (observation.kind !== "answered" || observation.answer.kind !== "accepted") return [];
    const { from, message, reason } = observation.write;
    const why = `${reason}: ${message.replace(/^New size: \d+; reason: /, "")}`;
    return [{ at: now, from: from.replicas, to: observation.answer.replicas, why }];
  }).slice(-MAX_WRITES).reverse();
}

const MAX_WRITES = 5;

function summarizePod(line: PodLine, now: number): PodSummary {
  const { name, record: { input: { pod } } } = line;
  const explained = explainPod([line], { now });
  const containers = explained?.containers.map((one) => summarizeContainer(one, explained.now)) ?? [];
  const answer = containers.length === 0 ? explained?.answer ?? name : `${name}  ${containers.join(" | ")}`;
  return { name, isReady: pod.ready?.status === "True", answer };
}

/** `main cpu.requests 243m at 48 %; resized 14s ago; InBand: inside the thresholds` */
function summarizeContainer({ name, sides, resizedAt, decision }: ContainerExplanation, now: number): string {
  const sizes = sides.filter(({ isManaged }) => isManaged).map(({ key, size, usedPercent }) =>
    `${key} ${formatSize(size, resourceOf(key))} at ${formatPercent(usedPercent)}`
  );
  const resized = resizedAt === null ? "never resized" : `resized ${formatAge(now - resizedAt)} ago`;
  return `${name} ${sizes.join(", ")}; ${resized}; ${decision.reason}: ${decision.message}`;
}

interface ReplicaNeedsInput extends
  Pick<
    WorkloadExplanation,
    | "now"
    | "replicas"
    | "need"
    | "reason"
    | "behavior"
    | "minReplicas"
    | "maxReplicas"
    | "idleReplicas"
    | "triggers"
  > {
  readonly state: ReplicasState;
  readonly cooldownMs: number;
}

/** --horizontal-pod-autoscaler-downscale-stabilization. */
const DOWN_WINDOW_MS = 300_000;

/** One sentence each. */
function listReplicaNeeds(facts: ReplicaNeedsInput): readonly string[] {
  const { reason, maxReplicas, minReplicas, behavior } = facts;
  switch (reason) {
    case "TooManyReplicas":
      return [`maxReplicaCount is ${maxReplicas}: raise it to have more`];
    case "TooFewReplicas":
      return [`minReplicaCount is ${minReplicas}: lower it to have fewer`];
    case "ScaleUpLimit":
      return [
        `behavior.scaleUp allows ${describeRules(behavior?.scaleUp)}: it continues at the next check that allows more`,
      ];
    case "ScaleDownLimit":
      return [
        `behavior.scaleDown allows ${
          describeRules(behavior?.scaleDown)
        }: it continues at the next check that allows fewer`,
      ];
    case "VerticalFirst":
      return [
        "its pods grow in place first: there are more of them once they are at their bounds, or their node has no room",
      ];
    case "VerticalUp":
      return ["usage of pods at their CPU limit says too little: their limits go up first"];
    case "WithinTolerance":
      return [describeUpNeed(facts), describeDownNeed(facts)];
    case "ScalingDisabled":
    case "Idle":
      return ["a trigger would have to become active"];
    default:
      return [];
  }
}

/** The HPA's rounding up gives one more pod as soon as a ratio is above the tolerance. */
function describeUpNeed({ replicas, maxReplicas, behavior }: ReplicaNeedsInput): string {
  if (replicas !== null && maxReplicas !== null && replicas >= maxReplicas) {
    return `for more: maxReplicaCount is ${maxReplicas}, so raise it`;
  }
  return `for more: the RATIO of one trigger must be above ${(1 + toTolerance(behavior).up).toFixed(2)}`;
}

/** One pod fewer is the first number below the present one that the HPA's rounding up can give. */
function describeDownNeed({ replicas, minReplicas, idleReplicas, behavior, triggers }: ReplicaNeedsInput): string {
  if (replicas === null || minReplicas === null) return "for fewer: every trigger must ask for fewer";
  if (replicas <= Math.max(1, minReplicas)) {
    return minReplicas === 0 || idleReplicas !== null
      ? "for fewer: no trigger may be active, for as long as cooldownPeriod"
      : `for fewer: minReplicaCount is ${minReplicas}, so lower it`;
  }
  // With coupled sizes the ratio is not that of the pods at hand.
  if (triggers.some(({ proposal }) => proposal !== null && proposal.lo !== proposal.hi)) {
    return `for fewer: every trigger must ask for fewer than ${replicas}`;
  }
  const highest = Math.min(1 - toTolerance(behavior).down, (replicas - 1) / replicas);
  return `for fewer: the RATIO of every trigger must be at most ${(Math.floor(highest * 100) / 100).toFixed(2)}`;
}

/** What blocks a change that time alone allows; `until` is `null` where it ends with the next check. */
interface TimedBlock {
  readonly until: number | null;
  readonly text: string;
}

function findBlock(facts: ReplicaNeedsInput): TimedBlock | null {
  switch (facts.reason) {
    case "ScaleDownStabilized":
      return explainWindow(facts, "down");
    case "ScaleUpStabilized":
      return explainWindow(facts, "up");
    case "ScalerCooldown":
      return explainCooldown(facts);
    default:
      return null;
  }
}

/** The entries of the window that still ask for more, or for fewer: the first step can come before the last one. */
function explainWindow(facts: ReplicaNeedsInput, direction: "up" | "down"): TimedBlock {
  const { now, need, replicas, behavior, state } = facts;
  const windowMs = direction === "up"
    ? behavior?.scaleUp.windowMs ?? 0
    : behavior?.scaleDown.windowMs ?? DOWN_WINDOW_MS;
  const wanted = need ?? 0;
  const isBeyond = (one: number, limit: number) => direction === "down" ? one > limit : one < limit;
  const kept = (state.history?.needs ?? []).filter((one) => one.at > now - windowMs && isBeyond(one.replicas, wanted))
    .toSorted((a, b) => b.at - a.at);
  const what = `the scale-${direction} window is ${formatAge(windowMs)}`;
  const [last] = kept;
  if (last === undefined) return { until: null, text: `${what}, and ends with the next check` };
  const first = kept.find((one) => one.replicas === replicas || isBeyond(one.replicas, replicas ?? wanted)) ?? last;
  const comesAt = ({ at }: { readonly at: number }) =>
    `${formatClock(at + windowMs, now)} at the earliest, in ${formatWait(at + windowMs - now)}`;
  const [other, final] = [direction === "down" ? "fewer" : "more", `${wanted} can come at ${comesAt(last)}`];
  const text = `${what}, and ${formatCount(first.replicas, "replica")} were needed ${formatAge(now - first.at)} ago: ` +
    (first === last ? final : `${other} can come at ${comesAt(first)}; ${final}`);
  return { until: first.at + windowMs, text };
}

function explainCooldown({ now, state: { lastActiveAt }, cooldownMs }: ReplicaNeedsInput): TimedBlock {
  const what = `cooldownPeriod is ${formatAge(cooldownMs)}`;
  if (lastActiveAt === null) return { until: null, text: what };
  const until = lastActiveAt + cooldownMs;
  if (until <= now) return { until: null, text: `${what} and over, but podfit checks the triggers again first` };
  const text =
    `${what}, and a trigger was active ${formatAge(now - lastActiveAt)} ago: the fewest replicas can come at ` +
    `${formatClock(until, now)} at the earliest, in ${formatWait(until - now)}`;
  return { until, text };
}

/** `4 pods in 15s or 100 % in 15s, the most of them` */
export function describeRules(rules: ScalingRules | undefined): string {
  if (rules === undefined) return "what an HPA without behavior does";
  if (rules.select === "Disabled") return "nothing (selectPolicy Disabled)";
  const policies = rules.policies.map(({ type, value, periodMs }) =>
    `${value} ${type === "Pods" ? "pods" : "%"} in ${formatAge(periodMs)}`
  );
  const which = rules.policies.length < 2 ? "" : rules.select === "Max" ? ", the most of them" : ", the least of them";
  return `${policies.join(" or ")}${which}`;
}

/** `deployment/web`; `null` while its manifest is invalid. */
export function findTargetName({ record: { input: { object } } }: ScaledObjectLine): string | null {
  const { scaledObject } = object;
  return scaledObject === null ? null : `${scaledObject.target.kind.toLowerCase()}/${scaledObject.target.name}`;
}

/** Returns whether the pod is of the workload, `deployment/web`. Without an owner in the record its name decides. */
export function isPodOf({ name, record: { input: { pod: { workload } } } }: PodLine, target: string): boolean {
  return workload === undefined ? isPodNameOf(name, target) : workload.toLowerCase() === target;
}

/** Returns whether the controller of the workload makes pods of this name. */
export function isPodNameOf(pod: string, target: string): boolean {
  const [kind = "", workload = ""] = target.split("/");
  if (kind === "statefulset") return pod.startsWith(`${workload}-`) && /^\d+$/.test(pod.slice(workload.length + 1));
  const own = `${workload}-`.slice(0, MAX_NAME_START);
  const start = pod.slice(0, -5);
  if (!start.startsWith(own) || !/^[0-9a-z]{5}$/.test(pod.slice(-5))) return false;
  const hash = start.slice(own.length);
  if (kind !== "deployment") return kind === "daemonset" && hash === "";
  return (start.length < MAX_NAME_START ? /^[0-9a-z]+-$/ : /^[0-9a-z]{0,10}-?$/).test(hash);
}

/** The API server cuts what is before the five random characters of a generated name. */
const MAX_NAME_START = 58;

/** `60 % of requests`, `5 on average`. */
function describeTarget(trigger: Trigger | undefined): string {
  if (trigger === undefined) return "-";
  if (trigger.kind === "external") {
    return `${formatMilli(trigger.targetMilli)}${trigger.metricType === "Value" ? "" : " per pod"}`;
  }
  const { target, type } = trigger;
  if (target.kind === "Utilization") return `${formatPercent(target.percent)} of requests`;
  const milli = toNumber(target.milli);
  return milli === null ? "-" : `${formatSize(type === "cpu" ? milli : milli / 1000, type)} per pod`;
}

function formatMilli(value: unknown): string {
  const milli = toNumber(value);
  return milli === null ? "-" : `${milli / 1000}`;
}

/** JSON has no bigint, so the writer of the line may have made a text or a number of it. */
function toNumber(value: unknown): number | null {
  if (typeof value === "bigint" || typeof value === "number") return Number(value);
  return typeof value === "string" && /^-?\d+n?$/.test(value) ? Number(value.replace("n", "")) : null;
}
