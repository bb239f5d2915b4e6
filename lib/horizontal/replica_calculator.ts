/**
 * How many replicas does one metric ask for?
 *
 * This is the HPA controller's replica calculator: pods are grouped into ready, unready and missing ones, requests are
 * added up, the ratio of usage to target is compared with the tolerance, and the largest proposal wins.
 */
import { type ContainerFacts, findContainer, type PodFacts } from "../model/pod.ts";
import type { PodMetric, PodReading, PodValues, ProposalReport, RequestProblem } from "../model/replicas_decision.ts";
import type { Behavior, MetricType, ResourceTarget, ResourceTrigger } from "../model/scaled_object.ts";
import type { ScaledObjectConditionReason } from "../model/meanings/conditions.ts";
import { MAX_MILLI } from "../units/numbers.ts";
import type { Resource } from "../units/resources.ts";

/** Why a metric has no value: a reason of the condition HPAActive. */
type MetricFailure = Extract<ScaledObjectConditionReason, `FailedGet${string}Metric` | "InvalidMetricSourceType">;

/** Replicas, or why there is not a number. */
export type ReplicasProposal =
  | (ProposalReport & {
    readonly kind: "proposal";
    /** Why it keeps replicas although one baseline alone would change them. */
    readonly hold?: "VerticalFirst" | "VerticalUp";
  })
  | { readonly kind: "failed"; readonly reason: MetricFailure; readonly message: string };

/** The result of one run. */
export interface GroupsProposal {
  readonly replicas: number;
  /** The last ratio: with the added pods, if there were any. */
  readonly ratio: number;
}

interface GroupsInput {
  readonly target: ResourceTarget;
  readonly replicas: number;
  readonly tolerance: Tolerance;
  /** Thousandths. */
  readonly requestOf: (pod: PodReading) => bigint;
  readonly usageOf: (pod: MeasuredPod) => bigint;
  /** Usage of pods that are in no group. The HPA controller takes it into the average. */
  readonly others?: readonly bigint[];
}

/**
 * Needs the usage of at least one pod. Returns `null` if all requests are 0.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 * Clauses: R37.
 */
export function proposeByGroups(groups: Groups, input: GroupsInput): GroupsProposal | null {
  const { target, tolerance, replicas, requestOf, usageOf, others = [] } = input;
  const { ready } = groups;
  const measured: CountedPod[] = ready.map((pod) => ({ usage: usageOf(pod), request: requestOf(pod) }));
  for (const usage of others) measured.push({ usage, request: 0n });
  const ratio = toUsageRatio(measured, target);
  if (ratio === null) return null;
  const isUp = ratio > 1;
  if (groups.missing.length === 0 && !(isUp && groups.unready.length > 0)) {
    return { ratio, replicas: isWithin(ratio, tolerance) ? replicas : toReplicas(ratio * ready.length) };
  }
  return proposeWithFilledIn([...measured, ...fillIn(groups, ratio, input)], ratio, input);
}

/**
 * Missing pods are counted against the direction, unready ones only against scale-out. At a ratio of 1 none are added.
 */
function fillIn(
  { missing, unready }: Groups,
  ratio: number,
  { target, requestOf }: GroupsInput,
): readonly CountedPod[] {
  const idle = (pod: PodReading): CountedPod => ({ usage: 0n, request: requestOf(pod) });
  if (ratio > 1) return [...missing, ...unready].map(idle);
  if (ratio === 1) return [];
  return missing.map((pod) => ({ usage: toAssumedUsage(requestOf(pod), target), request: requestOf(pod) }));
}

function proposeWithFilledIn(
  counted: readonly CountedPod[],
  before: number,
  input: GroupsInput,
): GroupsProposal | null {
  const { target, tolerance, replicas } = input;
  const ratio = toUsageRatio(counted, target);
  if (ratio === null) return null;
  const isTurned = (before < 1 && ratio > 1) || (before > 1 && ratio < 1);
  if (isWithin(ratio, tolerance) || isTurned) return { ratio, replicas };
  const proposed = toReplicas(ratio * counted.length);
  const isAgainst = (ratio < 1 && proposed > replicas) || (ratio > 1 && proposed < replicas);
  return { ratio, replicas: isAgainst ? replicas : proposed };
}

