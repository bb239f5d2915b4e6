/**
 * The managed fields under a verdict: for which usage do they go in the same direction, and which sizes do they ask for?
 */
import { type Autoscaler, type FieldPolicy, findBaseline } from "../../model/autoscaler.ts";
import type { Direction, SizeInput } from "../../model/decision.ts";
import { FLAT, FLAT_SAMPLE, type FlatView } from "../../model/flat_state.ts";
import { type ContainerFacts, getActualSize } from "../../model/pod.ts";
import { computeQosAfter } from "../../model/pod_amounts.ts";
import { type AutoscalerView, isStreakFull } from "../../model/state.ts";
import type { Resource } from "../../units/resources.ts";
import { getNumber } from "../../units/usage_rows.ts";
import { computeTargetSize } from "../proposals.ts";
import { fitSizes } from "../sizing/candidate.ts";
import { computeAllowance, moves, NO_FLOOR } from "../sizing/caps.ts";
import { compareWithThresholds, findUsage } from "../streaks.ts";
import { findEvidence, findNextEvidence } from "../windows.ts";
import type { QuietInput, SampledContainer, Step } from "./step.ts";

/** One managed field. */
export interface HeldField {
  readonly rule: FieldPolicy;
  readonly baseline: number;
  /** Where usage points. */
  readonly direction: Direction | null;
  /** It has a full streak. */
  readonly isWanted: boolean;
  end: FieldEnd;
  /** Sizing would move it. */
  isMoving: boolean;
  /** Usage in its window was above the threshold, which holds its scale-down. */
  readonly isPeakHigh: boolean;
  /**
   * What usage asked for at the evaluation by `decideSize`, and asks for now; NaN without a direction. Of a rising field
   * the size after all caps.
   */
  decidedAmount: number;
  amount: number;
  /** After the reading that is being looked at. */
  nextAmount: number;
  nextPeak: number;
  nextOlderPeak: number | null;
}

/**
 * Where sizing leaves a wanted field. target: the amount does not go beyond the present size. bound: it goes beyond the
 * bound, so that whatever it is, the size is the same. amount: the size follows the amount.
 */
type FieldEnd = "target" | "bound" | "amount";

/** Between which usage the directions are the same, in hundredths of the unit: at least, above, below, at most. */
export type Band = readonly number[];

interface FieldsContext {
  readonly autoscaler: Autoscaler;
  readonly view: AutoscalerView;
  readonly container: ContainerFacts;
}

/** Returns the fields with a baseline; `null` if one more sample of the same usage may lead to another verdict. */
export function listFields({ autoscaler, view, container }: FieldsContext): readonly HeldField[] | null {
  const actual = getActualSize(container);
  const { sampling: { sample }, streaks, evidence } = view;
  const fields: HeldField[] = [];
  for (const rule of autoscaler.sides) {
    const { key, resource, down: { percentile } } = rule;
    const [usage, baseline, streak] = [findUsage(rule, sample), findBaseline(rule, actual), streaks[key]];
    if (usage === null || baseline === null) {
      if (streak !== undefined) return null;
      continue;
    }
    const seen = findEvidence(evidence, rule);
    const direction = compareWithThresholds(rule, usage, baseline, percentile === null ? usage : seen ?? usage);
    const isSaturated = resource === "cpu" && sample?.isSaturated === true;
    const isWanted = direction !== null && !(isSaturated && direction === "down");
    if (isWanted !== (streak !== undefined)) return null;
    const isPeakHigh = isPeakAbove(rule, baseline, seen);
    const field: HeldField = {
      rule,
      baseline,
      direction,
      isWanted,
      isPeakHigh,
      amount: NaN,
      decidedAmount: NaN,
      end: "amount",
      isMoving: false,
      nextAmount: 0,
      nextPeak: 0,
      nextOlderPeak: null,
    };
    fields.push(field);
    if (direction === null || streak === undefined) continue;
    if (streak.direction !== direction || streak.isSaturated !== isSaturated || !isStreakFull(rule, streaks)) {
      return null;
    }
    const { peakUsage, olderPeakUsage } = streak;
    const amount = computeAmount(rule, direction, { usage, peakUsage, olderPeakUsage, seen });
    const end = findEnd(rule, direction, { baseline, amount });
    const isMoving = end === "amount" ||
      (end === "bound" && moves(direction, baseline, findBound(rule, direction) ?? 0));
    // The size of a memory limit follows the memory in use.
    if (isMoving && direction === "down" && key === "memory.limits") return null;
    field.amount = amount;
    field.decidedAmount = amount;
    field.end = end;
    field.isMoving = isMoving;
  }
  return fields;
}

interface UsedAmounts {
  readonly usage: number;
  readonly peakUsage: number;
  readonly olderPeakUsage: number | null;
  /** The peak or percentile of the window; `null` without one. */
  readonly seen: number | null;
}

/** Returns the amount of `proposeSizes`. */
function computeAmount(
  rule: FieldPolicy,
  direction: Direction,
  { usage, peakUsage, olderPeakUsage, seen }: UsedAmounts,
): number {
  if (direction === "up") return computeTargetSize(rule.up, usage);
  const peak = Math.max(usage, peakUsage, olderPeakUsage ?? 0, seen ?? 0);
  return computeTargetSize(rule.down, rule.down.percentile === null ? peak : seen ?? usage);
}

/** Bounds are the first cap of a size that goes beyond the present one. */
function findEnd(
  rule: FieldPolicy,
  direction: Direction,
  { baseline, amount }: { readonly baseline: number; readonly amount: number },
): FieldEnd {
  if (!moves(direction, baseline, amount)) return "target";
  const bound = findBound(rule, direction);
  return bound !== null && moves(direction, bound, amount) ? "bound" : "amount";
}

