/**
 * What limits a size: bounds, steps, node, quotas, limit ranges, the pod's own resources, memory in use, OOM kills, and
 * the other field of the resource.
 *
 * `CAPS` lists them in the order in which they apply.
 */
import type { FieldPolicy } from "../../model/autoscaler.ts";
import type { ContainerCase, Direction, SizeInput } from "../../model/decision.ts";
import { type ContainerFacts, getActualSize, type PodFacts } from "../../model/pod.ts";
import { computeMaxAmount, getHeadroom, sumPod } from "../../model/pod_amounts.ts";
import { formatAmount } from "../../units/quantity.ts";
import { requestOrLimitOf, RESIZE_UNIT, type ResourceField, resourceOf } from "../../units/resources.ts";

/** The last cap that changed a size. */
export type CapName = "min" | "max" | "step" | "memory in use" | "OOM kill" | AllowedBy | ResourceField;

/** A size on its way through the caps. */
export interface Fitted {
  /** Millicores or bytes. */
  readonly to: number;
  /** `null` = none: it is the recommendation, rounded. */
  readonly cappedBy: CapName | null;
}

/** The facts that caps read. */
export interface CapContext {
  readonly rule: FieldPolicy;
  readonly direction: Direction;
  /** The size in force: steps and directions are measured from it. */
  readonly actual: number;
  /** The other field of the resource as it will be: `null` = there is none. */
  readonly partner: { readonly key: ResourceField; readonly amount: number } | null;
  readonly memoryFloor: MemoryFloor;
  /** How far node, namespace and pod let the field go. */
  readonly allowance: Allowance;
  /** What is left of a memory limit after an OOM kill, bytes. */
  readonly killFloorBytes?: number;
  /** The amount is not from usage: it is not limited by steps. */
  readonly ignoresStep?: boolean;
}

export type Cap = (fitted: Fitted, context: CapContext) => Fitted;

/** A size that no longer moves in its direction after one of them is held by that one. */
export const CAPS = {
  bounds,
  worthAUnit,
  step,
  allowed,
  memoryInUse,
  killFloor,
  partner,
} as const satisfies Readonly<Record<string, Cap>>;

/** Returns whether `to` lies beyond `from` in that direction. Clauses: C33, C34, C46. */
export function moves(direction: Direction, from: number, to: number): boolean {
  return direction === "up" ? to > from : to < from;
}

/** Who allows no more. */
export type AllowedBy = "node" | "Quota" | "LimitRange" | "PodResources";

/** The amounts that a field may have. */
export interface Allowance {
  /** Infinity = no known limit; `by` names the limit. It may be below the present size. */
  readonly most: number;
  readonly by: AllowedBy | null;
  /** The least that a limit range allows. */
  readonly least: number;
}

/** Nothing known is in the way. */
export const ALLOWS_ALL: Allowance = { most: Infinity, by: null, least: 0 };

/**
 * Returns the amounts that node, namespace and the pod's own `spec.resources` allow for one field of a container.
 *
 * The API server refuses a pod whose containers request more together than the pod does, or one of which has a higher
 * limit than the pod: KEP-2837, `validatePodResourceConsistency` in pkg/apis/core/validation. Clauses: L30, L32, L36.
 */
export function computeAllowance(
  { pod, room, limits }: Surroundings,
  container: ContainerFacts,
  key: ResourceField,
): Allowance {
  let allowance = ALLOWS_ALL;
  const own = pod.podResources?.[key] ?? null;
  if (room === null && limits === null && own === null) return allowance;
  const cap = (by: AllowedBy, most: number) => {
    if (most < allowance.most) allowance = { ...allowance, most, by };
  };
  const capPod = (by: AllowedBy, limit: number) => cap(by, computeMaxAmount(pod, container, { key, limit }));
  if (own !== null) {
    const share = computeMaxAmount({ containers: pod.containers, podResources: null }, container, { key, limit: own });
    cap("PodResources", requestOrLimitOf(key) === "requests" ? share : own);
  }
  if (room !== null) capPod("node", sumPod(pod, key) + getHeadroom(room, key));
  if (limits === null) return allowance;
  const left = limits.quota[key];
  if (left !== null) capPod("Quota", sumPod(pod, key) + left);
  const resource = resourceOf(key);
  for (const { type, min, max } of limits.ranges) {
    const [least, most] = [min[resource] ?? 0, max[resource] ?? Infinity];
    if (type === "Pod") capPod("LimitRange", most);
    else {
      cap("LimitRange", most);
      if (least > allowance.least) allowance = { ...allowance, least };
    }
  }
  return allowance;
}

