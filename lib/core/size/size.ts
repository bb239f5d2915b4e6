/**
 * How large a container should become (C33, C34, C46): usage / target, then bounds, then step, rounded up to a whole
 * unit, then requests <= limits. Only the sides given move; every cap is named. This is the one place that rounds.
 */
import { formatAmount } from "../../units/quantity.ts";
import { type Resource, type Resources, type SideKey, UNIT } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import type { SideRule } from "../../autoscaler/autoscaler.ts";

export interface Mover {
  readonly side: SideRule;
  readonly usage: number;
  /** The size in force: what steps and directions are measured from. */
  readonly actual: number;
}

export interface SizingContext {
  readonly direction: Direction;
  /** What sides that do not move count with: the spec, or actual where a pending resize is given up (C41). */
  readonly base: Resources;
  /** Amounts below which a memory limit may not go (C46), or why it may not go down at all. */
  readonly memoryFloor: MemoryFloor;
  /** True when these sizes would make a pod Guaranteed that is not (C34). */
  readonly makesGuaranteed: (to: Resources) => boolean;
}

export type MemoryFloor =
  | { readonly kind: "floor"; readonly bytes: number; readonly why: string }
  | { readonly kind: "unknown"; readonly why: string };

export type Sized =
  | { readonly kind: "moves"; readonly key: SideKey; readonly to: number; readonly cappedBy: string | null }
  | {
    readonly kind: "holds";
    readonly key: SideKey;
    readonly reason: "AtBound" | "AtTarget" | "MemoryInUse";
    readonly message: string;
  };

/** One result per mover; `to` differs from actual in the wanted direction. */
export function size(movers: readonly Mover[], context: SizingContext): readonly Sized[] {
  const order = context.direction === "up" ? ["limits", "requests"] : ["requests", "limits"];
  const sized = new Map<SideKey, Sized>();
  // The side that gives the other its room goes first.
  for (const side of order) {
    for (const mover of movers) {
      if (mover.side.side === side) sized.set(mover.side.key, fit(mover, sized, context));
    }
  }
  keepBurstable(movers, sized, context);
  return [...sized.values()];
}

/** The container's resources with every move made. */
export function resultOf(base: Resources, sized: Iterable<Sized>): Resources {
  const to: Record<SideKey, number | null> = { ...base };
  for (const one of sized) if (one.kind === "moves") to[one.key] = one.to;
  return to;
}

function fit(mover: Mover, sized: ReadonlyMap<SideKey, Sized>, context: SizingContext): Sized {
  const { side, actual } = mover;
  const alone = sizeAlone(mover, context.direction);
  if (alone.kind === "holds") return alone;
  let { to, cappedBy } = alone;
  const [other, otherKey] = readOther(side, sized, context.base);
  if (other !== null && (side.side === "requests" ? to > other : to < other)) {
    to = other;
    cappedBy = otherKey;
  }
  if (side.key === "memory.limits" && context.direction === "down") {
    const floor = context.memoryFloor;
    if (floor.kind === "unknown") return { kind: "holds", key: side.key, reason: "MemoryInUse", message: floor.why };
    const floored = Math.ceil(floor.bytes / UNIT.memory) * UNIT.memory;
    if (floored >= actual) return { kind: "holds", key: side.key, reason: "MemoryInUse", message: floor.why };
    if (to < floored) [to, cappedBy] = [floored, "memory in use"];
  }
  if (moves(context.direction, actual, to)) return { kind: "moves", key: side.key, to, cappedBy };
  return atBound(side, actual, cappedBy ?? "bounds");
}

