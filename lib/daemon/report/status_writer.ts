/**
 * Keeps each autoscaler's status equal to what is so (C51): computed whole from facts, and written when it differs, with
 * one merge patch. Each sweep looks at those whose facts have changed, and now and then at all, as some follow from time
 * alone. Also counts the gauges, and tells what only a sweep can see (C8, C10, C15).
 */
import { type AutoscalerStatus, type LastScale, nextStatus, type StatusFacts } from "../../autoscaler/conditions.ts";
import type { NoticeName } from "../../core/reasons.ts";
import { ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Log } from "../../runtime/log.ts";
import { type AutoscalerFacts, formatName } from "../inventory/facts.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { isEqual, toMergePatch } from "./merge_patch.ts";
import type { Metrics, Totals } from "../metrics/metrics.ts";
import type { Recorder } from "./recorder.ts";
import { readStatus } from "./read_status.ts";
import { findTrouble, newest, toStatusFacts } from "./status_facts.ts";
import type { Unread } from "../polling/usage_health.ts";

export interface StatusWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "setTotals" | "setActive" | "failed">;
  readonly recorder: Pick<Recorder, "publish">;
  readonly inventory: Pick<Inventory, "autoscalers" | "resolve">;
  readonly unread: Unread;
  /** False while a list is missing from which its status would follow: then it is left as it is. */
  readonly canTell: (autoscaler: AutoscalerFacts) => boolean;
  /** A write has ended: many slow ones make a long pass, but none that is stuck. */
  readonly onProgress: () => void;
}

/** What follows from time alone (a cooldown that ends, usage that stays away) shows this late at most. */
const LOOK_AGAIN_MS = 5_000;
const TIMEOUT_MS = 10_000;
const AT_ONCE = 8;
const RETRY_BASE_MS = 5_000;
const RETRY_MAX_MS = 60_000;
/** A watch may show our own write this late; what it shows after that was written by somebody else. */
const WATCH_LAG_MS = 60_000;

/** What was last sent, and what the server made of it: one with another CRD leaves fields out. */
interface Written {
  readonly sent: AutoscalerStatus;
  readonly stored: AutoscalerStatus;
  readonly atMs: number;
}

interface Memory {
  /** What the status followed from when it was computed; `null` when it has to be computed anew. */
  seen: readonly unknown[] | null;
  lookAtMs: number;
  /** As it was computed; `null` while it cannot be. */
  status: AutoscalerStatus | null;
  written: Written | null;
  lastScale: LastScale | null;
  told: NoticeName | null;
  toldGeneration: number;
  retryAtMs: number;
  failures: number;
}

/** One pass over all autoscalers. */
interface Sweep {
  readonly signal: AbortSignal;
  /** The server gave no answer: the other writes of the pass would wait as long for theirs. */
  isUnanswered: boolean;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #memory = new Map<string, Memory>();
  readonly #limit = new Limit(AT_ONCE);

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  noteScale(uid: string, scale: LastScale): void {
    const memory = this.#remember(uid);
    memory.lastScale = newest(scale, memory.lastScale, this.#options.clock.now());
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
  }

  /** Returns when all that differed is written, has failed, or was put off to the next pass. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { inventory, metrics, canTell } = this.#options;
    const sweep: Sweep = { signal, isUnanswered: false };
    const totals = new Map<string, { total: number; scalingActive: number }>();
    const writes: Promise<void>[] = [];
    for (const autoscaler of inventory.autoscalers()) {
      const memory = this.#remember(autoscaler.uid);
      const count = totals.get(autoscaler.namespace) ?? { total: 0, scalingActive: 0 };
      totals.set(autoscaler.namespace, count);
      count.total++;
      if (this.#mustLook(autoscaler, memory)) {
        const status = canTell(autoscaler) ? this.#tryCompute(autoscaler, memory) : null;
        memory.status = status;
        if (status === null) memory.seen = null;
        else {
          metrics.setActive(autoscaler, isTrue(status, "Active"));
          if (this.#isNews(autoscaler, status, memory)) writes.push(this.#write(autoscaler, status, { memory, sweep }));
        }
      }
      if (memory.status?.scaling) count.scalingActive++;
    }
    metrics.setTotals(totals satisfies ReadonlyMap<string, Totals>);
    await Promise.all(writes);
  }

  /** Something has changed since the last look, or that was long ago. Notes that it is looked at now. */
  #mustLook(autoscaler: AutoscalerFacts, memory: Memory): boolean {
    const nowMs = this.#options.clock.monotonic();
    const { selector, matched, tracked, targetProblems } = this.#options.inventory.resolve(autoscaler);
    const seen = [autoscaler, selector, matched, tracked.size, targetProblems, memory.lastScale];
    const isSame = memory.seen !== null && seen.every((one, index) => one === memory.seen?.[index]);
    if (isSame && nowMs < memory.lookAtMs) return false;
    memory.seen = seen;
    memory.lookAtMs = nowMs + LOOK_AGAIN_MS;
    return true;
  }