/** The least that a memory limit may go down to, in bytes. */
export type MemoryFloor =
  | { readonly kind: "floor"; readonly bytes: number }
  /** The usage source does not report the page cache. */
  | { readonly kind: "unknown" };

/** For a limit that goes up: no floor stops it. */
export const NO_FLOOR: MemoryFloor = { kind: "floor", bytes: 0 };

/**
 * Returns the lowest memory limit, in bytes. The kernel refuses a limit at or below usage with page cache (kubelet:
 * "cannot decrease memory limits"), and then blocks every other change of the pod. So the floor is the streak's peak
 * plus a margin, and the sum of the pod's limits stays above what the pod uses. Clauses: C46.
 */
export function computeMemoryFloor({ view, container, input: { pod } }: ContainerCase): MemoryFloor {
  const { usageBytes = null, podUsageBytes = null } = view.sampling.sample ?? {};
  if (usageBytes === null) return { kind: "unknown" };
  const { peakUsageBytes, olderPeakUsageBytes } = view.streaks["memory.limits"] ?? {};
  const peak = Math.max(peakUsageBytes ?? 0, olderPeakUsageBytes ?? 0, usageBytes);
  const own = peak + Math.max(peak * MARGIN_PERCENT / 100, MARGIN_BYTES);
  const others = sumOtherLimits(pod, container);
  const rest = others === null || podUsageBytes === null ? 0 : podUsageBytes + 1 - others;
  return { kind: "floor", bytes: Math.max(own, rest) };
}

/** Returns why a limit does not go down that the floor holds. */
export function explainFloor(floor: MemoryFloor): string {
  const why = floor.kind === "unknown"
    ? "the usage source does not tell the page cache"
    : `${formatAmount(Math.ceil(floor.bytes), "memory")} are in use`;
  return `memory.limits is not lowered: ${why}`;
}

function bounds({ to, cappedBy }: Fitted, { rule: { bounds: { min, max } } }: CapContext): Fitted {
  // A min above max is refused by the parser, so at most one of them caps.
  if (min !== null && to < min) return { to: min, cappedBy: "min" };
  if (max !== null && to > max) return { to: max, cappedBy: "max" };
  return { to, cappedBy };
}

/**
 * A scale-down by less than a unit is dropped: the field would be short of its target and grow again. A bound is
 * followed in any case.
 */
function worthAUnit(fitted: Fitted, { rule, direction, actual }: CapContext): Fitted {
  const unit = RESIZE_UNIT[rule.resource];
  const isTooLittle = direction === "down" && fitted.cappedBy === null && roundUp(fitted.to, unit) > actual - unit;
  return isTooLittle ? { to: actual, cappedBy: null } : fitted;
}

/** No further than `step` and `stepPercent` from actual, then up to a whole unit: the one place that rounds. */
function step({ to, cappedBy }: Fitted, { rule, direction, actual, ignoresStep = false }: CapContext): Fitted {
  const { min, max, step, stepPercent } = rule.bounds;
  const steps = Math.min(step ?? Infinity, stepPercent === null ? Infinity : actual * stepPercent / 100);
  const most = ignoresStep ? Infinity : steps;
  const stepped = clamp(to, actual - most, actual + most);
  const unit = RESIZE_UNIT[rule.resource];
  const rounded = Math.max(roundTowards(direction, { amount: stepped, actual, unit }), unit);
  // Rounding may have passed a bound that is not a whole unit.
  const bounded = clamp(rounded, min, max);
  if (!moves(direction, actual, bounded)) return { to: bounded, cappedBy: direction === "up" ? "max" : "min" };
  return { to: bounded, cappedBy: stepped < to || stepped > to ? "step" : cappedBy };
}

