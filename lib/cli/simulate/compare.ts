/** Runs of one workload under some policies, side by side: the figures, and who is better in which. */
import type { ContainerRun, Simulation } from "../../simulate/engine/simulate.ts";

/** One policy's run of one workload. */
export interface PolicyRun {
  /** The policy's, as people know it: the file it is of. */
  readonly policy: string;
  readonly simulation: Simulation;
}

/** A workload under each policy. */
export interface Comparison {
  readonly title: string;
  readonly runs: readonly PolicyRun[];
}

/** One figure under each policy, in the order of the runs. */
export interface ComparedFigure {
  readonly name: string;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
  /** The index of the best one; `null` where several are, or where less is not better. */
  readonly best: number | null;
}

interface Row {
  readonly name: string;
  readonly read: (run: ContainerRun) => number;
  readonly format: (value: number) => string;
  /** Less is better. */
  readonly isCost: boolean;
}

const ROWS: readonly Row[] = [
  { name: "cpu used", read: ({ cpu }) => cpu.used, format: formatMillicores, isCost: false },
  { name: "cpu request", read: ({ cpu }) => cpu.request, format: formatMillicores, isCost: false },
  { name: "cpu limit", read: ({ cpu }) => cpu.limit ?? Infinity, format: formatMillicores, isCost: false },
  { name: "cpu slack", read: ({ cpu }) => cpu.slack, format: formatMillicores, isCost: true },
  { name: "cpu under", read: ({ cpu }) => cpu.under, format: formatMillicores, isCost: true },
  { name: "cpu throttled", read: ({ cpu }) => cpu.throttledSeconds, format: formatSeconds, isCost: true },
  { name: "cpu lost, core-seconds", read: (run) => run.throttledCoreSeconds, format: formatNumber, isCost: true },
  { name: "cpu cost", read: ({ cpu }) => cpu.cost, format: formatNumber, isCost: true },
  { name: "memory used", read: ({ memory }) => memory.used, format: formatMebibytes, isCost: false },
  { name: "memory request", read: ({ memory }) => memory.request, format: formatMebibytes, isCost: false },
  { name: "memory limit", read: ({ memory }) => memory.limit ?? Infinity, format: formatMebibytes, isCost: false },
  { name: "memory slack", read: ({ memory }) => memory.slack, format: formatMebibytes, isCost: true },
  { name: "OOM kills", read: ({ oomKills }) => oomKills.length, format: formatNumber, isCost: true },
  { name: "resizes", read: ({ resizes }) => resizes.length, format: formatNumber, isCost: false },
  { name: "resizes per hour", read: ({ resizesPerHour }) => resizesPerHour, format: formatNumber, isCost: true },
];

/** The figures of one container, of those runs that have it. */
export function compareContainer(runs: readonly PolicyRun[], container: string): readonly ComparedFigure[] {
  const own = runs.map(({ simulation }) => simulation.containers.find((one) => one.container === container));
  const figures = ROWS.map(({ name, read, format, isCost }): ComparedFigure => {
    const values = own.map((run) => run === undefined ? NaN : read(run));
    const best = isCost ? findBest(values.map((value) => Number(value.toPrecision(6)))) : null;
    return { name, values, format, best };
  });
  const pods = runs.map(({ simulation }) => meanPods(simulation));
  if (pods.every((count) => count === 1)) return figures;
  return [{ name: "pods, mean", values: pods, format: formatNumber, best: null }, ...figures];
}

function meanPods({ replicas, seconds }: Simulation): number {
  let sum = 0;
  for (const [index, [second, count]] of replicas.entries()) {
    sum += count * (Math.min(replicas[index + 1]?.[0] ?? seconds, seconds) - second);
  }
  return sum / seconds;
}

/** In how many figures each policy is best, in the order of the runs. */
export function countBest(figures: readonly ComparedFigure[], runs: number): readonly number[] {
  return Array.from({ length: runs }, (_, index) => figures.filter(({ best }) => best === index).length);
}

function findBest(values: readonly number[]): number | null {
  const least = Math.min(...values);
  const at = values.flatMap((value, index) => value === least ? [index] : []);
  return values.length > 1 && at.length === 1 ? at[0] ?? null : null;
}

function formatMillicores(value: number): string {
  return Number.isFinite(value) ? `${formatNumber(value)}m` : "none";
}

function formatMebibytes(value: number): string {
  return Number.isFinite(value) ? `${formatNumber(value)}Mi` : "none";
}

function formatSeconds(value: number): string {
  return `${formatNumber(value)}s`;
}

/** Three digits, whole where it is large. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  if (value > 0 && value < 0.005) return "<0.01";
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
