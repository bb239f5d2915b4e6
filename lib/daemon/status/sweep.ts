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
import { getComputeQueue } from "../../runtime/event_loop.ts";
import type { ClusterCache } from "../cluster/cache.ts";
import type { AutoscalerFacts } from "../cluster/facts.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { FindUnread } from "../pods/usage_health.ts";
import { type ComputeRecommended, type CountLimited, parseStatus, toStatusFacts } from "./facts.ts";
import type { LastScales } from "./last_scales.ts";
import type { StatusToWrite, StatusWriter, SweepContext } from "./writer.ts";

// Looks at all autoscalers, again and again, and computes the status of those whose facts have changed; now and then
// of all, as some of it follows from time alone (C51). What comes of it is written by the status writer and handed to
// listeners: events and gauges.

/** Where the facts come from, and who takes what follows from them. */
export interface StatusSweepOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  readonly cache: Pick<ClusterCache, "listAutoscalers" | "resolve">;
  /** `null` = the podfits of the pods know it, and this one does not. */
  readonly findUnread: FindUnread | null;
  readonly limits: CountLimited;
  readonly recommended: ComputeRecommended;
  /** This podfit looks after one node or pod only. */
  readonly isNodeLocal: boolean;
  /** False for an autoscaler whose status others write; true by default. */
  readonly isOurs?: (autoscaler: AutoscalerFacts) => boolean;
  readonly lastScales: Pick<LastScales, "find" | "forget">;
  /** False while a list is missing from which its status would follow: then it is left as it is. */
  readonly canReport: (autoscaler: AutoscalerFacts) => boolean;
  /** The resource that is too old to go by in a namespace; `null` = none. */
  readonly findStale?: (namespace: string) => string | null;
  readonly writer: Pick<StatusWriter<AutoscalerStatus>, "findLast" | "write" | "forget">;
  readonly listeners: readonly StatusListener[];
  readonly onTrouble: OnFailure;
}

/**
 * What follows from time alone (a cooldown that ends, usage that stays away) shows this late at most. A look is at each of the
 * pods: where they are many, it comes as seldom as most of them are evaluated.
 */
const RECHECK_MS = { perPod: 150, least: 5_000, most: 15_000 };

const RETRY_BASE_MS = 5_000;

const RETRY_MAX_MS = 60_000;

const NO_UNREAD = { count: 0, why: "" };

interface SweptAutoscaler {
  /** What the status followed from when it was computed; `null` when it has to be computed anew. */
  seen: readonly unknown[] | null;
  lookAtMs: number;
  retryAtMs: number;
  failures: number;
}

/** Remembers what each status followed from, so that an unchanged autoscaler costs little. */
export class StatusSweep {
  readonly #options: StatusSweepOptions;
  readonly #memory = new Map<string, SweptAutoscaler>();

  constructor(options: StatusSweepOptions) {
    this.#options = options;
  }

  /** The autoscaler was deleted: nothing is kept of it, here and by those who hear of it. */
  forget(uid: string): void {
    const { writer, listeners, lastScales } = this.#options;
    this.#memory.delete(uid);
    lastScales.forget(uid);
    writer.forget(uid);
    for (const listener of listeners) listener.forget(uid);
  }

  /**
   * Resolves when all that differed is written, has failed, or was put off to the next sweep. Never rejects. The last
   * one puts nothing off.
   */
  async sweep(signal: AbortSignal, { isLast = false } = {}): Promise<void> {
    const { clock, cache, listeners } = this.#options;
    const compute = getComputeQueue(clock);
    const pass: SweepContext = { signal, isUnanswered: false, isLast };
    const writes: Promise<void>[] = [];
    for (const autoscaler of cache.listAutoscalers()) {
      await compute(() => {
        const writing = this.#sweepOne(autoscaler, pass);
        if (writing !== null) writes.push(writing);
      });
    }
    for (const listener of listeners) listener.onSwept?.();
    await Promise.all(writes);
  }

  /** `null` = nothing is written, or later. */
  #sweepOne(autoscaler: AutoscalerFacts, pass: SweepContext): Promise<void> | null {
    const { canReport, isOurs, writer, listeners } = this.#options;
    const memory = this.#remember(autoscaler.uid);
    if (!this.#isDue(autoscaler, memory) && !pass.isLast) return null;
    const look = canReport(autoscaler) ? this.#tryCompute(autoscaler, memory) : null;
    if (look === null) {
      memory.seen = null;
      for (const listener of listeners) listener.onUnknown?.(autoscaler.uid);
      return null;
    }
    const writing = isOurs?.(autoscaler) === false ? null : writer.write(toStatusToWrite(look), pass);
    if (writing === null) return null;
    // Whether it was written shows with the next sweep.
    memory.seen = null;
    return writing === "later" ? null : writing;
  }

