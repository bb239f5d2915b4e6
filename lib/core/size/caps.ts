/**
 * What may stand between a recommendation and the size that is asked for (C33, C34, C46): named caps, each of which
 * takes a fitted size and gives it on, changed or not. The list is the order in which they apply.
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import { type SideKey, UNIT } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import type { Allowance, AllowedBy } from "./allowance.ts";
import type { MemoryFloor } from "./memory_floor.ts";

/** The last cap that changed a size. */
export type CapName = "min" | "max" | "step" | "memory in use" | "OOM kill" | AllowedBy | SideKey;

/** A size on its way through the caps. */
export interface Fitted {
  /** Millicores or bytes. */
  readonly to: number;
  /** `null` = nothing has: it is the recommendation, rounded. */
  readonly cappedBy: CapName | null;
}

/** What caps look at. */
export interface CapContext {
  readonly rule: SideRule;
  readonly direction: Direction;
  /** The size in force: what steps and directions are measured from. */
  readonly actual: number;
  /** The other side of the resource as it will be: `null` = there is none. */
  readonly partner: { readonly key: SideKey; readonly amount: number } | null;
  readonly memoryFloor: MemoryFloor;
  /** How far node and namespace let the side go. */
  readonly allowance: Allowance;
  /** What is left of a memory limit after an OOM kill, bytes (L12). */
  readonly killFloorBytes?: number;
  /** It is no step on the way of usage: it goes as far as it needs. */
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

/** Whether `to` lies beyond `from` in that direction. */
export function moves(direction: Direction, from: number, to: number): boolean {
  return direction === "up" ? to > from : to < from;
}

function bounds({ to, cappedBy }: Fitted, { rule: { bounds: { min, max } } }: CapContext): Fitted {
  // A min above max is refused by the parser, so at most one of them caps.
  if (min !== null && to < min) return { to: min, cappedBy: "min" };
  if (max !== null && to > max) return { to: max, cappedBy: "max" };
  return { to, cappedBy };
}

/**
 * Down by less than a unit is no move: one unit less would leave the side short of its target, and it would come back
 * up. What a bound asks for is another matter.
 */
function worthAUnit(fitted: Fitted, { rule, direction, actual }: CapContext): Fitted {
  const unit = UNIT[rule.resource];
  const isTooLittle = direction === "down" && fitted.cappedBy === null && roundUp(fitted.to, unit) > actual - unit;
  return isTooLittle ? { to: actual, cappedBy: null } : fitted;
}

/** No further than `step` and `stepPercent` from actual, then up to a whole unit: the one place that rounds. */
function step({ to, cappedBy }: Fitted, { rule, direction, actual, ignoresStep = false }: CapContext): Fitted {
  const { min, max, step, stepPercent } = rule.bounds;
  const steps = Math.min(step ?? Infinity, stepPercent === null ? Infinity : actual * stepPercent / 100);
  const most = ignoresStep ? Infinity : steps;
  const stepped = clamp(to, actual - most, actual + most);
  const unit = UNIT[rule.resource];
  const rounded = Math.max(roundTowards(direction, { amount: stepped, actual, unit }), unit);
  // Rounding may have passed a bound that is no whole unit.
  const bounded = clamp(rounded, min, max);
  if (!moves(direction, actual, bounded)) return { to: bounded, cappedBy: direction === "up" ? "max" : "min" };
  return { to: bounded, cappedBy: stepped < to || stepped > to ? "step" : cappedBy };
}

/** A step up to what is left is worth a resize from this on (L30). */
const WORTH_PERCENT = 5;

/**
 * No further than node, quotas and limit ranges allow (L30, L32), in whole units. What is left changes all the time: for
 * less than 5 % of it no pod is resized.
 */
function allowed(fitted: Fitted, { rule, direction, actual, allowance: { most, by, least } }: CapContext): Fitted {
  if (direction === "down") return fitted.to < least ? { to: least, cappedBy: "LimitRange" } : fitted;
  if (by === null || fitted.to <= most) return fitted;
  if (by === "LimitRange") return { to: most, cappedBy: by };
  const to = Math.floor(most / UNIT[rule.resource]) * UNIT[rule.resource];
  return { to: (to - actual) * 100 >= actual * WORTH_PERCENT ? to : actual, cappedBy: by };
}

/** A memory limit goes down to no less than what is in use; not at all where that is not known (C46). */
function memoryInUse(fitted: Fitted, { rule, direction, actual, memoryFloor }: CapContext): Fitted {
  if (rule.key !== "memory.limits" || direction === "up") return fitted;
  if (memoryFloor.kind === "unknown") return { to: actual, cappedBy: "memory in use" };
  const floor = Math.ceil(memoryFloor.bytes / UNIT.memory) * UNIT.memory;
  return fitted.to < floor || floor >= actual ? { to: floor, cappedBy: "memory in use" } : fitted;
}

/** A limit that has killed is not gone back to for a day, nor near to it (L12). */
function killFloor(fitted: Fitted, { rule, direction, killFloorBytes = 0 }: CapContext): Fitted {
  if (rule.key !== "memory.limits" || direction === "up") return fitted;
  const floor = roundUp(killFloorBytes, UNIT.memory);
  return fitted.to < floor ? { to: floor, cappedBy: "OOM kill" } : fitted;
}

/** requests <= limits (C34). */
function partner(fitted: Fitted, { rule, partner }: CapContext): Fitted {
  if (partner === null) return fitted;
  const isBeyond = rule.side === "requests" ? fitted.to > partner.amount : fitted.to < partner.amount;
  return isBeyond ? { to: partner.amount, cappedBy: partner.key } : fitted;
}

/** Up to a whole unit, and at least one unit away from actual in the wanted direction. */
function roundTowards(
  direction: Direction,
  { amount, actual, unit }: { amount: number; actual: number; unit: number },
): number {
  const up = roundUp(amount, unit);
  if (direction === "up") return Math.max(up, Math.ceil((actual + unit) / unit) * unit);
  return Math.min(up, Math.floor((actual - unit) / unit) * unit);
}

/** Floats such as 110.00000000000001 are 110: a billionth of a unit is no reason for one more. */
function roundUp(amount: number, unit: number): number {
  return Math.ceil(amount / unit - 1e-9) * unit;
}

function clamp(amount: number, min: number | null, max: number | null): number {
  return Math.max(Math.min(amount, max ?? Infinity), min ?? -Infinity);
}
