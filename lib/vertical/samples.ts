/**
 * From readings of usage to samples: CPU rates from two readings of a counter, and memory as it was read.
 *
 * A sample also says how much a CPU limit held the container back, and what it would have used without the limit. If
 * one container runs in the pod, the CPU counter of the pod is a second source.
 */
import type { PodCpu, Point, Pressure } from "../api/usage.ts";
import type { Autoscaler } from "../model/autoscaler.ts";
import type { NodeCapacity } from "../model/decision.ts";
import type { ContainerFacts, PodFacts } from "../model/pod.ts";
import type { Anchor, Sample, Sampling } from "../model/state.ts";

/** The result of one more point. */
export type SamplingStep =
  | { readonly kind: "sample"; readonly sampling: Sampling; readonly sample: Sample }
  /** Nothing new: a repeat, or too close to the anchor to make a rate. */
  | { readonly kind: "nothing" }
  /** A first point. */
  | { readonly kind: "warmup"; readonly sampling: Sampling }
  /** Another instance, a lower counter, or the zeros of a container that has just exited: streaks end. */
  | { readonly kind: "restarted"; readonly sampling: Sampling }
  /** More than the node has. */
  | { readonly kind: "implausible" };

/** When a point arrived, and what it is compared with. */
export interface PointContext {
  readonly now: number;
  readonly capacity: NodeCapacity;
  readonly podUsageBytes: number | null;
  /** The container's CPU limit in force; `null` = none. */
  readonly cpuLimitMillicores: number | null;
  /** Whether throttled CPU counts (`throttling`). */
  readonly throttling: Autoscaler["throttling"];
}

/** Returns sampling without points; `warming`: the next point is only an anchor. Clauses: C21, C22. */
export function newSampling(now: number, warming = false): Sampling {
  return { anchor: null, witness: null, sample: null, newAt: now, warming };
}

/** Returns the step after one more point. Never throws, whatever numbers the point has. */
export function nextSampling(sampling: Sampling, point: Point, context: PointContext): SamplingStep {
  if (isInvalidPoint(point)) return { kind: "implausible" };
  if (point.cpu.kind === "rate") return nextRateSampling(sampling, { point, ...point.cpu }, context);
  const { counterNs } = point.cpu;
  const { anchor } = sampling;
  if (counterNs === 0 && point.workingSetBytes === 0) return toZeroed(sampling, context.now);
  // The same point again, as in most readings.
  if (anchor !== null && anchor.instance === point.instance && anchor.at === point.at) return { kind: "nothing" };
  const here: Anchor = {
    instance: point.instance,
    at: point.at,
    counterNs,
    pressure: point.pressure,
    ...(isCount(point.oomKills) && { oomKills: point.oomKills }),
  };
  // Memory needs only one point, but its streak would be one sample ahead and scale down what CPU vetoes next.
  if (anchor === null) return isOverMemory(point, context) ? { kind: "implausible" } : toWarmUp(here, context.now);
  if (anchor.instance !== point.instance) return toRestarted(here, context.now);
  const elapsedMs = point.at - anchor.at;
  // After a silence an older time is not a repeat: the node's clock has stepped back.
  if (sampling.warming && elapsedMs < 0) return toWarmUp(here, context.now);
  if (elapsedMs < 0) return { kind: "nothing" };
  if (counterNs < anchor.counterNs) return toRestarted(here, context.now);
  if (sampling.warming) return toWarmUp(here, context.now);
  if (elapsedMs < MIN_RESOLUTIONS * point.resolutionMs) return { kind: "nothing" };
  // ns per ms are millionths of a core: /1000 gives millicores.
  const usedNs = counterNs - anchor.counterNs;
  const leastMillicores = usedNs / (elapsedMs + point.resolutionMs) / 1000;
  if (leastMillicores > (context.capacity.cpuMillicores ?? MAX_AMOUNT) || isOverMemory(point, context)) {
    return { kind: "implausible" };
  }
  const cpuMillicores = usedNs / elapsedMs / 1000;
  const held = computePointHeldBack(point, { elapsedMs, cpuMillicores, before: anchor.pressure }, context);
  const killed = (here.oomKills ?? 0) - (anchor.oomKills ?? here.oomKills ?? 0);
  const sample = {
    ...newSample(point, { from: anchor.at, cpuMillicores, ...held }, context),
    ...(killed > 0 && { oomKills: killed }),
  };
  return {
    kind: "sample",
    sample,
    sampling: { ...sampling, anchor: here, sample, newAt: context.now, warming: false },
  };
}

/** When the pod's point arrived, and what it is compared with. */
export interface PodCpuContext extends PointContext {
  readonly silenceMs: number;
  /** Since when the container runs alone, epoch ms by its node: before, the counter was also that of others. */
  readonly aloneAt: number;
}