function findBound({ bounds: { min, max } }: FieldPolicy, direction: Direction): number | null {
  return direction === "up" ? max : min;
}

function isPeakAbove(rule: FieldPolicy, baseline: number, seen: number | null): boolean {
  return rule.down.percentile === null && seen !== null && seen * 100 > rule.scaleDownThresholdPercent * baseline;
}

export function isUp({ direction }: HeldField): boolean {
  return direction === "up";
}

export function isHeldRequest({ rule, isWanted, direction }: HeldField): boolean {
  return rule.side === "requests" && isWanted && direction === "up";
}

/** Returns the band of a resource. A percentile is compared apart. Each evaluation by `decideSize` asks for two. */
export function computeBand(fields: readonly HeldField[], of: Resource): Band {
  let [least, above, below, most] = [-Infinity, -Infinity, Infinity, Infinity];
  for (const { rule, baseline, direction } of fields) {
    if (rule.resource !== of || rule.down.percentile !== null) continue;
    const up = rule.scaleUpThresholdPercent * baseline;
    const down = rule.scaleDownThresholdPercent * baseline;
    if (direction === "up") least = Math.max(least, up);
    else below = Math.min(below, up);
    if (direction === "down") most = Math.min(most, down);
    if (direction === null) above = Math.max(above, down);
  }
  return [least, above, below, most];
}

/** Thresholds are inclusive: usage at one of them is beyond it. */
export function isInBand(band: Band, usage: number): boolean {
  const hundredfold = usage * 100;
  return hundredfold >= getNumber(band, 0) && hundredfold > getNumber(band, 1) && hundredfold < getNumber(band, 2) &&
    hundredfold <= getNumber(band, 3);
}

export function keepsField(
  field: HeldField,
  { evidence, streaks }: FlatView,
  { at, usage }: { readonly at: number; readonly usage: number },
): boolean {
  const { rule, baseline, direction, isWanted, end } = field;
  const { key, down: { percentile } } = rule;
  const seen = findNextEvidence(evidence, rule, { at, usage });
  if (percentile !== null && compareWithThresholds(rule, usage, baseline, seen ?? usage) !== direction) return false;
  const streak = streaks[key];
  if (!isWanted || direction === null || streak === undefined) return true;
  const isRenewed = streak.count % rule[direction].consecutiveSamples === 0;
  field.nextPeak = isRenewed ? usage : Math.max(streak.peakUsage, usage);
  field.nextOlderPeak = isRenewed ? streak.peakUsage : streak.olderPeakUsage;
  const used = { usage, peakUsage: field.nextPeak, olderPeakUsage: field.nextOlderPeak, seen };
  if (isPeakAbove(rule, baseline, seen) !== field.isPeakHigh) return false;
  // `fitRising` computes its size, together with the other rising fields.
  if (direction === "up" && field.isMoving) return true;
  field.nextAmount = computeAmount(rule, direction, used);
  if (findEnd(rule, direction, { baseline, amount: field.nextAmount }) !== end) return false;
  return end !== "amount" || field.nextAmount === field.amount;
}

interface RisingContainer extends Pick<SampledContainer, "container" | "view"> {
  readonly rising: readonly HeldField[];
}

interface RisingContext {
  readonly next: QuietInput;
  readonly decidedRoom: SizeInput["room"];
}

/**
 * Sizes the fields that wait for their cooldown, as `newCandidate`. Returns false if one of them would not go up, or if
 * headroom would cap it: now, or at the evaluation by `decideSize`, whose surroundings `replay` uses.
 */
export function fitRising(
  { container, rising, view }: RisingContainer,
  step: Step,
  { next, decidedRoom }: RisingContext,
): boolean {
  const { pod, limits } = next;
  const actual = getActualSize(container);
  const usage = { cpu: findDemand(step, view), memory: findWorkingSet(step, view) };
  const movers = rising.map(({ rule }) => ({
    rule,
    amount: computeTargetSize(rule.up, usage[rule.resource]),
    actual: actual[rule.key] ?? 0,
  }));
  const room = next.findRoom(pod);
  const fit = (left: SizeInput["room"]) =>
    fitSizes(movers, {
      direction: "up",
      base: container.spec,
      memoryFloor: NO_FLOOR,
      allow: (key) => computeAllowance({ pod, room: left, limits }, container, key),
      makesGuaranteed: (to) => pod.qosClass !== "Guaranteed" && computeQosAfter(pod, container, to) === "Guaranteed",
    });
  const sized = fit(room);
  const decided = room === decidedRoom ? sized : fit(decidedRoom);
  for (const [index, one] of sized.entries()) {
    const field = rising.find(({ rule }) => rule.key === one.key);
    if (field === undefined || one.kind !== "moves" || one.cappedBy === "node") return false;
    const before = decided[index];
    if (before?.key !== one.key || before.kind !== "moves" || before.to !== one.to) return false;
    field.nextAmount = one.to;
  }
  return true;
}

/** Returns the CPU that the container needs after the step, millicores. */
function findDemand(step: Step, { sampling: { numbers } }: FlatView): number {
  return step.kind === "nothing"
    ? getNumber(numbers, FLAT.sample + FLAT_SAMPLE.demandMillicores)
    : step.demandMillicores;
}

/** Returns its memory after the step, bytes. The pod's counter of CPU has none. */
function findWorkingSet(step: Step, { sampling: { numbers } }: FlatView): number {
  return step.kind === "sample" ? step.workingSetBytes : getNumber(numbers, FLAT.sample + FLAT_SAMPLE.workingSetBytes);
}
