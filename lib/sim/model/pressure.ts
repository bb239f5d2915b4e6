/**
 * What a CPU limit does to the threads behind it, as the kernel's CFS bandwidth control and PSI count it. Work comes in
 * all the time, so of each period of 100 ms the quota lasts for got / wanted, and for the rest all threads wait: on as
 * many CPUs as they would run on. https://docs.kernel.org/scheduler/sched-bwc.html
 */
import type { CpuPressure } from "./state.ts";

/** What a container wanted of the CPU and got. */
export interface Held {
  readonly wanted: number;
  readonly got: number;
  readonly limit: number | null;
  /** How many threads of it want to run at a time. */
  readonly threads: number;
  readonly nodeMillicores: number;
}

/** What that came to. */
export interface Holding {
  /** The part of its demand that it did not get. */
  readonly unmetMillicores: number;
  /** The share of the time, 0 to 1, in which it wanted to run and nothing of it did. */
  readonly stalled: number;
  /** The share of the time in which its limit kept it from running. */
  readonly throttled: number;
  /** On how many CPUs it runs. */
  readonly cpus: number;
}

/** That of a cgroup that has never waited. */
export const NO_PRESSURE: CpuPressure = Object.freeze({ fullNs: 0, avg10: 0, avg60: 0, avg300: 0 });

/** How long it waited, for the node or its limit, and on how many CPUs it ran; `wanted` is what `threads` can run. */
export function readHeld(held: Held): Holding {
  const { wanted, got, limit, nodeMillicores } = held;
  // Who wants more than its threads can run has more threads.
  const cpus = Math.min(Math.max(held.threads, Math.ceil(wanted / 1000), 1), Math.max(1, nodeMillicores / 1000));
  const reachable = Math.min(wanted, cpus * 1000);
  const stalled = reachable > 0 ? Math.max(0, 1 - got / reachable) : 0;
  // The node holds back who gets less than the limit.
  const isLimited = limit !== null && got >= limit * (1 - 1e-9);
  return { unmetMillicores: wanted - got, stalled, throttled: isLimited ? stalled : 0, cpus };
}

/** PSI after `ms` more with this share of them stalled. The kernel's means fade over 10, 60 and 300 s. */
export function nextPressure(before: CpuPressure, stalled: number, ms: number): CpuPressure {
  if (ms === 0 || stalled === 0 && before.avg300 < LEAST_PERCENT) return before;
  return {
    fullNs: before.fullNs + Math.floor(stalled * ms * 1e6),
    avg10: fade(before.avg10, { percent: stalled * 100, ms, windowMs: 10_000 }),
    avg60: fade(before.avg60, { percent: stalled * 100, ms, windowMs: 60_000 }),
    avg300: fade(before.avg300, { percent: stalled * 100, ms, windowMs: 300_000 }),
  };
}

/** The kernel shows two digits after the point. */
const LEAST_PERCENT = 0.005;

function fade(
  before: number,
  { percent, ms, windowMs }: { readonly percent: number; readonly ms: number; readonly windowMs: number },
): number {
  const kept = Math.exp(-ms / windowMs);
  return before * kept + percent * (1 - kept);
}
