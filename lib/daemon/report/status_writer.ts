/**
 * Writes an autoscaler's status when it differs from what is stored, with one merge patch (C51). Writes that fail are
 * tried again with growing waits, each autoscaler for itself.
 */
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import { ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Brake } from "../../runtime/brake.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import { type AutoscalerFacts, formatName } from "../inventory/facts.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { readBusy } from "../act/busy.ts";
import { isEqual, toMergePatch } from "./merge_patch.ts";
import { readStatus } from "./read_status.ts";
import { Rivalry } from "./rivalry.ts";
import { isSameButTimes, StatusPauses } from "./status_pauses.ts";
import type { StatusLook } from "./status_look.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where statuses are written, and who hears of failures. */
export interface StatusWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  /** While it holds, writes are put off. */
  readonly brake: Pick<Brake, "tryPass">;
  /** This podfit looks after one node or pod only, and others write the same statuses. */
  readonly isNodeLocal: boolean;
  /** A write has ended: many slow ones make a long pass, but none that is stuck. */
  readonly onProgress: () => void;
  readonly onTrouble: OnTrouble;
}

/** The writes that belong to one sweep over all autoscalers. */
export interface Pass {
  readonly signal: AbortSignal;
  /** The server gave no answer: the other writes of the pass would wait as long for theirs. */
  isUnanswered: boolean;
  /** Nothing is written after this one, so nothing is put off. */
  readonly isLast: boolean;
}

const TIMEOUT_MS = 10_000;
const AT_ONCE = 8;
const RETRY_BASE_MS = 5_000;
const RETRY_MAX_MS = 60_000;
/** For what somebody has to put right, such as a missing right. */
const REFUSED_MAX_MS = 300_000;
/** A watch may show our own write this late; what it shows after that was written by somebody else. */
const WATCH_LAG_MS = 60_000;

const WHAT = "Cannot write status";

/** What was last sent, and what the server made of it: one with another CRD leaves fields out. */
interface Written {
  readonly sent: AutoscalerStatus;
  readonly stored: AutoscalerStatus;
  readonly atMs: number;
}

interface Writing {
  readonly memory: Memory;
  readonly pass: Pass;
}

interface Memory {
  written: Written | null;
  retryAtMs: number;
  failures: number;
}

/** Remembers what was written last for each autoscaler, so that nothing is written twice. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #memory = new Map<string, Memory>();
  readonly #limit = new Limit(AT_ONCE);
  readonly #pauses = new StatusPauses();
  readonly #rivalry: Rivalry;

  constructor(options: StatusWriterOptions) {
    const { clock, onTrouble, isNodeLocal } = options;
    this.#options = options;
    this.#rivalry = new Rivalry({ clock, onTrouble, isExpected: isNodeLocal });
  }

  /** The status that was last sent and accepted; `null` when this process has written none. */
  readLast(uid: string): AutoscalerStatus | null {
    return this.#memory.get(uid)?.written?.sent ?? null;
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
    this.#pauses.forget(uid);
    this.#rivalry.forget(uid);
  }

  /**
   * `null` when there is nothing to write, "later" when there is, but not yet; else it resolves when the write has ended,
   * and never rejects.
   */
  write(look: StatusLook, pass: Pass): Promise<void> | "later" | null {
    const { autoscaler, status } = look;
    const memory = this.#remember(autoscaler.uid);
    const due = this.#judge(look, { memory, pass });
    return due === "now" ? this.#send(autoscaler, status, { memory, pass }) : due;
  }

  #judge({ autoscaler, facts, status }: StatusLook, { memory, pass }: Writing): "now" | "later" | null {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < memory.retryAtMs) return null;
    const { written } = memory;
    if (written === null) return isEqual(status, autoscaler.status) ? null : "now";
    const sinceMs = nowMs - written.atMs;
    // A stale watch shows nothing new, our own write neither.
    const isShown = facts.stale === null && sinceMs >= WATCH_LAG_MS;
    if (isShown && !isSameButTimes(autoscaler.status, written.stored)) {
      if (isSameButTimes(status, autoscaler.status)) return null;
      const theirs = readStatus(autoscaler.status);
      const overwritten = { autoscaler, ours: status, theirs, writtenAtMs: written.atMs };
      return this.#rivalry.mayWrite(overwritten) ? "now" : null;
    }
    if (isEqual(status, written.sent)) return null;
    const change = { before: written.sent, after: status, sinceMs };
    return pass.isLast || this.#pauses.isOver(autoscaler.uid, change) ? "now" : "later";
  }

  async #send(
    autoscaler: AutoscalerFacts,
    status: AutoscalerStatus,
    { memory, pass }: Writing,
  ): Promise<void> {
    const { client, clock, brake, onProgress, onTrouble } = this.#options;
    const { namespace, name } = autoscaler;
    using _slot = await this.#limit.acquire();
    if (pass.isUnanswered || pass.signal.aborted) return;
    // Whoever waited here would hold up the loop: the next sweep looks again.
    using leave = brake.tryPass();
    if (leave === null) return;
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      const { data, error, response } = await client.autoscalers.PATCH(
        "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          // The watch may be behind our last write, and that write behind somebody else's.
          body: { status: toMergePatch(autoscaler.status, toMergePatch(memory.written?.stored, status)) as never },
          signal: AbortSignal.any([timeout.signal, pass.signal]),
        },
      );
      const failure = response.ok ? null : toApiError(response, error);
      leave.note(failure === null ? null : readBusy(failure));
      if (failure !== null) throw failure;
      const stored = (data?.status ?? {}) as AutoscalerStatus;
      memory.written = { sent: status, stored, atMs: clock.monotonic() };
      memory.failures = 0;
      onTrouble({ kind: "recovered", what: WHAT, subject: formatName(autoscaler) });
    } catch (error) {
      if (!pass.signal.aborted) this.#fail(autoscaler, error, { memory, pass });
    } finally {
      onProgress();
    }
  }

  #fail(autoscaler: AutoscalerFacts, error: unknown, { memory, pass }: Writing): void {
    const { metrics, onTrouble } = this.#options;
    const isRefused = error instanceof ApiError && error.code < 500 && error.code !== 429;
    this.#putOff(memory, isRefused ? REFUSED_MAX_MS : RETRY_MAX_MS);
    if (!(error instanceof ApiError)) pass.isUnanswered = true;
    // Deleted: the watch will say so.
    else if (error.code === 404) return;
    metrics.failed(autoscaler.namespace, "StatusWrite");
    const reason = error instanceof ApiError ? String(error.code) : "NoAnswer";
    onTrouble({
      kind: "failure",
      level: "warn",
      message: `${WHAT}, retrying`,
      autoscaler,
      fields: { error },
      topic: { what: WHAT, reason, subject: formatName(autoscaler) },
    });
  }

  #putOff(memory: Memory, maxMs: number): void {
    const { clock, random } = this.#options;
    const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs, random });
    memory.retryAtMs = clock.monotonic() + waitMs;
  }

  #remember(uid: string): Memory {
    const memory = this.#memory.get(uid) ?? { written: null, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}
