/**
 * Usage in rows of numbers, and as objects: the layout of lib/api/usage.ts, written and read in one place. NaN stands
 * for what a source does not have.
 */
import { type PodCpu, type PodUsage, type Point, type Pressure, type PsiHint, ROW, ROW_LENGTH } from "../api/usage.ts";

/** Returns the number there. A row, and a flat state, have all of theirs. */
export function getNumber(numbers: ArrayLike<number>, index: number): number {
  return numbers[index] ?? NaN;
}

/** Returns the number there; `null` for NaN. */
export function findNumber(numbers: ArrayLike<number>, index: number): number | null {
  const number = getNumber(numbers, index);
  return Number.isNaN(number) ? null : number;
}

export function copyRow(
  numbers: Float64Array,
  from: number,
  { rows, to }: { readonly rows: number[] | Float64Array; readonly to: number },
): void {
  for (let field = 0; field < ROW_LENGTH; field++) rows[to + field] = getNumber(numbers, from + field);
}

/** Returns whether the row has any number of pressure: a row cannot tell a pressure without one from none. */
export function isPressureKnown(rows: ArrayLike<number>, row: number): boolean {
  return !(Number.isNaN(getNumber(rows, row + ROW.fullNs)) && Number.isNaN(getNumber(rows, row + ROW.throttledNs)) &&
    Number.isNaN(getNumber(rows, row + ROW.largestCpuNs)));
}

/** `null` without any number. */
export function toRowPressure(rows: ArrayLike<number>, row: number): Pressure | null {
  if (!isPressureKnown(rows, row)) return null;
  const fullNs = findNumber(rows, row + ROW.fullNs);
  const throttledNs = findNumber(rows, row + ROW.throttledNs);
  const largestCpuNs = findNumber(rows, row + ROW.largestCpuNs);
  const unitNs = findNumber(rows, row + ROW.fullUnitNs);
  if (unitNs === null) return { fullNs, throttledNs, largestCpuNs };
  const fullHint = {
    unit: unitNs === NS_PER_UNIT.us ? "us" : "ns",
    percent: getNumber(rows, row + ROW.fullPercent),
  } as const;
  return { fullNs, fullHint, throttledNs, largestCpuNs };
}

export function toPodCpu(rows: ArrayLike<number>, row: number): PodCpu {
  return {
    at: getNumber(rows, row + ROW.at),
    resolutionMs: getNumber(rows, row + ROW.resolutionMs),
    counterNs: getNumber(rows, row + ROW.counterNs),
    pressure: toRowPressure(rows, row),
  };
}

/** `row`: that of the pod itself. */
export function toPodUsage(rows: ArrayLike<number>, row: number, points: readonly Point[]): PodUsage {
  const usage = { usageBytes: findNumber(rows, row + ROW.usageBytes), points };
  return Number.isNaN(getNumber(rows, row + ROW.at)) ? usage : { ...usage, cpu: toPodCpu(rows, row) };
}

export function toPoint(
  rows: ArrayLike<number>,
  row: number,
  { container, instance }: Pick<Point, "container" | "instance">,
): Point {
  const oomKills = findNumber(rows, row + ROW.oomKills);
  const memoryStallPercent = findNumber(rows, row + ROW.memoryStallPercent);
  const point: Point = {
    container,
    instance,
    at: getNumber(rows, row + ROW.at),
    resolutionMs: getNumber(rows, row + ROW.resolutionMs),
    cpu: { kind: "counter", counterNs: getNumber(rows, row + ROW.counterNs) },
    workingSetBytes: getNumber(rows, row + ROW.workingSetBytes),
    usageBytes: findNumber(rows, row + ROW.usageBytes),
    pressure: toRowPressure(rows, row),
  };
  if (oomKills === null && memoryStallPercent === null) return point;
  return {
    ...point,
    ...(oomKills !== null && { oomKills }),
    ...(memoryStallPercent !== null && { memoryStallPercent }),
  };
}

/** Writes the CPU of a pod. Its memory stays as it is. */
export function writePodCpu(rows: Float64Array, row: number, cpu: PodCpu): void {
  writeCpu(rows, row, cpu, cpu.counterNs);
}

/** Writes a container. A rate has no field in a row, so its counter is NaN. */
export function writePoint(rows: Float64Array, row: number, point: Point): void {
  writeCpu(rows, row, point, point.cpu.kind === "counter" ? point.cpu.counterNs : NaN);
  rows[row + ROW.workingSetBytes] = point.workingSetBytes;
  rows[row + ROW.usageBytes] = point.usageBytes ?? NaN;
  rows[row + ROW.oomKills] = point.oomKills ?? NaN;
  rows[row + ROW.memoryStallPercent] = point.memoryStallPercent ?? NaN;
}

/** The unit that a total of PSI was taken for, as a row has it. */
export const NS_PER_UNIT: Readonly<Record<PsiHint["unit"], number>> = { us: 1000, ns: 1 };

function writeCpu(
  rows: Float64Array,
  row: number,
  { at, resolutionMs, pressure }: Pick<PodCpu, "at" | "resolutionMs" | "pressure">,
  counterNs: number,
): void {
  const hint = pressure?.fullHint;
  rows[row + ROW.at] = at;
  rows[row + ROW.resolutionMs] = resolutionMs;
  rows[row + ROW.counterNs] = counterNs;
  rows[row + ROW.fullNs] = pressure?.fullNs ?? NaN;
  rows[row + ROW.fullUnitNs] = hint === undefined ? NaN : NS_PER_UNIT[hint.unit];
  rows[row + ROW.fullPercent] = hint?.percent ?? NaN;
  rows[row + ROW.throttledNs] = pressure?.throttledNs ?? NaN;
  rows[row + ROW.largestCpuNs] = pressure?.largestCpuNs ?? NaN;
}
