/** What does a container want in each second? Loads are made of points, cut into parts, and given noise. */
import type { Resource } from "../units/resources.ts";

/** What one container wants in one second. */
export interface Wanted {
  readonly cpuMillicores: number;
  readonly workingSetBytes: number;
  /** Page cache as far as the memory limit lets it grow, bytes; none where it is left out. */
  readonly pageCacheBytes?: number;
}

/** The load of one container. */
export interface Load {
  /** How long it is; beyond it the last second goes on. */
  readonly seconds: number;
  /**
   * What is wanted from that whole second since the start on, for a second. Never throws; the same for the same second.
   */
  at(second: number): Wanted;
}

/** The loads of a pod by container name. A container without one idles. */
export type Loads = Readonly<Record<string, Load>>;

/** What a container without a load uses: next to nothing. */
export const IDLE: Load = {
  seconds: 0,
  at: () => IDLE_USE,
};

/** Own properties only: a container may be named `constructor`. */
export function findLoad(loads: Loads, container: string): Load {
  return Object.hasOwn(loads, container) ? loads[container] ?? IDLE : IDLE;
}

/** What one of several pods wants that share the CPU of a load; of memory each has all of it. */
export function toShareOfLoad(wanted: Wanted, share: number): Wanted {
  return share === 1 ? wanted : { ...wanted, cpuMillicores: wanted.cpuMillicores * share };
}

/** The load of one container of one pod; `null` where what was read does not name it. */
export interface NamedLoad {
  /** `namespace/name`. */
  readonly pod: string | null;
  readonly container: string | null;
  readonly load: Load;
  /** What was read of it; the rest is constant. */
  readonly seen: readonly Resource[];
}

/** The loads, or one line that says what was read, where, and why it is not a load. */
export type FetchLoads =
  | { readonly ok: true; readonly loads: readonly NamedLoad[] }
  | { readonly ok: false; readonly message: string };

/** Seconds, ascending, and the amount at each. */
export type Points = readonly (readonly [second: number, amount: number])[];

/** The resources that there are points of. */
export function listSeen({ cpu, memory }: LoadPoints): readonly Resource[] {
  return [...cpu.length > 0 ? ["cpu" as const] : [], ...memory.length > 0 ? ["memory" as const] : []];
}

/** Straight lines between points, from the first point of any resource to the last. Seconds count from the first. */
export function toLoad({ cpu, memory, cache }: LoadPoints): Load {
  const all = [cpu, memory].filter((points) => points.length > 0);
  const from = Math.min(...all.map((points) => points[0]?.[0] ?? 0));
  const to = Math.max(...all.map((points) => points.at(-1)?.[0] ?? 0));
  const [readCpu, readMemory] = [
    toStraightLine(cpu, UNREAD.cpuMillicores),
    toStraightLine(memory, UNREAD.workingSetBytes),
  ];
  const readCache = cache === undefined ? null : toStraightLine(cache, 0);
  return {
    seconds: Math.max(0, to - from),
    at: (second) => {
      const at = from + second;
      const amounts = { cpuMillicores: readCpu(at), workingSetBytes: readMemory(at) };
      return readCache === null ? amounts : { ...amounts, pageCacheBytes: readCache(at) };
    },
  };
}

/** The part from one second to before another, whose seconds count from its own beginning. */
export function cutLoad(load: Load, [from, to]: readonly [from: number, to: number]): Load {
  const last = Math.min(to, load.seconds);
  return { seconds: Math.max(0, last - from), at: (second) => load.at(Math.min(from + second, last)) };
}

/** The same seed gives the same load, on every machine. */
export function addNoise(load: Load, seed: string): Load {
  const getKnot = createKnots(load, seed);
  return {
    seconds: load.seconds,
    at: (second) => {
      const place = Math.min(Math.max(0, second), load.seconds) / KNOT_SECONDS;
      const index = Math.floor(place);
      const from = getKnot(index) ?? 0;
      const to = getKnot(index + 1) ?? from;
      return { ...load.at(second), cpuMillicores: from + (to - from) * (place - index) };
    },
  };
}

const IDLE_USE: Wanted = Object.freeze({ cpuMillicores: 1, workingSetBytes: 4 * 2 ** 20 });

interface LoadPoints {
  /** Millicores. */
  readonly cpu: Points;
  /** Bytes. */
  readonly memory: Points;
  readonly cache?: Points;
}

/** What a load wants of the resource that was not read, as in tests/verify/quality. */
const UNREAD = { cpuMillicores: 100, workingSetBytes: 200 * 2 ** 20 } as const;

/** The amount at a second. Remembers where it read last, since a run asks for one second after the other. */
function toStraightLine(points: Points, otherwise: number): (second: number) => number {
  let index = 0;
  return (second) => {
    if ((points[index]?.[0] ?? 0) > second) index = 0;
    while ((points[index + 1]?.[0] ?? Infinity) <= second) index++;
    const [a, b] = [points[index], points[index + 1]];
    if (a === undefined) return otherwise;
    if (b === undefined || second <= a[0]) return a[1];
    return a[1] + (b[1] - a[1]) * (second - a[0]) / (b[0] - a[0]);
  };
}

const KNOT_SECONDS = 10;

const SIGMA = 0.1;

const CORRELATED_SECONDS = 30;

/** Knots are made as far as a run asks for them: it may be shorter than the load. */
function createKnots({ seconds, at }: Load, seed: string): (index: number) => number | undefined {
  const draw = createNormal(seed);
  const kept = Math.exp(-KNOT_SECONDS / CORRELATED_SECONDS);
  const count = Math.floor(seconds / KNOT_SECONDS) + 1;
  const knots: number[] = [];
  let noise = draw();
  return (index) => {
    // Many at a time: a load is read forwards, and each step back costs.
    const end = index < knots.length ? 0 : Math.min(count, Math.max(index + 1, 2 * knots.length, FIRST_KNOTS));
    while (knots.length < end) {
      noise = kept * noise + Math.sqrt(1 - kept * kept) * draw();
      const level = at(knots.length * KNOT_SECONDS).cpuMillicores;
      knots.push(Math.round(Math.max(0, level * (1 + SIGMA * noise)) * 10) / 10);
    }
    return knots[index];
  };
}

const FIRST_KNOTS = 500;

/** Numbers of the normal distribution: Box and Muller, of splitmix64, https://prng.di.unimi.it/splitmix64.c */
function createNormal(seed: string): () => number {
  let state = hash(seed);
  const next = () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let mixed = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return (Number((mixed ^ (mixed >> 31n)) >> 11n) + 0.5) / 2 ** 53;
  };
  return () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
}

/** FNV-1a of 64 bits. */
function hash(text: string): bigint {
  let value = 14_695_981_039_346_656_037n;
  for (const byte of new TextEncoder().encode(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 1_099_511_628_211n);
  }
  return value;
}
