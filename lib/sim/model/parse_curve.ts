/**
 * From the JSON of an annotation to a Curve, or to problems with their paths. What stands there anyone may have written,
 * so depth and length have bounds, and no period is zero.
 */
import { isRecord, quote } from "../../units/untrusted.ts";
import type { ClockName, Curve } from "./curve.ts";

/** A finding about a curve, with its path. */
export interface Problem {
  /** `cpuMillicores.curves[1].periodMs`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** What a curve is read with. */
export interface ParseCurveOptions {
  readonly path: string;
  /** Problems are added here. If one is, the curve that is returned means nothing. */
  readonly problems: Problem[];
  readonly depth?: number;
}

/** Reads a curve from untrusted JSON; what is wrong with it is added to the problems. */
export function parseCurve(value: unknown, options: ParseCurveOptions): Curve {
  const { path, problems, depth = 0 } = options;
  if (typeof value === "number") return { kind: "constant", value: readNumber(value, path, problems) };
  if (!isRecord(value)) return refuse(options, `must be a number or a curve, not ${quote(value)}`);
  if (depth > MAX_DEPTH) return refuse(options, `more than ${MAX_DEPTH} curves in each other`);
  const at = (key: string) => `${path}.${key}`;
  const number = (key: string, standard?: number) => readNumber(value[key] ?? standard, at(key), problems);
  const positive = (key: string) => readPositive(value[key], at(key), problems);
  const clock = value.clock === undefined ? {} : { clock: readClock(value.clock, at("clock"), problems) };
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
        points: readPoints(value.points, at("points"), problems),
        repeats: value.repeats === true,
        ...clock,
      };
    case "sum": {
      const curves = Array.isArray(value.curves) ? value.curves : [];
      if (curves.length === 0 || curves.length > MAX_CURVES) {
        return refuse({ path: at("curves"), problems }, `must be a list of 1 to ${MAX_CURVES} curves`);
      }
      return { kind: "sum", curves: curves.map((one, index) => inner(one, `curves[${index}]`)) };
    }
    case "scaled":
      return { kind: "scaled", curve: inner(value.curve, "curve"), factor: number("factor") };
    default:
      return refuse({ path: at("kind"), problems }, `unknown kind ${quote(value.kind)}`);
  }
}

const MAX_DEPTH = 8;
const MAX_CURVES = 32;
/** 14 days in minutes. */
const MAX_POINTS = 20_160;
const CLOCKS: readonly ClockName[] = ["container", "pod", "wall"];

function refuse({ path, problems }: ParseCurveOptions, message: string): Curve {
  problems.push({ path, message });
  return { kind: "constant", value: 0 };
}

function readNumber(value: unknown, path: string, problems: Problem[]): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  problems.push({ path, message: `must be a number, not ${quote(value)}` });
  return 0;
}

function readPositive(value: unknown, path: string, problems: Problem[]): number {
  const number = readNumber(value, path, problems);
  if (number <= 0 && typeof value === "number") {
    problems.push({ path, message: `must be more than zero, not ${value}` });
  }
  return number;
}

function readClock(value: unknown, path: string, problems: Problem[]): ClockName {
  const found = CLOCKS.find((one) => one === value);
  if (found === undefined) problems.push({ path, message: `must be one of ${CLOCKS.join(", ")}, not ${quote(value)}` });
  return found ?? "pod";
}

function readPoints(value: unknown, path: string, problems: Problem[]): readonly (readonly [number, number])[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_POINTS) {
    problems.push({ path, message: `must be a list of 1 to ${MAX_POINTS} points` });
    return [];
  }
  const points: (readonly [number, number])[] = [];
  for (const [index, one] of value.entries()) {
    const pair = Array.isArray(one) && one.length === 2 ? one : [null, null];
    const at = readNumber(pair[0], `${path}[${index}]`, problems);
    if (at < (points.at(-1)?.[0] ?? -Infinity)) {
      problems.push({ path: `${path}[${index}]`, message: "must not be earlier" });
    }
    points.push([at, readNumber(pair[1], `${path}[${index}]`, problems)]);
    // One bad file has one cause.
    if (problems.length > 10) break;
  }
  return points;
}
