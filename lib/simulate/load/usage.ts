/**
 * How do readings of usage become loads? Readings come from records or from a live source.
 * The usage is at most what the limit allowed: where CPU was throttled, the demand was higher.
 */
import type { Point } from "../../api/usage.ts";
import { parseRecord } from "../../record/parse.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import { type FetchLoads, type NamedLoad, toLoad } from "../load.ts";

/**
 * One load for each container of each pod that two readings are there of. Lines of ScaledObjects are passed over, any
 * other line that is not a record is refused with its number. Never throws.
 */
export function parseRecordLoads(text: string, { file }: RecordOptions): FetchLoads {
  const usage = collectUsage();
  let readings = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = parseRecordLine(line);
    if (typeof parsed === "string") return { ok: false, message: `${file}:${index + 1}:1: ${parsed}` };
    if (parsed === null) continue;
    const { pod, observation } = parsed.record.input;
    if (observation.kind !== "usage") continue;
    readings++;
    usage.add(`${pod.namespace}/${pod.name}`, observation.usage.points);
  }
  const loads = usage.toLoads();
  if (loads.length > 0) return { ok: true, loads };
  const cause = `${readings} reading${readings === 1 ? "" : "s"} of usage, and a load needs two of one container`;
  return { ok: false, message: `Cannot read a load from ${file}: it has ${cause}; record for longer` };
}

/** Collects them. Amounts between points lie on straight lines, and a restart is not a point. */
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

interface RecordOptions {
  /** The file's name, for messages. */
  readonly file: string;
}

/** `null` for a line without a pod's usage; a sentence for a line that is not a record. */
function parseRecordLine(line: string) {
  const value = parseJson(line);
  if (!isRecord(value)) return "Cannot read the line: it is not a JSON object, or it is cut off";
  const { kind } = value;
  if (kind === "scaledObject") return null;
  if (kind !== "pod") return `Cannot read the line: its kind is ${quote(kind)}, not "pod" or "scaledObject"`;
  const parsed = parseRecord(value["record"]);
  if (parsed.ok) return { record: parsed.value };
  const [problem] = parsed.problems;
  const path = problem === undefined || problem.path === "" ? "" : `record.${problem.path}: `;
  return `${path}${problem?.message ?? "Cannot read the record"}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface UsagePoints {
  /** Takes what one reading has of a pod; points that are not newer than those before are passed over. */
  readonly add: (pod: string, points: readonly Point[]) => void;
  /** In the order of pods and containers as they came; one needs two points of one instance. */
  readonly toLoads: () => readonly NamedLoad[];
}

/** Of each container no more: the oldest go, as a day at a point in five seconds is 17,280. */
const MAX_POINTS = 200_000;

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
  const millicores = computeMillicores(point, last);
  // A mean over the time since the point before: in its middle.
  const spanMs = point.cpu.kind === "rate" ? point.cpu.windowMs : point.at - (last?.at ?? point.at);
  const middle = second - spanMs / 2000;
  if (millicores !== null && middle > (known.cpu.at(-1)?.[0] ?? -Infinity)) known.cpu.push([middle, millicores]);
  for (const list of [known.cpu, known.memory, known.cache]) if (list.length > MAX_POINTS) list.shift();
}

function computeMillicores(point: Point, last: Point | null): number | null {
  if (point.cpu.kind === "rate") return point.cpu.millicores;
  if (last === null || last.cpu.kind !== "counter" || last.instance !== point.instance) return null;
  const ns = point.cpu.counterNs - last.cpu.counterNs;
  // ns of CPU in a ms of time are micro-cores.
  return ns < 0 ? null : ns / (point.at - last.at) / 1000;
}
