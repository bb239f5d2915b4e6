/** Which figures of a run do the table and the HTML report show, in which unit, and is less better? */
import type { ContainerRun, Simulation } from "../../simulate/simulate.ts";
import type { Resource } from "../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan } from "../terminal/numbers.ts";

interface RunFigure {
  readonly name: string;
  /** A load must have it; `null` = the figure depends on no single resource. */
  readonly resource: Resource | null;
  /** Shown in the report, with this explanation; if it is absent, only in the table. */
  readonly hint?: string;
  /** Infinity = none. `podSeconds`: how long its pods ran, all together. */
  readonly read: (run: ContainerRun, podSeconds: number) => number;
  readonly format: (value: number) => string;
  /** Less is better. */
  readonly isCost: boolean;
}

export function formatCpu(millicores: number): string {
  return formatQuantity(millicores, "cpu");
}

export function formatMemory(mebibytes: number): string {
  return formatQuantity(mebibytes * 2 ** 20, "memory");
}

/** Percent. */
export function computeShare(seconds: number, podSeconds: number): number {
  return podSeconds === 0 ? 0 : seconds / podSeconds * 100;
}

/** `memory is in no load: it stays as it is, and no figure shows it` */
export function describeUnknown(unknown: readonly Resource[]): string {
  const names = unknown.map((one) => one === "cpu" ? "CPU" : "memory").join(" and ");
  const it = unknown.length === 1 ? "it stays as it is, and no figure shows it" : "nothing of it is simulated";
  return `Not known: the load has no ${names}; ${it}`;
}

/** `0 %`, `0.15 %`, `12 %` */
export function formatShare(percent: number): string {
  if (percent > 0 && percent < 0.01) return "<0.01 %";
  return `${Number(percent.toFixed(percent < 1 ? 2 : percent < 10 ? 1 : 0))} %`;
}

/** `-46 %`; empty where there is nothing to compare with. */
export function formatChange(from: number, to: number): string {
  if (from === 0 || !Number.isFinite(from) || !Number.isFinite(to)) return "";
  const percent = Math.round((to / from - 1) * 100);
  return percent === 0 ? "" : `${percent > 0 ? "+" : "-"}${Math.abs(percent)} %`;
}

/** The seconds of all pods together. */
export function computePodSeconds({ replicas, seconds }: Simulation): number {
  let sum = 0;
  for (const [index, [second, count]] of replicas.entries()) {
    sum += count * (Math.min(replicas[index + 1]?.[0] ?? seconds, seconds) - second);
  }
  return sum;
}

export const RUN_FIGURES: readonly RunFigure[] = [
  ...listMeans("cpu", formatCpu),
  {
    name: "cpu under",
    resource: "cpu",
    hint: "wanted beyond the request, mean",
    read: ({ cpu }) => cpu.under,
    format: formatCpu,
    isCost: true,
  },
  {
    name: "cpu throttled",
    resource: "cpu",
    hint: "wanted more than the limit",
    read: ({ cpu }) => cpu.throttledSeconds,
    format: formatSpan,
    isCost: true,
  },
  {
    name: "cpu throttled, share",
    resource: "cpu",
    hint: "of the time",
    read: ({ cpu }, podSeconds) => computeShare(cpu.throttledSeconds, podSeconds),
    format: formatShare,
    isCost: false,
  },
  {
    name: "cpu lost, core-seconds",
    resource: "cpu",
    read: (run) => run.throttledCoreSeconds,
    format: formatNumber,
    isCost: true,
  },
  { name: "cpu cost", resource: "cpu", read: ({ cpu }) => cpu.cost, format: formatNumber, isCost: true },
  ...listMeans("memory", formatMemory),
  {
    name: "OOM kills",
    resource: "memory",
    hint: "",
    read: ({ oomKills }) => oomKills.length,
    format: formatNumber,
    isCost: true,
  },
  { name: "resizes", resource: null, read: ({ resizes }) => resizes.length, format: formatNumber, isCost: false },
  {
    name: "resizes per hour",
    resource: null,
    hint: "",
    read: ({ resizesPerHour }) => resizesPerHour,
    format: formatNumber,
    isCost: true,
  },
];

function listMeans(key: Resource, format: RunFigure["format"]): readonly RunFigure[] {
  return [
    { name: `${key} used`, resource: key, hint: "mean", read: (run) => run[key].used, format, isCost: false },
    { name: `${key} request`, resource: key, hint: "mean", read: (run) => run[key].request, format, isCost: false },
    {
      name: `${key} limit`,
      resource: key,
      hint: "mean",
      read: (run) => run[key].limit ?? Infinity,
      format,
      isCost: false,
    },
    {
      name: `${key} slack`,
      resource: key,
      hint: "requested, not used, mean",
      read: (run) => run[key].slack,
      format,
      isCost: true,
    },
  ];
}
