/** Figures of the report as tables and sentences. */
import type { Figures } from "../../simulate/engine/figures.ts";
import type { ContainerRun } from "../../simulate/engine/simulate.ts";
import type { ReportCandidate, ReportRun } from "./html_report.ts";
import { escapeHtml, formatNumber, formatQuantity, formatSpan } from "./html_text.ts";

interface Row {
  readonly label: string;
  readonly hint: string;
  readonly read: (container: ContainerRun) => number | null;
  readonly format: (value: number) => string;
  /** Less is better: the best of several is marked, and the change is told. */
  readonly isJudged: boolean;
}

/** What the figures of a resource are in. */
const UNITS = { cpu: 1, memory: 2 ** 20 } as const;

const ROWS: readonly Row[] = [
  ...listRows("CPU", "cpu"),
  ...listRows("memory", "memory"),
  {
    label: "OOM kills",
    hint: "killed for memory",
    read: ({ oomKills }) => oomKills.length,
    format: formatNumber,
    isJudged: true,
  },
  {
    label: "resizes an hour",
    hint: "of either resource",
    read: ({ resizesPerHour }) => resizesPerHour,
    format: formatNumber,
    isJudged: true,
  },
];

function listRows(name: string, key: "cpu" | "memory"): readonly Row[] {
  const amount = (value: number) => formatQuantity(value * UNITS[key], key);
  const row = (label: string, hint: string, read: (figures: Figures) => number | null, isJudged = true): Row => ({
    label: `${name} ${label}`,
    hint,
    read: (container) => read(container[key]),
    format: label.startsWith("time") ? formatSpan : amount,
    isJudged,
  });
  return [
    row("used", "mean", ({ used }) => used, false),
    row("requested", "mean", ({ request }) => request, false),
    row("limit", "mean", ({ limit }) => limit, false),
    row("slack", "requested and not used, mean", ({ slack }) => slack),
    row("time under", "wanted more than requested", ({ underSeconds }) => underSeconds),
    ...key === "cpu"
      ? [row("time throttled", "wanted more than the limit", ({ throttledSeconds }) => throttledSeconds)]
      : [],
  ];
}

/** One container's figures, a column for each run, and what the last is to the first. */
export function formatFigures(runs: readonly ReportRun[], index: number): string {
  const containers = runs.map(({ simulation }) => simulation.containers[index]).filter((one) => one !== undefined);
  const isCompared = containers.length === 2;
  const head = runs.map(({ name }) => `<th scope="col">${escapeHtml(name)}</th>`).join("");
  const rows = ROWS.map((row) => {
    const values = containers.map(row.read);
    const best = Math.min(...values.map((value) => value ?? Infinity));
    const isMarked = row.isJudged && isCompared && values[0] !== values[1];
    const cells = values.map((value) =>
      `<td${isMarked && value === best ? ' class="best"' : ""}>${value === null ? "none" : row.format(value)}</td>`
    );
    const change = isCompared ? `<td class="change">${formatChange(values)}</td>` : "";
    return `<tr><th scope="row">${row.label} <small>${row.hint}</small></th>${cells.join("")}${change}</tr>`;
  });
  const last = isCompared ? '<th scope="col">change</th>' : "";
  return `<table><thead><tr><td></td>${head}${last}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}

function formatChange([from = null, to = null]: readonly (number | null)[]): string {
  if (from === null || to === null || from === to) return "";
  if (from === 0) return "";
  const percent = Math.round((to / from - 1) * 100);
  return percent === 0 ? "" : `${percent > 0 ? "+" : "\u2212"}${Math.abs(percent)}&nbsp;%`;
}

/** What a policy does, in large figures. */
export function formatTiles({ simulation: { containers } }: ReportRun): string {
  const total = (read: (container: ContainerRun) => number) =>
    containers.reduce((sum, container) => sum + read(container), 0);
  const kills = total(({ oomKills }) => oomKills.length);
  const throttled = total(({ cpu }) => cpu.throttledSeconds);
  const tile = (value: string, label: string, kind = "") =>
    `<div class="tile ${kind}"><b>${value}</b><span>${label}</span></div>`;
  const [cpu, used] = [total((one) => one.cpu.request), total((one) => one.cpu.used)];
  const [memory, held] = [
    total((one) => one.memory.request * UNITS.memory),
    total((one) => one.memory.used * UNITS.memory),
  ];
  return `<div class="tiles">${
    [
      tile(formatQuantity(cpu, "cpu"), `CPU requested, ${formatQuantity(used, "cpu")} used`),
      tile(formatQuantity(memory, "memory"), `memory requested, ${formatQuantity(held, "memory")} used`),
      tile(formatSpan(throttled), "throttled", throttled > 0 ? "bad" : ""),
      tile(formatNumber(kills), kills === 1 ? "OOM kill" : "OOM kills", kills > 0 ? "bad" : ""),
      tile(formatNumber(total((one) => one.resizesPerHour)), "resizes an hour"),
    ].join("")
  }</div>`;
}

/** More rows than these help nobody. */
const MOST_ROWS = 40;

/** The candidates of a sweep that no other beats, by slack. */
export function formatFront(candidates: readonly ReportCandidate[]): string {
  const rows = candidates.filter(({ isOnFront }) => isOnFront).toSorted((a, b) => a.slack - b.slack)
    .slice(0, MOST_ROWS)
    .map(({ name, slack, throttledSeconds, oomKills, resizesPerHour }) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td>${formatQuantity(slack, "cpu")}</td>` +
      `<td>${formatSpan(throttledSeconds)}</td><td>${formatNumber(oomKills)}</td>` +
      `<td>${formatNumber(resizesPerHour)}</td></tr>`
    );
  const head = ["CPU slack", "throttled", "OOM kills", "resizes an hour"].map((one) => `<th scope="col">${one}</th>`);
  return `<table><thead><tr><td></td>${head.join("")}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}
