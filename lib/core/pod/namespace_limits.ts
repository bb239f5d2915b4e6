/**
 * What a namespace allows its pods (L32): its limit ranges and quotas, as far as a resize may meet them. Every container
 * of a pod is held against the ranges at each resize, and what it lacks is filled in from their defaults.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/limitranger/admission.go
 */
import { formatAmount } from "../../units/quantity.ts";
import { type Resource, resourceOf, type Resources, SIDE_KEYS, type SideKey, sideOf } from "../../units/resources.ts";
import type { ContainerFacts, PodFacts } from "./pod_facts.ts";
import { sumPod } from "./pod_sum.ts";

/** The limits of one namespace; `null` in their place = none are known. */
export interface NamespaceLimits {
  readonly ranges: readonly LimitRule[];
  /** By side: what the tightest quota has left; `null` = no quota counts it. */
  readonly quota: Resources;
}

/** One item of a LimitRange. */
export interface LimitRule {
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

/** What of a pod a limit range would change or refuse. */
export interface Violation {
  /** The side that is outside; `null` where something is missing. */
  readonly key: SideKey | null;
  readonly message: string;
}

/** The first that the API server would find with the container at that size; `null` = it would accept the pod. */
export function findViolation(
  { ranges }: NamespaceLimits,
  pod: PodFacts,
  { container, to }: { readonly container: ContainerFacts; readonly to: Resources },
): Violation | null {
  for (const rule of ranges) {
    const found = rule.type === "Pod"
      ? checkPod(rule, pod, { container, to })
      : checkContainers(rule, pod, { container, to });
    if (found !== null) return found;
  }
  return null;
}

interface Change {
  readonly container: ContainerFacts;
  readonly to: Resources;
}

function checkContainers(rule: LimitRule, pod: PodFacts, { container, to }: Change): Violation | null {
  for (const one of pod.containers) {
    const size = one === container ? to : one.spec;
    const who = `container "${one.name}"`;
    const missing = SIDE_KEYS.find((key) => size[key] === null && rule.defaults[key] !== null);
    if (missing !== undefined) {
      const message =
        `limit range "${rule.name}" would add its default of ${missing} to ${who}; set it in the template`;
      return { key: null, message };
    }
    const found = check(rule, size, who);
    if (found !== null) return one === container ? found : { ...found, key: null };
  }
  return null;
}

function checkPod(rule: LimitRule, pod: PodFacts, { container, to }: Change): Violation | null {
  const containers = pod.containers.map((one) => ({
    ...one,
    spec: one === container ? to : one.spec,
    allocated: null,
    reported: null,
  }));
  const read = (key: SideKey) => {
    const isGiven = containers.some(({ spec }) => spec[key] !== null) || (pod.podResources?.[key] ?? null) !== null;
    return isGiven ? sumPod({ containers, podResources: pod.podResources }, key) : null;
  };
  const sum: Record<SideKey, number | null> = { ...to };
  for (const key of SIDE_KEYS) sum[key] = read(key);
  return check(rule, sum, "the pod");
}

function check(rule: LimitRule, size: Resources, who: string): Violation | null {
  for (const key of SIDE_KEYS) {
    const found = checkSide(rule, size, key);
    if (found === null) continue;
    const amount = size[key];
    const is = amount === null ? "has none" : `has ${formatAmount(amount, resourceOf(key))}`;
    return { key, message: `limit range "${rule.name}" allows ${found} of ${key}, and ${who} ${is}` };
  }
  return null;
}

/** What is allowed, in words, where that is not met. A limit need not be given for `min`, nor a request for `max`. */
function checkSide(rule: LimitRule, size: Resources, key: SideKey): string | null {
  const resource = resourceOf(key);
  const [isLimit, amount] = [sideOf(key) === "limits", size[key]];
  const { min: { [resource]: min }, max: { [resource]: max }, maxLimitRequestRatio: { [resource]: ratio } } = rule;
  if (min !== null && (amount === null ? !isLimit : amount < min)) return `at least ${formatAmount(min, resource)}`;
  if (max !== null && (amount === null ? isLimit : amount > max)) return `at most ${formatAmount(max, resource)}`;
  const request = size[`${resource}.requests`] ?? 0;
  if (ratio === null || !isLimit) return null;
  return request > 0 && amount !== null && amount <= request * ratio ? null : `at most ${ratio} times the request`;
}
