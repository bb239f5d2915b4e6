/**
 * `podfit top`: a table of what containers and workloads use, have and should have.
 *
 * On a narrow terminal the least important columns are left out.
 */
import type { RecordLine } from "../../record/record.ts";
import { systemClock } from "../../runtime/clock.ts";
import { abortable } from "../../runtime/tasks.ts";
import type { RequestOrLimit, Resource } from "../../units/resources.ts";
import { matches, type Selector } from "../../units/selector.ts";
import { type Access, withAccess } from "../connection/podfits.ts";
import { fetchLatest } from "../connection/records.ts";
import { explainPod } from "../explanation/explain_pod.ts";
import { explainWorkload } from "../explanation/explain_workload.ts";
import type { ContainerExplanation, PodExplanation } from "../explanation/explanation.ts";
import { formatClock, formatCount, formatPercent, formatSize } from "../terminal/numbers.ts";
import { isData, writeData } from "../terminal/data.ts";
import { type Text, writeError, writeLines } from "../terminal/output.ts";
import { fillScreen, getTextOptions, openScreen } from "../terminal/screen.ts";
import { createStyle, type TextOptions } from "../terminal/text.ts";
import type { Sort, TopOptions } from "./options.ts";

/** Resolves to exit code 0: listed. Rejects with a StartError where there is no list. */
export function top(options: TopOptions): Promise<number> {
  return withAccess(options.access, async (access, signal) => {
    if (options.watches) await watch(access, options, signal);
    else print(await abortable(list(access, options, signal), signal), options);
  });
}

interface TopList {
  readonly rows: readonly TopRow[];
  /** Why rows of some podfits are missing. */
  readonly warnings: readonly string[];
}

async function list(access: Access, options: TopOptions, signal: AbortSignal): Promise<TopList> {
  const namespace = options.isEveryNamespace ? null : access.namespace;
  const sources = await access.open({ namespace, pod: null }, signal);
  const { lines, warnings } = await fetchLatest(sources, namespace === null ? {} : { namespace }, { signal });
  const chosen = lines.filter((line) => isSelected(line, options.selector));
  const rows = sortRows(filterRows(toRows(chosen, systemClock.now()), options.filter), options.sort);
  return { rows, warnings };
}

/** Records of ScaledObjects have no labels. */
function isSelected(line: RecordLine, selector: Selector | null): boolean {
  return selector === null || (line.kind === "pod" && matches(selector, line.record.input.pod.labels));
}

type PrintOptions = Pick<TopOptions, "format" | "hasHeaders" | "isEveryNamespace">;

/** Returns false when the reader of the pipe has ended. */
function print({ rows, warnings }: TopList, options: PrintOptions): boolean {
  for (const warning of warnings) writeError(warning);
  if (isData(options.format)) return writeData(rows, options.format);
  if (rows.length > 0) return writeLines(toTopTable(rows, { ...getTextOptions(), ...toTableOptions(options) }));
  writeError(NO_ROWS);
  return true;
}

/** Goes to stderr, because it is not a row. */
const NO_ROWS = "podfit tracks nothing there, or nothing that --filter and --selector let through";

function toTableOptions({ format, hasHeaders, isEveryNamespace }: PrintOptions): TableOptions {
  return { isWide: format === "wide", hasHeaders, hasNamespace: isEveryNamespace };
}

const WATCH_MS = 5_000;

