/** What `deno task quality` writes: a table of each kind of curve, and the bars. Pure. */
import { type Bar, meanOf } from "./judge.ts";
import type { Score } from "./score.ts";

/** Controllers whose sizes somebody chose in hindsight, and the pod that is never resized: no rivals, but a scale. */
export const REFERENCES = ["static-p50", "static-p95", "static-max", "template"];

interface Group {
  readonly title: string;
  readonly has: (score: Score) => boolean;
  readonly columns: readonly Column[];
}

interface Column {
  readonly title: string;
  readonly write: (scores: readonly Score[]) => string;
}

const CPU_COLUMNS: readonly Column[] = [
  { title: "cost", write: (scores) => meanOf(scores, "cost").toFixed(0) },
  { title: "resizes/h", write: (scores) => meanOf(scores, "resizesPerHour").toFixed(1) },
  { title: "slack m", write: (scores) => meanOf(scores, "slack").toFixed(0) },
  { title: "under m", write: (scores) => meanOf(scores, "under").toFixed(1) },
  { title: "under % of time", write: (scores) => meanOf(scores, "underTime").toFixed(2) },
  { title: "throttled m", write: (scores) => meanOf(scores, "throttled").toFixed(2) },
  { title: "throttled % of time", write: (scores) => meanOf(scores, "throttledTime").toFixed(2) },
  { title: "limit / request", write: (scores) => (meanOf(scores, "limit") / meanOf(scores, "request")).toFixed(1) },
];

const MEMORY_COLUMNS: readonly Column[] = [
  { title: "slack MiB", write: (scores) => meanOf(scores, "slack").toFixed(0) },
  { title: "under % of time", write: (scores) => meanOf(scores, "underTime").toFixed(2) },
  { title: "kills in the first 2 h", write: (scores) => String(sum(scores.map(({ killsEarly }) => killsEarly))) },
  { title: "kills after", write: (scores) => String(sum(scores.map(({ killsLate }) => killsLate))) },
  { title: "resizes/h", write: (scores) => meanOf(scores, "resizesPerHour").toFixed(1) },
];

const GROUPS: readonly Group[] = [
  {
    title: "CPU of real servers, means",
    has: ({ kind, isReal }) => kind === "cpu" && isReal,
    columns: CPU_COLUMNS,
  },
  {
    title: "CPU curves that are made up, means",
    has: ({ kind, isReal }) => kind === "cpu" && !isReal,
    columns: CPU_COLUMNS,
  },
  { title: "Memory, means; kills are sums", has: ({ kind }) => kind === "memory", columns: MEMORY_COLUMNS },
];

/** Tables of means, each with a row for every controller that has all of the table's curves. */
export function writeTables(scores: readonly Score[]): string {
  return GROUPS.map((group) => writeGroup(group, scores.filter(group.has))).filter((text) => text !== "").join("\n\n");
}

/** One table per curve, for those who look for where a figure comes from. */
export function writeCurves(scores: readonly Score[]): string {
  const names = [...new Set(scores.filter(({ kind }) => kind !== "phase").map(({ curve }) => curve))];
  return names.map((name) => {
    const own = scores.filter(({ curve }) => curve === name);
    const columns = own[0]?.kind === "memory" ? MEMORY_COLUMNS : CPU_COLUMNS;
    return writeGroup({ title: name, has: () => true, columns }, own);
  }).join("\n\n");
}

/** A row per bar. */
export function writeBars(bars: readonly Bar[]): string {
  return writeTable(
    ["bar", "measured", ""],
    bars.map(({ name, figure, isMet }) => [name, figure, isMet ? "met" : "missed"]),
  );
}

function writeGroup({ title, columns }: Group, scores: readonly Score[]): string {
  const curves = new Set(scores.map(({ curve }) => curve));
  const rows = listControllers(scores).flatMap((controller) => {
    const own = scores.filter((score) => score.controller === controller);
    return own.length === curves.size ? [[controller, ...columns.map(({ write }) => write(own))]] : [];
  });
  if (rows.length === 0) return "";
  const count = curves.size === 1 ? "" : ` (${curves.size} curves)`;
  return `${title}${count}:\n\n${writeTable(["controller", ...columns.map(({ title }) => title)], rows)}`;
}

/** podfit first, references last. */
function listControllers(scores: readonly Score[]): readonly string[] {
  const rank = (name: string) => REFERENCES.includes(name) ? 2 : name.startsWith("podfit") ? 0 : 1;
  return [...new Set(scores.map(({ controller }) => controller))].sort((a, b) =>
    rank(a) - rank(b) || a.localeCompare(b, "en")
  );
}

function writeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
