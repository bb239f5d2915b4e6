/**
 * One family of metrics: its series, kept under the object that they belong to, so that all of a deleted autoscaler go in
 * one step. A series is there from its first use, and is a row of plain numbers: there may be 200,000 of them.
 */
import type { FamilyRow } from "./families.ts";
import { formatHeader, formatHistogram, formatLabels, formatSample, joinLabels } from "./text.ts";

/** A value for each label name. */
export type Labels<Name extends string = string> = Readonly<Record<Name, string>>;

/** What a series belongs to: an object or a namespace; {} for a family that belongs to neither. */
export interface Owner {
  readonly namespace?: string;
  readonly name?: string;
}

/** The series of one family, by owner and labels. */
export class Family<Label extends string = string> {
  readonly #row: FamilyRow;
  /** As text, of every series. */
  readonly #constant: string;
  readonly #ownerLabels: readonly string[];
  readonly #otherLabels: readonly string[];
  /** By the text of the owner's labels, then by that of the others. */
  readonly #owners = new Map<string, Map<string, number[]>>();
  /** One string for all owners that have the same. */
  readonly #others = new Map<string, string>();

  constructor(row: FamilyRow, constant: Labels = {}) {
    this.#row = row;
    this.#constant = formatLabels(Object.keys(constant), constant);
    const { ownerLabels = OWNER_LABELS } = row;
    this.#ownerLabels = ownerLabels.filter((label) => row.labels.includes(label));
    this.#otherLabels = row.labels.filter((label) => !ownerLabels.includes(label));
  }

  /** It belongs to one object, not to a namespace or to podfit. */
  get hasOwner(): boolean {
    return this.#ownerLabels.length === OWNER_LABELS.length;
  }

  /** How many owners have a series. */
  get size(): number {
    return this.#owners.size;
  }

  /** Adds to a counter, sets a gauge, observes in a histogram. Only the family's own labels are taken. */
  record(labels: Labels<Label>, value: number): void {
    if (!Number.isFinite(value)) return;
    const { kind, buckets = [] } = this.#row;
    const row = this.#find(labels);
    if (kind === "gauge") row[0] = value;
    else if (kind === "counter") row[0] = (row[0] ?? 0) + value;
    else {
      const above = buckets.findIndex((bound) => value <= bound);
      const index = above < 0 ? buckets.length : above;
      row[index] = (row[index] ?? 0) + 1;
      row[buckets.length + 1] = (row[buckets.length + 1] ?? 0) + value;
    }
  }

  forget(owner: Owner): void {
    this.#owners.delete(this.#toText(owner));
  }

  /** Forgets all others. */
  keep(owners: Iterable<Owner>): void {
    const kept = new Set(Array.from(owners, (owner) => this.#toText(owner)));
    for (const owner of this.#owners.keys()) if (!kept.has(owner)) this.#owners.delete(owner);
  }

  /** The header, then the series of one owner at a time, as they are when asked for: each once, at most. */
  *write(): Generator<string> {
    yield formatHeader(this.#row);
    // Not the map itself: an owner that goes and comes back meanwhile would be written twice.
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
      const shared = this.#others.get(other) ?? other;
      this.#others.set(shared, shared);
      series.set(shared, row = this.#newRow());
    }
    return row;
  }

  /** The value; of a histogram the count of each bucket, of what is above all, and the sum. */
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
