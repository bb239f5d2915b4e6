/**
 * How does a CSV file become a load?
 * The header has `seconds`; for CPU `cpu` (a quantity), `millicores` or `percent`; for memory `memory` (a quantity) or
 * `bytes`; and `cache` (a quantity). Values between rows lie on straight lines. `#` begins a comment, and empty lines are
 * skipped.
 */
import { parseAmount } from "../../units/quantity.ts";
import { quote } from "../../units/untrusted.ts";
import { type FetchLoads, listSeen, type Points, toLoad } from "../load.ts";

interface CsvOptions {
  /** The file's name, for messages. */
  readonly file: string;
  /** What a `percent` is worth; 10, a percent of one core, where it is not given. */
  readonly millicoresPerPercent?: number;
}

const MAX_ROWS = 2_000_000;

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Beyond it an amount is a slip of the unit. */
const MAX_AMOUNT = 2 ** 53;

/** Reads one load. A message names file, line and column, as compilers do. Never throws. */
export function parseCsvLoads(text: string, options: CsvOptions): FetchLoads {
  const { file } = options;
  const rows = listRows(text);
  const [header, ...body] = rows;
  if (header === undefined) return { ok: false, message: `Cannot read load ${file}: it is empty` };
  const columns = parseHeader(header, options);
  if ("fault" in columns) return refuse(file, columns);
  if (body.length > MAX_ROWS) return { ok: false, message: `Cannot read load ${file}: more than ${MAX_ROWS} rows` };
  const points: Record<Target, (readonly [number, number])[]> = { seconds: [], cpu: [], memory: [], cache: [] };
  let before = -Infinity;
  for (const row of body) {
    const values = parseRow(row, columns.columns);
    if ("fault" in values) return refuse(file, values);
    const { seconds = 0 } = values.amounts;
    if (seconds <= before) {
      const cause = `Cannot use ${seconds} seconds: the row before has ${before}; sort the rows`;
      return refuse(file, { line: row.line, column: 1, fault: cause });
    }
    before = seconds;
    for (const target of TARGETS) {
      const amount = values.amounts[target];
      if (amount !== undefined) points[target].push([seconds, amount]);
    }
  }
  if (body.length < 2) return { ok: false, message: `Cannot read load ${file}: it needs at least two rows` };
  const read = withCache(points);
  return { ok: true, loads: [{ pod: null, container: null, load: toLoad(read), seen: listSeen(read) }] };
}

type Target = "seconds" | "cpu" | "memory" | "cache";

const TARGETS = ["cpu", "memory", "cache"] as const;

interface Row {
  readonly line: number;
  readonly cells: readonly { readonly text: string; readonly column: number }[];
}

interface Fault {
  readonly line: number;
  readonly column: number;
  readonly fault: string;
}

interface Column {
  readonly target: Target;
  /** Gives the amount in seconds, millicores or bytes, or why it is none. */
  readonly parse: (text: string) => number | string;
}

function withCache({ cpu, memory, cache }: Readonly<Record<Target, Points>>) {
  return cache.length === 0 ? { cpu, memory } : { cpu, memory, cache };
}

function listRows(text: string): readonly Row[] {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/).flatMap((text, index): readonly Row[] => {
    const line = text.replace(/#.*$/, "");
    if (line.trim() === "") return [];
    let column = 1;
    const cells = line.split(",").map((part) => {
      const cell = { text: part.trim().replace(/^"(.*)"$/, "$1"), column: column + part.search(/\S|$/) };
      column += part.length + 1;
      return cell;
    });
    return [{ line: index + 1, cells }];
  });
}

function parseHeader(
  { line, cells }: Row,
  { millicoresPerPercent = 10 }: CsvOptions,
): Fault | { readonly columns: readonly Column[] } {
  const known: Readonly<Record<string, Column>> = {
    seconds: { target: "seconds", parse: (text) => parseCsvNumber(text, { isSigned: true }) },
    cpu: { target: "cpu", parse: (text) => parseCsvQuantity(text, "cpu") },
    millicores: { target: "cpu", parse: parseCsvNumber },
    percent: { target: "cpu", parse: (text) => scale(parseCsvNumber(text), millicoresPerPercent) },
    memory: { target: "memory", parse: (text) => parseCsvQuantity(text, "memory") },
    bytes: { target: "memory", parse: parseCsvNumber },
    cache: { target: "cache", parse: (text) => parseCsvQuantity(text, "memory") },
  };
  const columns: Column[] = [];
  for (const { text, column } of cells) {
    const found = Object.hasOwn(known, text.toLowerCase()) ? known[text.toLowerCase()] : undefined;
    const names = Object.keys(known).join(", ");
    if (found === undefined) {
      return { line, column, fault: `Cannot use column ${quote(text)}: the first line names the columns: ${names}` };
    }
    if (columns.some(({ target }) => target === found.target)) {
      return { line, column, fault: `Cannot use column ${quote(text)}: another column has the ${found.target}` };
    }
    columns.push(found);
  }
  if (!columns.some(({ target }) => target === "seconds")) {
    return { line, column: 1, fault: 'Cannot find column "seconds": the first line has to name it' };
  }
  if (!columns.some(({ target }) => target === "cpu" || target === "memory")) {
    return { line, column: 1, fault: "Cannot find a load: name a column cpu, millicores, percent, memory or bytes" };
  }
  return { columns };
}

function parseRow(
  { line, cells }: Row,
  columns: readonly Column[],
): Fault | { readonly amounts: Readonly<Partial<Record<Target, number>>> } {
  const amounts: Partial<Record<Target, number>> = {};
  for (const [index, { target, parse }] of columns.entries()) {
    const cell = cells[index];
    if (cell === undefined) {
      const column = (cells.at(-1)?.column ?? 1) + (cells.at(-1)?.text.length ?? 0);
      return { line, column, fault: `Cannot read the row: ${cells.length} of ${columns.length} columns` };
    }
    const amount = parse(cell.text);
    if (typeof amount === "string") return { line, column: cell.column, fault: amount };
    amounts[target] = amount;
  }
  const extra = cells[columns.length];
  if (extra === undefined) return { amounts };
  return { line, column: extra.column, fault: `Cannot read ${quote(extra.text)}: the header names no such column` };
}

function parseCsvNumber(text: string, { isSigned = false }: { readonly isSigned?: boolean } = {}): number | string {
  const value = NUMBER.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value) || Math.abs(value) > MAX_AMOUNT) return `Cannot parse number ${quote(text)}: write 1.5`;
  return value < 0 && !isSigned ? `Cannot use ${quote(text)}: a load is not negative` : value;
}

function parseCsvQuantity(text: string, resource: "cpu" | "memory"): number | string {
  const parsed = parseAmount(text, resource);
  if (!parsed.ok) return parsed.message;
  return parsed.amount < 0 ? `Cannot use ${quote(text)}: a load is not negative` : parsed.amount;
}

function scale(value: number | string, factor: number): number | string {
  return typeof value === "number" ? value * factor : value;
}

function refuse(file: string, { line, column, fault }: Fault): FetchLoads {
  return { ok: false, message: `${file}:${line}:${column}: ${fault}` };
}