/**
 * Returns since when the container runs and no other one does, epoch ms by the node; Infinity if it does not run alone.
 * Clauses: L60.
 */
export function findAloneSince(pod: PodFacts, { name, runningAt }: ContainerFacts): number {
  if (pod.hasEphemeralContainers === true) return Infinity;
  let aloneAt = runningAt ?? Infinity;
  for (const one of pod.containers) {
    if (one.name === name) continue;
    if (one.runningAt !== null) return Infinity;
    for (const { finishedAt } of one.terminations) aloneAt = Math.max(aloneAt, finishedAt);
  }
  return aloneAt;
}

/**
 * Returns the pod CPU series after one more point of the pod's own counter. The kubelet often refreshes it before the
 * container's. The two series never mix. `sampling` already has the container's point of this reading.
 */
export function nextPodCpuSeries(sampling: Sampling, cpu: PodCpu, context: PodCpuContext): PodCpuStep {
  const { anchor, witness, sample: last } = sampling;
  if (anchor === null || sampling.warming || cpu.at < context.aloneAt) return { sampling, sample: null };
  const isOwn = witness !== null && witness.instance === anchor.instance && witness.at >= context.aloneAt;
  const elapsedMs = isOwn ? cpu.at - witness.at : -Infinity;
  // A repeat, or too close: the older one stays.
  if (elapsedMs >= 0 && elapsedMs < MIN_RESOLUTIONS * cpu.resolutionMs) return { sampling, sample: null };
  const here: Anchor = { ...anchor, at: cpu.at, counterNs: cpu.counterNs, pressure: cpu.pressure };
  const moved = { ...sampling, witness: here };
  if (!isOwn || elapsedMs < 0 || elapsedMs >= context.silenceMs) return { sampling: moved, sample: null };
  if (cpu.counterNs < witness.counterNs || last === null) return { sampling: moved, sample: null };
  const cpuMillicores = (cpu.counterNs - witness.counterNs) / elapsedMs / 1000;
  const isImplausible = cpuMillicores * elapsedMs / (elapsedMs + cpu.resolutionMs) >
    (context.capacity.cpuMillicores ?? Infinity);
  if (isImplausible || !isNewInterval(last, { from: witness.at, at: cpu.at })) return { sampling: moved, sample: null };
  const held = computePointHeldBack(cpu, { elapsedMs, cpuMillicores, before: witness.pressure }, context);
  // Only the container's series measures throttling; this one would ask for less.
  if (held.isSaturated && held.heldBack === null && anchor.pressure !== null) return { sampling: moved, sample: null };
  // The pod's counter has no memory: that of the newest sample stays.
  const sample: Sample = { ...last, at: cpu.at, from: witness.at, seenAt: context.now, cpuMillicores, ...held };
  return { sampling: { ...moved, sample, newAt: context.now }, sample };
}

/** The CPU limit in force, and whether throttling counts (`throttling: measure`). */
export interface CpuLimitContext {
  readonly cpuLimitMillicores: number | null;
  readonly nodeMillicores: number | null;
  readonly measures: boolean;
}

/** The usage of an interval and the counters at its ends. */
export interface UsageInterval {
  readonly elapsedMs: number;
  readonly cpuMillicores: number;
  readonly resolutionMs: Point["resolutionMs"];
  readonly before: Pressure | null;
  readonly after: Pressure | null;
}

/**
 * Returns the share of the interval in which the limit throttled the container, and its demand in millicores: usage if
 * nothing was measured. PSI is used if the source has it, else throttled time. Clauses: L20, L21.
 */
export function computeHeldBack(interval: UsageInterval, context: CpuLimitContext): HeldBack {
  const { cpuMillicores } = interval;
  const { cpuLimitMillicores, nodeMillicores, measures } = context;
  if (!measures) return { heldBack: null, isSaturated: false, demandMillicores: cpuMillicores };
  const heldBack = computeHeldBackShare(interval, context);
  const isFull = fillsLimit(cpuMillicores, cpuLimitMillicores);
  const most = Math.max(cpuMillicores, Math.min(MAX_DEMAND_TIMES * cpuMillicores, nodeMillicores ?? Infinity));
  // A share of 1 is all that the clock's whole seconds leave of a little running: the most applies.
  const asked = heldBack === null ? cpuMillicores : heldBack < 1 ? cpuMillicores / (1 - heldBack) : most;
  return {
    heldBack,
    isSaturated: isFull || heldBack !== null && heldBack >= SATURATED_SHARE,
    demandMillicores: Math.min(asked, most),
  };
}

/** Returns whether usage is at the limit for the whole of its interval; both in millicores. Clauses: L20. */
export function fillsLimit(cpuMillicores: number, cpuLimitMillicores: number | null): boolean {
  return cpuLimitMillicores !== null && cpuMillicores >= FULL_LIMIT_SHARE * cpuLimitMillicores;
}