function sizeAlone({ side, usage, actual }: Mover, direction: Direction): Sized {
  const { min, max, step, stepPercent } = side.bounds;
  const unit = UNIT[side.resource];
  const recommendation = usage * 100 / side.targetUtilizationPercent;
  if (!moves(direction, actual, recommendation)) return atTarget(side);
  const bounded = clamp(recommendation, min, max);
  if (!moves(direction, actual, bounded)) return atBound(side, actual, direction === "up" ? "max" : "min");
  // One unit less would leave it short of its target, and it would come back up: a whole unit too much, or nothing.
  if (direction === "down" && bounded === recommendation && roundUp(bounded, unit) > actual - unit) {
    return atTarget(side);
  }
  let cappedBy = bounded === recommendation ? null : bounded < recommendation ? "max" : "min";
  const stepped = clamp(bounded, ...readStepRange(actual, step, stepPercent));
  if (stepped !== bounded) cappedBy = "step";
  const rounded = Math.max(roundTowards(direction, { stepped, actual, unit }), unit);
  const to = clamp(rounded, min, max);
  if (!moves(direction, actual, to)) return atBound(side, actual, direction === "up" ? "max" : "min");
  return { kind: "moves", key: side.key, to, cappedBy };
}

function readStepRange(actual: number, step: number | null, stepPercent: number | null): [number, number] {
  const percentStep = stepPercent === null ? Infinity : actual * stepPercent / 100;
  const most = Math.min(step ?? Infinity, percentStep);
  return [actual - most, actual + most];
}

/** Up to a whole unit, and at least one unit away from actual in the wanted direction. */
function roundTowards(
  direction: Direction,
  { stepped, actual, unit }: { stepped: number; actual: number; unit: number },
): number {
  const up = roundUp(stepped, unit);
  if (direction === "up") return Math.max(up, Math.ceil((actual + unit) / unit) * unit);
  return Math.min(up, Math.floor((actual - unit) / unit) * unit);
}

/** Floats such as 110.00000000000001 are 110: a billionth of a unit is no reason for one more. */
function roundUp(amount: number, unit: number): number {
  return Math.ceil(amount / unit - 1e-9) * unit;
}

/** Up, a request that would equal its limit, and down, a limit its request, stop one unit short of being Guaranteed. */
function keepBurstable(movers: readonly Mover[], sized: Map<SideKey, Sized>, context: SizingContext): void {
  const follower = context.direction === "up" ? "requests" : "limits";
  for (const { side, actual } of movers) {
    if (side.side !== follower) continue;
    if (!context.makesGuaranteed(resultOf(context.base, sized.values()))) return;
    const one = sized.get(side.key);
    const [other, otherKey] = readOther(side, sized, context.base);
    if (one?.kind !== "moves" || other !== one.to) continue;
    const to = follower === "requests" ? one.to - UNIT[side.resource] : one.to + UNIT[side.resource];
    sized.set(
      side.key,
      moves(context.direction, actual, to) ? { ...one, to, cappedBy: otherKey } : atBound(side, actual, otherKey),
    );
  }
}

function readOther(
  side: SideRule,
  sized: ReadonlyMap<SideKey, Sized>,
  base: Resources,
): [amount: number | null, key: SideKey] {
  const key: SideKey = `${side.resource satisfies Resource}.${side.side === "requests" ? "limits" : "requests"}`;
  const one = sized.get(key);
  return [one?.kind === "moves" ? one.to : base[key], key];
}

function atTarget({ key, targetUtilizationPercent }: SideRule): Sized {
  const message = `${key} already holds usage at its target of ${targetUtilizationPercent} %`;
  return { kind: "holds", key, reason: "AtTarget", message };
}

function atBound(side: SideRule, actual: number, bound: string): Sized {
  const message = `${side.key} stays at ${formatAmount(actual, side.resource)}: ${bound} leaves no room`;
  return { kind: "holds", key: side.key, reason: "AtBound", message };
}

function moves(direction: Direction, from: number, to: number): boolean {
  return direction === "up" ? to > from : to < from;
}

function clamp(amount: number, min: number | null, max: number | null): number {
  return Math.max(Math.min(amount, max ?? Infinity), min ?? -Infinity);
}