/** A pod with a metric. */
type MeasuredPod = PodReading & { readonly metric: PodMetric };

/** Deleted and failed pods are in no group. */
export interface Groups {
  readonly ready: readonly MeasuredPod[];
  readonly unready: readonly PodReading[];
  readonly missing: readonly PodReading[];
}

/** --horizontal-pod-autoscaler-cpu-initialization-period: how long the start of a pod may use much CPU. */
const INITIALIZATION_MS = 300_000;

/** --horizontal-pod-autoscaler-initial-readiness-delay: a pod that is unready since before this was never ready. */
const INITIAL_READINESS_MS = 30_000;

/**
 * `now` in epoch ms.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 * Clauses: R33.
 */
export function groupPods(
  pods: readonly PodReading[],
  { type, now }: { readonly type: Resource | "other"; readonly now: number },
): Groups {
  const [ready, unready, missing]: [MeasuredPod[], PodReading[], PodReading[]] = [[], [], []];
  for (const pod of pods) {
    if (pod.isDeleting || pod.phase === "Failed") continue;
    if (pod.phase === "Pending") unready.push(pod);
    else if (!isMeasured(pod)) missing.push(pod);
    else if (type === "cpu" && isUnready(pod, now)) unready.push(pod);
    else ready.push(pod);
  }
  return { ready, unready, missing };
}

function isMeasured(pod: PodReading): pod is MeasuredPod {
  return pod.metric !== null;
}

/** Unknown is not False. */
function isUnready({ startAt, ready, metric }: MeasuredPod, now: number): boolean {
  if (startAt === null || ready === null) return true;
  if (startAt + INITIALIZATION_MS > now) return ready.status === "False" || metric.at < ready.at + metric.windowMs;
  return ready.status === "False" && ready.at < startAt + INITIAL_READINESS_MS;
}

/** One pod's usage and request in thousandths; the request is 0 if the target is an average value. */
interface CountedPod {
  readonly usage: bigint;
  readonly request: bigint;
}

/**
 * Needs at least one pod. Returns `null` if all requests together are 0.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/metrics/utilization.go
 * Clauses: R34, R35.
 */
function toUsageRatio(pods: readonly CountedPod[], target: ResourceTarget): number | null {
  const usage = sumOf(pods, "usage");
  if (target.kind === "AverageValue") return Number(usage / BigInt(pods.length)) / Number(target.milli);
  const requests = sumOf(pods, "request");
  return requests === 0n ? null : Number(100n * usage / requests) / target.percent;
}

/**
 * Returns the assumed usage of a missing pod for scale-in: all of its request, or the target if that is more.
 * Clauses: R37.
 */
function toAssumedUsage(request: bigint, target: ResourceTarget): bigint {
  return target.kind === "AverageValue" ? target.milli : request * BigInt(Math.max(100, target.percent)) / 100n;
}

function sumOf(pods: readonly CountedPod[], key: keyof CountedPod): bigint {
  return pods.reduce((total, pod) => total + pod[key], 0n);
}

export interface PodValuesInput extends Pick<ValueInput, "targetMilli" | "replicas" | "tolerance"> {
  /** Values are not negative. */
  readonly values: PodValues;
}

/**
 * Returns the proposal of a pods-metric trigger. A failure has the HPA controller's words.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 * Clauses: M17.
 */