/** A scale-up to the remaining capacity is sent if it is at least this much, in percent. */
const WORTH_PERCENT = 5;

/**
 * No further than node, quotas, limit ranges and the pod's own resources allow, in whole units. What is left changes all
 * the time: for less than 5 % of it no pod is resized. Clauses: L30, L32, L36.
 */
function allowed(fitted: Fitted, { rule, direction, actual, allowance: { most, by, least } }: CapContext): Fitted {
  if (direction === "down") return fitted.to < least ? { to: least, cappedBy: "LimitRange" } : fitted;
  if (by === null || fitted.to <= most) return fitted;
  if (by === "LimitRange") return { to: most, cappedBy: by };
  const to = Math.floor(most / RESIZE_UNIT[rule.resource]) * RESIZE_UNIT[rule.resource];
  return { to: (to - actual) * 100 >= actual * WORTH_PERCENT ? to : actual, cappedBy: by };
}

/** A memory limit does not go below what is in use, and does not go down if that is not known. Clauses: C46. */
function memoryInUse(fitted: Fitted, { rule, direction, actual, memoryFloor }: CapContext): Fitted {
  if (rule.key !== "memory.limits" || direction === "up") return fitted;
  if (memoryFloor.kind === "unknown") return { to: actual, cappedBy: "memory in use" };
  const floor = Math.ceil(memoryFloor.bytes / RESIZE_UNIT.memory) * RESIZE_UNIT.memory;
  return fitted.to < floor || floor >= actual ? { to: floor, cappedBy: "memory in use" } : fitted;
}

/** A limit that has killed is not gone back to for a day, nor near to it. Clauses: L12. */
function killFloor(fitted: Fitted, { rule, direction, killFloorBytes = 0 }: CapContext): Fitted {
  if (rule.key !== "memory.limits" || direction === "up") return fitted;
  const floor = roundUp(killFloorBytes, RESIZE_UNIT.memory);
  return fitted.to < floor ? { to: floor, cappedBy: "OOM kill" } : fitted;
}

/** requests <= limits. Clauses: C34. */
function partner(fitted: Fitted, { rule, partner }: CapContext): Fitted {
  if (partner === null) return fitted;
  const isBeyond = rule.side === "requests" ? fitted.to > partner.amount : fitted.to < partner.amount;
  return isBeyond ? { to: partner.amount, cappedBy: partner.key } : fitted;
}

/** Returns the amount rounded up to a whole unit, and at least one unit from actual in the wanted direction. */
function roundTowards(
  direction: Direction,
  { amount, actual, unit }: { amount: number; actual: number; unit: number },
): number {
  const up = roundUp(amount, unit);
  if (direction === "up") return Math.max(up, Math.ceil((actual + unit) / unit) * unit);
  return Math.min(up, Math.floor((actual - unit) / unit) * unit);
}

/** Returns the amount rounded up. Floats such as 110.00000000000001 are 110. */
function roundUp(amount: number, unit: number): number {
  return Math.ceil(amount / unit - 1e-9) * unit;
}

function clamp(amount: number, min: number | null, max: number | null): number {
  return Math.max(Math.min(amount, max ?? Infinity), min ?? -Infinity);
}

type Surroundings = Pick<SizeInput, "pod" | "room" | "limits">;

const MARGIN_PERCENT = 10;

const MARGIN_BYTES = 8 * 1024 * 1024;

/**
 * Returns the sum of the other containers' limits, in bytes. `null` if the limit of the pod's cgroup does not follow from
 * it: one of them has no limit, or the pod has one of its own.
 */
function sumOtherLimits(pod: PodFacts, container: ContainerFacts): number | null {
  if ((pod.podResources?.["memory.limits"] ?? null) !== null) return null;
  let sum = 0;
  for (const one of pod.containers) {
    if (one === container || one.kind === "init") continue;
    const limit = getActualSize(one)["memory.limits"];
    if (limit === null) return null;
    sum += limit;
  }
  return sum;
}
