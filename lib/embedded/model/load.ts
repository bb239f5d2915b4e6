/**
 * What would the process in a container do if nothing limited it? Curves describe CPU and memory over time.
 *
 * They are parsed from the JSON of an annotation.
 */
import { draw } from "../../simulate/model/random.ts";
import { isRecord, quote } from "../../units/untrusted.ts";

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
  /** It ends this long after its start, in ms. */
  readonly exits: { readonly afterMs: number; readonly code: number } | null;
  /** How it ends after SIGTERM. */
  readonly stops: { readonly afterMs: number; readonly code: number };
}

/** A container that uses almost nothing and ends at once on SIGTERM. */
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
  if (!isRecord(value)) return refuseLoad([{ path: "", message: `must be an object, not ${quote(value)}` }]);
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
  return problems.length > 0 ? refuseLoad(problems) : { ok: true, load };
}

/** How an amount changes over time. */
export type Curve =
  | { readonly kind: "constant"; readonly value: number }
  | {
    readonly kind: "step";
    readonly before: number;
    readonly after: number;
    readonly atMs: number;
    readonly clock?: ClockName;
  }
  /** Level before and after. */
  | {
    readonly kind: "ramp";
    readonly from: number;
    readonly to: number;
    readonly startMs: number;
    readonly durationMs: number;
    readonly clock?: ClockName;
  }
  /** `peakMs`: when it is highest, e.g. 14 h after midnight UTC for the sine of a day. */
  | {
    readonly kind: "sine";
    readonly mean: number;
    readonly amplitude: number;
    readonly periodMs: number;
    readonly peakMs: number;
    readonly clock?: ClockName;
  }
  /** `height` for `lengthMs` in each `everyMs`, the first at `firstMs`; 0 between them. */
  | {
    readonly kind: "spikes";
    readonly height: number;
    readonly everyMs: number;
    readonly lengthMs: number;
    readonly firstMs: number;
    readonly clock?: ClockName;
  }
  /** Between -amplitude and amplitude, another value in each `stepMs` of the wall clock. */
  | { readonly kind: "noise"; readonly amplitude: number; readonly stepMs: number; readonly seed: string }
  /**
   * Class loading and compiling: `peak` for `startMs` of an instance, then the distance to `idle` halves every
   * `halfLifeMs`.
   */
  | {
    readonly kind: "jvmStart";
    readonly peak: number;
    readonly idle: number;
    readonly startMs: number;
    readonly halfLifeMs: number;
  }
  /** Grows from an instance's start; `max` = where it stops growing. */
  | { readonly kind: "leak"; readonly base: number; readonly perHour: number; readonly max: number | null }
  /** Straight lines between points in order of time; level beyond the ends, or all over again. */
  | {
    readonly kind: "points";
    readonly points: readonly (readonly [atMs: number, value: number])[];
    readonly repeats: boolean;
    readonly clock?: ClockName;
  }
  /**
   * A pod's part of a load that many share: its times are since `since`, an epoch time, whatever their clock, and noise
   * of `noisePart` of it up and down has another value in each `stepMs`.
   */
  | {
    readonly kind: "share";
    readonly of: Curve;
    readonly part: number;
    readonly since: number;
    readonly noisePart: number;
    readonly stepMs: number;
    readonly seed: string;
  }
  | { readonly kind: "sum"; readonly curves: readonly Curve[] }
  | { readonly kind: "scaled"; readonly curve: Curve; readonly factor: number };

