/**
 * Which size would be sent for a choice of proposals?
 *
 * Each field goes through the caps. The field that makes room for the other goes first, and a pair gets one size. The
 * result is the candidate that the gates are asked about.
 */
import type { Action, Bounds, FieldPolicy } from "../../model/autoscaler.ts";
import type { ContainerCase, Direction } from "../../model/decision.ts";
import { getActualSize } from "../../model/pod.ts";
import { computeQosAfter } from "../../model/pod_amounts.ts";
import { listChangedFields } from "../../model/resize_request.ts";
import { isOwnResizeWaiting, listStuckFields, toReverted } from "../../model/resize_status.ts";
import { formatAmount } from "../../units/quantity.ts";
import {
  counterpartOf,
  RESIZE_UNIT,
  RESOURCE_FIELDS,
  type ResourceField,
  type Resources,
} from "../../units/resources.ts";
import { computeKillFloor } from "../oom.ts";
import type { Choice, Proposal } from "../proposals.ts";
import {
  type Allowance,
  type AllowedBy,
  ALLOWS_ALL,
  type Cap,
  type CapContext,
  type CapName,
  CAPS,
  computeAllowance,
  computeMemoryFloor,
  explainFloor,
  type Fitted,
  type MemoryFloor,
  moves,
  NO_FLOOR,
} from "./caps.ts";

/** A case with its sized choice. */
export interface ResizeCandidate extends ContainerCase {
  readonly direction: Direction;
  readonly action: Action;
  /** For the fields that no gate has objected to yet. */
  readonly proposals: readonly Proposal[];
  readonly sized: readonly SizedField[];
  /** Fields that sizing moves. */
  readonly moving: readonly ResourceField[];
  /** What `to` is measured from: the spec, or where a pending resize is given up, the size in force. */
  readonly base: Resources;
  readonly to: Resources;
  /** The fields in which `to` differs from the spec. */
  readonly changes: readonly ResourceField[];
  /** The container of the same pod that is resized first; `null` = none, or not chosen yet. */
  readonly ahead: string | null;
}

/** Returns the candidate with the proposals of a choice sized together. */
export function newCandidate(it: ContainerCase, choice: Choice, noteCap?: OnCap): ResizeCandidate {
  const { direction, action, proposals } = choice;
  const { autoscaler, container, input: { pod } } = it;
  const actual = getActualSize(container);
  const movers: MovingField[] = [];
  for (const rule of autoscaler.sides) {
    const proposal = proposals.find(({ side }) => side === rule.key);
    const amount = actual[rule.key];
    if (proposal === undefined || amount === null) continue;
    const { isPaired = false, cause } = proposal;
    movers.push({ rule, amount: proposal.amount, actual: amount, isPaired, ignoresStep: cause !== "usage" });
  }
  const base = toReverted(container, listFieldsGivenUp(it, direction));
  const sized = fitSizes(movers, {
    direction,
    base,
    allow: (key) => computeAllowance(it.input, container, key),
    memoryFloor: direction === "up" ? NO_FLOOR : computeMemoryFloor(it),
    killFloorBytes: direction === "up" ? 0 : computeKillFloor(it),
    noteCap,
    makesGuaranteed: (to) => pod.qosClass !== "Guaranteed" && computeQosAfter(pod, container, to) === "Guaranteed",
  });
  const to = toResources(base, sized);
  const moving: ResourceField[] = [];
  for (const one of sized) if (one.kind === "moves") moving.push(one.key);
  const { input, state, status, view, containerState, isDue, isNewSample } = it;
  // Written out: V8 is slow with a spread before this many fields.
  return {
    input,
    state,
    status,
    autoscaler,
    view,
    container,
    containerState,
    isDue,
    isNewSample,
    direction,
    action,
    proposals,
    sized,
    moving,
    base,
    to,
    changes: listChangedFields(container.spec, to),
    ahead: null,
  };
}

/** Why a field stays: the node, the namespace or the pod itself has too little left. */
export type ShortReason = "NodeCapacity" | "Quota" | "LimitRange" | "PodResources";

/** Where a field goes, or why it stays. */
export type SizedField =
  | {
    readonly kind: "moves";
    readonly key: ResourceField;
    readonly to: number;
    readonly cappedBy: Fitted["cappedBy"];
  }
  | {
    readonly kind: "holds";
    readonly key: ResourceField;
    readonly reason: "AtBound" | "AtTarget" | "MemoryInUse" | ShortReason;
    readonly message: string;
  };