  /** Something has changed since the last look, or that was long ago. Notes that it is looked at now. */
  #isDue(autoscaler: AutoscalerFacts, memory: SweptAutoscaler): boolean {
    const { clock, cache, lastScales, findStale } = this.#options;
    const nowMs = clock.monotonic();
    const { selector, matched, tracked, targetProblems } = cache.resolve(autoscaler);
    const { uid, namespace } = autoscaler;
    const stale = findStale?.(namespace);
    const seen = [autoscaler, selector, matched, tracked.size, targetProblems, lastScales.find(uid), stale];
    const isSame = memory.seen !== null && seen.every((one, index) => one === memory.seen?.[index]);
    if (isSame && nowMs < memory.lookAtMs) return false;
    memory.seen = seen;
    const { perPod, least, most } = RECHECK_MS;
    memory.lookAtMs = nowMs + Math.min(Math.max(tracked.size * perPod, least), most);
    return true;
  }

  /** `null` for one that cannot be computed: the others go on. */
  #tryCompute(autoscaler: AutoscalerFacts, memory: SweptAutoscaler): ComputedStatus | null {
    try {
      const look = this.#compute(autoscaler);
      for (const listener of this.#options.listeners) listener.onStatus(look);
      memory.failures = 0;
      return look;
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
    const { clock, cache, findStale, findUnread, limits, recommended, isNodeLocal, lastScales, writer } = this.#options;
    const { autoscaler } = parsed;
    const resolution = cache.resolve(parsed);
    const pods = resolution.tracked;
    const now = clock.now();
    const facts = toStatusFacts(parsed, {
      resolution,
      stale: findStale?.(parsed.namespace) ?? null,
      unread: findUnread === null ? null : autoscaler === null ? NO_UNREAD : findUnread(autoscaler, pods.values()),
      limits: autoscaler === null ? UNLIMITED : limits(autoscaler, pods.values()),
      // Of a part of the pods a median says nothing.
      recommended: autoscaler === null || isNodeLocal ? null : recommended(autoscaler, pods.values()),
      isNodeLocal,
      lastScale: lastScales.find(parsed.uid),
      now,
    });
    const before = writer.findLast(parsed.uid) ?? parseStatus(parsed.status);
    return { autoscaler: parsed, facts, status: nextStatus(before, facts, now) };
  }

  #remember(uid: string): SweptAutoscaler {
    const memory = this.#memory.get(uid) ?? { seen: null, lookAtMs: 0, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}

function toStatusToWrite({ autoscaler, facts, status }: ComputedStatus): StatusToWrite<AutoscalerStatus> {
  return { object: autoscaler, isStale: facts.stale !== null, status };
}

// One look at an autoscaler: what its status follows from and the status; and who is handed every such look.

/** An autoscaler, what its status follows from, and the status. */
export interface ComputedStatus {
  readonly autoscaler: AutoscalerFacts;
  readonly facts: StatusFacts;
  readonly status: AutoscalerStatus;
}

/** Hears of every look. An autoscaler for which `onStatus` throws counts as one that cannot be computed. */
export interface StatusListener {
  /** A status was computed anew; it may be the same as before. */
  onStatus(look: ComputedStatus): void;
  /** The status of the autoscaler with this uid cannot be computed at present. */
  onUnknown?(uid: string): void;
  /** All autoscalers were looked at. */
  onSwept?(): void;
  /** The autoscaler with this uid was deleted. */
  forget(uid: string): void;
}

// The loop that keeps statuses current: a sweep each second, a last one at the end, and whether it turns at all.

const SWEEP_MS = 1_000;

const STUCK_AFTER_MS = 60_000;

const LAST_SWEEP_MS = 5_000;

/** Notes its own progress from the moment that it is made. */
export class StatusLoop {
  readonly #clock: Pick<Clock, "monotonic" | "sleep" | "timeout">;
  #progressMs: number;

  constructor(clock: Pick<Clock, "monotonic" | "sleep" | "timeout">) {
    this.#clock = clock;
    this.#progressMs = clock.monotonic();
  }

  /** True once it has made no progress for a minute. */
  get isStuck(): boolean {
    return this.#clock.monotonic() - this.#progressMs > STUCK_AFTER_MS;
  }

  /** A sweep of many autoscalers makes progress while it goes on. */
  readonly recordProgress = (): void => {
    this.#progressMs = this.#clock.monotonic();
  };

  /** Sweeps until the signal aborts; `before` and `after` are called around each sweep. */
  async run(
    status: Pick<StatusSweep, "sweep">,
    { signal, before = () => {}, after = () => {} }: {
      readonly signal: AbortSignal;
      readonly before?: () => void;
      readonly after?: () => void;
    },
  ): Promise<void> {
    while (!signal.aborted) {
      this.recordProgress();
      before();
      await status.sweep(signal);
      after();
      await this.#clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }

  /** The last resizes may have been answered while everything else was ending. */
  async writeLast(status: Pick<StatusSweep, "sweep">): Promise<void> {
    using timeout = this.#clock.timeout(LAST_SWEEP_MS);
    await status.sweep(timeout.signal, { isLast: true });
  }
}
