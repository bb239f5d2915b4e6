/**
 * Computes the status of each autoscaler whose facts changed, once a second, and of all of them from time to time. The
 * writer stores the result; listeners turn it into events and gauges.
 */
import {
  type AutoscalerStatus,
  nextStatus,
  type StatusFacts,
  UNLIMITED,
} from "../../resources/pod_resource_autoscaler/status.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue, type RunQueued } from "../../runtime/event_loop.ts";
import type { ClusterCache } from "../cluster/cache.ts";
import type { AutoscalerFacts } from "../cluster/facts.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { FindUnread } from "../pods/usage_health.ts";
import { type ComputeRecommended, type CountLimited, parseStatus, toStatusFacts } from "./facts.ts";
import type { LastScales } from "./last_scales.ts";
import type { PublishedSizes } from "./sizes.ts";
import type { StatusToWrite, StatusWriter, SweepContext } from "./writer.ts";

export interface StatusSweepOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  readonly cache: Pick<ClusterCache, "listAutoscalers" | "resolve">;
  /** `null` = only the podfits of the pods know it. */
  readonly findUnread: FindUnread | null;
  readonly limits: CountLimited;
  readonly recommended: ComputeRecommended;
  /** `null` if this podfit does not see all pods. */
  readonly sizes: Pick<PublishedSizes, "compute" | "forget"> | null;
  /** This podfit covers one node or pod only. */
  readonly isNodeLocal: boolean;
  /** False for an autoscaler whose status another podfit writes; true by default. */
  readonly isOurs?: (autoscaler: AutoscalerFacts) => boolean;
  readonly lastScales: Pick<LastScales, "find" | "forget">;
  /** False while a list is missing that its status depends on. The status is not changed then. */
  readonly canReport: (autoscaler: AutoscalerFacts) => boolean;
  /** Returns the stale resource of a namespace; `null` = none. */
  readonly findStale?: (namespace: string) => string | null;
  readonly writer: Pick<
    StatusWriter<AutoscalerStatus>,
    "findLast" | "write" | "getDueAtMs" | "settle" | "isIdle" | "forget"
  >;
  readonly listeners: readonly StatusListener[];
  readonly onTrouble: OnFailure;
}

/**
 * A change that only time or usage causes (usage is missing, another size is wanted) is found this late at most. A check
 * visits each pod, so it is less frequent with many pods. Milliseconds.
 */
const RECHECK_MS = { perPod: 1_000, least: 5_000, most: 30_000 };

/** How many objects without a change are checked before the event loop gets its next turn. */
const CHECKS_PER_TURN = 50;

/** Checks all objects, in pieces of work. A piece ends with the first object for which `check` returns true. */
export async function checkInTurns<T>(
  objects: Iterable<T>,
  compute: RunQueued,
  check: (object: T) => boolean,
): Promise<void> {
  const rest = objects[Symbol.iterator]();
  const checkSome = () => {
    for (let checked = 0; checked < CHECKS_PER_TURN; checked++) {
      const { done, value } = rest.next();
      if (done === true) return true;
      if (check(value)) return false;
    }
    return false;
  };
  while (!await compute(checkSome));
}

const RETRY_BASE_MS = 5_000;

const RETRY_MAX_MS = 60_000;

const NO_UNREAD = { count: 0, why: "" };

export interface SweepOptions {
  /** No sweep follows. */
  readonly isLast?: boolean;
  /** Whether to wait for the writes. */
  readonly waits?: boolean;
}

interface SweptAutoscaler {
  /** What the status depended on when it was computed; `null` = it has to be computed again. */
  seen: readonly unknown[] | null;
  lookedAtMs: number;
  lookAtMs: number;
  retryAtMs: number;
  failures: number;
}

/** Remembers what each status depends on, so that an unchanged autoscaler costs little. Clauses: C51. */
export class StatusSweep {
  readonly #options: StatusSweepOptions;
  readonly #memory = new Map<string, SweptAutoscaler>();

  constructor(options: StatusSweepOptions) {
    this.#options = options;
  }

  /** Returns whether all writes have ended. */
  get isIdle(): boolean {
    return this.#options.writer.isIdle;
  }

