/**
 * What has a cluster reserved, lost to its limits and lost to kills since it was first looked at? A fold over looks at
 * its containers: the same for the cluster with podfit and the one without.
 */
import type { ContainerUse } from "./use.ts";

/** Sums over the time that a cluster was looked at. */
export interface Tally {
  /** `null` before the first look. */
  readonly at: number | null;
  readonly elapsedMs: number;
  /** Requests in force, times ms. */
  readonly reservedCpu: number;
  readonly reservedMemory: number;
  /** Processor time that containers wanted and did not get. */
  readonly throttledNs: number;
  readonly kills: number;
  /** How long containers did not run after a kill for memory. */
  readonly downMs: number;
  /** At one time. */
  readonly mostPods: number;
  /** By `nameUse`. */
  readonly seen: Readonly<Record<string, ContainerUse>>;
}

/** The tally of a cluster that was not looked at yet. */
export const NO_TALLY: Tally = {
  at: null,
  elapsedMs: 0,
  reservedCpu: 0,
  reservedMemory: 0,
  throttledNs: 0,
  kills: 0,
  downMs: 0,
  mostPods: 0,
  seen: {},
};

/** The containers were, since the look before, as they are now. */
export function nextTally(tally: Tally, uses: readonly ContainerUse[], at: number): Tally {
  const ms = tally.at === null ? 0 : at - tally.at;
  const add = (read: (use: ContainerUse, before: ContainerUse | undefined) => number) =>
    uses.reduce((sum, use) => sum + read(use, tally.seen[nameUse(use)]), 0);
  return {
    at,
    elapsedMs: tally.elapsedMs + ms,
    reservedCpu: tally.reservedCpu + ms * add(({ size }) => size["cpu.requests"] ?? 0),
    reservedMemory: tally.reservedMemory + ms * add(({ size }) => size["memory.requests"] ?? 0),
    throttledNs: tally.throttledNs + add(readThrottled),
    kills: tally.kills + add((use, before) => isKilled(use, before) ? 1 : 0),
    downMs: tally.downMs + ms * add(({ used, killedAt }) => used === null && killedAt !== null ? 1 : 0),
    mostPods: Math.max(tally.mostPods, new Set(uses.map(({ pod }) => pod)).size),
    seen: Object.fromEntries(uses.map((use) => [nameUse(use), use])),
  };
}

/** Which container of which pod. */
export function nameUse({ pod, container }: ContainerUse): string {
  return `${pod}/${container}`;
}

/** Killed for its memory since it was last looked at. */
export function isKilled({ killedAt }: ContainerUse, before: ContainerUse | undefined): boolean {
  return killedAt !== null && killedAt !== (before?.killedAt ?? null);
}

/** A new instance counts from zero; one that is down keeps what was counted of it. */
function readThrottled({ used, throttled }: ContainerUse, before: ContainerUse | undefined): number {
  if (used === null) return 0;
  const isSame = before?.used !== null && before?.throttled.instance === throttled.instance;
  return throttled.ns - (isSame ? before.throttled.ns : 0);
}
