/**
 * How an amount moves in time, as data: what a container wants of the processor, or holds in memory. A curve runs by one
 * of three clocks: what a process does to itself starts anew with each instance, what its users do does not.
 */
import { draw } from "./random.ts";

/** `container`: ms since this instance started; `pod`: since the pod did; `wall`: epoch ms, as days and weeks go. */
export type ClockName = "container" | "pod" | "wall";

/** The times by which a curve is read, in ms. */
export interface Clocks {
  readonly ageMs: number;
  readonly podMs: number;
  readonly wallMs: number;
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
  /** Class loading and compiling: `peak` for `startMs` of an instance, then half as far above `idle` each `halfLifeMs`. */
  | {
    readonly kind: "jvmStart";
    readonly peak: number;
    readonly idle: number;
    readonly startMs: number;
    readonly halfLifeMs: number;
  }
  /** Grows from an instance's start; `max` = it ends by itself. */
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
export function readCurve(curve: Curve, clocks: Clocks): number {
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
      return readPoints(curve, toMs(curve.clock ?? "pod", clocks));
    case "share": {
      const ms = clocks.wallMs - curve.since;
      const noise = curve.noisePart * (2 * draw([curve.seed, "noise", Math.floor(ms / curve.stepMs)]) - 1);
      return curve.part * (1 + noise) * readCurve(curve.of, { ageMs: ms, podMs: ms, wallMs: ms });
    }
    case "sum":
      return curve.curves.reduce((total, one) => total + readCurve(one, clocks), 0);
    case "scaled":
      return curve.factor * readCurve(curve.curve, clocks);
    default:
      return unreachable(curve);
  }
}

const HOUR_MS = 3_600_000;

function toMs(clock: ClockName, { ageMs, podMs, wallMs }: Clocks): number {
  return clock === "container" ? ageMs : clock === "pod" ? podMs : wallMs;
}

function readPoints({ points, repeats }: Curve & { readonly kind: "points" }, ms: number): number {
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