export function proposeByPodValues({ values, targetMilli, replicas, tolerance }: PodValuesInput): ReplicasProposal {
  const { pods, others } = values;
  const groups = groupPods(pods, { type: "other", now: 0 });
  const counts = { ready: groups.ready.length, unready: groups.unready.length, missing: groups.missing.length };
  const fail = (cause: string): ReplicasProposal => (
    { kind: "failed", reason: "FailedGetPodsMetric", message: `failed to get pods metric value: ${cause}` }
  );
  if (pods.length === 0) return fail("no pods returned by selector while calculating replica count");
  const proposed = counts.ready + others.length === 0 ? null : proposeByGroups(groups, {
    target: { kind: "AverageValue", milli: targetMilli },
    replicas,
    tolerance,
    requestOf: () => 0n,
    usageOf: ({ metric }) => metric.milli,
    others,
  });
  if (proposed === null) return fail("did not receive metrics for targeted pods (pods might be unready)");
  return { kind: "proposal", ...proposed, lo: proposed.replicas, hi: proposed.replicas, ...counts };
}

export interface ValueInput {
  /** Thousandths, within 63 bits; only a formula's may be negative. */
  readonly valueMilli: bigint;
  /** Thousandths, above 0. */
  readonly targetMilli: bigint;
  readonly metricType: MetricType;
  /** spec.replicas, above 0. */
  readonly replicas: number;
  /** status.replicas. */
  readonly statusReplicas: number;
  /** `countReadyPods`: `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  readonly tolerance: Tolerance;
  /** Of an object in the cluster; false unless given. */
  readonly isOfObject?: boolean;
}

/**
 * Returns a proposal. A failure has the HPA controller's words.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 * Clauses: R38, R39.
 */
export function proposeByValue(input: ValueInput): ReplicasProposal {
  return input.metricType === "AverageValue" ? proposeByAverage(input) : proposeByWhole(input);
}

function proposeByAverage({ valueMilli, targetMilli, statusReplicas, tolerance }: ValueInput): ReplicasProposal {
  // The controller treats a negative sum of such a metric as an overflow, and so as the largest value.
  const value = Number(valueMilli < 0n ? MAX_MILLI : valueMilli);
  const target = Number(targetMilli);
  // Without pods this is infinite or NaN.
  const ratio = value / (target * statusReplicas);
  const replicas = isWithin(ratio, tolerance) ? statusReplicas : toReplicas(value / target);
  return toValueProposal(replicas, Number.isFinite(ratio) ? ratio : null, 0);
}

function proposeByWhole(input: ValueInput): ReplicasProposal {
  const { valueMilli, targetMilli, replicas, readyPods, tolerance, isOfObject = false } = input;
  const ratio = Number(valueMilli) / Number(targetMilli);
  if (isWithin(ratio, tolerance)) return toValueProposal(replicas, ratio, readyPods ?? 0);
  if (readyPods === null) {
    const cause = "no pods returned by selector while calculating replica count";
    return {
      kind: "failed",
      reason: isOfObject ? "FailedGetObjectMetric" : "FailedGetExternalMetric",
      message: `failed to get ${isOfObject ? "object" : "external"} metric: unable to calculate ready pods: ${cause}`,
    };
  }
  return toValueProposal(toReplicas(ratio * readyPods), ratio, readyPods);
}

function toValueProposal(replicas: number, ratio: number | null, ready: number): ReplicasProposal {
  return { kind: "proposal", replicas, lo: replicas, hi: replicas, ratio, ready, unready: 0, missing: 0 };
}

type ComputedProposal = Extract<ReplicasProposal, { readonly kind: "proposal" }>;

type FailedProposal = Extract<ReplicasProposal, { readonly kind: "failed" }>;

/** `decider`: the first of the largest proposals. `message` is for the condition HPAActive. */
export type NeedResult =
  | { readonly kind: "need"; readonly need: number; readonly decider: ComputedProposal; readonly index: number }
  | { readonly kind: "invalid"; readonly reason: MetricFailure; readonly message: string; readonly cause: string };

/**
 * A failed metric may have asked for more, so with a failure replicas never fall.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 * Clauses: R40.
 */