  /** `null` for one that cannot be computed: the others go on. */
  #tryCompute(autoscaler: AutoscalerFacts, memory: Memory): AutoscalerStatus | null {
    try {
      return this.#compute(autoscaler, memory);
    } catch (error) {
      const { log, metrics, clock } = this.#options;
      if (clock.monotonic() < memory.retryAtMs) return null;
      this.#putOff(memory);
      metrics.failed(autoscaler.namespace, "StatusCompute");
      log.error("Cannot compute status", { autoscaler: formatName(autoscaler), error });
      return null;
    }
  }

  #compute(autoscaler: AutoscalerFacts, memory: Memory): AutoscalerStatus {
    const { clock, inventory, unread } = this.#options;
    const { autoscaler: policy, status } = autoscaler;
    const resolution = inventory.resolve(autoscaler);
    const facts = toStatusFacts(autoscaler, {
      resolution,
      unread: policy === null ? { count: 0, why: "" } : unread(policy, resolution.tracked.values()),
      lastScale: memory.lastScale,
      now: clock.now(),
    });
    this.#tell(autoscaler, facts, memory);
    return nextStatus(memory.written?.sent ?? readStatus(status), facts, clock.now());
  }

  /** One event when a state begins, and again for a new generation of the spec. */
  #tell(autoscaler: AutoscalerFacts, facts: StatusFacts, memory: Memory): void {
    const [name, message] = findTrouble(facts);
    const isOld = memory.told === name && (name !== "InvalidSpec" || memory.toldGeneration === facts.generation);
    if (isOld) return;
    memory.told = name;
    memory.toldGeneration = facts.generation;
    if (name === null) return;
    this.#options.recorder.publish({ autoscaler: autoscaler.uid, name, message }, { autoscaler });
  }

  #isNews(autoscaler: AutoscalerFacts, status: AutoscalerStatus, memory: Memory): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < memory.retryAtMs) return false;
    const { written } = memory;
    if (written === null) return !isEqual(status, autoscaler.status);
    if (!isEqual(status, written.sent)) return true;
    return nowMs - written.atMs >= WATCH_LAG_MS && !isEqual(autoscaler.status, written.stored);
  }

  #putOff(memory: Memory): void {
    const { clock, random } = this.#options;
    const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
    memory.retryAtMs = clock.monotonic() + waitMs;
  }

  async #write(
    autoscaler: AutoscalerFacts,
    status: AutoscalerStatus,
    { memory, sweep }: { memory: Memory; sweep: Sweep },
  ): Promise<void> {
    const { client, clock, log, metrics, onProgress } = this.#options;
    const { namespace, name } = autoscaler;
    // Whether it was written shows with the next sweep.
    memory.seen = null;
    using _slot = await this.#limit.acquire();
    if (sweep.isUnanswered || sweep.signal.aborted) return;
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      const { data, error, response } = await client.autoscalers.PATCH(
        "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          // The watch may be behind our last write, and that write behind somebody else's.
          body: { status: toMergePatch(autoscaler.status, toMergePatch(memory.written?.stored, status)) as never },
          signal: AbortSignal.any([timeout.signal, sweep.signal]),
        },
      );
      if (!response.ok) throw toApiError(response, error);
      const stored = (data?.status ?? {}) as AutoscalerStatus;
      memory.written = { sent: status, stored, atMs: clock.monotonic() };
      memory.failures = 0;
    } catch (error) {
      if (sweep.signal.aborted) return;
      this.#putOff(memory);
      if (!(error instanceof ApiError)) sweep.isUnanswered = true;
      // Deleted: the watch will say so.
      else if (error.code === 404) return;
      metrics.failed(namespace, "StatusWrite");
      log.warn("Cannot write status, retrying", { autoscaler: formatName(autoscaler), error });
    } finally {
      onProgress();
    }
  }

  #remember(uid: string): Memory {
    const memory = this.#memory.get(uid) ??
      {
        ...{ seen: null, lookAtMs: 0, status: null, written: null, lastScale: null },
        ...{ told: null, toldGeneration: 0, retryAtMs: 0, failures: 0 },
      };
    this.#memory.set(uid, memory);
    return memory;
  }
}

function isTrue({ conditions = [] }: AutoscalerStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}
