/**
 * Which of two sources is used for a node? The better one, and the other one while the better one fails.
 *
 * Each node is judged separately. A failing source is left once the other has given usage. The better one returns after
 * several good readings in a row, tried after growing waits. Readings of one source are given at a time: a change of
 * the source counts as another instance of each container, so the streaks of the node's pods start again.
 */
import type { Reading } from "../api/usage.ts";
import type { Clock } from "../runtime/clock.ts";
import {
  LASTING_FAILURES,
  MAX_FAILED_READS,
  type UsageNode,
  type WatchUsage,
  type WatchUsageOptions,
} from "./source.ts";

/** Returns a source of which each reading names its origin in `served`. */
export function createAutoSource(better: NamedSource, other: NamedSource, options: AutoSourceOptions): WatchUsage {
  return async function* (node, watch) {
    const first: SourceOfNode = { ...better, timeouts: new RetryTimeouts(options) };
    const second: SourceOfNode = { ...other, timeouts: new RetryTimeouts(options) };
    let serving = new SourceReader(first, node, watch);
    let trial: SourceReader | null = null;
    // Why the idle source is not better.
    let elsewhere: string | null = null;
    // A reader that is closed must not keep the place of the one that serves.
    watch.onShorterInterval?.(() => {
      serving.readSooner();
      trial?.readSooner();
    });

    const mark = (reading: Reading): Reading => {
      const { source } = serving;
      const served = { source: source.name, because: source === first ? null : elsewhere };
      return reading.kind === "usage" || elsewhere === null
        ? { ...reading, served }
        : { ...reading, served, message: `${reading.message}; ${elsewhere}` };
    };
    const startTrial = (): SourceReader | null => {
      const source = serving.source === first ? second : first;
      const isUrgent = isFailing(serving);
      return (isUrgent || source === first) && source.timeouts.mayTry(isUrgent)
        ? new SourceReader(source, node, watch)
        : null;
    };

    try {
      while (true) {
        const next: readonly Promise<NextReading>[] = trial === null
          ? [serving.next()]
          : [serving.next(), trial.next()];
        const { reader, result } = await Promise.race(next);
        if (result.done === true) return;
        reader.take(result.value, isUseful(result.value, watch));
        if (reader === serving) {
          if (serving.source === first && serving.failures === 0) {
            elsewhere = null;
            trial?.close();
            trial = null;
          }
          trial ??= startTrial();
          yield mark(result.value);
        } else if (reader.failures > 0) {
          elsewhere = reader.why;
          reader.source.timeouts.recordFailure();
          reader.close();
          trial = null;
        } else if (reader.successes >= (isFailing(serving) ? 1 : RETURN_AFTER)) {
          elsewhere = isFailing(serving) ? serving.why : null;
          if (isFailing(serving)) serving.source.timeouts.stopServing();
          serving.close();
          serving = reader;
          trial = null;
          serving.source.timeouts.startServing();
          yield mark(result.value);
        }
      }
    } finally {
      serving.close();
      trial?.close();
    }
  };
}

/** A source and its name. */
type NamedSource = Pick<SourceOfNode, "name" | "watchUsage">;

/** The clock, and a random number from 0 to 1 that spreads the tries of many nodes. */
interface AutoSourceOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly random: () => number;
}

/** Readings in a row, so that a source that fails now and then does not come and go. */
const RETURN_AFTER = 3;

/**
 * metrics.k8s.io does not list a node that is down. This is not a failure, but the reading has no usage of the node.
 */
function isUseful(reading: Reading, watch: WatchUsageOptions): boolean {
  return reading.kind === "usage" && (reading.pods.size > 0 || !isAnythingRunning(watch));
}

function isAnythingRunning({ pods }: WatchUsageOptions): boolean {
  for (const { containers } of pods()) if (containers.some(({ runningAt }) => runningAt !== null)) return true;
  return false;
}

/** The source of one node. */
interface SourceOfNode {
  /** The name in the log and in metrics. */
  readonly name: string;
  readonly watchUsage: WatchUsage;
  readonly timeouts: RetryTimeouts;
}