/** What the fields of a container are fitted to. */
export interface FitContext {
  readonly direction: Direction;
  /** What fields that do not move count with: the spec, or actual where a pending resize is given up. */
  readonly base: Resources;
  readonly memoryFloor: MemoryFloor;
  /** How far node, namespace and pod let a field go; as far as it likes where it is left out. */
  readonly allow?: (key: ResourceField) => Allowance;
  /** What is left of a memory limit after an OOM kill, bytes. */
  readonly killFloorBytes?: number;
  /** True when these sizes would make a pod Guaranteed that is not. */
  readonly makesGuaranteed: (to: Resources) => boolean;
  /** Called with the result of each cap for each field, in their order. */
  readonly noteCap?: OnCap | undefined;
}

/**
 * Returns one result for each mover, leaders first; `to` differs from actual in the wanted direction.
 * Clauses: C33, C34.
 */
export function fitSizes(movers: readonly MovingField[], context: FitContext): readonly SizedField[] {
  const sized: SizedField[] = [];
  for (const side of context.direction === "up" ? LIMITS_FIRST : REQUESTS_FIRST) {
    for (const mover of movers) {
      if (mover.rule.side !== side) continue;
      sized.push(fitField(toPaired(mover, movers, context.direction), sized, context));
    }
  }
  joinPairs(movers, sized, context.direction);
  keepBurstable(movers, sized, context);
  return sized;
}

/** Returns the container's resources with every move made; the same object when there is none. */
export function toResources(base: Resources, sized: readonly SizedField[]): Resources {
  let to: Record<ResourceField, number | null> | null = null;
  for (const one of sized) if (one.kind === "moves") (to ??= { ...base })[one.key] = one.to;
  return to ?? base;
}

/**
 * Returns the fields that are taken back. Over a pending resize a scale-down starts from the size in force, and a
 * scale-up takes back podfit's fields that wait for headroom. Over a failed resize of podfit both do.
 * Clauses: C41, L31, C47.
 */
function listFieldsGivenUp(
  { status, container, input: { pod } }: ContainerCase,
  direction: Direction,
): readonly ResourceField[] {
  if (status.kind === "error") return listStuckFields(pod, container);
  if (direction === "up") {
    return status.kind === "deferred" && isOwnResizeWaiting(pod, container) ? listStuckFields(pod, container) : [];
  }
  return status.kind === "deferred" || status.kind === "infeasible" ? RESOURCE_FIELDS : [];
}

/** A field that is proposed to move. */
interface MovingField {
  readonly rule: FieldPolicy;
  /** The recommendation, millicores or bytes. */
  readonly amount: number;
  /** The size in force: steps and directions are measured from it. */
  readonly actual: number;
  /** It moves with the other field of its resource, which is a mover too, or not at all. */
  readonly isPaired?: boolean;
  /** An answer to an OOM kill goes as far as it needs. */
  readonly ignoresStep?: boolean;
}

/** Returns the result for the field; undefined if it is not sized yet. */
function findSizedField(sized: readonly SizedField[], key: ResourceField): SizedField | undefined {
  return sized.find((one) => one.key === key);
}

/** Replaces the result of its field. */
function replaceSizedField(sized: SizedField[], by: SizedField): void {
  sized[sized.findIndex(({ key }) => key === by.key)] = by;
}

/** Takes the size after one cap. */
type OnCap = (key: ResourceField, cap: keyof typeof CAPS, fitted: Fitted) => void;

const CAP_LIST = Object.entries<Cap>(CAPS) as readonly (readonly [keyof typeof CAPS, Cap])[];

const SHORT_REASONS: Readonly<Record<AllowedBy, ShortReason>> = {
  node: "NodeCapacity",
  Quota: "Quota",
  LimitRange: "LimitRange",
  PodResources: "PodResources",
};

function isAllowedBy(cap: CapName): cap is AllowedBy {
  return Object.hasOwn(SHORT_REASONS, cap);
}

/** A limit grows before its request, and a request shrinks before its limit. */
const LIMITS_FIRST = ["limits", "requests"] as const;

const REQUESTS_FIRST = ["requests", "limits"] as const;

function fitField(mover: MovingField, sized: readonly SizedField[], context: FitContext): SizedField {
  const { rule, amount, actual, ignoresStep = false } = mover;
  const { direction, base, memoryFloor, killFloorBytes = 0 } = context;
  const capContext: CapContext = {
    rule,
    direction,
    actual,
    partner: findPartnerAmount(rule, sized, base),
    memoryFloor,
    killFloorBytes,
    allowance: context.allow?.(rule.key) ?? ALLOWS_ALL,
    ignoresStep,
  };
  let fitted: Fitted = { to: amount, cappedBy: null };
  if (!moves(direction, actual, fitted.to)) return toHeldField(fitted, capContext);
  for (const [name, cap] of CAP_LIST) {
    fitted = cap(fitted, capContext);
    context.noteCap?.(rule.key, name, fitted);
    if (!moves(direction, actual, fitted.to)) return toHeldField(fitted, capContext);
  }
  return { kind: "moves", key: rule.key, ...fitted };
}

