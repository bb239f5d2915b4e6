/**
 * How are CPU time and pressure counted? As the kernel and cAdvisor count them.
 * cAdvisor reads a counter from 11 to 24 s after a start on, then every 10 to 19 s, each container separately
 * (measured).
 */
import { drawBetween, type Key } from "./random.ts";

/** A container's use since it started, and what cAdvisor last read of it. */
export interface Meter {
  readonly startedAt: number;
  readonly cpuNs: number;
  /** The part of the demand that the limit or the node did not allow. */
  readonly unmetNs: number;
  /** What `cpu.stat` calls throttled: the wait for the limit alone, summed over the CPUs that ran it. */
  readonly throttledNs: number;
  /** What the CPU that ran most of it has run of it (`cpuacct.usage_percpu`). */
  readonly largestCpuNs: number;
  readonly psi: CpuPressure;
  /** The usage in the last step. */
  readonly millicores: number;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
  /** `null`: cAdvisor has not taken over yet. */
  readonly sample: Sample | null;
  readonly nextSampleAt: number;
  readonly samples: number;
}

/** PSI `cpu.full`: the time in which threads wanted to run and none did. The means are percent, as the kernel's. */
export interface CpuPressure {
  readonly fullNs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** What was last measured, which summaries show. */
export interface Sample {
  readonly at: number;
  readonly cpuNs: number;
  /** The mean since the sample before. */
  readonly nanoCores: number;
  readonly psi: CpuPressure;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
}

/** The resources that an instance gets in one step. */
export interface Got extends Holding {
  readonly millicores: number;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
}

/** After a start, how long a container is read fresh: between these, in ms. */
export const TAKEOVER_MS = [11_000, 24_000] as const;

/** After a start, how long a pod's figures are zeros: between these, in ms. */
export const POD_TAKEOVER_MS = [12_000, 16_000] as const;

/** The time between two looks of cAdvisor: between these, in ms. */
export const HOUSEKEEPING_MS = [10_000, 19_000] as const;

/** The meter of what has just started. */
export function newMeter(startedAt: number, key: Key, takeoverMs: readonly [number, number] = TAKEOVER_MS): Meter {
  return {
    startedAt,
    cpuNs: 0,
    unmetNs: 0,
    throttledNs: 0,
    largestCpuNs: 0,
    psi: NO_PRESSURE,
    millicores: 0,
    workingSetBytes: 0,
    cacheBytes: 0,
    sample: null,
    nextSampleAt: startedAt + drawBetween(takeoverMs, [...key, "takeover"]),
    samples: 0,
  };
}

/** The meter after a step. */
export function nextMeter(meter: Meter, got: Got, { from, to, key }: Slice): Meter {
  let { sample, nextSampleAt, samples } = meter;
  while (nextSampleAt <= to) {
    // A long slice may hold more than one.
    sample = toSample({ ...meter, sample, nextSampleAt }, got, Math.max(0, nextSampleAt - from));
    nextSampleAt += drawBetween(HOUSEKEEPING_MS, [...key, "housekeeping", samples]);
    samples++;
  }
  const ms = to - from;
  return {
    startedAt: meter.startedAt,
    cpuNs: meter.cpuNs + toNs(got.millicores, ms),
    unmetNs: meter.unmetNs + toNs(got.unmetMillicores, ms),
    throttledNs: meter.throttledNs + toNs(got.throttled * got.cpus * MILLICORES, ms),
    largestCpuNs: meter.largestCpuNs + toNs(got.millicores / got.cpus, ms),
    psi: nextPressure(meter.psi, got.stalled, ms),
    millicores: got.millicores,
    workingSetBytes: got.workingSetBytes,
    cacheBytes: got.cacheBytes,
    sample,
    nextSampleAt,
    samples,
  };
}

/** The counter `ms` after the last step, if all goes on as in it. */
export function getCounterNs(meter: Meter, ms: number): number {
  return meter.cpuNs + toNs(meter.millicores, ms);
}

/**
 * That of a cgroup that has never waited.
 * https://docs.kernel.org/scheduler/sched-bwc.html
 */
export const NO_PRESSURE: CpuPressure = Object.freeze({ fullNs: 0, avg10: 0, avg60: 0, avg300: 0 });

/** How long it waited, for the node or its limit, and on how many CPUs it ran; `wanted` is what `threads` can run. */
export function computeHolding(held: Held): Holding {
  const { wanted, got, limit, nodeMillicores } = held;
  // A demand above what its threads can run means more threads.
  const cpus = Math.min(Math.max(held.threads, Math.ceil(wanted / 1000), 1), Math.max(1, nodeMillicores / 1000));
  const reachable = Math.min(wanted, cpus * 1000);
  const stalled = reachable > 0 ? Math.max(0, 1 - got / reachable) : 0;
  // A container that gets less than its limit waits for the node.
  const isLimited = limit !== null && got >= limit * (1 - 1e-9);
  return { unmetMillicores: wanted - got, stalled, throttled: isLimited ? stalled : 0, cpus };
}

/** PSI after `ms` more with this share of them stalled. The kernel's means fade over 10, 60 and 300 s. */
export function nextPressure(before: CpuPressure, stalled: number, ms: number): CpuPressure {
  if (ms === 0 || stalled === 0 && before.avg300 < MIN_PERCENT) return before;
  return {
    fullNs: before.fullNs + Math.floor(stalled * ms * 1e6),
    avg10: fade(before.avg10, { percent: stalled * 100, ms, windowMs: 10_000 }),
    avg60: fade(before.avg60, { percent: stalled * 100, ms, windowMs: 60_000 }),
    avg300: fade(before.avg300, { percent: stalled * 100, ms, windowMs: 300_000 }),
  };
}

/** A piece of time from one step to the next, in epoch ms. */
interface Slice {
  readonly from: number;
  readonly to: number;
  /** The key of this instance. */
  readonly key: Key;
}

/** 1 millicore for 1 ms. */
const NS = 1000;

/** The millicores of one CPU. */
const MILLICORES = 1000;

function toSample(meter: Meter, got: Got, ms: number): Sample {
  const cpuNs = meter.cpuNs + toNs(got.millicores, ms);
  const before = meter.sample;
  const at = meter.nextSampleAt;
  const [sinceAt, sinceNs] = before === null ? [meter.startedAt, 0] : [before.at, before.cpuNs];
  return {
    at,
    cpuNs,
    nanoCores: at > sinceAt ? Math.round((cpuNs - sinceNs) / (at - sinceAt) * NS) : 0,
    psi: nextPressure(meter.psi, got.stalled, ms),
    workingSetBytes: got.workingSetBytes,
    usageBytes: got.workingSetBytes + got.cacheBytes,
  };
}

/** Whole nanoseconds, rounded down: a limit is never passed by rounding. */
function toNs(millicores: number, ms: number): number {
  return Math.floor(millicores * ms * NS);
}

/** What a container wanted of the CPU and got. */
interface Held {
  readonly wanted: number;
  readonly got: number;
  readonly limit: number | null;
  /** How many threads of it want to run at a time. */
  readonly threads: number;
  readonly nodeMillicores: number;
}

/** What that came to. */
interface Holding {
  /** The part of its demand that it did not get. */
  readonly unmetMillicores: number;
  /** The share of the time, 0 to 1, in which it wanted to run and nothing of it did. */
  readonly stalled: number;
  /** The share of the time in which its limit kept it from running. */
  readonly throttled: number;
  /** On how many CPUs it runs. */
  readonly cpus: number;
}

/** The kernel shows two digits after the point. */
const MIN_PERCENT = 0.005;

function fade(
  before: number,
  { percent, ms, windowMs }: { readonly percent: number; readonly ms: number; readonly windowMs: number },
): number {
  const kept = Math.exp(-ms / windowMs);
  return before * kept + percent * (1 - kept);
}
