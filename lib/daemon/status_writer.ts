/**
 * Keeps each autoscaler's status equal to what is so (C51): computed whole from facts at each sweep, written when it
 * differs, with one merge patch. Also counts the gauges, and tells what only a sweep can see (C8, C10, C15).
 */
import {
  type AutoscalerStatus,
  type LastScale,
  listProblems,
  nextStatus,
  type StatusFacts,
} from "../core/conditions.ts";
import type { NoticeName } from "../core/reasons.ts";
import { ApiError, toApiError } from "../kube/api_error.ts";
import { type ApiClient, MERGE } from "../kube/client.ts";
import { backoffMs } from "../runtime/backoff.ts";
import type { Clock } from "../runtime/clock.ts";
import { Limit } from "../runtime/limit.ts";
import type { Log } from "../runtime/log.ts";
import type { AutoscalerFacts } from "./facts.ts";
import type { Inventory } from "./inventory.ts";
import type { Metrics, Totals } from "./metrics.ts";
import type { Recorder } from "./recorder.ts";
import type { Unread } from "./usage_health.ts";

export interface StatusWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "setTotals" | "setActive" | "failed">;
  readonly recorder: Pick<Recorder, "publish">;
  readonly inventory: Inventory;
  readonly unread: Unread;
}

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
    if (memory.lastScale === null || scale.at >= memory.lastScale.at) memory.lastScale = scale;
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
  }

  /** Returns when all that differed is written, has failed, or was put off to the next pass. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { inventory, metrics } = this.#options;
    const sweep: Sweep = { signal, isUnanswered: false };
    const totals = new Map<string, { total: number; scalingActive: number }>();
    const writes: Promise<void>[] = [];
    for (const autoscaler of inventory.autoscalers()) {
      const memory = this.#remember(autoscaler.uid);
      const status = this.#tryCompute(autoscaler, memory);
      const count = totals.get(autoscaler.namespace) ?? { total: 0, scalingActive: 0 };
      totals.set(autoscaler.namespace, count);
      count.total++;
      if (status === null) continue;
      if (status.scaling) count.scalingActive++;
      metrics.setActive(autoscaler, isTrue(status, "Active"));
      if (this.#isNews(autoscaler, status, memory)) writes.push(this.#write(autoscaler, status, { memory, sweep }));
    }
    metrics.setTotals(totals satisfies ReadonlyMap<string, Totals>);
    await Promise.all(writes);
  }

  /** `null` for one that cannot be computed: the others go on. */
  #tryCompute(autoscaler: AutoscalerFacts, memory: Memory): AutoscalerStatus | null {
    try {
      return this.#compute(autoscaler, memory);
    } catch (error) {
      const { log, metrics, clock } = this.#options;
      if (clock.monotonic() < memory.retryAtMs) return null;
      this.#putOff(memory);
      metrics.failed(autoscaler.namespace, "status");
      log.error("Cannot compute status", { autoscaler: `${autoscaler.namespace}/${autoscaler.name}`, error });
      return null;
    }
  }

  #compute(autoscaler: AutoscalerFacts, memory: Memory): AutoscalerStatus {
    const { clock, inventory, unread } = this.#options;
    const { policy, status } = autoscaler;
    const { selector, matched, tracked, isTargetMissing } = inventory.resolve(autoscaler);
    const { count, why } = policy === null ? { count: 0, why: "" } : unread(policy, tracked);
    const facts: StatusFacts = {
      generation: autoscaler.generation,
      problems: autoscaler.problems,
      warnings: autoscaler.warnings,
      paused: policy?.paused ?? false,
      missingTarget: isTargetMissing && policy?.target ? `${policy.target.kind} "${policy.target.name}"` : null,
      selector: selector?.source ?? null,
      containerName: policy?.containerName ?? "",
      matched,
      tracked: tracked.length,
      unread: count,
      unreadWhy: why,
      lastScale: newest(memory.lastScale, readLastScale(status)),
      cooldownMs: policy?.cooldownMs ?? 0,
    };
    this.#tell(autoscaler, facts, memory);
    return nextStatus(memory.written?.sent ?? status, facts, clock.now());
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
    const { client, clock, log } = this.#options;
    const { namespace, name } = autoscaler;
    using _slot = await this.#limit.acquire();
    if (sweep.isUnanswered || sweep.signal.aborted) return;
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      const { data, error, response } = await client.autoscalers.PATCH(
        "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          // A merge patch leaves what is absent: a selector that is no more has to be removed by name.
          body: { status: { effectiveSelector: null, ...status } as never },
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
      log.warn("Cannot write status, retrying", { autoscaler: `${namespace}/${name}`, error });
    }
  }

  #remember(uid: string): Memory {
    const memory = this.#memory.get(uid) ??
      { written: null, lastScale: null, told: null, toldGeneration: 0, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}

function findTrouble(facts: StatusFacts): [NoticeName | null, string] {
  if (facts.problems.length > 0) return ["InvalidSpec", listProblems(facts.problems)];
  if (facts.missingTarget !== null && !facts.paused) return ["TargetNotFound", `${facts.missingTarget} does not exist`];
  if (facts.matched > 0 && facts.tracked === 0) {
    return ["ContainerNotFound", `no matching pod has a container "${facts.containerName}"`];
  }
  return [null, ""];
}

function readLastScale(
  { lastScaleTime, lastScaleAction, lastScaleResourceChange }: AutoscalerStatus,
): LastScale | null {
  const at = Date.parse(lastScaleTime ?? "");
  if (Number.isNaN(at) || lastScaleAction === undefined) return null;
  return { at, action: lastScaleAction, change: lastScaleResourceChange ?? "" };
}

function newest(a: LastScale | null, b: LastScale | null): LastScale | null {
  if (a === null || b === null) return a ?? b;
  return a.at >= b.at ? a : b;
}

function isTrue({ conditions = [] }: AutoscalerStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}

/** By value: key order and `null` for absent do not count. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || (a ?? null) === (b ?? null)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => isEqual(left[key], right[key]));
}
