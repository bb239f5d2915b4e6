/**
 * Writes an autoscaler's status when it differs from what is stored, with one merge patch (C51). Writes that fail are
 * tried again with growing waits, each autoscaler for itself.
 */
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import { ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { AutoscalerFacts } from "../inventory/facts.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { isEqual, toMergePatch } from "./merge_patch.ts";
import type { StatusLook } from "./status_look.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where statuses are written, and who hears of failures. */
export interface StatusWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  /** A write has ended: many slow ones make a long pass, but none that is stuck. */
  readonly onProgress: () => void;
  readonly onTrouble: OnTrouble;
}

/** The writes that belong to one sweep over all autoscalers. */
export interface Pass {
  readonly signal: AbortSignal;
  /** The server gave no answer: the other writes of the pass would wait as long for theirs. */
  isUnanswered: boolean;
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
  retryAtMs: number;
  failures: number;
}

/** Remembers what was written last for each autoscaler, so that nothing is written twice. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #memory = new Map<string, Memory>();
  readonly #limit = new Limit(AT_ONCE);

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The status that was last sent and accepted; `null` when this process has written none. */
  readLast(uid: string): AutoscalerStatus | null {
    return this.#memory.get(uid)?.written?.sent ?? null;
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
  }

  /** `null` when there is nothing to write, or not yet; else it resolves when the write has ended, and never rejects. */
  write(look: StatusLook, pass: Pass): Promise<void> | null {
    const { autoscaler, status } = look;
    const memory = this.#remember(autoscaler.uid);
    return this.#isNews(look, memory) ? this.#send(autoscaler, status, { memory, pass }) : null;
  }

  #isNews({ autoscaler, facts, status }: StatusLook, memory: Memory): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < memory.retryAtMs) return false;
    const { written } = memory;
    if (written === null) return !isEqual(status, autoscaler.status);
    if (!isEqual(status, written.sent)) return true;
    // The watch shows nothing new, our own write neither.
    if (facts.stale !== null) return false;
    return nowMs - written.atMs >= WATCH_LAG_MS && !isEqual(autoscaler.status, written.stored);
  }

  async #send(
    autoscaler: AutoscalerFacts,
    status: AutoscalerStatus,
    { memory, pass }: { readonly memory: Memory; readonly pass: Pass },
  ): Promise<void> {
    const { client, clock, metrics, onProgress, onTrouble } = this.#options;
    const { namespace, name } = autoscaler;
    using _slot = await this.#limit.acquire();
    if (pass.isUnanswered || pass.signal.aborted) return;
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
      if (!response.ok) throw toApiError(response, error);
      const stored = (data?.status ?? {}) as AutoscalerStatus;
      memory.written = { sent: status, stored, atMs: clock.monotonic() };
      memory.failures = 0;
    } catch (error) {
      if (pass.signal.aborted) return;
      this.#putOff(memory);
      if (!(error instanceof ApiError)) pass.isUnanswered = true;
      // Deleted: the watch will say so.
      else if (error.code === 404) return;
      metrics.failed(namespace, "StatusWrite");
      const message = "Cannot write status, retrying";
      onTrouble({ kind: "failure", level: "warn", message, autoscaler, fields: { error } });
    } finally {
      onProgress();
    }
  }

  #putOff(memory: Memory): void {
    const { clock, random } = this.#options;
    const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
    memory.retryAtMs = clock.monotonic() + waitMs;
  }

  #remember(uid: string): Memory {
    const memory = this.#memory.get(uid) ?? { written: null, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}
