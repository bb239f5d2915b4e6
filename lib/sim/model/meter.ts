/**
 * Counting what is used: the counter of an instance grows by what it got, and cAdvisor's housekeeping reads it now and
 * then. Measured: from 11 to 24 s after a start on, every 10 to 19 s, each container by itself.
 */
import { drawBetween, type Key } from "./random.ts";
import { type Holding, nextPressure, NO_PRESSURE } from "./pressure.ts";
import type { Meter, Sample } from "./state.ts";

/** The resources that an instance gets in one step. */
export interface Got extends Holding {
  readonly millicores: number;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
}

/** A piece of time from one step to the next, in epoch ms. */
export interface Slice {
  readonly from: number;
  readonly to: number;
  /** The key of this instance. */
  readonly key: Key;
}

/** After a start, how long a container is read fresh: between these, in ms. */
export const TAKEOVER_MS = [11_000, 24_000] as const;
/** After a start, how long a pod's figures are zeros: between these, in ms. */
export const POD_TAKEOVER_MS = [12_000, 16_000] as const;
/** The time between two looks of cAdvisor: between these, in ms. */
export const HOUSEKEEPING_MS = [10_000, 19_000] as const;

/** 1 millicore for 1 ms. */
const NS = 1000;
/** Of a CPU that does nothing else. */
const MILLICORES = 1000;

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
export function readCounterNs(meter: Meter, ms: number): number {
  return meter.cpuNs + toNs(meter.millicores, ms);
}

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
