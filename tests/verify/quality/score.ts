/**
 * How well a controller kept a container at its size, second by second of a curve: what was too much, what was too
 * little, and how often it was changed. docs/evidence/quality.md tells what each figure means.
 */
import { addSecond, newSums, toFigures } from "../../../lib/simulate/figures.ts";
import { type Curve, listDemand } from "./curve.ts";

/** What a controller did with a curve. */
export interface Run {
  readonly controller: string;
  readonly curve: string;
  /** Second, CPU request, CPU limit (millicores), memory request, memory limit (bytes): in force from then on. */
  readonly sizes: readonly Size[];
  /** Seconds at which an instance of the container began. */
  readonly starts: readonly number[];
  /** Seconds at which one was killed for memory. */
  readonly kills: readonly number[] | null;
}

export type Size = readonly [number, number, number, number, number];

/** Amounts are means over the curve, in millicores or MiB of the scored resource. */
export interface Score {
  readonly controller: string;
  readonly curve: string;
  readonly kind: Curve["kind"];
  readonly isReal: boolean;
  readonly used: number;
  /** Requested and not used. */
  readonly slack: number;
  /** Wanted beyond the request, and the percentage of the time in which that was so. */
  readonly under: number;
  readonly underTime: number;
  /** Wanted beyond the limit. */
  readonly throttled: number;
  readonly throttledTime: number;
  readonly request: number;
  readonly limit: number;
  readonly resizesPerHour: number;
  /** Seconds from the curve's first step up to a request that fits it and stays; `null` = never, or there is none. */
  readonly settlesUp: number | null;
  readonly killsEarly: number;
  readonly killsLate: number;
  /** To rank by; see WEIGHTS of the figures. */
  readonly cost: number;
}

/** A request fits a level within these, seen for so long. */
const FITS = { least: 0.95, most: 2, seconds: 300, lookedSeconds: 4 * 3600 } as const;
/** Kills before are of an app that is not known yet. */
const EARLY_SECONDS = 2 * 3600;
const MIB = 2 ** 20;

export function scoreRun(curve: Curve, run: Run): Score {
  const { seconds, kind } = curve;
  const [requestAt, limitAt, unit] = kind === "memory" ? [3, 4, MIB] as const : [1, 2, 1] as const;
  const kills = run.kills ?? [];
  const starts = run.starts.toSorted((a, b) => a - b);
  const demand = listDemand(curve, starts, listDown(seconds, kills, starts));
  const requests = listSizes(run.sizes, requestAt, seconds);
  const limits = listSizes(run.sizes, limitAt, seconds);
  const sums = newSums();
  for (let second = 0; second < seconds; second++) {
    addSecond(sums, demand[second] ?? 0, requests[second] ?? 0, limits[second] ?? 0);
  }
  const { underSeconds, throttledSeconds, limit, ...figures } = toFigures(sums, unit);
  const lateKills = kills.filter((at) => at > EARLY_SECONDS).length;
  return {
    controller: run.controller,
    curve: curve.name,
    kind,
    isReal: curve.isReal,
    ...figures,
    underTime: underSeconds / seconds * 100,
    throttledTime: throttledSeconds / seconds * 100,
    limit: limit ?? 0,
    resizesPerHour: countResizes(run.sizes, [requestAt, limitAt], seconds) / (seconds / 3600),
    settlesUp: findSettled(curve, requests),
    killsEarly: kills.length - lateKills,
    killsLate: lateKills,
  };
}

/** One size per second: the last that is in force by then, the first before it. */
function listSizes(sizes: readonly Size[], at: 1 | 2 | 3 | 4, seconds: number): Float64Array {
  const list = new Float64Array(seconds);
  let index = 0;
  for (let second = 0; second < seconds; second++) {
    while ((sizes[index + 1]?.[0] ?? Infinity) <= second) index++;
    list[second] = sizes[index]?.[at] ?? 0;
  }
  return list;
}

/** Within the curve, and of the scored resource. */
function countResizes(sizes: readonly Size[], sides: readonly [1 | 3, 2 | 4], seconds: number): number {
  return sizes.filter((size, index) => {
    const before = sizes[index - 1];
    return before !== undefined && size[0] <= seconds - 1 && sides.some((side) => size[side] !== before[side]);
  }).length;
}

/** From a kill to the next start nothing runs. */
function listDown(seconds: number, kills: readonly number[], starts: readonly number[]): Uint8Array {
  const down = new Uint8Array(seconds);
  for (const kill of kills) {
    const start = starts.find((at) => at > kill) ?? seconds;
    down.fill(1, Math.min(seconds, Math.ceil(kill)), Math.min(seconds, Math.ceil(start)));
  }
  return down;
}

/** Seconds from the first step up to the first request that fits it, and goes on to. */
function findSettled({ steps, seconds }: Curve, requests: Float64Array): number | null {
  const step = steps?.find(([, from, to]) => to > from);
  if (step === undefined) return null;
  const [at, , level] = step;
  const fits = (request = 0) => request >= FITS.least * level && request <= FITS.most * level;
  let since: number | null = null;
  for (let second = Math.floor(at); second < Math.min(seconds, at + FITS.lookedSeconds); second++) {
    since = fits(requests[second]) ? since ?? second : null;
    if (since !== null && second - since >= FITS.seconds) return since - at;
  }
  return null;
}
