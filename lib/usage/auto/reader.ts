/** One source's readings of one node, and how it has done lately. */
import type { Reading } from "../../api/usage.ts";
import { FAILED_READS, FOR_A_PERSON } from "../failed_reads.ts";
import type { Patience } from "./patience.ts";
import type { UsageNode, WatchUsage, WatchUsageOptions } from "../watch_usage.ts";

/** A source, as one node sees it. */
export interface Candidate {
  /** As it stands in the log and in metrics. */
  readonly name: string;
  readonly watchUsage: WatchUsage;
  readonly patience: Patience;
}

/** A reading, or the end, and whose it is. */
export interface Next {
  readonly reader: Reader;
  readonly result: IteratorResult<Reading, unknown>;
}

/** Reads until it is closed, or the watch ends. */
export class Reader {
  readonly source: Candidate;
  readonly #ending = new AbortController();
  readonly #readings: AsyncIterator<Reading>;
  #next: Promise<Next> | null = null;
  #failures = 0;
  #successes = 0;
  #why: string | null = null;

  constructor(source: Candidate, node: UsageNode, watch: WatchUsageOptions) {
    this.source = source;
    const signal = AbortSignal.any([watch.signal, this.#ending.signal]);
    this.#readings = source.watchUsage(node, { ...watch, signal })[Symbol.asyncIterator]();
  }

  /** In a row, up to now. What does not heal by itself counts as many. */
  get failures(): number {
    return this.#failures;
  }

  /** In a row, up to now. */
  get successes(): number {
    return this.#successes;
  }

  /** Why the last one failed; `null` before any did. */
  get why(): string | null {
    return this.#why;
  }

  /** The same promise until its reading is taken. */
  next(): Promise<Next> {
    return this.#next ??= this.#readings.next().then((result) => ({ reader: this, result }));
  }

  /** Takes the reading that `next` gave. */
  take(reading: Reading, isUseful: boolean): void {
    this.#next = null;
    if (isUseful) {
      this.#failures = 0;
      this.#successes++;
      return;
    }
    this.#successes = 0;
    this.#failures += reading.kind === "failed" && FOR_A_PERSON.has(reading.reason) ? FAILED_READS : 1;
    this.#why = reading.kind === "failed"
      ? reading.message
      : `Cannot read usage of node "${reading.node}" from ${this.source.name}: it has none of the node's containers`;
  }

  close(): void {
    this.#ending.abort();
    // What it holds is put away, also where nobody waits for its next reading.
    void this.#readings.return?.();
  }
}

/** Says whether a source is to be left, if there is another. */
export function isFailing({ failures }: { readonly failures: number }): boolean {
  return failures >= FAILED_READS;
}
