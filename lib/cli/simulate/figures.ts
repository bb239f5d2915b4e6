/** Which figures of a run do the table and the HTML report show, in which unit, and is less better? */
import type { ContainerRun } from "../../simulate/simulate.ts";
import type { Resource } from "../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan } from "../terminal/numbers.ts";

interface RunFigure {
  readonly name: string;
  /** Shown in the report, with this explanation; if it is absent, only in the table. */
  readonly hint?: string;
  /** Infinity = none. */
  readonly read: (run: ContainerRun) => number;
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

export const RUN_FIGURES: readonly RunFigure[] = [
  ...listMeans("cpu", formatCpu),
  {
    name: "cpu under",
    hint: "wanted beyond the request, mean",
    read: ({ cpu }) => cpu.under,
    format: formatCpu,
    isCost: true,
  },
  {
    name: "cpu throttled",
    hint: "wanted more than the limit",
    read: ({ cpu }) => cpu.throttledSeconds,
    format: formatSpan,
    isCost: true,
  },
  { name: "cpu lost, core-seconds", read: (run) => run.throttledCoreSeconds, format: formatNumber, isCost: true },
  { name: "cpu cost", read: ({ cpu }) => cpu.cost, format: formatNumber, isCost: true },
  ...listMeans("memory", formatMemory),
  { name: "OOM kills", hint: "", read: ({ oomKills }) => oomKills.length, format: formatNumber, isCost: true },
  { name: "resizes", read: ({ resizes }) => resizes.length, format: formatNumber, isCost: false },
  {
    name: "resizes per hour",
    hint: "",
    read: ({ resizesPerHour }) => resizesPerHour,
    format: formatNumber,
    isCost: true,
  },
];

function listMeans(key: Resource, format: RunFigure["format"]): readonly RunFigure[] {
  return [
    { name: `${key} used`, hint: "mean", read: (run) => run[key].used, format, isCost: false },
    { name: `${key} request`, hint: "mean", read: (run) => run[key].request, format, isCost: false },
    { name: `${key} limit`, hint: "mean", read: (run) => run[key].limit ?? Infinity, format, isCost: false },
    { name: `${key} slack`, hint: "requested, not used, mean", read: (run) => run[key].slack, format, isCost: true },
  ];
}
