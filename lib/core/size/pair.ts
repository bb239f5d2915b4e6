/** How the request and the limit of a pair become one size (L35): each side goes through its own caps, and then both are joined. */
import type { Bounds } from "../../autoscaler/autoscaler.ts";
import { partnerOf, type SideKey } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import { findSized, type Mover, replaceSized, type Sized } from "./sized.ts";

/** The mover with what both sides of its pair allow: the bounds that they share, the smaller step. Others as they are. */
export function toPaired(mover: Mover, movers: readonly Mover[], direction: Direction): Mover {
  const partner = findPartner(mover, movers);
  if (partner === null) return mover;
  const bounds = intersect(mover.rule.bounds, partner.rule.bounds);
  // Kubelet and runtime may report the sides apart: the pair moves away from both.
  const actual = direction === "up" ? Math.max(mover.actual, partner.actual) : Math.min(mover.actual, partner.actual);
  return { ...mover, rule: { ...mover.rule, bounds }, actual };
}

/** Gives both sides of a pair the size that neither's caps forbid; where one holds, both do. */
export function joinPairs(movers: readonly Mover[], sized: Sized[], direction: Direction): void {
  for (const mover of movers) {
    const partner = findPartner(mover, movers);
    if (partner === null || mover.rule.side === "requests") continue;
    const [one, other] = [findSized(sized, mover.rule.key), findSized(sized, partner.rule.key)];
    if (one === undefined || other === undefined) continue;
    const { min, max } = intersect(mover.rule.bounds, partner.rule.bounds);
    const joined = min !== null && max !== null && min > max
      ? toApart(mover.rule.key, partner.rule.key)
      : join(one, other, direction);
    replaceSized(sized, { ...joined, key: mover.rule.key });
    replaceSized(sized, { ...joined, key: partner.rule.key });
  }
}

function findPartner({ rule, isPaired }: Mover, movers: readonly Mover[]): Mover | null {
  if (isPaired !== true) return null;
  return movers.find((one) => one.rule.key === partnerOf(rule.key)) ?? null;
}

function join(one: Sized, other: Sized, direction: Direction): Sized {
  if (one.kind === "holds") return one;
  if (other.kind === "holds") return other;
  const isOne = direction === "up" ? one.to <= other.to : one.to >= other.to;
  return isOne ? one : other;
}

function toApart(limit: SideKey, request: SideKey): Sized {
  const message = `${request} and ${limit} move together, and their bounds have no size in common`;
  return { kind: "holds", key: limit, reason: "AtBound", message };
}

function intersect(one: Bounds, other: Bounds): Bounds {
  return {
    min: pick(Math.max, one.min, other.min),
    max: pick(Math.min, one.max, other.max),
    step: pick(Math.min, one.step, other.step),
    stepPercent: pick(Math.min, one.stepPercent, other.stepPercent),
  };
}

function pick(choose: (a: number, b: number) => number, one: number | null, other: number | null): number | null {
  return one === null || other === null ? one ?? other : choose(one, other);
}
