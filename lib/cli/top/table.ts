/** The table of `podfit top`, as wide as the terminal: what matters least is left out first, and long names are cut. */
import type { Text } from "../terminal/output.ts";
import { paint, type TextOptions } from "../explain/paint.ts";
import { formatPercent, formatSize } from "../explain/say.ts";
import type { Resource } from "../../units/resources.ts";
import type { Amounts, TopRow } from "./rows.ts";

interface Column {
  readonly title: string;
  readonly read: (row: TopRow) => string;
  readonly isRight?: boolean;
  /** The highest goes first where it is too narrow; 0 = it stays. */
  readonly dispensable: number;
}

/** Lines without their newlines, the heading first. */
export function toTopTable(rows: readonly TopRow[], options: TextOptions): readonly Text[] {
  const columns = chooseColumns(rows, options);
  const over = Math.max(0, sum(columns.map((column) => widthOf(column, rows))) - options.columns);
  const widths = columns.map((column) => widthOf(column, rows) - (column === NAME ? over : 0));
  const lines = rows.map((row) => toLine(columns.map(({ read }) => read(row)), { columns, widths }));
  const heading = toLine(columns.map(({ title }) => title), { columns, widths });
  return [
    paint(heading, "strong", options),
    ...lines.map((line, at) => rows[at]?.isHeld === true ? paint(line, "bad", options) : line),
  ];
}

/** So much of a long name is left before a column goes for it. */
const SHORT_NAME = 24;

function chooseColumns(rows: readonly TopRow[], options: TextOptions): readonly Column[] {
  const namespaces = new Set(rows.map(({ namespace }) => namespace));
  let columns = COLUMNS.filter(({ title }) => title !== "NAMESPACE" || namespaces.size > 1);
  const leastOf = (column: Column) =>
    column === NAME ? Math.min(SHORT_NAME, widthOf(column, rows)) : widthOf(column, rows);
  while (sum(columns.map(leastOf)) > options.columns) {
    const most = Math.max(...columns.map(({ dispensable }) => dispensable));
    if (most === 0) return columns;
    columns = columns.filter(({ dispensable }) => dispensable !== most);
  }
  return columns;
}

const NAME: Column = { title: "NAME", read: ({ name }) => name, dispensable: 0 };

const COLUMNS: readonly Column[] = [
  { title: "NAMESPACE", read: ({ namespace }) => namespace, dispensable: 2 },
  NAME,
  { title: "CONTAINER", read: (row) => row.kind === "container" ? row.container : "(replicas)", dispensable: 3 },
  ...toColumns("cpu"),
  ...toColumns("memory"),
  { title: "GATE", read: ({ gate }) => gate, dispensable: 0 },
];

function toColumns(resource: Resource): readonly Column[] {
  const isCpu = resource === "cpu";
  const of = (read: (amounts: Amounts) => string) => (row: TopRow) =>
    row.kind === "container" ? read(row[resource]) : "";
  const size = (amount: number | null) => amount === null ? "-" : formatSize(amount, resource);
  // Memory changes less than CPU, and gives way to it.
  const dispensable = isCpu ? 0 : 1;
  const column = (title: string, read: Column["read"], more: Partial<Column> = {}): Column => ({
    title,
    read,
    isRight: true,
    dispensable,
    ...more,
  });
  return [
    column(resource.toUpperCase(), of(({ used }) => size(used))),
    column("REQUEST", isCpu ? showRequest : of(({ request }) => size(request))),
    column("LIMIT", of(({ limit }) => size(limit)), { dispensable: 5 }),
    column("USED", isCpu ? showRatio : of(({ utilizationPercent }) => formatPercent(utilizationPercent))),
    column("WANTED", isCpu ? showWanted : of((amounts) => formatWanted(amounts, resource))),
  ];
}

/** A workload has its number of pods there. */
function showRequest(row: TopRow): string {
  if (row.kind === "container") return row.cpu.request === null ? "-" : formatSize(row.cpu.request, "cpu");
  return row.replicas === null ? "-" : countPods(row.replicas);
}

function showRatio(row: TopRow): string {
  if (row.kind === "container") return formatPercent(row.cpu.utilizationPercent);
  return row.ratio === null ? "-" : `${row.ratio.toFixed(2)}x`;
}

function showWanted(row: TopRow): string {
  if (row.kind === "container") return formatWanted(row.cpu, "cpu");
  return row.wanted === null || row.wanted === row.replicas ? "-" : countPods(row.wanted);
}

/** `1500m`, `1500m/3` with a limit, `/3` of the limit alone. */
function formatWanted({ wantedRequest, wantedLimit }: Amounts, resource: Resource): string {
  if (wantedRequest === null && wantedLimit === null) return "-";
  const request = wantedRequest === null ? "" : formatSize(wantedRequest, resource);
  return wantedLimit === null ? request : `${request}/${formatSize(wantedLimit, resource)}`;
}

function widthOf({ title, read }: Column, rows: readonly TopRow[]): number {
  return rows.reduce((most, row) => Math.max(most, read(row).length), title.length);
}

/** With two spaces between them. */
function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width + 2, -2);
}

function toLine(
  cells: readonly string[],
  { columns, widths }: { readonly columns: readonly Column[]; readonly widths: readonly number[] },
): string {
  return cells.map((cell, at) => {
    const width = Math.max(1, widths[at] ?? 0);
    const cut = cell.length > width
      ? `${cell.slice(0, Math.floor((width - 1) / 2))}…${cell.slice(cell.length - Math.ceil((width - 1) / 2))}`
      : cell;
    return columns[at]?.isRight === true ? cut.padStart(width) : cut.padEnd(width);
  }).join("  ").trimEnd();
}

function countPods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}
