/**
 * The series of one metric family, grouped by the object that they belong to, and their text format. A series is a row
 * of plain numbers, because there may be 200,000 of them.
 */
import { createDeduplicator } from "../../runtime/buffers.ts";
import type { FamilyRow } from "./families.ts";

/** The value of each label. */
type Labels<Name extends string = string> = Readonly<Record<Name, string>>;

/** The object or namespace that a series belongs to; {} = neither. */
interface Owner {
  readonly namespace?: string;
  readonly name?: string;
}

/** The series of one family, by owner and labels. All series of a deleted owner are removed in one step. */
export class Family<Label extends string = string> {
  readonly #row: FamilyRow;
  /** The labels of every series, as text. */
  readonly #constant: string;
  readonly #ownerLabels: readonly string[];
  readonly #otherLabels: readonly string[];
  /** By the text of the owner's labels, then by the text of the other labels. */
  readonly #owners = new Map<string, Map<string, number[]>>();
  /** Returns one shared string for equal label texts. */
  readonly #share = createDeduplicator((text: string) => text);
  /** The row of a series, by the object of its labels. */
  #rows = new WeakMap<object, number[]>();

  constructor(row: FamilyRow, constant: Labels = {}) {
    this.#row = row;
    this.#constant = formatLabels(Object.keys(constant), constant);
    const { ownerLabels = OWNER_LABELS } = row;
    this.#ownerLabels = ownerLabels.filter((label) => row.labels.includes(label));
    this.#otherLabels = row.labels.filter((label) => !ownerLabels.includes(label));
  }

  /** Whether its series belong to an object, and not to a namespace or to podfit. */
  get hasOwner(): boolean {
    return this.#ownerLabels.length === OWNER_LABELS.length;
  }

  /** The number of owners that have a series. */
  get size(): number {
    return this.#owners.size;
  }

  /**
   * Adds to a counter, sets a gauge, or observes a value in a histogram. Labels that the family does not have are
   * ignored.
   */
  record(labels: Labels<Label>, value: number): void {
    if (Number.isFinite(value)) this.#record(this.#find(labels), value);
  }

  /** As `record`, for an object of labels that never changes: from the second time on its series is found without text. */
  recordAgain(labels: Labels<Label>, value: number): void {
    if (!Number.isFinite(value)) return;
    let row = this.#rows.get(labels);
    if (row === undefined) this.#rows.set(labels, row = this.#find(labels));
    this.#record(row, value);
  }

