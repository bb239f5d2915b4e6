/**
 * Writes one event: a new Event object, or a higher count on the one that was written before. It asks once; whoever
 * calls it tries again.
 */
import { toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import type { Brake } from "../../runtime/brake.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatTime } from "../../units/time.ts";
import { readBusy } from "../act/busy.ts";
import { toEvent, toEventMessage } from "./event_object.ts";
import type { QueuedEvent } from "./event_queue.ts";

/** Where Events are written. */
export interface EventWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly brake: Pick<Brake, "pass">;
  readonly instance: string;
}

/** What end a write before it is done. */
export interface WriteSignals {
  /** Ends the wait for leave to write. */
  readonly leave: AbortSignal;
  /** Ends the write. */
  readonly hurry: AbortSignal | undefined;
}

/** Why an event is not written; code 0 when no answer came. */
export interface WriteFailure {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

const MOST_REMEMBERED = 4096;
const TIMEOUT_MS = 10_000;

interface Written {
  readonly name: string;
  readonly count: number;
}

/** Remembers what it has written, by key. Of one key one event is to be written at a time. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #written = new Map<string, Written>();

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  /** `null` when written. Never rejects. */
  async write(queued: QueuedEvent, { leave, hurry }: WriteSignals): Promise<WriteFailure | null> {
    const { clock, brake } = this.#options;
    try {
      using pass = await brake.pass(leave);
      using timeout = clock.timeout(TIMEOUT_MS);
      const signal = hurry === undefined ? timeout.signal : AbortSignal.any([timeout.signal, hurry]);
      const before = queued.key === null ? undefined : this.#written.get(queued.key);
      const result = (before === undefined ? null : await this.#add(queued, before, signal)) ??
        await this.#create(queued, signal);
      pass.note("code" in result ? readBusy(result) : null);
      if ("code" in result) return result;
      if (queued.key !== null) this.#remember(queued.key, result);
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { code: 0, message, retryAfterMs: null };
    }
  }

  /** `null` when the event has expired meanwhile: then it is created anew. */
  async #add(queued: QueuedEvent, before: Written, signal: AbortSignal): Promise<Written | WriteFailure | null> {
    const { context: { autoscaler: { namespace } }, at, notice, times } = queued;
    const count = before.count + times;
    const { response, error } = await this.#options.client.core.PATCH("/api/v1/namespaces/{namespace}/events/{name}", {
      params: { path: { namespace, name: before.name }, header: MERGE },
      body: { count, lastTimestamp: formatTime(at), message: toEventMessage(notice.message) },
      signal,
    });
    if (response.status === 404) return null;
    return response.ok ? { name: before.name, count } : toApiError(response, error);
  }

  async #create(queued: QueuedEvent, signal: AbortSignal): Promise<Written | WriteFailure> {
    const { notice, context, at, name, times: count } = queued;
    const { response, error } = await this.#options.client.core.POST("/api/v1/namespaces/{namespace}/events", {
      params: { path: { namespace: context.autoscaler.namespace } },
      body: toEvent(notice, { context, at, name, count, instance: this.#options.instance }),
      signal,
    });
    // 409: an earlier try of this one has arrived.
    return response.ok || response.status === 409 ? { name, count } : toApiError(response, error);
  }

  #remember(key: string, written: Written): void {
    this.#written.delete(key);
    this.#written.set(key, written);
    if (this.#written.size > MOST_REMEMBERED) this.#written.delete(this.#written.keys().next().value ?? key);
  }
}
