/**
 * Loads out of usage as its sources measure it: points per container, CPU as a counter or as a rate. What was used is no
 * more than the limit let it be: where CPU was throttled, more was wanted.
 */
import type { Point } from "../../api/usage.ts";
import { type NamedLoad, toLoad } from "./load.ts";

export interface UsagePoints {
  /** Takes what one reading has of a pod; points that are not newer than those before are passed over. */
  readonly add: (pod: string, points: readonly Point[]) => void;
  /** In the order of pods and containers as they came; one needs two points of one instance. */
  readonly toLoads: () => readonly NamedLoad[];
}

/** Of each container no more: the oldest go, as a day at a point in five seconds is 17,280. */
const MAX_POINTS = 200_000;

/** Collects them; amounts between points lie on straight lines, and a restart is no point. */
export function collectUsage(): UsagePoints {
  const all = new Map<string, Collected>();
  return {
    add: (pod, points) => {
      for (const point of points) {
        const key = `${pod}/${point.container}`;
        const known = all.get(key) ?? { pod, container: point.container, last: null, cpu: [], memory: [], cache: [] };
        all.set(key, known);
        addPoint(known, point);
      }
    },
    toLoads: () =>
      [...all.values()].filter(({ cpu }) => cpu.length > 0).map(({ pod, container, cpu, memory, cache }) => {
        const points = { cpu, memory };
        const load = toLoad(cache.length === 0 ? points : { ...points, cache });
        return { pod, container, load, seen: ["cpu", "memory"] };
      }),
  };
}

interface Collected {
  readonly pod: string;
  readonly container: string;
  last: Point | null;
  readonly cpu: (readonly [number, number])[];
  readonly memory: (readonly [number, number])[];
  readonly cache: (readonly [number, number])[];
}

function addPoint(known: Collected, point: Point): void {
  const { last } = known;
  if (last !== null && point.at <= last.at) return;
  known.last = point;
  const second = point.at / 1000;
  known.memory.push([second, point.workingSetBytes]);
  if (point.usageBytes !== null) known.cache.push([second, Math.max(0, point.usageBytes - point.workingSetBytes)]);
  const millicores = readMillicores(point, last);
  // A mean over the time since the point before: in its middle.
  const spanMs = point.cpu.kind === "rate" ? point.cpu.windowMs : point.at - (last?.at ?? point.at);
  const middle = second - spanMs / 2000;
  if (millicores !== null && middle > (known.cpu.at(-1)?.[0] ?? -Infinity)) known.cpu.push([middle, millicores]);
  for (const list of [known.cpu, known.memory, known.cache]) if (list.length > MAX_POINTS) list.shift();
}

function readMillicores(point: Point, last: Point | null): number | null {
  if (point.cpu.kind === "rate") return point.cpu.millicores;
  if (last === null || last.cpu.kind !== "counter" || last.instance !== point.instance) return null;
  const ns = point.cpu.counterNs - last.cpu.counterNs;
  // ns of CPU in a ms of time are micro-cores.
  return ns < 0 ? null : ns / (point.at - last.at) / 1000;
}