export function chooseNeed(proposals: readonly ReplicasProposal[], replicas: number): NeedResult {
  const failed = proposals.filter((one): one is FailedProposal => one.kind === "failed");
  const computed = proposals.filter((one): one is ComputedProposal => one.kind === "proposal");
  const decider = computed.reduce<ComputedProposal | null>(
    (max, one) => max === null || one.replicas > max.replicas ? one : max,
    null,
  );
  const [first] = failed;
  if (decider !== null && (first === undefined || decider.replicas >= replicas)) {
    return { kind: "need", need: Math.max(0, decider.replicas), decider, index: proposals.indexOf(decider) };
  }
  const { reason, message } = first ?? NO_METRIC;
  const cause = `invalid metrics (${failed.length} invalid out of ${proposals.length}), first error is: ${message}`;
  return { kind: "invalid", reason, message: `the HPA was unable to compute the replica count: ${message}`, cause };
}

const NO_METRIC = { reason: "InvalidMetricSourceType", message: "there is no metric" } as const;

/** Fractions of the target, as doubles. */
export interface Tolerance {
  readonly up: number;
  readonly down: number;
}

/** --horizontal-pod-autoscaler-tolerance. */
const DEFAULT_TOLERANCE = 0.1;

/** Returns the tolerances of the behavior, or the default. Clauses: R36. */
export function toTolerance(behavior: Behavior | null): Tolerance {
  return {
    up: behavior?.scaleUp.tolerance ?? DEFAULT_TOLERANCE,
    down: behavior?.scaleDown.tolerance ?? DEFAULT_TOLERANCE,
  };
}

/** Both ends are within; NaN and Infinity are not. */
export function isWithin(ratio: number, { up, down }: Tolerance): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}

/** The largest value that the API server accepts. */
const MAX_REPLICAS = 2 ** 31 - 1;

/** Rounds up; never -0. */
function toReplicas(exact: number): number {
  return exact > MAX_REPLICAS ? MAX_REPLICAS : Math.ceil(exact) + 0;
}

interface PodRequestOptions {
  readonly resource: Resource;
  /** The trigger's containerName; `null` = the pod as a whole. */
  readonly container: string | null;
  /**
   * By the name of a container or sidecar: whole millicores or bytes; `null` = it requests nothing. Not called for plain
   * init containers.
   */
  readonly requestOf: (container: string) => number | null;
}

/**
 * Returns millicores or bytes, or why it cannot be computed. A double has all of them: see `toMilliAmount`.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 * Clauses: R25, R82.
 */
export function computePodRequest(pod: PodFacts, options: PodRequestOptions): number | RequestProblem {
  const { container } = options;
  if (container !== null) return getContainerRequest(pod, container, options);
  return hasPodLevelRequests(pod) ? computePodLevelRequest(pod, options) : sumContainers(pod, options);
}

/**
 * Returns the first request that a pod lacks for one of these triggers, in the words of KEDA's webhook; `null` = none. The
 * text names no pod, as pods come and go. Clauses: R25.
 */
export function findLack(triggers: readonly ResourceTrigger[], pods: Iterable<PodFacts>): string | null {
  const compared = triggers.filter(({ target, baseline }) =>
    target.kind === "Utilization" && baseline?.kind !== "amount"
  );
  for (const pod of compared.length === 0 ? [] : pods) {
    for (const trigger of compared) {
      const lack = describeLack(pod, trigger);
      if (lack !== null) return lack;
    }
  }
  return null;
}

function describeLack(pod: PodFacts, { type, container }: ResourceTrigger): string | null {
  const key = `${type}.requests` as const;
  // Nearly every pod has all requests, and each pod is checked in each loop.
  const hasAll = container === null && pod.podResources === null &&
    pod.containers.every(({ spec }) => spec[key] !== null);
  if (hasAll) return null;
  let owner = "pod";
  const requestOf = (name: string): number | null => {
    const amount = findContainer(pod, name)?.spec[key] ?? null;
    if (amount === null) owner = `container ${name}`;
    return amount;
  };
  const request = computePodRequest(pod, { resource: type, container, requestOf });
  if (typeof request === "number") return null;
  const prefix = `the scaledobject has a ${type} trigger`;
  if (request.reason === "NoContainer") return `${prefix} but the pods have no container ${container}`;
  return `${prefix} but the ${owner} doesn't have the ${type} request defined`;
}