/** A reading, or the end, with its source. */
interface NextReading {
  readonly reader: SourceReader;
  readonly result: IteratorResult<Reading, unknown>;
}

/** Reads until it is closed, or the watch ends. */
class SourceReader {
  readonly source: SourceOfNode;
  /** Called when the interval may have become shorter. */
  readSooner = () => {};
  readonly #ending = new AbortController();
  readonly #readings: AsyncIterator<Reading>;
  #next: Promise<NextReading> | null = null;
  #failures = 0;
  #successes = 0;
  #why: string | null = null;

  constructor(source: SourceOfNode, node: UsageNode, watch: WatchUsageOptions) {
    this.source = source;
    const signal = AbortSignal.any([watch.signal, this.#ending.signal]);
    const onShorterInterval = (call: () => void) => this.readSooner = call;
    this.#readings = source.watchUsage(node, { ...watch, onShorterInterval, signal })[Symbol.asyncIterator]();
  }

  /** Failures in a row. A failure that needs an operator counts as many. */
  get failures(): number {
    return this.#failures;
  }

  /** Good readings in a row. */
  get successes(): number {
    return this.#successes;
  }

  /** Why the last reading failed; `null` before the first failure. */
  get why(): string | null {
    return this.#why;
  }

  /** The same promise until its reading is taken. */
  next(): Promise<NextReading> {
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
    this.#failures += reading.kind === "failed" && LASTING_FAILURES.has(reading.reason) ? MAX_FAILED_READS : 1;
    this.#why = reading.kind === "failed"
      ? reading.message
      : `Cannot read usage of node "${reading.node}" from ${this.source.name}: it has none of the node's containers`;
  }

  close(): void {
    this.#ending.abort();
    // The source's resources are released even if no caller waits for the next reading.
    void this.#readings.return?.();
  }
}

/** Returns whether a source should be left, if there is another. */
function isFailing({ failures }: { readonly failures: number }): boolean {
  return failures >= MAX_FAILED_READS;
}

const MIN_WAIT_MS = 60_000;

/** When a failed source may be tried again. Waits grow, so that an unstable source is used less and less. */
class RetryTimeouts {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #random: () => number;
  #waitMs = MIN_WAIT_MS;
  #failedAtMs = -Infinity;
  #untilMs = -Infinity;
  #servesSinceMs: number;

  /** `random` returns a number from 0 to 1. */
  constructor({ clock, random }: { readonly clock: Pick<Clock, "monotonic">; readonly random: () => number }) {
    this.#clock = clock;
    this.#random = random;
    this.#servesSinceMs = clock.monotonic();
  }

  /** `isUrgent`: nothing else gives usage, so the wait is short, and does not grow. */
  mayTry(isUrgent: boolean): boolean {
    const nowMs = this.#clock.monotonic();
    return nowMs >= this.#untilMs || isUrgent && nowMs - this.#failedAtMs >= URGENT_WAIT_MS;
  }

  /** The try has failed. */
  recordFailure(): void {
    const nowMs = this.#clock.monotonic();
    this.#failedAtMs = nowMs;
    this.#untilMs = nowMs + this.#waitMs * (1 + JITTER * this.#random());
    this.#waitMs = Math.min(2 * this.#waitMs, MAX_WAIT_MS);
  }

  /** The source is in use from now on. */
  startServing(): void {
    this.#servesSinceMs = this.#clock.monotonic();
  }

  /** The source was in use and fails now: after a long good time the wait starts at the shortest again. */
  stopServing(): void {
    if (this.#clock.monotonic() - this.#servesSinceMs >= MAX_WAIT_MS) this.#waitMs = MIN_WAIT_MS;
    this.recordFailure();
  }
}

/** One poll of metrics-server: a pod that it does not know yet may be in its next list. */
const URGENT_WAIT_MS = 15_000;

const MAX_WAIT_MS = 30 * 60_000;

const JITTER = 0.2;