  /** The autoscaler was deleted. Forgets it here, in the writer and in the listeners. */
  forget(uid: string): void {
    const { writer, listeners, lastScales, sizes } = this.#options;
    this.#memory.delete(uid);
    sizes?.forget(uid);
    lastScales.forget(uid);
    writer.forget(uid);
    for (const listener of listeners) listener.forget(uid);
  }

  /** Something has changed that the status says: it is looked at again now, or some seconds after the last look. */
  touch(uid: string): void {
    const memory = this.#memory.get(uid);
    if (memory !== undefined) memory.lookAtMs = Math.min(memory.lookAtMs, memory.lookedAtMs + RECHECK_MS.least);
  }

  /**
   * Resolves when every changed status was written, has failed, or was delayed to the next sweep. With `waits: false` it
   * does not wait for writes: a slow one keeps no other status back. Never rejects. The last sweep delays nothing.
   */
  async sweep(signal: AbortSignal, { isLast = false, waits = true }: SweepOptions = {}): Promise<void> {
    const { clock, cache, listeners, writer } = this.#options;
    if (isLast) await writer.settle();
    const compute = getComputeQueue(clock);
    const context: SweepContext = { signal, isLast };
    const writes: Promise<void>[] = [];
    await checkInTurns(cache.listAutoscalers(), compute, (autoscaler) => {
      if (!this.#isDue(autoscaler) && !isLast) return false;
      const writing = this.#writeOne(autoscaler, context);
      if (writing !== null) writes.push(writing);
      return true;
    });
    for (const listener of listeners) listener.onSwept?.();
    if (waits) await Promise.all(writes);
  }

  /** Returns `null` if nothing is written now. */
  #writeOne(autoscaler: AutoscalerFacts, context: SweepContext): Promise<void> | null {
    const { canReport, isOurs, writer, listeners } = this.#options;
    const memory = this.#remember(autoscaler.uid);
    const computed = canReport(autoscaler) ? this.#tryCompute(autoscaler, memory) : null;
    if (computed === null) {
      memory.seen = null;
      for (const listener of listeners) listener.onUnknown?.(autoscaler.uid);
      return null;
    }
    const writing = isOurs?.(autoscaler) === false ? null : writer.write(toStatusToWrite(computed), context);
    if (writing === null) return null;
    if (writing === "later") {
      memory.lookAtMs = Math.min(memory.lookAtMs, writer.getDueAtMs(autoscaler.uid));
      return null;
    }
    // The next sweep finds out whether it was written.
    memory.seen = null;
    return writing;
  }

  /**
   * Returns whether something has changed since the last check, or the last check was long ago. Records the current
   * check.
   */
  #isDue(autoscaler: AutoscalerFacts): boolean {
    const { clock, cache, lastScales, findStale } = this.#options;
    const memory = this.#remember(autoscaler.uid);
    const nowMs = clock.monotonic();
    const { selector, matched, oversized, tracked, targetProblems } = cache.resolve(autoscaler);
    const { uid, namespace } = autoscaler;
    const stale = findStale?.(namespace);
    const seen = [autoscaler, selector, matched, oversized, tracked.size, targetProblems, lastScales.find(uid), stale];
    const isSame = memory.seen !== null && seen.every((one, index) => one === memory.seen?.[index]);
    if (isSame && nowMs < memory.lookAtMs) return false;
    memory.seen = seen;
    memory.lookedAtMs = nowMs;
    const { perPod, least, most } = RECHECK_MS;
    memory.lookAtMs = nowMs + Math.min(Math.max(tracked.size * perPod, least), most);
    return true;
  }

  /** Returns `null` if the status cannot be computed. The other autoscalers continue. */
  #tryCompute(autoscaler: AutoscalerFacts, memory: SweptAutoscaler): ComputedStatus | null {
    try {
      const computed = this.#compute(autoscaler);
      for (const listener of this.#options.listeners) listener.onStatus(computed);
      memory.failures = 0;
      return computed;
    } catch (error) {
      const { metrics, clock, random, onTrouble } = this.#options;
      if (clock.monotonic() < memory.retryAtMs) return null;
      const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
      memory.retryAtMs = clock.monotonic() + waitMs;
      metrics.failed(autoscaler.namespace, "StatusCompute");
      onTrouble({ kind: "failure", level: "error", message: "Cannot compute status", autoscaler, fields: { error } });
      return null;
    }
  }

  #compute(parsed: AutoscalerFacts): ComputedStatus {
    const { clock, cache, findStale, findUnread, limits, recommended, sizes, isNodeLocal, lastScales, writer } =
      this.#options;
    const { autoscaler } = parsed;
    const resolution = cache.resolve(parsed);
    const pods = resolution.tracked;
    const now = clock.now();
    const before = writer.findLast(parsed.uid) ?? parseStatus(parsed.status);
    const published = { before: before.containers, nowMs: clock.monotonic() };
    const facts = toStatusFacts(parsed, {
      resolution,
      stale: findStale?.(parsed.namespace) ?? null,
      unread: findUnread === null ? null : autoscaler === null ? NO_UNREAD : findUnread(autoscaler, pods.values()),
      limits: autoscaler === null ? UNLIMITED : limits(autoscaler, pods.values()),
      // The median of only some of the pods is meaningless.
      recommended: autoscaler === null || isNodeLocal ? null : recommended(autoscaler, pods.values()),
      sizes: autoscaler === null || sizes === null ? null : sizes.compute(autoscaler, pods.values(), published),
      isNodeLocal,
      lastScale: lastScales.find(parsed.uid),
      now,
    });
    return { autoscaler: parsed, facts, status: nextStatus(before, facts, now) };
  }

  #remember(uid: string): SweptAutoscaler {
    const memory = this.#memory.get(uid) ?? {
      seen: null,
      lookedAtMs: -Infinity,
      lookAtMs: 0,
      retryAtMs: 0,
      failures: 0,
    };
    this.#memory.set(uid, memory);
    return memory;
  }
}