function findPartnerAmount(
  rule: FieldPolicy,
  sized: readonly SizedField[],
  base: Resources,
): CapContext["partner"] {
  const key = counterpartOf(rule.key);
  const one = findSizedField(sized, key);
  const amount = one?.kind === "moves" ? one.to : base[key];
  return amount === null ? null : { key, amount };
}

/** Keeps the pod Burstable: a request that would equal its limit, or a limit its request, stops one unit before. */
function keepBurstable(movers: readonly MovingField[], sized: SizedField[], context: FitContext): void {
  const { direction, base, memoryFloor, makesGuaranteed } = context;
  const [, follower] = direction === "up" ? LIMITS_FIRST : REQUESTS_FIRST;
  for (const { rule, actual } of movers) {
    if (rule.side !== follower) continue;
    const one = findSizedField(sized, rule.key);
    const partner = findPartnerAmount(rule, sized, base);
    if (one?.kind !== "moves" || partner?.amount !== one.to) continue;
    if (!makesGuaranteed(toResources(base, sized))) return;
    const unit = RESIZE_UNIT[rule.resource];
    const fitted: Fitted = { to: one.to + (follower === "requests" ? -unit : unit), cappedBy: partner.key };
    replaceSizedField(
      sized,
      moves(direction, actual, fitted.to)
        ? { ...one, ...fitted }
        : toHeldField(fitted, { rule, direction, actual, partner, memoryFloor, allowance: ALLOWS_ALL }),
    );
  }
}

function toHeldField({ cappedBy }: Fitted, context: CapContext): SizedField {
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
  if (isAllowedBy(cappedBy)) {
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
  if (by === "node") return `the node has room for ${left} more`;
  if (by === "Quota") return `the namespace's quota has ${left} left`;
  if (rule.side === "limits") return `the pod's own limit is ${formatAmount(most, rule.resource)}`;
  return `the pod's own request leaves ${left} more to this container`;
}

/**
 * Returns the mover with the bounds that both fields of its pair share, and the smaller step. A field without a pair is
 * returned unchanged.
 */
function toPaired(mover: MovingField, movers: readonly MovingField[], direction: Direction): MovingField {
  const partner = findPartnerMover(mover, movers);
  if (partner === null) return mover;
  const bounds = intersectBounds(mover.rule.bounds, partner.rule.bounds);
  // Kubelet and runtime may report the fields apart: the pair moves away from both.
  const actual = direction === "up" ? Math.max(mover.actual, partner.actual) : Math.min(mover.actual, partner.actual);
  return { ...mover, rule: { ...mover.rule, bounds }, actual };
}

/** Gives both fields of a pair the size that the caps of both allow. If one is held, both are. */
function joinPairs(movers: readonly MovingField[], sized: SizedField[], direction: Direction): void {
  for (const mover of movers) {
    const partner = findPartnerMover(mover, movers);
    if (partner === null || mover.rule.side === "requests") continue;
    const [one, other] = [findSizedField(sized, mover.rule.key), findSizedField(sized, partner.rule.key)];
    if (one === undefined || other === undefined) continue;
    const { min, max } = intersectBounds(mover.rule.bounds, partner.rule.bounds);
    const joined = min !== null && max !== null && min > max
      ? toBoundsApart(mover.rule.key, partner.rule.key)
      : joinSizes(one, other, direction);
    replaceSizedField(sized, { ...joined, key: mover.rule.key });
    replaceSizedField(sized, { ...joined, key: partner.rule.key });
  }
}

function findPartnerMover({ rule, isPaired }: MovingField, movers: readonly MovingField[]): MovingField | null {
  if (isPaired !== true) return null;
  return movers.find((one) => one.rule.key === counterpartOf(rule.key)) ?? null;
}

function joinSizes(one: SizedField, other: SizedField, direction: Direction): SizedField {
  if (one.kind === "holds") return one;
  if (other.kind === "holds") return other;
  const isOne = direction === "up" ? one.to <= other.to : one.to >= other.to;
  return isOne ? one : other;
}

function toBoundsApart(limit: ResourceField, request: ResourceField): SizedField {
  const message = `${request} and ${limit} move together, and their bounds have no size in common`;
  return { kind: "holds", key: limit, reason: "AtBound", message };
}

function intersectBounds(one: Bounds, other: Bounds): Bounds {
  return {
    min: pickAmount(Math.max, one.min, other.min),
    max: pickAmount(Math.min, one.max, other.max),
    step: pickAmount(Math.min, one.step, other.step),
    stepPercent: pickAmount(Math.min, one.stepPercent, other.stepPercent),
  };
}

function pickAmount(choose: (a: number, b: number) => number, one: number | null, other: number | null): number | null {
  return one === null || other === null ? one ?? other : choose(one, other);
}
