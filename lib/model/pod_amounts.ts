/**
 * How much does a pod count for as a whole, and how much do its node and its namespace allow?
 *
 * The sums are those of the scheduler, the kubelet and the quota controller. The checks are those of the LimitRanger
 * admission plugin.
 *
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/component-helpers/resource/helpers.go
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/limitranger/admission.go
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

/** What is added up: containers first, init containers in the order in which they start. */
export type SummedPod = Pick<PodFacts, "containers" | "podResources">;

/** Returns the pod's sum of that field, in millicores or bytes, without the pod's overhead. */
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

/**
 * Returns how much of that field the container may have at most while the pod counts for no more than `limit`; may be
 * negative.
 */
export function computeMaxAmount(
  { containers, podResources }: SummedPod,
  container: ContainerFacts,
  { key, limit }: { readonly key: ResourceField; readonly limit: number },
): number {
  // All containers of such a pod share the pod's own amount.
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

/**
 * The node's allocatable minus the requests on it, without the pod in question. Negative if requests exceed it: then a
 * resize waits.
 */
export type Headroom = Amounts;

/** Returns the headroom for the field's resource; infinite for limits. Clauses: L30. */
export function getHeadroom(room: Headroom, key: ResourceField): number {
  if (key === "cpu.requests") return room.cpuMillicores;
  return key === "memory.requests" ? room.memoryBytes : Infinity;
}

/** Returns how much more the pod would count with that container at that size; never below 0. */
export function computeAddedRequests(pod: PodFacts, name: string, to: Resources): Amounts {
  const containers = pod.containers.map((one) => one.name === name ? { ...one, spec: to } : one);
  const grow = (key: ResourceField) => Math.max(0, sumPod({ ...pod, containers }, key) - sumPod(pod, key));
  return { cpuMillicores: grow("cpu.requests"), memoryBytes: grow("memory.requests") };
}

/** Returns the class the pod would have with that container at that size. Clauses: C35. */
export function computeQosAfter(pod: PodFacts, container: ContainerFacts, to: Resources): QosClass {
  const containers = pod.containers.map((one) => one === container ? to : one.spec);
  return computeQosClass({ podResources: pod.podResources, containers });
}

/**
 * Returns by how much the memory limit of the pod's cgroup is below the sum of its containers' limits, in bytes; 0 = it
 * is not, or not known. A kubelet without the fix of issue 138760 leaves the cgroup unchanged if no resized container
 * is running. If the pod itself has resources, the sum is not its limit.
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

/** The limits of one namespace; `null` in their place = none are known. */
export interface NamespaceLimits {
  readonly ranges: readonly LimitRangeRule[];
  /** By field: what the tightest quota has left; `null` = no quota applies. */
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
  /** Filled into a container that lacks the field. */
  readonly defaults: Resources;
}

/** Millicores and bytes; `null` = not given. */
export type ResourceAmounts = Readonly<Record<Resource, number | null>>;

/**
 * Returns the first violation that the API server would find with the container at that size; `null` = it would accept
 * the pod. Clauses: L32.
 */
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

/** Returns the amount that a container counts with; `null` if it has none. */
function findCountedAmount({ spec, allocated, reported }: ContainerFacts, key: ResourceField): number | null {
  const asked = spec[key];
  if (asked === null) return null;
  return Math.max(asked, allocated?.[key] ?? 0, reported?.[key] ?? 0);
}

/** The kernel rounds a limit down to whole pages, so a smaller difference means nothing; bytes. */
const MIN_SHORTFALL_BYTES = 1024 * 1024;

/** What of a pod a limit range would change or refuse. */
interface LimitRangeViolation {
  /** The field that is outside; `null` where something is missing. */
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

/** Returns the allowed range as text if the size is outside it. `min` needs no limit, and `max` needs no request. */
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
