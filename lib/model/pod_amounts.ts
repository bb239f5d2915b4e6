/**
 * What does a pod count for as a whole, and what do its node and its namespace allow it?
 *
 * The sums are those of the scheduler, the kubelet and the quota controller. The checks are those of the LimitRanger
 * admission plugin.
 */
import { formatAmount } from "../units/quantity.ts";
import {
  type Amounts,
  computeQosClass,
  type QosClass,
  requestOrLimitOf,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../units/resources.ts";
import type { ContainerFacts, PodFacts } from "./pod.ts";

// What a pod counts for as a whole, as scheduler, kubelet, quotas and limit ranges add its containers up: all that run
// together, or an init container beside the sidecars started before it if that is more (KEP-753); what the pod's own
// `resources` say instead of that (KEP-2837). A container counts with the largest of what it asks for, was given and
// has (KEP-1287).
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/component-helpers/resource/helpers.go

/** What is added up: containers first, init containers in the order in which they start. */
export type SummedPod = Pick<PodFacts, "containers" | "podResources">;

/** Millicores or bytes of that side, without the pod's overhead. */
export function sumPod({ containers, podResources }: SummedPod, key: ResourceField): number {
  const own = podResources?.[key] ?? null;
  if (own !== null) return own;
  let [running, sidecars, peak] = [0, 0, 0];
  for (const container of containers) {
    const amount = findCountedAmount(container, key) ?? 0;
    if (container.kind === "init") peak = Math.max(peak, sidecars + amount);
    else running += amount;
    if (container.kind === "sidecar") sidecars += amount;
  }
  return Math.max(running, peak);
}

/** How much of that side the container may have at most while the pod counts for no more than `limit`; may be negative. */
export function computeMaxAmount(
  { containers, podResources }: SummedPod,
  container: ContainerFacts,
  { key, limit }: { readonly key: ResourceField; readonly limit: number },
): number {
  // The containers of such a pod share what it has as a whole.
  if ((podResources?.[key] ?? null) !== null) return Infinity;
  let [running, sidecars, peak, isStarted] = [0, 0, 0, false];
  for (const one of containers) {
    const amount = one === container ? 0 : findCountedAmount(one, key) ?? 0;
    if (one.kind === "init") {
      if (isStarted) peak = Math.max(peak, sidecars + amount);
      continue;
    }
    running += amount;
    if (one.kind === "sidecar") sidecars += amount;
    if (one === container && one.kind === "sidecar") isStarted = true;
  }
  return limit - Math.max(running, peak);
}

// How much of its node a pod may still ask for (L30), and how much a resize would take.

/**
 * What requests leave of the node's allocatable: for a pod on it, beyond what it counts for itself. Negative where more
 * is asked for than there is: then some resize waits.
 */
export type Headroom = Amounts;

/** The room of the side's resource; only requests take any. */
export function getHeadroom(room: Headroom, key: ResourceField): number {
  if (key === "cpu.requests") return room.cpuMillicores;
  return key === "memory.requests" ? room.memoryBytes : Infinity;
}

/** What the pod would count for beyond what it does now, with that container at that size; never below 0. */
export function computeAddedRequests(pod: PodFacts, name: string, to: Resources): Amounts {
  const containers = pod.containers.map((one) => one.name === name ? { ...one, spec: to } : one);
  const grow = (key: ResourceField) => Math.max(0, sumPod({ ...pod, containers }, key) - sumPod(pod, key));
  return { cpuMillicores: grow("cpu.requests"), memoryBytes: grow("memory.requests") };
}

// The QoS class of a pod as a resize would leave it (C35).

/** The class the pod would have with that container at that size. */
export function computeQosAfter(pod: PodFacts, container: ContainerFacts, to: Resources): QosClass {
  const containers = pod.containers.map((one) => one === container ? to : one.spec);
  return computeQosClass({ podResources: pod.podResources, containers });
}

// Whether the size of a pod's containers has reached the pod's own cgroup. A kubelet without the fix of issue 138760
// leaves it as it was where no container that a resize changes is running, and says that the resize is done.
// https://github.com/kubernetes/kubernetes/issues/138760

/**
 * By how much the memory limit of the pod's cgroup is below the sum of its containers' limits, bytes; 0 = it is not, or
 * nobody knows. With resources of the pod itself the sum is not its limit.
 */
export function computeCgroupShortfall({ memoryLimitBytes, podResources, containers }: PodFacts): number {
  if (memoryLimitBytes === null || podResources !== null) return 0;
  let sum = 0;
  for (const { kind, spec, reported } of containers) {
    if (kind === "init") continue;
    const limit = (reported ?? spec)["memory.limits"];
    // One without a limit: the pod has none either.
    if (limit === null) return 0;
    sum += limit;
  }
  const shortfall = sum - memoryLimitBytes;
  return shortfall < MIN_SHORTFALL_BYTES ? 0 : shortfall;
}

// What a namespace allows its pods (L32): its limit ranges and quotas, as far as a resize may meet them. Every
// container of a pod is held against the ranges at each resize, and what it lacks is filled in from their defaults.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/limitranger/admission.go

/** The limits of one namespace; `null` in their place = none are known. */
export interface NamespaceLimits {
  readonly ranges: readonly LimitRangeRule[];
  /** By side: what the tightest quota has left; `null` = no quota counts it. */
  readonly quota: Resources;
}

/** One item of a LimitRange. */
export interface LimitRangeRule {
  /** The LimitRange's name. */
  readonly name: string;
  /** What it holds against its bounds: each container, or the pod as a whole. */
  readonly type: "Container" | "Pod";
  readonly min: ResourceAmounts;
  readonly max: ResourceAmounts;
  /** Limit through request at most; a plain number. */
  readonly maxLimitRequestRatio: ResourceAmounts;
  /** Filled into a container that lacks the side. */
  readonly defaults: Resources;
}

/** Millicores and bytes; `null` = not given. */
export type ResourceAmounts = Readonly<Record<Resource, number | null>>;

/** The first that the API server would find with the container at that size; `null` = it would accept the pod. */
export function findLimitRangeViolation(
  { ranges }: NamespaceLimits,
  pod: PodFacts,
  { container, to }: { readonly container: ContainerFacts; readonly to: Resources },
): LimitRangeViolation | null {
  for (const rule of ranges) {
    const found = rule.type === "Pod"
      ? checkPod(rule, pod, { container, to })
      : checkContainers(rule, pod, { container, to });
    if (found !== null) return found;
  }
  return null;
}

/** `null` where the container has none. */
function findCountedAmount({ spec, allocated, reported }: ContainerFacts, key: ResourceField): number | null {
  const asked = spec[key];
  if (asked === null) return null;
  return Math.max(asked, allocated?.[key] ?? 0, reported?.[key] ?? 0);
}

/** The kernel rounds a limit down to whole pages; less than this is no sign, bytes. */
const MIN_SHORTFALL_BYTES = 1024 * 1024;

/** What of a pod a limit range would change or refuse. */
interface LimitRangeViolation {
  /** The side that is outside; `null` where something is missing. */
  readonly key: ResourceField | null;
  readonly message: string;
}

interface SizeChange {
  readonly container: ContainerFacts;
  readonly to: Resources;
}

function checkContainers(
  rule: LimitRangeRule,
  pod: PodFacts,
  { container, to }: SizeChange,
): LimitRangeViolation | null {
  for (const one of pod.containers) {
    const size = one === container ? to : one.spec;
    const who = `container "${one.name}"`;
    const missing = RESOURCE_FIELDS.find((key) => size[key] === null && rule.defaults[key] !== null);
    if (missing !== undefined) {
      const message =
        `limit range "${rule.name}" would add its default of ${missing} to ${who}; set it in the template`;
      return { key: null, message };
    }
    const found = checkSize(rule, size, who);
    if (found !== null) return one === container ? found : { ...found, key: null };
  }
  return null;
}

function checkPod(rule: LimitRangeRule, pod: PodFacts, { container, to }: SizeChange): LimitRangeViolation | null {
  const containers = pod.containers.map((one) => ({
    ...one,
    spec: one === container ? to : one.spec,
    allocated: null,
    reported: null,
  }));
  const read = (key: ResourceField) => {
    const isGiven = containers.some(({ spec }) => spec[key] !== null) || (pod.podResources?.[key] ?? null) !== null;
    return isGiven ? sumPod({ containers, podResources: pod.podResources }, key) : null;
  };
  const sum: Record<ResourceField, number | null> = { ...to };
  for (const key of RESOURCE_FIELDS) sum[key] = read(key);
  return checkSize(rule, sum, "the pod");
}

function checkSize(rule: LimitRangeRule, size: Resources, who: string): LimitRangeViolation | null {
  for (const key of RESOURCE_FIELDS) {
    const found = checkField(rule, size, key);
    if (found === null) continue;
    const amount = size[key];
    const is = amount === null ? "has none" : `has ${formatAmount(amount, resourceOf(key))}`;
    return { key, message: `limit range "${rule.name}" allows ${found} of ${key}, and ${who} ${is}` };
  }
  return null;
}

/** What is allowed, in words, where that is not met. A limit need not be given for `min`, nor a request for `max`. */
function checkField(rule: LimitRangeRule, size: Resources, key: ResourceField): string | null {
  const resource = resourceOf(key);
  const [isLimit, amount] = [requestOrLimitOf(key) === "limits", size[key]];
  const { min: { [resource]: min }, max: { [resource]: max }, maxLimitRequestRatio: { [resource]: ratio } } = rule;
  if (min !== null && (amount === null ? !isLimit : amount < min)) return `at least ${formatAmount(min, resource)}`;
  if (max !== null && (amount === null ? isLimit : amount > max)) return `at most ${formatAmount(max, resource)}`;
  const request = size[`${resource}.requests`] ?? 0;
  if (ratio === null || !isLimit) return null;
  return request > 0 && amount !== null && amount <= request * ratio ? null : `at most ${ratio} times the request`;
}
