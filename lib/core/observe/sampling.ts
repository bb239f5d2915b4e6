/**
 * From points of a container to samples of its usage (C21, C22): a CPU rate needs two points of one container instance,
 * so the first one only warms up; repeats are no samples, and a counter that starts over warms up again. Only the source's own times are compared.
 */
import type { Point } from "../../api/usage.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Capacity } from "../decision.ts";
import type { Anchor, Sample, Sampling } from "../state.ts";
import { type HeldBack, readHeldBack } from "./pressure.ts";

/** What one more point comes to. */
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

/** When a point came, and what it is held against. */
export interface PointContext {
  readonly now: number;
  readonly capacity: Capacity;
  readonly podUsageBytes: number | null;
  /** The container's CPU limit in force; `null` = none. */
  readonly cpuLimitMillicores: number | null;
  /** Whether what the limit held back counts (`throttling`). */
  readonly throttling: Autoscaler["throttling"];
}

/** Below four times the source's time resolution a rate would be mostly rounding. */
export const MIN_RESOLUTIONS = 4;
/** More than any node has (64 TiB), and a hundred times as much is still a safe integer: a target may be 1 %. */
const MOST = 2 ** 46;

/** Sampling that has seen nothing yet; `warming`: the next point counts for nothing but as an anchor. */
export function newSampling(now: number, warming = false): Sampling {
  return { anchor: null, witness: null, sample: null, newAt: now, warming };
}

/** Takes a point in. Never throws, whatever numbers the point has. */
export function nextSampling(sampling: Sampling, point: Point, context: PointContext): SamplingStep {
  if (isUnreal(point)) return { kind: "implausible" };
  if (point.cpu.kind === "rate") return nextRate(sampling, { point, ...point.cpu }, context);
  const { counterNs } = point.cpu;
  const { anchor } = sampling;
  if (counterNs === 0 && point.workingSetBytes === 0) return zeroed(sampling, context.now);
  // The same point again, as in most readings.
  if (anchor !== null && anchor.instance === point.instance && anchor.at === point.at) return { kind: "nothing" };
  const here: Anchor = {
    instance: point.instance,
    at: point.at,
    counterNs,
    pressure: point.pressure,
    ...(isCount(point.oomKills) && { oomKills: point.oomKills }),
  };
  // Memory would need one point only; but streaks of memory that are one ahead would scale down what cpu vetoes next.
  if (anchor === null) return isOverMemory(point, context) ? { kind: "implausible" } : warmUp(here, context.now);
  if (anchor.instance !== point.instance) return restarted(here, context.now);
  const elapsedMs = point.at - anchor.at;
  // After a silence an older time is no repeat: the node's clock has stepped back.
  if (sampling.warming && elapsedMs < 0) return warmUp(here, context.now);
  if (elapsedMs < 0) return { kind: "nothing" };
  if (counterNs < anchor.counterNs) return restarted(here, context.now);
  if (sampling.warming) return warmUp(here, context.now);
  if (elapsedMs < MIN_RESOLUTIONS * point.resolutionMs) return { kind: "nothing" };
  // ns per ms are millionths of a core: /1000 gives millicores.
  const usedNs = counterNs - anchor.counterNs;
  const leastMillicores = usedNs / (elapsedMs + point.resolutionMs) / 1000;
  if (leastMillicores > (context.capacity.cpuMillicores ?? MOST) || isOverMemory(point, context)) {
    return { kind: "implausible" };
  }
  const cpuMillicores = usedNs / elapsedMs / 1000;
  const held = hold(point, { elapsedMs, cpuMillicores, before: anchor.pressure }, context);
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

/** A source that gives rates itself (metrics.k8s.io, a cgroup reader): each later point is a sample. */
function nextRate(
  sampling: Sampling,
  { point, millicores, windowMs }: { point: Point; millicores: number; windowMs: number },
  context: PointContext,
): SamplingStep {
  const { anchor } = sampling;
  if (millicores === 0 && point.workingSetBytes === 0) return zeroed(sampling, context.now);
  const here = { instance: point.instance, at: point.at, counterNs: 0, pressure: null };
  if (anchor !== null && anchor.instance !== point.instance) return restarted(here, context.now);
  if (sampling.warming && anchor !== null && point.at < anchor.at) return warmUp(here, context.now);
  if (anchor !== null && point.at <= anchor.at) return { kind: "nothing" };
  // What the source has cached may still be of the run before.
  if (sampling.warming) return warmUp(here, context.now);
  if (millicores > (context.capacity.cpuMillicores ?? MOST) || isOverMemory(point, context)) {
    return { kind: "implausible" };
  }
  // Who gives rates gives no counters of what was held back: usage near the limit is all there is.
  const held = hold(point, { elapsedMs: windowMs, cpuMillicores: millicores, before: null }, context);
  const sample = newSample(point, { from: point.at - windowMs, cpuMillicores: millicores, ...held }, context);
  return {
    kind: "sample",
    sample,
    sampling: { ...sampling, anchor: here, sample, newAt: context.now, warming: false },
  };
}

/** Adapters keep such numbers out; a recording or a new source may not. */
function isUnreal({ at, cpu, workingSetBytes, usageBytes }: Point): boolean {
  const isUsed = cpu.kind === "counter" ? isReal(cpu.counterNs) : isReal(cpu.millicores) && isReal(cpu.windowMs);
  return !(isUsed && isReal(at) && isReal(workingSetBytes) && isReal(usageBytes ?? 0));
}

function isCount(value: number | null | undefined): value is number {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}

/** Not NaN, not infinite. */
function isReal(amount: number): boolean {
  return amount >= 0 && amount < Infinity;
}

function warmUp(anchor: NonNullable<Sampling["anchor"]>, now: number): SamplingStep {
  return { kind: "warmup", sampling: { ...newSampling(now), anchor } };
}

function isOverMemory({ workingSetBytes, usageBytes }: Point, { capacity }: PointContext): boolean {
  return Math.max(workingSetBytes, usageBytes ?? 0) > (capacity.memoryBytes ?? MOST);
}

function restarted(anchor: Sampling["anchor"], now: number): SamplingStep {
  return { kind: "restarted", sampling: { ...newSampling(now, anchor === null), anchor } };
}

/** Zeros after zeros are silence: a container exits once, and a source that reports nothing else is none. */
function zeroed({ anchor, warming }: Sampling, now: number): SamplingStep {
  return anchor === null && warming ? { kind: "nothing" } : restarted(null, now);
}

/** What held back what was used, as `throttling` lets it count. */
export function hold(
  { pressure, resolutionMs }: Pick<Point, "pressure" | "resolutionMs">,
  usage: { readonly elapsedMs: number; readonly cpuMillicores: number; readonly before: Point["pressure"] },
  { capacity, cpuLimitMillicores, throttling }: PointContext,
): HeldBack {
  const nodeMillicores = capacity.cpuMillicores;
  const measures = throttling === "measure";
  return readHeldBack({ ...usage, resolutionMs, after: pressure }, { cpuLimitMillicores, nodeMillicores, measures });
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
    podUsageBytes: isReal(podUsageBytes ?? NaN) && (podUsageBytes ?? 0) <= (capacity.memoryBytes ?? MOST)
      ? podUsageBytes
      : null,
  };
}