function toStatusToWrite({ autoscaler, facts, status }: ComputedStatus): StatusToWrite<AutoscalerStatus> {
  return { object: autoscaler, isStale: facts.stale !== null, status };
}

/** A status that was computed, and the facts that it depends on. */
export interface ComputedStatus {
  readonly autoscaler: AutoscalerFacts;
  readonly facts: StatusFacts;
  readonly status: AutoscalerStatus;
}

/** Receives every computed status. If `onStatus` throws, the status counts as not computed. */
export interface StatusListener {
  /** A status was computed; it may be the same as before. */
  onStatus(computed: ComputedStatus): void;
  /** The status of the autoscaler with this uid cannot be computed at present. */
  onUnknown?(uid: string): void;
  /** All autoscalers were checked. */
  onSwept?(): void;
  /** The autoscaler with this uid was deleted. */
  forget(uid: string): void;
}

const SWEEP_MS = 1_000;

const STUCK_AFTER_MS = 60_000;

const LAST_SWEEP_MS = 5_000;

/** Runs a sweep each second and a last one at the end. It records its progress from its construction on. */
export class StatusLoop {
  readonly #clock: Pick<Clock, "monotonic" | "sleep" | "timeout">;
  #progressMs: number;

  constructor(clock: Pick<Clock, "monotonic" | "sleep" | "timeout">) {
    this.#clock = clock;
    this.#progressMs = clock.monotonic();
  }

  /** True if it has made no progress for a minute. */
  get isStuck(): boolean {
    return this.#clock.monotonic() - this.#progressMs > STUCK_AFTER_MS;
  }

  /** A long sweep calls this while it runs. */
  readonly recordProgress = (): void => {
    this.#progressMs = this.#clock.monotonic();
  };

  /** Sweeps until the signal aborts. Calls `before` and `after` around each sweep. */
  async run(
    status: Pick<StatusSweep, "sweep" | "isIdle">,
    { signal, before = () => {}, after = () => {} }: {
      readonly signal: AbortSignal;
      readonly before?: () => void;
      readonly after?: () => void;
    },
  ): Promise<void> {
    while (!signal.aborted) {
      // While writes are under way, only their ends are progress.
      if (status.isIdle) this.recordProgress();
      before();
      await status.sweep(signal, { waits: false });
      after();
      await this.#clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }

  /** Runs the last sweep, for at most 5 s. The last resizes may have been answered while the other parts ended. */
  async writeLast(status: Pick<StatusSweep, "sweep">): Promise<void> {
    using timeout = this.#clock.timeout(LAST_SWEEP_MS);
    await status.sweep(timeout.signal, { isLast: true });
  }
}