/**
 * Returns whether a container waits for memory for so much of the time that it hardly works. Below `memory.high`, which
 * the kubelet's MemoryQoS (KEP-2570, on since 1.37) sets to at least 90 % of the limit, none is killed, and it waits
 * instead. Clauses: L15.
 */
export function isStalledPercent(percent: number): boolean {
  return percent >= STALLED_PERCENT;
}

/** Below four times the source's time resolution a rate would be mostly rounding. */
export const MIN_RESOLUTIONS = 4;

/** More than any node has (64 TiB), and a hundred times as much is still a safe integer: a target may be 1 %. */
export const MAX_AMOUNT = 2 ** 46;

/** Returns the step for a source of rates (metrics.k8s.io, a cgroup reader): each later point is a sample. */
function nextRateSampling(
  sampling: Sampling,
  { point, millicores, windowMs }: { point: Point; millicores: number; windowMs: number },
  context: PointContext,
): SamplingStep {
  const { anchor } = sampling;
  if (millicores === 0 && point.workingSetBytes === 0) return toZeroed(sampling, context.now);
  const here = { instance: point.instance, at: point.at, counterNs: 0, pressure: null };
  if (anchor !== null && anchor.instance !== point.instance) return toRestarted(here, context.now);
  if (sampling.warming && anchor !== null && point.at < anchor.at) return toWarmUp(here, context.now);
  if (anchor !== null && point.at <= anchor.at) return { kind: "nothing" };
  // What the source has cached may still be of the run before.
  if (sampling.warming) return toWarmUp(here, context.now);
  if (millicores > (context.capacity.cpuMillicores ?? MAX_AMOUNT) || isOverMemory(point, context)) {
    return { kind: "implausible" };
  }
  // A source of rates has no throttling counters: only usage near the limit shows it.
  const held = computePointHeldBack(point, { elapsedMs: windowMs, cpuMillicores: millicores, before: null }, context);
  const sample = newSample(point, { from: point.at - windowMs, cpuMillicores: millicores, ...held }, context);
  return {
    kind: "sample",
    sample,
    sampling: { ...sampling, anchor: here, sample, newAt: context.now, warming: false },
  };
}

/** Returns whether a point has impossible numbers. Adapters reject them; a recording or a new source may not. */
function isInvalidPoint({ at, cpu, workingSetBytes, usageBytes }: Point): boolean {
  const isUsed = cpu.kind === "counter"
    ? isValidAmount(cpu.counterNs)
    : isValidAmount(cpu.millicores) && isValidAmount(cpu.windowMs);
  return !(isUsed && isValidAmount(at) && isValidAmount(workingSetBytes) && isValidAmount(usageBytes ?? 0));
}

export function isCount(value: number | null | undefined): value is number {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}

/** Returns whether the amount is finite and in range. */
export function isValidAmount(amount: number): boolean {
  return amount >= 0 && amount < Infinity;
}

function toWarmUp(anchor: NonNullable<Sampling["anchor"]>, now: number): SamplingStep {
  return { kind: "warmup", sampling: { ...newSampling(now), anchor } };
}

function isOverMemory({ workingSetBytes, usageBytes }: Point, { capacity }: PointContext): boolean {
  return Math.max(workingSetBytes, usageBytes ?? 0) > (capacity.memoryBytes ?? MAX_AMOUNT);
}

function toRestarted(anchor: Sampling["anchor"], now: number): SamplingStep {
  return { kind: "restarted", sampling: { ...newSampling(now, anchor === null), anchor } };
}

/**
 * Returns whether the zeros follow zeros. That is silence: a container exits once, and a source without data reports
 * zeros.
 */
function toZeroed({ anchor, warming }: Sampling, now: number): SamplingStep {
  return anchor === null && warming ? { kind: "nothing" } : toRestarted(null, now);
}

/** Returns the throttling of a point, if `throttling` lets it count. */
function computePointHeldBack(
  { pressure, resolutionMs }: Pick<Point, "pressure" | "resolutionMs">,
  usage: { readonly elapsedMs: number; readonly cpuMillicores: number; readonly before: Point["pressure"] },
  { capacity, cpuLimitMillicores, throttling }: PointContext,
): HeldBack {
  const nodeMillicores = capacity.cpuMillicores;
  const measures = throttling === "measure";
  return computeHeldBack({ ...usage, resolutionMs, after: pressure }, { cpuLimitMillicores, nodeMillicores, measures });
}

