/** Loads made of points, and parts of loads. Fractions of seconds may be asked for, too. */
import type { Resource } from "../../units/resources.ts";
import type { Load } from "../engine/load.ts";

/** The load of one container of one pod; `null` where what was read does not name it. */
export interface NamedLoad {
  /** `namespace/name`. */
  readonly pod: string | null;
  readonly container: string | null;
  readonly load: Load;
  /** What was read of it; the rest is constant. */
  readonly seen: readonly Resource[];
}

/** The loads, or one line that says what was read, where, and why it is no load. */
export type ReadLoads =
  | { readonly ok: true; readonly loads: readonly NamedLoad[] }
  | { readonly ok: false; readonly message: string };

/** Seconds, ascending, and the amount at each. */
export type Points = readonly (readonly [second: number, amount: number])[];

export interface LoadPoints {
  /** Millicores. */
  readonly cpu: Points;
  /** Bytes. */
  readonly memory: Points;
  readonly cache?: Points;
}

/** What a load wants of the resource that was not read, as in tests/quality. */
const UNREAD = { cpuMillicores: 100, workingSetBytes: 200 * 2 ** 20 } as const;

/** The resources that there are points of. */
export function listSeen({ cpu, memory }: LoadPoints): readonly Resource[] {
  return [...cpu.length > 0 ? ["cpu" as const] : [], ...memory.length > 0 ? ["memory" as const] : []];
}

/** Straight lines between points, from the first point of any resource to the last. Seconds count from the first. */
export function toLoad({ cpu, memory, cache }: LoadPoints): Load {
  const all = [cpu, memory].filter((points) => points.length > 0);
  const from = Math.min(...all.map((points) => points[0]?.[0] ?? 0));
  const to = Math.max(...all.map((points) => points.at(-1)?.[0] ?? 0));
  const [readCpu, readMemory] = [toLine(cpu, UNREAD.cpuMillicores), toLine(memory, UNREAD.workingSetBytes)];
  const readCache = cache === undefined ? null : toLine(cache, 0);
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

/** The amount at a second. Remembers where it read last, since a run asks for one second after the other. */
function toLine(points: Points, otherwise: number): (second: number) => number {
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
