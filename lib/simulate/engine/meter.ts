/**
 * What a kubelet's summary shows of a cgroup: the counters as cAdvisor last read them, every 10 to 19 s, or in the first
 * seconds as they are. The numbers are those of the model of a node; here they are changed in place, for speed.
 */
import type { Pressure } from "../../api/usage.ts";
import { HOUSEKEEPING_MS } from "../../sim/model/meter.ts";
import { nextPressure, NO_PRESSURE, readHeld } from "../../sim/model/pressure.ts";
import { draw, drawBetween, type Key } from "../../sim/model/random.ts";
import type { CpuPressure } from "../../sim/model/state.ts";

/** A cgroup's counters, and what cAdvisor has read of them. Times are epoch ms. */
export interface Meter {
  /** What chance has come to: the next wait follows from it. */
  chance: number;
  cpuNs: number;
  psi: CpuPressure;
  workingSetBytes: number;
  cacheBytes: number;
  nextSampleAt: number;
  /** `null`: cAdvisor has not taken over yet. */
  taken: Taken | null;
}

/** What was read at one time. */
export interface Taken {
  /** Whole seconds, as a summary writes it. */
  readonly at: number;
  readonly counterNs: number;
  readonly pressure: Pressure;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
}

/** The meter of what starts now. */
export function newMeter(startedAt: number, key: Key, takeoverMs: readonly [number, number]): Meter {
  return {
    chance: Math.floor(draw([...key, "housekeeping"]) * 2 ** 32),
    cpuNs: 0,
    psi: NO_PRESSURE,
    workingSetBytes: 0,
    cacheBytes: 0,
    nextSampleAt: startedAt + drawBetween(takeoverMs, [...key, "takeover"]),
    taken: null,
  };
}

/** Adds `ms` in which so much was used and such a share of the time waited for, 0 to 1. */
export function count(meter: Meter, millicores: number, stalled: number, ms: number): void {
  // 1 millicore for 1 ms is 1000 ns.
  meter.cpuNs += Math.floor(millicores * ms * 1000);
  if (stalled > 0 || meter.psi.avg300 > 0) meter.psi = nextPressure(meter.psi, stalled, ms);
}

/** The share of the time in which a container waits that wants more than its limit. */
export function readStalled(wanted: number, limit: number): number {
  if (wanted <= limit) return 0;
  return readHeld({ wanted, got: limit, limit, threads: 1, nodeMillicores: Infinity }).stalled;
}

/** cAdvisor reads the meter, where that is due at `now`. */
export function takeSample(meter: Meter, now: number): void {
  if (now < meter.nextSampleAt) return;
  meter.taken = read(meter, meter.nextSampleAt, "us");
  meter.nextSampleAt += nextWaitMs(meter);
}

/** Between two looks. A number a step, as a key of its own for each would cost as much as a decision: Numerical Recipes' generator. */
function nextWaitMs(meter: Meter): number {
  meter.chance = (Math.imul(meter.chance, 1_664_525) + 1_013_904_223) >>> 0;
  const [least, most] = HOUSEKEEPING_MS;
  return least + Math.floor(meter.chance / 2 ** 32 * (most - least + 1));
}

/** What a summary shows of a container at `now`: the runtime's own numbers until cAdvisor has any. */
export function readMeter(meter: Meter, now: number): Taken {
  return meter.taken ?? read(meter, now, "ns");
}

/** Times are whole seconds, cut off. */
function read({ cpuNs, psi, workingSetBytes, cacheBytes }: Meter, at: number, unit: "us" | "ns"): Taken {
  const fullHint = { unit, percent: Math.max(psi.avg10, psi.avg60) };
  return {
    at: at - at % 1000,
    counterNs: cpuNs,
    pressure: { fullNs: psi.fullNs, fullHint, throttledNs: null, largestCpuNs: null },
    workingSetBytes,
    usageBytes: workingSetBytes + cacheBytes,
  };
}