function newSample(
  point: Point,
  computed: Pick<Sample, "from" | "cpuMillicores"> & HeldBack,
  { now, podUsageBytes, capacity }: PointContext,
): Sample {
  return {
    at: point.at,
    from: computed.from,
    seenAt: now,
    cpuMillicores: computed.cpuMillicores,
    heldBack: computed.heldBack,
    isSaturated: computed.isSaturated,
    demandMillicores: computed.demandMillicores,
    workingSetBytes: point.workingSetBytes,
    usageBytes: point.usageBytes,
    podUsageBytes: isValidAmount(podUsageBytes ?? NaN) && (podUsageBytes ?? 0) <= (capacity.memoryBytes ?? MAX_AMOUNT)
      ? podUsageBytes
      : null,
    ...(isStalledPercent(point.memoryStallPercent ?? 0) && { isMemoryStalled: true }),
  };
}

/** Sampling after the pod's point, and a sample of CPU alone if there is a new one. */
interface PodCpuStep {
  readonly sampling: Sampling;
  readonly sample: Sample | null;
}

/** Returns whether it overlaps the newest sample by less than half of itself. */
export function isNewInterval(last: Pick<Sample, "from" | "at">, { from, at }: Pick<Sample, "from" | "at">): boolean {
  return Math.min(last.at, at) - Math.max(last.from, from) < (at - from) / 2;
}

/** The throttling part of a sample. */
type HeldBack = Pick<Sample, "heldBack" | "isSaturated" | "demandMillicores">;

/** A tenth of the time in which nothing runs. */
const STALLED_PERCENT = 10;

/** Usage is no more than this share of a limit that does not hold it back. */
const FULL_LIMIT_SHARE = 0.95;

/** Throttling for at least this share of the time is more than one burst. */
const SATURATED_SHARE = 0.1;

/** Below this share of its limit a container waits for the node's CPU, not for its quota. */
export const BUSY_SHARE = 0.5;

/** Demand is at most this multiple of usage: a wrong measure does no more harm than a wrong step. */
const MAX_DEMAND_TIMES = 4;

/** How far PSI's own means may lie below the share of its total: they have begun to fade by the end of the interval. */
const MAX_PSI_FADE = 20;

const NS_PER_MS = 1e6;

/** Returns 0 to 1; `null` = nothing measures it, or the measure concerns the node and not the limit. */
function computeHeldBackShare(interval: UsageInterval, context: CpuLimitContext): number | null {
  const { before, after } = interval;
  if (before === null || after === null) return null;
  const throttled = computeThrottledShare(interval, context);
  const full = computePsiShare(interval, { before, after });
  if (full === null) return throttled;
  const { cpuLimitMillicores } = context;
  const isBusy = cpuLimitMillicores !== null && interval.cpuMillicores >= BUSY_SHARE * cpuLimitMillicores;
  // `full` is also waiting for the node's CPU, which no limit hides.
  return cpuLimitMillicores !== null && (isBusy || throttled !== null && throttled > 0) ? full : null;
}

interface PressureEnds {
  readonly before: Pressure;
  readonly after: Pressure;
}

/** Returns PSI's share of the interval; `null` if its unit is not certain. */
function computePsiShare({ elapsedMs, resolutionMs }: UsageInterval, { before, after }: PressureEnds): number | null {
  if (before.fullHint?.unit !== after.fullHint?.unit) return null;
  const grownNs = computeGrowth(before.fullNs, after.fullNs);
  if (grownNs === null || grownNs > (elapsedMs + resolutionMs) * NS_PER_MS) return null;
  const share = Math.min(grownNs / (elapsedMs * NS_PER_MS), 1);
  const hint = after.fullHint;
  return hint !== undefined && hint.percent * MAX_PSI_FADE < share * 100 ? null : share;
}

/**
 * Returns the share from throttled time, which sums over CPUs: two busy threads at 168m gave 1.84 s a second. If the
 * CPUs are not reported separately (cgroup v2), all CPUs of the node may have added to it.
 */
function computeThrottledShare(interval: UsageInterval, { nodeMillicores }: CpuLimitContext): number | null {
  const { before, after, elapsedMs, cpuMillicores } = interval;
  const grownNs = computeGrowth(before?.throttledNs ?? null, after?.throttledNs ?? null);
  if (grownNs === null) return null;
  const largestNs = computeGrowth(before?.largestCpuNs ?? null, after?.largestCpuNs ?? null);
  const usedNs = cpuMillicores * elapsedMs * 1000;
  const cpus = largestNs !== null && largestNs > 0
    ? usedNs / largestNs
    : nodeMillicores === null
    ? null
    : nodeMillicores / 1000;
  return cpus === null ? null : Math.min(grownNs / (elapsedMs * NS_PER_MS * Math.max(1, cpus)), 1);
}

/** Returns the growth of a counter; `null` if it is missing or has started again. */
function computeGrowth(before: number | null, after: number | null): number | null {
  return before === null || after === null || !(after >= before && after < Infinity) ? null : after - before;
}
