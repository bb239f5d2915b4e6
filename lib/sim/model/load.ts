/**
 * What the process in a container would do if nothing held it back: the processor it wants, the memory it holds, how long
 * it takes to get ready and to stop, and whether it ends by itself. Read from the JSON of a pod's annotation.
 */
import { isRecord, quote } from "../../units/untrusted.ts";
import type { Curve } from "./curve.ts";
import { parseCurve, type Problem } from "./parse_curve.ts";

/** What a container uses and how it starts and ends. */
export interface Load {
  readonly cpuMillicores: Curve;
  /** How many threads share that work: a limit holds them back on as many CPUs at a time. */
  readonly threads: number;
  readonly workingSetBytes: Curve;
  /** Reclaimed before the limit kills: part of usageBytes, not of the working set. */
  readonly pageCacheBytes: Curve;
  /** The time from a start until the container is ready, which a probe takes, in ms. */
  readonly readyAfterMs: number;
  /** It ends by itself so long after its start. */
  readonly exits: { readonly afterMs: number; readonly code: number } | null;
  /** How it ends after SIGTERM. */
  readonly stops: { readonly afterMs: number; readonly code: number };
}

/** A load, or the problems of what was to be one. */
export type ParsedLoad =
  | { readonly ok: true; readonly load: Load }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A container that uses next to nothing and ends as soon as it is asked to. */
export const IDLE: Load = {
  cpuMillicores: { kind: "constant", value: 1 },
  threads: 1,
  workingSetBytes: { kind: "constant", value: 4 * 2 ** 20 },
  pageCacheBytes: { kind: "constant", value: 0 },
  readyAfterMs: 0,
  exits: null,
  // A Go program without a handler: what the recorded ones gave.
  stops: { afterMs: 30, code: 2 },
};

/** Reads a load from untrusted JSON. A missing field is that of IDLE, and a number stands for a constant curve. */
export function parseLoad(value: unknown): ParsedLoad {
  if (!isRecord(value)) return refuse([{ path: "", message: `must be an object, not ${quote(value)}` }]);
  const problems: Problem[] = Object.keys(value).filter((key) => !Object.hasOwn(IDLE, key)).map((key) => ({
    path: key,
    message: "unknown field",
  }));
  const curve = (key: "cpuMillicores" | "workingSetBytes" | "pageCacheBytes") =>
    value[key] === undefined ? IDLE[key] : parseCurve(value[key], { path: key, problems });
  const load: Load = {
    cpuMillicores: curve("cpuMillicores"),
    threads: parseThreads(value.threads ?? IDLE.threads, problems),
    workingSetBytes: curve("workingSetBytes"),
    pageCacheBytes: curve("pageCacheBytes"),
    readyAfterMs: parseWhole(value.readyAfterMs ?? 0, "readyAfterMs", problems),
    exits: value.exits === undefined || value.exits === null ? null : parseEnd(value.exits, "exits", problems),
    stops: value.stops === undefined ? IDLE.stops : parseEnd(value.stops, "stops", problems),
  };
  return problems.length > 0 ? refuse(problems) : { ok: true, load };
}

function refuse(problems: readonly Problem[]): ParsedLoad {
  return { ok: false, problems };
}

function parseEnd(
  value: unknown,
  path: string,
  problems: Problem[],
): { readonly afterMs: number; readonly code: number } {
  const fields = isRecord(value) ? value : {};
  if (!isRecord(value)) problems.push({ path, message: `must be an object, not ${quote(value)}` });
  return {
    afterMs: parseWhole(fields.afterMs ?? 0, `${path}.afterMs`, problems),
    code: parseWhole(fields.code ?? 0, `${path}.code`, problems),
  };
}

function parseThreads(value: unknown, problems: Problem[]): number {
  const threads = parseWhole(value, "threads", problems);
  if (threads >= 1 || problems.length > 0) return threads;
  problems.push({ path: "threads", message: "must be at least 1" });
  return threads;
}

function parseWhole(value: unknown, path: string, problems: Problem[]): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  problems.push({ path, message: `must be a whole number, not ${quote(value)}` });
  return 0;
}
