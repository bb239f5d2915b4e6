/**
 * Looks at all autoscalers, again and again, and computes the status of those whose facts have changed; now and then of
 * all, as some of it follows from time alone (C51). What comes of it is written by the status writer and handed to
 * listeners: events and gauges.
 */
import { type AutoscalerStatus, nextStatus } from "../../autoscaler/conditions.ts";
import { UNLIMITED } from "../../autoscaler/limited.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { computeOn } from "../../runtime/compute.ts";
import type { AutoscalerFacts } from "../inventory/facts.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Unread } from "../polling/usage_health.ts";
import type { LastScales } from "./last_scales.ts";
import type { ReadLimits } from "./limits.ts";
import { readStatus } from "./read_status.ts";
import type { ReadRecommended } from "./recommendations.ts";
import { toStatusFacts } from "./status_facts.ts";
import type { StatusListener, StatusLook } from "./status_look.ts";
import type { Pass, StatusToWrite, StatusWriter } from "./status_writer.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where the facts come from, and who takes what follows from them. */
export interface StatusSweepOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  readonly inventory: Pick<Inventory, "autoscalers" | "resolve">;
  /** `null` = the podfits of the pods know it, and this one does not. */
  readonly unread: Unread | null;
  readonly limits: ReadLimits;
  readonly recommended: ReadRecommended;
  /** This podfit looks after one node or pod only. */
  readonly isNodeLocal: boolean;
  /** False for an autoscaler whose status others write; true by default. */
  readonly isOurs?: (autoscaler: AutoscalerFacts) => boolean;
  readonly lastScales: Pick<LastScales, "read" | "forget">;
  /** False while a list is missing from which its status would follow: then it is left as it is. */
  readonly canReport: (autoscaler: AutoscalerFacts) => boolean;
  /** The resource that is too old to go by in a namespace; `null` = none. */
  readonly findStale?: (namespace: string) => string | null;
  readonly writer: Pick<StatusWriter<AutoscalerStatus>, "readLast" | "write" | "forget">;
  readonly listeners: readonly StatusListener[];
  readonly onTrouble: OnTrouble;
}

/**
 * What follows from time alone (a cooldown that ends, usage that stays away) shows this late at most. A look is at each of the
 * pods: where they are many, it comes as seldom as most of them are evaluated.
 */
const LOOK_AGAIN_MS = { perPod: 150, least: 5_000, most: 15_000 };
const RETRY_BASE_MS = 5_000;
const RETRY_MAX_MS = 60_000;

const NONE_UNREAD = { count: 0, why: "" };

interface Memory {
  /** What the status followed from when it was computed; `null` when it has to be computed anew. */
  seen: readonly unknown[] | null;
  lookAtMs: number;
  retryAtMs: number;
  failures: number;
}

/** Remembers what each status followed from, so that an unchanged autoscaler costs little. */
export class StatusSweep {
  readonly #options: StatusSweepOptions;
  readonly #memory = new Map<string, Memory>();

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
    const { clock, inventory, listeners } = this.#options;
    const compute = computeOn(clock);
    const pass: Pass = { signal, isUnanswered: false, isLast };
    const writes: Promise<void>[] = [];
    for (const autoscaler of inventory.autoscalers()) {
      await compute(() => {
        const writing = this.#sweepOne(autoscaler, pass);
        if (writing !== null) writes.push(writing);
      });
    }
    for (const listener of listeners) listener.onSwept?.();
    await Promise.all(writes);
  }

  /** `null` = nothing is written, or later. */
  #sweepOne(autoscaler: AutoscalerFacts, pass: Pass): Promise<void> | null {
    const { canReport, isOurs, writer, listeners } = this.#options;
    const memory = this.#remember(autoscaler.uid);
    if (!this.#mustLook(autoscaler, memory) && !pass.isLast) return null;
    const look = canReport(autoscaler) ? this.#tryLook(autoscaler, memory) : null;
    if (look === null) {
      memory.seen = null;
      for (const listener of listeners) listener.onUnknown?.(autoscaler.uid);
      return null;
    }
    const writing = isOurs?.(autoscaler) === false ? null : writer.write(toWrite(look), pass);
    if (writing === null) return null;
    // Whether it was written shows with the next sweep.
    memory.seen = null;
    return writing === "later" ? null : writing;
  }

  /** Something has changed since the last look, or that was long ago. Notes that it is looked at now. */
  #mustLook(autoscaler: AutoscalerFacts, memory: Memory): boolean {
    const { clock, inventory, lastScales, findStale } = this.#options;
    const nowMs = clock.monotonic();
    const { selector, matched, tracked, targetProblems } = inventory.resolve(autoscaler);
    const { uid, namespace } = autoscaler;
    const stale = findStale?.(namespace);
    const seen = [autoscaler, selector, matched, tracked.size, targetProblems, lastScales.read(uid), stale];
    const isSame = memory.seen !== null && seen.every((one, index) => one === memory.seen?.[index]);
    if (isSame && nowMs < memory.lookAtMs) return false;
    memory.seen = seen;
    const { perPod, least, most } = LOOK_AGAIN_MS;
    memory.lookAtMs = nowMs + Math.min(Math.max(tracked.size * perPod, least), most);
    return true;
  }

  /** `null` for one that cannot be computed: the others go on. */
  #tryLook(autoscaler: AutoscalerFacts, memory: Memory): StatusLook | null {
    try {
      const look = this.#look(autoscaler);
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

  #look(parsed: AutoscalerFacts): StatusLook {
    const { clock, inventory, findStale, unread, limits, recommended, isNodeLocal, lastScales, writer } = this.#options;
    const { autoscaler } = parsed;
    const resolution = inventory.resolve(parsed);
    const pods = resolution.tracked;
    const now = clock.now();
    const facts = toStatusFacts(parsed, {
      resolution,
      stale: findStale?.(parsed.namespace) ?? null,
      unread: unread === null ? null : autoscaler === null ? NONE_UNREAD : unread(autoscaler, pods.values()),
      limits: autoscaler === null ? UNLIMITED : limits(autoscaler, pods.values()),
      // Of a part of the pods a median says nothing.
      recommended: autoscaler === null || isNodeLocal ? null : recommended(autoscaler, pods.values()),
      isNodeLocal,
      lastScale: lastScales.read(parsed.uid),
      now,
    });
    const before = writer.readLast(parsed.uid) ?? readStatus(parsed.status);
    return { autoscaler: parsed, facts, status: nextStatus(before, facts, now) };
  }

  #remember(uid: string): Memory {
    const memory = this.#memory.get(uid) ?? { seen: null, lookAtMs: 0, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}

function toWrite({ autoscaler, facts, status }: StatusLook): StatusToWrite<AutoscalerStatus> {
  return { object: autoscaler, isStale: facts.stale !== null, status };
}
