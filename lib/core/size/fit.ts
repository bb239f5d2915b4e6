/**
 * How large the sides of a container become (C33, C34): each recommendation through the caps, requests and limits of a
 * resource as a pair in which the side that gives the other its room goes first. Only the sides given move.
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import { formatAmount } from "../../units/quantity.ts";
import { partnerOf, type Resources, type SideKey, UNIT } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import { type Allowance, type AllowedBy, ALLOWS_ALL } from "./allowance.ts";
import { type Cap, type CapContext, CAPS, type Fitted, moves } from "./caps.ts";
import { explainFloor, type MemoryFloor } from "./memory_floor.ts";
import { joinPairs, toPaired } from "./pair.ts";
import { findSized, type Mover, replaceSized, type ShortReason, type Sized } from "./sized.ts";

/** What the sides of a container are fitted to. */
export interface FitContext {
  readonly direction: Direction;
  /** What sides that do not move count with: the spec, or actual where a pending resize is given up (C41). */
  readonly base: Resources;
  readonly memoryFloor: MemoryFloor;
  /** How far node and namespace let a side go (L30, L32); as far as it likes where it is left out. */
  readonly allow?: (key: SideKey) => Allowance;
  /** What is left of a memory limit after an OOM kill, bytes (L12). */
  readonly killFloorBytes?: number;
  /** True when these sizes would make a pod Guaranteed that is not (C34). */
  readonly makesGuaranteed: (to: Resources) => boolean;
  /** Hears what each cap made of each side, in their order; nobody by default. */
  readonly noteCap?: NoteCap | undefined;
}

/** Takes the size after one cap. */
export type NoteCap = (key: SideKey, cap: keyof typeof CAPS, fitted: Fitted) => void;

const LIST = Object.entries<Cap>(CAPS) as readonly (readonly [keyof typeof CAPS, Cap])[];

const SHORT_REASONS: Readonly<Record<AllowedBy, ShortReason>> = {
  node: "NodeCapacity",
  Quota: "Quota",
  LimitRange: "LimitRange",
};

/** One result per mover, leaders first; `to` differs from actual in the wanted direction. */
export function fit(movers: readonly Mover[], context: FitContext): readonly Sized[] {
  const sized: Sized[] = [];
  for (const side of context.direction === "up" ? LIMITS_FIRST : REQUESTS_FIRST) {
    for (const mover of movers) {
      if (mover.rule.side !== side) continue;
      sized.push(fitSide(toPaired(mover, movers, context.direction), sized, context));
    }
  }
  joinPairs(movers, sized, context.direction);
  keepBurstable(movers, sized, context);
  return sized;
}

/** The container's resources with every move made; the same object when there is none. */
export function resultOf(base: Resources, sized: readonly Sized[]): Resources {
  let to: Record<SideKey, number | null> | null = null;
  for (const one of sized) if (one.kind === "moves") (to ??= { ...base })[one.key] = one.to;
  return to ?? base;
}

/** A limit makes room for its request on the way up, a request for its limit on the way down. */
const LIMITS_FIRST = ["limits", "requests"] as const;
const REQUESTS_FIRST = ["requests", "limits"] as const;

function fitSide(mover: Mover, sized: readonly Sized[], context: FitContext): Sized {
  const { rule, amount, actual, ignoresStep = false } = mover;
  const { direction, base, memoryFloor, killFloorBytes = 0 } = context;
  const capContext: CapContext = {
    rule,
    direction,
    actual,
    partner: readPartner(rule, sized, base),
    memoryFloor,
    killFloorBytes,
    allowance: context.allow?.(rule.key) ?? ALLOWS_ALL,
    ignoresStep,
  };
  let fitted: Fitted = { to: amount, cappedBy: null };
  if (!moves(direction, actual, fitted.to)) return toHeld(fitted, capContext);
  for (const [name, cap] of LIST) {
    fitted = cap(fitted, capContext);
    context.noteCap?.(rule.key, name, fitted);
    if (!moves(direction, actual, fitted.to)) return toHeld(fitted, capContext);
  }
  return { kind: "moves", key: rule.key, ...fitted };
}

function readPartner(
  rule: SideRule,
  sized: readonly Sized[],
  base: Resources,
): CapContext["partner"] {
  const key = partnerOf(rule.key);
  const one = findSized(sized, key);
  const amount = one?.kind === "moves" ? one.to : base[key];
  return amount === null ? null : { key, amount };
}

/** A request that would equal its limit on the way up, and a limit its request on the way down, stop one unit short of Guaranteed. */
function keepBurstable(movers: readonly Mover[], sized: Sized[], context: FitContext): void {
  const { direction, base, memoryFloor, makesGuaranteed } = context;
  const [, follower] = direction === "up" ? LIMITS_FIRST : REQUESTS_FIRST;
  for (const { rule, actual } of movers) {
    if (rule.side !== follower) continue;
    const one = findSized(sized, rule.key);
    const partner = readPartner(rule, sized, base);
    if (one?.kind !== "moves" || partner?.amount !== one.to) continue;
    if (!makesGuaranteed(resultOf(base, sized))) return;
    const unit = UNIT[rule.resource];
    const fitted: Fitted = { to: one.to + (follower === "requests" ? -unit : unit), cappedBy: partner.key };
    replaceSized(
      sized,
      moves(direction, actual, fitted.to)
        ? { ...one, ...fitted }
        : toHeld(fitted, { rule, direction, actual, partner, memoryFloor, allowance: ALLOWS_ALL }),
    );
  }
}

function toHeld({ cappedBy }: Fitted, context: CapContext): Sized {
  const { rule, direction, actual, memoryFloor } = context;
  const { key, resource } = rule;
  const { targetUtilizationPercent } = rule[direction];
  if (cappedBy === null) {
    const message = `${key} already holds usage at its target of ${targetUtilizationPercent} %`;
    return { kind: "holds", key, reason: "AtTarget", message };
  }
  if (cappedBy === "memory in use") {
    return { kind: "holds", key, reason: "MemoryInUse", message: explainFloor(memoryFloor) };
  }
  const stays = `${key} stays at ${formatAmount(actual, resource)}`;
  if (cappedBy === "node" || cappedBy === "Quota" || cappedBy === "LimitRange") {
    const message = `${stays}: ${explainShort(cappedBy, context)}`;
    return { kind: "holds", key, reason: SHORT_REASONS[cappedBy], message };
  }
  const why = cappedBy === "OOM kill"
    ? "it was OOM-killed, or next to it, less than 24h ago"
    : `${cappedBy} leaves no room`;
  const message = `${stays}: ${why}`;
  return { kind: "holds", key, reason: "AtBound", message };
}

function explainShort(by: AllowedBy, { rule, direction, actual, allowance: { most, least } }: CapContext): string {
  if (by === "LimitRange") {
    const amount = formatAmount(direction === "up" ? most : least, rule.resource);
    return `a limit range of the namespace allows ${direction === "up" ? "at most" : "at least"} ${amount}`;
  }
  const left = formatAmount(Math.max(0, Math.floor(most - actual)), rule.resource);
  return by === "node" ? `the node has room for ${left} more` : `the namespace's quota has ${left} left`;
}
