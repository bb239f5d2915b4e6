/** Curves as sim/ writes them: what a container wants of a resource in each second, whatever it is given. */

/** The form that the embedded cluster reads from a pod's annotation, too. */
export interface Load {
  readonly kind: "constant" | "points" | "leak";
  /** Of a constant. */
  readonly value: number;
  /** Ms since the pod began, and the amount; straight lines between them. */
  readonly points?: readonly (readonly [number, number])[];
  /** Of a leak, which begins with each instance of the container. */
  readonly base?: number;
  readonly perHour?: number;
}

export interface Curve {
  readonly name: string;
  /** What is scored; `phase`: a step, of which only the settling is. */
  readonly kind: "cpu" | "memory" | "phase";
  /** Recorded on a server, not made up. */
  readonly isReal: boolean;
  readonly seconds: number;
  /** Millicores. */
  readonly cpu: Load;
  /** Bytes. */
  readonly memory: Load;
  /** Bytes of page cache, as far as the limit lets it grow. */
  readonly cache: Load;
  /** Bytes that a new instance holds less; it has made up for them after a minute. */
  readonly startsBelow: number;
  /** Second, mean level before, mean level after. */
  readonly steps: readonly (readonly [number, number, number])[] | null;
}

/** What a process holds at least, as the embedded cluster has it, bytes. */
const PROCESS_BYTES = 90_112;
const START_SECONDS = 60;
const HOUR = 3600;

/** The amount of a load at each whole second. */
export function listAmounts(load: Load, seconds: number): Float64Array {
  const amounts = new Float64Array(seconds);
  const points = load.points ?? [[0, load.value]];
  let index = 0;
  for (let second = 0; second < seconds; second++) {
    while (index < points.length - 1 && (points[index + 1]?.[0] ?? 0) <= second * 1000) index++;
    amounts[second] = between(points[index], points[index + 1], second * 1000);
  }
  return amounts;
}

/** The amount at each second of a run whose instances began at `starts`, in order; `down[second]` = none is running. */
export function listDemand(curve: Curve, starts: readonly number[], down: Uint8Array): Float64Array {
  if (curve.kind !== "memory") return listAmounts(curve.cpu, curve.seconds);
  const { memory, startsBelow, seconds } = curve;
  const held = listAmounts(memory, seconds);
  let started = 0;
  let next = 0;
  for (let second = 0; second < seconds; second++) {
    while ((starts[next] ?? Infinity) <= second) started = starts[next++] ?? started;
    const age = second - started;
    const bytes = memory.kind === "leak"
      ? (memory.base ?? 0) + (memory.perHour ?? 0) * age / HOUR
      : (held[second] ?? 0) - startsBelow * Math.max(0, 1 - age / START_SECONDS);
    held[second] = down[second] === 1 ? 0 : Math.max(PROCESS_BYTES, bytes);
  }
  return held;
}

function between(
  a: readonly [number, number] | undefined,
  b: readonly [number, number] | undefined,
  ms: number,
): number {
  if (a === undefined) return 0;
  if (b === undefined || ms <= a[0] || b[0] <= a[0]) return a[1];
  return a[1] + (b[1] - a[1]) * (ms - a[0]) / (b[0] - a[0]);
}