/**
 * Converts millicores or bytes to thousandths: millicores stay, bytes times 1000. These need exact integers beyond 2^53,
 * and the amounts of one pod do not.
 */
export function toMilliAmount(amount: number, resource: Resource): bigint {
  return resource === "cpu" ? BigInt(amount) : BigInt(amount) * 1000n;
}

function getContainerRequest(
  pod: PodFacts,
  name: string,
  { resource, requestOf }: PodRequestOptions,
): number | RequestProblem {
  if (!pod.containers.some((one) => one.name === name && isRunning(one.kind))) {
    return { reason: "NoContainer", message: `container ${name} not found in Pod ${pod.name}` };
  }
  return requestOf(name) ?? toMissing(pod, name, resource);
}

function sumContainers(pod: PodFacts, { resource, requestOf }: PodRequestOptions): number | RequestProblem {
  let sum = 0;
  for (const { name, kind } of pod.containers) {
    if (!isRunning(kind)) continue;
    const request = requestOf(name);
    if (request === null) return toMissing(pod, name, resource);
    sum += request;
  }
  return sum;
}

/** Containers and native sidecars. An init container that ends counts only for what the pod needs at its start. */
function isRunning(kind: ContainerFacts["kind"]): boolean {
  return kind !== "init";
}

function toMissing(pod: PodFacts, container: string, resource: Resource): RequestProblem {
  return {
    reason: "NoRequest",
    message: `missing request for ${resource} in container ${container} of Pod ${pod.name}`,
  };
}

/**
 * One of them is enough for both resources: what the pod itself does not request is the aggregate of its containers
 * (KEP-2837).
 */
function hasPodLevelRequests({ podResources }: PodFacts): boolean {
  return podResources !== null && (podResources["cpu.requests"] !== null || podResources["memory.requests"] !== null);
}

/** The overhead of the RuntimeClass is a request too, also if it is the only one. */
function computePodLevelRequest(pod: PodFacts, options: PodRequestOptions): number | RequestProblem {
  const { resource } = options;
  const own = pod.podResources?.[`${resource}.requests`] ?? null;
  const request = own === null ? aggregate(pod, options) : own;
  const extra = getOverhead(pod, resource);
  if (request === null && extra === 0) {
    return { reason: "NoRequest", message: `missing pod-level request for ${resource} in Pod ${pod.name}` };
  }
  return (request ?? 0) + extra;
}

function getOverhead({ overhead }: PodFacts, resource: Resource): number {
  if (overhead === null) return 0;
  return resource === "cpu" ? overhead.cpuMillicores : overhead.memoryBytes;
}

/**
 * Returns the sum of all that run together, or of an init container and the sidecars started before it if that is more;
 * `null` = no container requests any.
 */
function aggregate({ containers }: PodFacts, { resource, requestOf }: PodRequestOptions): number | null {
  let [running, sidecars, peak, isAsked] = [0, 0, 0, false];
  for (const { name, kind, spec } of containers) {
    const request = kind === "init" ? spec[`${resource}.requests`] : requestOf(name);
    if (request === null) continue;
    isAsked = true;
    if (kind === "init") peak = Math.max(peak, sidecars + request);
    else running += request;
    if (kind === "sidecar") sidecars += request;
  }
  if (!isAsked) return null;
  return Math.max(running, peak);
}

/**
 * Returns the number of pods that run and are Ready, deleted ones included; `null` if the selector lists no pod, which
 * makes such a metric an error. Clauses: R39.
 */
export function countReadyPods(pods: readonly Pick<PodFacts, "phase" | "ready">[]): number | null {
  if (pods.length === 0) return null;
  return pods.filter(({ phase, ready }) => phase === "Running" && ready?.status === "True").length;
}