/** May be negative or a fraction: who reads a load bounds and rounds it. */
export function computeCurve(curve: Curve, clocks: Clocks): number {
  switch (curve.kind) {
    case "constant":
      return curve.value;
    case "step":
      return toMs(curve.clock ?? "pod", clocks) < curve.atMs ? curve.before : curve.after;
    case "ramp": {
      const passed = toMs(curve.clock ?? "pod", clocks) - curve.startMs;
      const part = curve.durationMs > 0 ? Math.min(1, Math.max(0, passed / curve.durationMs)) : passed < 0 ? 0 : 1;
      return curve.from + (curve.to - curve.from) * part;
    }
    case "sine": {
      const turns = (toMs(curve.clock ?? "wall", clocks) - curve.peakMs) / curve.periodMs;
      return curve.mean + curve.amplitude * Math.cos(2 * Math.PI * (turns - Math.floor(turns)));
    }
    case "spikes": {
      const passed = toMs(curve.clock ?? "pod", clocks) - curve.firstMs;
      return passed >= 0 && passed % curve.everyMs < curve.lengthMs ? curve.height : 0;
    }
    case "noise": {
      const slot = Math.floor(clocks.wallMs / curve.stepMs);
      return curve.amplitude * (2 * draw([curve.seed, "noise", slot]) - 1);
    }
    case "jvmStart": {
      const passed = clocks.ageMs - curve.startMs;
      return passed < 0 ? curve.peak : curve.idle + (curve.peak - curve.idle) * 2 ** (-passed / curve.halfLifeMs);
    }
    case "leak": {
      const value = curve.base + curve.perHour * clocks.ageMs / HOUR_MS;
      return curve.max === null ? value : Math.min(value, curve.max);
    }
    case "points":
      return computePoints(curve, toMs(curve.clock ?? "pod", clocks));
    case "share": {
      const ms = clocks.wallMs - curve.since;
      const noise = curve.noisePart * (2 * draw([curve.seed, "noise", Math.floor(ms / curve.stepMs)]) - 1);
      return curve.part * (1 + noise) * computeCurve(curve.of, { ageMs: ms, podMs: ms, wallMs: ms });
    }
    case "sum":
      return curve.curves.reduce((total, one) => total + computeCurve(one, clocks), 0);
    case "scaled":
      return curve.factor * computeCurve(curve.curve, clocks);
    default:
      return unreachable(curve);
  }
}

/** A finding about a curve, with its path. */
export interface Problem {
  /** `cpuMillicores.curves[1].periodMs`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** Reads a curve from untrusted JSON; what is wrong with it is added to the problems. */
export function parseCurve(value: unknown, options: ParseCurveOptions): Curve {
  const { path, problems, depth = 0 } = options;
  if (typeof value === "number") return { kind: "constant", value: parseNumberField(value, path, problems) };
  if (!isRecord(value)) return refuseCurve(options, `must be a number or a curve, not ${quote(value)}`);
  if (depth > MAX_DEPTH) return refuseCurve(options, `more than ${MAX_DEPTH} curves in each other`);
  const at = (key: string) => `${path}.${key}`;
  const number = (key: string, standard?: number) => parseNumberField(value[key] ?? standard, at(key), problems);
  const positive = (key: string) => parsePositive(value[key], at(key), problems);
  const clock = value.clock === undefined ? {} : { clock: parseClock(value.clock, at("clock"), problems) };
  const inner = (one: unknown, key: string) => parseCurve(one, { path: at(key), problems, depth: depth + 1 });
  switch (value.kind) {
    case "constant":
      return { kind: "constant", value: number("value") };
    case "step":
      return { kind: "step", before: number("before"), after: number("after"), atMs: number("atMs"), ...clock };
    case "ramp":
      return {
        kind: "ramp",
        from: number("from"),
        to: number("to"),
        startMs: number("startMs", 0),
        durationMs: number("durationMs"),
        ...clock,
      };
    case "sine":
      return {
        kind: "sine",
        mean: number("mean"),
        amplitude: number("amplitude"),
        periodMs: positive("periodMs"),
        peakMs: number("peakMs", 0),
        ...clock,
      };
    case "spikes":
      return {
        kind: "spikes",
        height: number("height"),
        everyMs: positive("everyMs"),
        lengthMs: number("lengthMs"),
        firstMs: number("firstMs", 0),
        ...clock,
      };
    case "noise":
      return {
        kind: "noise",
        amplitude: number("amplitude"),
        stepMs: positive("stepMs"),
        seed: String(value.seed ?? ""),
      };
    case "jvmStart":
      return {
        kind: "jvmStart",
        peak: number("peak"),
        idle: number("idle"),
        startMs: number("startMs"),
        halfLifeMs: positive("halfLifeMs"),
      };
    case "leak": {
      const max = value.max === undefined || value.max === null ? null : number("max");
      return { kind: "leak", base: number("base"), perHour: number("perHour"), max };
    }
    case "points":
      return {
        kind: "points",
        points: parsePoints(value.points, at("points"), problems),
        repeats: value.repeats === true,
        ...clock,
      };
    case "sum": {
      const curves = Array.isArray(value.curves) ? value.curves : [];
      if (curves.length === 0 || curves.length > MAX_CURVES) {
        return refuseCurve({ path: at("curves"), problems }, `must be a list of 1 to ${MAX_CURVES} curves`);
      }
      return { kind: "sum", curves: curves.map((one, index) => inner(one, `curves[${index}]`)) };
    }
    case "scaled":
      return { kind: "scaled", curve: inner(value.curve, "curve"), factor: number("factor") };
    default:
      return refuseCurve({ path: at("kind"), problems }, `unknown kind ${quote(value.kind)}`);
  }
}

/** A load, or the problems of what was to be one. */
type ParsedLoad =
  | { readonly ok: true; readonly load: Load }
  | { readonly ok: false; readonly problems: readonly Problem[] };

function refuseLoad(problems: readonly Problem[]): ParsedLoad {
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

/** `container`: ms since this instance started; `pod`: since the pod did; `wall`: epoch ms, as days and weeks go. */
type ClockName = "container" | "pod" | "wall";

/** The times by which a curve is read, in ms. */
interface Clocks {
  readonly ageMs: number;
  readonly podMs: number;
  readonly wallMs: number;
}

const HOUR_MS = 3_600_000;

function toMs(clock: ClockName, { ageMs, podMs, wallMs }: Clocks): number {
  return clock === "container" ? ageMs : clock === "pod" ? podMs : wallMs;
}

function computePoints({ points, repeats }: Curve & { readonly kind: "points" }, ms: number): number {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return 0;
  const span = last[0] - first[0];
  const at = repeats && span > 0 && ms >= first[0] ? first[0] + (ms - first[0]) % span : ms;
  if (at <= first[0]) return first[1];
  if (at >= last[0]) return last[1];
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? Infinity) <= at) low = middle;
    else high = middle;
  }
  const [from, to] = [points[low] ?? first, points[high] ?? last];
  return from[1] + (to[1] - from[1]) * (at - from[0]) / (to[0] - from[0]);
}