  #record(row: number[], value: number): void {
    const { kind, buckets = [] } = this.#row;
    if (kind === "gauge") row[0] = value;
    else if (kind === "counter") row[0] = (row[0] ?? 0) + value;
    else {
      let index = 0;
      while (index < buckets.length && value > (buckets[index] ?? Infinity)) index++;
      row[index] = (row[index] ?? 0) + 1;
      row[buckets.length + 1] = (row[buckets.length + 1] ?? 0) + value;
    }
  }

  forget(owner: Owner): void {
    this.#rows = new WeakMap();
    this.#owners.delete(this.#toText(owner));
  }

  /** Removes the series of all other owners. */
  keep(owners: Iterable<Owner>): void {
    const kept = new Set(Array.from(owners, (owner) => this.#toText(owner)));
    this.#rows = new WeakMap();
    for (const owner of this.#owners.keys()) if (!kept.has(owner)) this.#owners.delete(owner);
  }

  /** Yields the header, then the current series of one owner at a time. Each owner appears at most once. */
  *write(): Generator<string> {
    yield formatHeader(this.#row);
    // A copy of the keys: an owner that is removed and added again meanwhile would be written twice.
    for (const owner of [...this.#owners.keys()]) {
      let text = "";
      for (const [other, row] of this.#owners.get(owner) ?? []) text += this.#format(owner, other, row);
      yield text;
    }
  }

  #find(labels: Labels): number[] {
    const owner = formatLabels(this.#ownerLabels, labels);
    const other = formatLabels(this.#otherLabels, labels);
    let series = this.#owners.get(owner);
    if (series === undefined) this.#owners.set(owner, series = new Map());
    let row = series.get(other);
    if (row === undefined) {
      series.set(this.#share(other), row = this.#newRow());
    }
    return row;
  }

  /**
   * Returns a row with one value. A histogram has the count of each bucket, the count above all buckets, and the sum.
   */
  #newRow(): number[] {
    const { kind, buckets = [] } = this.#row;
    return new Array(kind === "histogram" ? buckets.length + 2 : 1).fill(0);
  }

  #toText({ namespace = "", name = "" }: Owner): string {
    const [first = "", second = ""] = this.#ownerLabels;
    return formatLabels(this.#ownerLabels, { [second]: name, [first]: namespace });
  }

  #format(owner: string, other: string, row: readonly number[]): string {
    const labels = joinLabels([this.#constant, owner, other]);
    if (this.#row.kind !== "histogram") return formatSample(this.#row.name, labels, row[0] ?? 0);
    return formatHistogram(this.#row, labels, { counts: row.slice(0, -1), sum: row.at(-1) ?? 0 });
  }
}

const OWNER_LABELS: readonly string[] = ["namespace", "name"];

/**
 * The media type of the Prometheus text format 0.0.4. OpenMetrics is not possible: it requires `_total` at the end of
 * each counter's name, and some inherited names lack it. https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Returns the HELP and TYPE lines of a family, each with its newline. */
export function formatHeader({ name, help, kind }: FamilyRow): string {
  return `# HELP ${name} ${help.replace(/[\\\n]/g, escape)}\n# TYPE ${name} ${kind}\n`;
}

/** Names of objects have at most 253 characters. */
const MAX_VALUE_LENGTH = 256;

/**
 * Shortens a long value and adds its hash, so that two values rarely become one. One tenant's value must not make
 * Prometheus refuse the page of all.
 */
function limitValue(value: string): string {
  if (value.length <= MAX_VALUE_LENGTH) return value;
  let hash = 0;
  for (let index = 0; index < value.length; index++) hash = (Math.imul(hash, 31) + value.charCodeAt(index)) >>> 0;
  const end = `~${hash.toString(16).padStart(8, "0")}`;
  return value.slice(0, MAX_VALUE_LENGTH - end.length) + end;
}

/** Returns the named labels in their order: `resource="cpu",side="requests"`. Values have at most 256 characters. */
export function formatLabels(names: readonly string[], labels: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name of names) {
    const value = limitValue(labels[name] ?? "");
    text += `${text === "" ? "" : ","}${name}="${MUST_ESCAPE.test(value) ? value.replace(/[\\\n"]/g, escape) : value}"`;
  }
  return text;
}

/** Returns texts of `formatLabels` joined; empty ones are left out. */
function joinLabels(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(",");
}

/** Returns one line with its newline; `labels` is a text of `formatLabels`. */
export function formatSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${formatNumber(value)}\n`;
}

/** Returns the lines of a histogram. `counts`: of each bucket alone, the last one without an upper bound. */
export function formatHistogram(
  { name, buckets = [] }: FamilyRow,
  labels: string,
  { counts, sum }: { readonly counts: readonly number[]; readonly sum: number },
): string {
  const start = `${name}_bucket{${labels}${labels === "" ? "" : ","}le="`;
  let [text, count] = ["", 0];
  for (const [index, ofBucket] of counts.entries()) {
    count += ofBucket;
    text += `${start}${formatNumber(buckets[index] ?? Infinity)}"} ${count}\n`;
  }
  return text + formatSample(`${name}_sum`, labels, sum) + formatSample(`${name}_count`, labels, count);
}

/** Returns a value in the text format, also an infinite one. */
export function formatNumber(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

const MUST_ESCAPE = /[\\\n"]/;

function escape(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}
