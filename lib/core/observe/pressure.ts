/**
 * What held a container's CPU back between two points (L20, L21): the share of the interval, and the CPU that it would
 * have used otherwise. PSI where the source has it, else throttled time; without either nothing is made up.
 */
import type { Point, Pressure } from "../../api/usage.ts";
import type { Sample } from "../state.ts";

/** The part of a sample that says what held the CPU back. */
export type HeldBack = Pick<Sample, "heldBack" | "isSaturated" | "demandMillicores">;

/** The CPU limit that was in force, and whether what it hides counts (`throttling: measure`). */
export interface LimitContext {
  readonly cpuLimitMillicores: number | null;
  readonly nodeMillicores: number | null;
  readonly measures: boolean;
}

/** The usage of an interval and the counters at its ends. */
export interface Interval {
  readonly elapsedMs: number;
  readonly cpuMillicores: number;
  readonly resolutionMs: Point["resolutionMs"];
  readonly before: Pressure | null;
  readonly after: Pressure | null;
}

/** Usage is no more than this share of a limit that does not hold it back. */
const FULL_SHARE = 0.95;
/** Held back for this share of the time is no accident of one burst. */
const HELD_SHARE = 0.1;
/** Below this share of its limit a container waits for the node's CPU, not for its quota. */
const BUSY_SHARE = 0.5;
/** The most that one sample may say beyond what was used: a wrong measure does no more harm than a wrong step. */
const MOST_TIMES = 4;
/** How far PSI's own means may lie below the share of its total: they have begun to fade by the end of the interval. */
const FADED = 20;
const NS_PER_MS = 1e6;

/** What was asked of the CPU: usage itself where nothing says more. */
export function readHeldBack(interval: Interval, context: LimitContext): HeldBack {
  const { cpuMillicores } = interval;
  const { cpuLimitMillicores, nodeMillicores, measures } = context;
  if (!measures) return { heldBack: null, isSaturated: false, demandMillicores: cpuMillicores };
  const heldBack = readShare(interval, context);
  const isFull = fillsLimit(cpuMillicores, cpuLimitMillicores);
  const most = Math.max(cpuMillicores, Math.min(MOST_TIMES * cpuMillicores, nodeMillicores ?? Infinity));
  // A share of 1 is all that the clock's whole seconds leave of a little running: the most applies.
  const asked = heldBack === null ? cpuMillicores : heldBack < 1 ? cpuMillicores / (1 - heldBack) : most;
  return {
    heldBack,
    isSaturated: isFull || heldBack !== null && heldBack >= HELD_SHARE,
    demandMillicores: Math.min(asked, most),
  };
}

/** Whether usage is at the limit for the whole of its interval (L20); both in millicores. */
export function fillsLimit(cpuMillicores: number, cpuLimitMillicores: number | null): boolean {
  return cpuLimitMillicores !== null && cpuMillicores >= FULL_SHARE * cpuLimitMillicores;
}

/** 0 to 1; `null` = nothing measures it, or what does is about the node and not the limit. */
function readShare(interval: Interval, context: LimitContext): number | null {
  const { before, after } = interval;
  if (before === null || after === null) return null;
  const throttled = readThrottledShare(interval, context);
  const full = readFullShare(interval, { before, after });
  if (full === null) return throttled;
  const { cpuLimitMillicores } = context;
  const isBusy = cpuLimitMillicores !== null && interval.cpuMillicores >= BUSY_SHARE * cpuLimitMillicores;
  // `full` is also waiting for the node's CPU, which no limit hides.
  return cpuLimitMillicores !== null && (isBusy || throttled !== null && throttled > 0) ? full : null;
}

interface Ends {
  readonly before: Pressure;
  readonly after: Pressure;
}

/** PSI's share of the interval; `null` when its unit is in doubt. */
function readFullShare({ elapsedMs, resolutionMs }: Interval, { before, after }: Ends): number | null {
  if (before.fullHint?.unit !== after.fullHint?.unit) return null;
  const grownNs = grow(before.fullNs, after.fullNs);
  if (grownNs === null || grownNs > (elapsedMs + resolutionMs) * NS_PER_MS) return null;
  const share = Math.min(grownNs / (elapsedMs * NS_PER_MS), 1);
  const hint = after.fullHint;
  return hint !== undefined && hint.percent * FADED < share * 100 ? null : share;
}

/**
 * Throttled time sums over the CPUs that ran the container: two busy threads at 168m gave 1.84 s a second. Where no CPU
 * of them is told apart (cgroup v2) they may have been all of the node's.
 */
function readThrottledShare(interval: Interval, { nodeMillicores }: LimitContext): number | null {
  const { before, after, elapsedMs, cpuMillicores } = interval;
  const grownNs = grow(before?.throttledNs ?? null, after?.throttledNs ?? null);
  if (grownNs === null) return null;
  const largestNs = grow(before?.largestCpuNs ?? null, after?.largestCpuNs ?? null);
  const usedNs = cpuMillicores * elapsedMs * 1000;
  const cpus = largestNs !== null && largestNs > 0
    ? usedNs / largestNs
    : nodeMillicores === null
    ? null
    : nodeMillicores / 1000;
  return cpus === null ? null : Math.min(grownNs / (elapsedMs * NS_PER_MS * Math.max(1, cpus)), 1);
}

/** How far a counter has come; `null` where it is not counted or has started over. */
function grow(before: number | null, after: number | null): number | null {
  return before === null || after === null || !(after >= before && after < Infinity) ? null : after - before;
}