function unreachable(value: never): never {
  throw new Error(`Cannot read curve: unknown kind ${JSON.stringify(value)}`);
}

/** What a curve is read with. */
interface ParseCurveOptions {
  readonly path: string;
  /** Problems are added here. If one is, the curve that is returned means nothing. */
  readonly problems: Problem[];
  readonly depth?: number;
}

const MAX_DEPTH = 8;

const MAX_CURVES = 32;

/** 14 days in minutes. */
const MAX_POINTS = 20_160;

const CLOCKS: readonly ClockName[] = ["container", "pod", "wall"];

function refuseCurve({ path, problems }: ParseCurveOptions, message: string): Curve {
  problems.push({ path, message });
  return { kind: "constant", value: 0 };
}

function parseNumberField(value: unknown, path: string, problems: Problem[]): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  problems.push({ path, message: `must be a number, not ${quote(value)}` });
  return 0;
}

function parsePositive(value: unknown, path: string, problems: Problem[]): number {
  const number = parseNumberField(value, path, problems);
  if (number <= 0 && typeof value === "number") {
    problems.push({ path, message: `must be more than zero, not ${value}` });
  }
  return number;
}

function parseClock(value: unknown, path: string, problems: Problem[]): ClockName {
  const found = CLOCKS.find((one) => one === value);
  if (found === undefined) problems.push({ path, message: `must be one of ${CLOCKS.join(", ")}, not ${quote(value)}` });
  return found ?? "pod";
}

function parsePoints(value: unknown, path: string, problems: Problem[]): readonly (readonly [number, number])[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_POINTS) {
    problems.push({ path, message: `must be a list of 1 to ${MAX_POINTS} points` });
    return [];
  }
  const points: (readonly [number, number])[] = [];
  for (const [index, one] of value.entries()) {
    const pair = Array.isArray(one) && one.length === 2 ? one : [null, null];
    const at = parseNumberField(pair[0], `${path}[${index}]`, problems);
    if (at < (points.at(-1)?.[0] ?? -Infinity)) {
      problems.push({ path: `${path}[${index}]`, message: "must not be earlier" });
    }
    points.push([at, parseNumberField(pair[1], `${path}[${index}]`, problems)]);
    // One bad file has one cause.
    if (problems.length > 10) break;
  }
  return points;
}