/** In place on a terminal, with what went wrong last; one table after the other elsewhere. */
async function watch(access: Access, options: TopOptions, signal: AbortSignal): Promise<void> {
  const isDrawn = Deno.stdout.isTerminal() && !isData(options.format);
  const first = await abortable(list(access, options, signal), signal);
  using screen = isDrawn ? openScreen() : null;
  let listed = first;
  let failure: string | null = null;
  while (!signal.aborted) {
    const now = systemClock.now();
    screen?.draw(({ columns, rows: height }) => {
      const { rows, warnings } = listed;
      const held = rows.filter(({ isHeld }) => isHeld).length;
      const heading = `podfit top  ${formatClock(now, now)}  ${rows.length} rows, ${held} wait for something  ${
        failure ?? warnings.join("; ")
      }`;
      const table = toTopTable(rows, { style: createStyle(!Deno.noColor), columns, ...toTableOptions(options) });
      return fillScreen([heading, "", ...rows.length === 0 ? [NO_ROWS] : table], height);
    });
    if (screen === null && failure !== null) writeError(failure);
    else if (screen === null && !print(listed, options)) return;
    await systemClock.sleep(WATCH_MS, signal).catch(() => {});
    try {
      listed = await abortable(list(access, options, signal), signal);
      failure = null;
    } catch (error) {
      if (signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
    }
  }
}

export type TopRow = ContainerRow | WorkloadRow;

interface CommonRow {
  readonly namespace: string;
  readonly name: string;
  /** What blocks the change, or why none is wanted: a reason. */
  readonly gate: string;
  readonly isHeld: boolean;
}

interface ContainerRow extends CommonRow {
  readonly kind: "container";
  readonly container: string;
  readonly usedAt: number | null;
  readonly cpu: Amounts;
  readonly memory: Amounts;
}

/** Of one resource of a container; `null` = none, or not known. */
interface Amounts {
  readonly used: number | null;
  readonly request: number | null;
  readonly limit: number | null;
  /** That of the fullest managed resource field. */
  readonly utilizationPercent: number | null;
  readonly wantedRequest: number | null;
  readonly wantedLimit: number | null;
}

interface WorkloadRow extends CommonRow {
  readonly kind: "workload";
  readonly replicas: number | null;
  readonly wanted: number | null;
  /** The highest of its triggers' usage to target. */
  readonly ratio: number | null;
}

/** One line for each pod and ScaledObject. */
export function toRows(lines: readonly RecordLine[], now: number): readonly TopRow[] {
  return lines.flatMap((line): readonly TopRow[] => {
    if (line.kind === "pod") {
      return explainPod([line], { now })?.containers.map((one) => toContainerRow(line, one)) ?? [];
    }
    const workload = explainWorkload([line], { now, pods: [] });
    if (workload === null) return [];
    const { namespace, target, replicas, desired, reason, triggers, conditions: { Ready, Paused } } = workload;
    const ratios = triggers.flatMap(({ proposal }) => proposal?.ratio ?? []);
    const gate = Paused?.status === "True" ? "Paused" : Ready?.status === "False" ? Ready.reason : reason ?? "-";
    return [{
      kind: "workload",
      namespace,
      name: target,
      gate,
      isHeld: HELD_REASONS.test(gate),
      replicas,
      wanted: desired,
      ratio: ratios.length === 0 ? null : Math.max(...ratios),
    }];
  });
}

/** Reasons that keep replicas from what the triggers ask for. */
const HELD_REASONS = /Limit$|^TooMany|^TooFew|Stabilized$|Failed$|^Vertical|^Paused|Error/;

function toContainerRow(
  { namespace, name }: Pick<PodExplanation, "namespace" | "name">,
  one: ContainerExplanation,
): ContainerRow {
  const { kind, reason } = one.decision;
  return {
    kind: "container",
    namespace,
    name,
    container: one.name,
    gate: reason,
    isHeld: kind === "blocked" || reason === "AtBound" || reason === "MetricsUnavailable",
    usedAt: one.usage?.at ?? null,
    cpu: toAmounts(one, "cpu"),
    memory: toAmounts(one, "memory"),
  };
}

function toAmounts({ usage, sides, trials }: ContainerExplanation, resource: Resource): Amounts {
  const find = (side: RequestOrLimit) => sides.find(({ key }) => key === `${resource}.${side}`);
  const sizeOf = (side: RequestOrLimit) => find(side)?.actual ?? null;
  const wanted = trials.filter(({ isWanted }) => isWanted).flatMap((trial) => trial.sides).filter(({ from, to }) =>
    from !== to
  );
  // Where podfit only recommends, the recommended size is wanted.
  const adviseOf = (side: RequestOrLimit) => find(side)?.size === sizeOf(side) ? null : find(side)?.size ?? null;
  const wantedOf = (side: RequestOrLimit) =>
    wanted.find(({ key }) => key === `${resource}.${side}`)?.to ?? adviseOf(side);
  const percents = sides.flatMap(({ key, usedPercent }) => key.startsWith(resource) ? usedPercent ?? [] : []);
  return {
    used: usage === null ? null : resource === "cpu" ? usage.cpuMillicores : usage.memoryBytes,
    request: sizeOf("requests"),
    limit: sizeOf("limits"),
    utilizationPercent: percents.length === 0 ? null : Math.max(...percents),
    wantedRequest: wantedOf("requests"),
    wantedLimit: wantedOf("limits"),
  };
}

/** By name, or the largest first; workloads, which have no usage, are last then. */
export function sortRows(rows: readonly TopRow[], sort: Sort): readonly TopRow[] {
  const byName = rows.toSorted((a, b) => compare(getRowName(a), getRowName(b)));
  return sort === "name" ? byName : byName.toSorted((a, b) => computeRank(b, sort) - computeRank(a, sort));
}

/** Returns the rows whose namespace, name, container or gate includes the text, in any case. */
export function filterRows(rows: readonly TopRow[], text: string): readonly TopRow[] {
  const wanted = text.toLowerCase();
  return rows.filter((row) => `${getRowName(row)} ${row.gate}`.toLowerCase().includes(wanted));
}

function getRowName(row: TopRow): string {
  return `${row.namespace}/${row.name}${row.kind === "container" ? `/${row.container}` : ""}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function computeRank(row: TopRow, sort: Exclude<Sort, "name">): number {
  if (row.kind === "workload") return sort === "wanted" ? toChange(row.replicas, row.wanted) : -1;
  const { cpu, memory } = row;
  switch (sort) {
    case "cpu":
      return cpu.used ?? -1;
    case "memory":
      return memory.used ?? -1;
    case "utilization":
      return Math.max(cpu.utilizationPercent ?? -1, memory.utilizationPercent ?? -1);
    case "wanted":
      return Math.max(...[cpu, memory].flatMap(({ request, limit, wantedRequest, wantedLimit }) => [
        toChange(request, wantedRequest),
        toChange(limit, wantedLimit),
      ]));
  }
}

/** As a share of the size; -1 = no change is wanted. */
function toChange(from: number | null, to: number | null): number {
  return from === null || to === null || from === to ? -1 : Math.abs(to - from) / Math.max(from, 1);
}

interface Column {
  readonly title: string;
  readonly read: (row: TopRow) => string;
  readonly isRight?: boolean;
  /** On a narrow terminal the highest is left out first; 0 = never. */
  readonly dispensable: number;
}

interface TableOptions {
  /** Every column, however narrow the terminal is. */
  readonly isWide?: boolean;
  readonly hasHeaders?: boolean;
  /** A column with the namespace, also where all rows are of one. */
  readonly hasNamespace?: boolean;
}

/** Lines without their newlines, the heading first. */
export function toTopTable(rows: readonly TopRow[], given: TextOptions & TableOptions): readonly Text[] {
  const options = given.isWide === true ? { ...given, columns: Infinity } : given;
  const columns = chooseColumns(rows, options);
  const over = Math.max(0, sumWidths(columns.map((column) => computeWidth(column, rows))) - options.columns);
  const widths = columns.map((column) => computeWidth(column, rows) - (column === NAME_COLUMN ? over : 0));
  const lines = rows.map((row) => formatRow(columns.map(({ read }) => read(row)), { columns, widths }));
  const heading = formatRow(columns.map(({ title }) => title), { columns, widths });
  return [
    ...options.hasHeaders === false ? [] : [options.style.bold(heading)],
    ...lines.map((line, at) => rows[at]?.isHeld === true ? options.style.magenta(line) : line),
  ];
}

/** The length of a long name that is kept before a column is left out. */
const MIN_NAME_WIDTH = 24;

function chooseColumns(rows: readonly TopRow[], options: TextOptions & TableOptions): readonly Column[] {
  const hasNamespace = options.isWide === true || options.hasNamespace === true ||
    new Set(rows.map(({ namespace }) => namespace)).size > 1;
  let columns = COLUMNS.filter(({ title }) => title !== "NAMESPACE" || hasNamespace);
  const leastOf = (column: Column) =>
    column === NAME_COLUMN ? Math.min(MIN_NAME_WIDTH, computeWidth(column, rows)) : computeWidth(column, rows);
  while (sumWidths(columns.map(leastOf)) > options.columns) {
    const most = Math.max(...columns.map(({ dispensable }) => dispensable));
    if (most === 0) return columns;
    columns = columns.filter(({ dispensable }) => dispensable !== most);
  }
  return columns;
}

const NAME_COLUMN: Column = { title: "NAME", read: ({ name }) => name, dispensable: 0 };

const COLUMNS: readonly Column[] = [
  { title: "NAMESPACE", read: ({ namespace }) => namespace, dispensable: 2 },
  NAME_COLUMN,
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
  // Memory changes less than CPU, so its columns are left out first.
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

/** For a workload, its number of pods. */
function showRequest(row: TopRow): string {
  if (row.kind === "container") return row.cpu.request === null ? "-" : formatSize(row.cpu.request, "cpu");
  return row.replicas === null ? "-" : formatCount(row.replicas, "pod");
}

function showRatio(row: TopRow): string {
  if (row.kind === "container") return formatPercent(row.cpu.utilizationPercent);
  return row.ratio === null ? "-" : `${row.ratio.toFixed(2)}x`;
}

function showWanted(row: TopRow): string {
  if (row.kind === "container") return formatWanted(row.cpu, "cpu");
  return row.wanted === null || row.wanted === row.replicas ? "-" : formatCount(row.wanted, "pod");
}

/** `1500m`, `1500m/3` with a limit, `/3` of the limit alone. */
function formatWanted({ wantedRequest, wantedLimit }: Amounts, resource: Resource): string {
  if (wantedRequest === null && wantedLimit === null) return "-";
  const request = wantedRequest === null ? "" : formatSize(wantedRequest, resource);
  return wantedLimit === null ? request : `${request}/${formatSize(wantedLimit, resource)}`;
}

function computeWidth({ title, read }: Column, rows: readonly TopRow[]): number {
  return rows.reduce((most, row) => Math.max(most, read(row).length), title.length);
}

/** With two spaces between columns. */
function sumWidths(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width + 2, -2);
}

function formatRow(
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
