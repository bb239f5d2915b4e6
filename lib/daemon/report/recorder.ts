/**
 * Publishes notices as Kubernetes Events on the autoscaler (C50): deduplicated into a count, rate limited per
 * autoscaler, in a bounded queue. An event that cannot be written is counted and dropped; nothing ever waits for one.
 * The limits are those of client-go's recorder (tools/record/events_cache.go).
 */
import { type Notice, type NoticeName, NOTICES } from "../../core/reasons.ts";
import { formatTime } from "../../units/time.ts";
import type { Event } from "../../api/kubernetes.ts";
import { toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** The objects that an Event is about: its autoscaler, and the related pod. */
export interface NoticeContext {
  readonly autoscaler: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** Where Events are written, and by whom. */
export interface RecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "eventPublished">;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** One per action: never merged with another, never rate limited. */
const PER_ACTION: ReadonlySet<NoticeName> = new Set(["ScaleUp", "ScaleDown", "ResizeMayRestart"]);
const REASON_PREFIX = "PodResourceAutoscaler";
const MOST_QUEUED = 1000;
const MOST_REMEMBERED = 4096;
const BURST = 25;
const REFILL_MS = 300_000;
const TRIES = 4;
const TIMEOUT_MS = 10_000;
/** For all that is queued at the end: a process is given 30 s to end. */
const DRAIN_MS = 5_000;
/** core/v1 has no limit of its own, events.k8s.io has 1024. */
const LONGEST_MESSAGE = 1024;

interface Written {
  readonly name: string;
  readonly count: number;
}

interface Queued {
  readonly notice: Notice;
  readonly context: NoticeContext;
  readonly at: number;
  /** The name of the Event: the same at each try, so that one whose answer did not arrive is not created twice. */
  readonly name: string;
}

/** Takes notices at any time and writes them while `run` runs. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #queue: Queued[] = [];
  readonly #written = new Map<string, Written>();
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  #wake: (() => void) | null = null;
  #serial = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  publish(notice: Notice, context: NoticeContext): void {
    const { log, metrics, clock } = this.#options;
    const fields = { autoscaler: formatName(context.autoscaler), reason: notice.name, note: notice.message };
    if (NOTICES[notice.name] === "Warning") log.warn("Notice", fields);
    else log.debug("Notice", fields);
    if (!PER_ACTION.has(notice.name) && !this.#takeToken(context.autoscaler.uid)) {
      return metrics.eventPublished("rate_limited");
    }
    if (this.#queue.length >= MOST_QUEUED) return metrics.eventPublished("dropped");
    const at = clock.now();
    this.#queue.push({ notice, context, at, name: this.#newName(context.autoscaler.name, at) });
    this.#wake?.();
  }

  /** Writes until the signal aborts; what is queued then gets one more try each, within a few seconds for all. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#options;
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next !== undefined) await this.#write(next, signal);
      else await this.#wait(signal);
    }
    using drain = clock.timeout(DRAIN_MS);
    for (const last of this.#queue.splice(0)) {
      if (drain.signal.aborted) metrics.eventPublished("dropped");
      else await this.#write(last, signal, drain.signal);
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        this.#wake = null;
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async #write(queued: Queued, signal: AbortSignal, hurry?: AbortSignal): Promise<void> {
    const { clock, random, log, metrics } = this.#options;
    for (let attempt = 0;; attempt++) {
      const error = await this.#tryWrite(queued, hurry);
      if (error === null) return metrics.eventPublished("ok");
      const isFinal = error.code !== 0 && error.code < 500 && error.code !== 429;
      if (isFinal || attempt + 1 >= TRIES || signal.aborted) {
        log.debug("Cannot write event", { reason: queued.notice.name, error: error.message });
        return metrics.eventPublished("failed");
      }
      await clock.sleep(backoffMs(attempt, { baseMs: 500, maxMs: 10_000, random }), signal).catch(() => {});
    }
  }

  /** `null` when written; code 0 when no answer came. */
  async #tryWrite(
    { notice, context, at, name }: Queued,
    hurry: AbortSignal | undefined,
  ): Promise<{ code: number; message: string } | null> {
    using timeout = this.#options.clock.timeout(TIMEOUT_MS);
    const signal = hurry === undefined ? timeout.signal : AbortSignal.any([timeout.signal, hurry]);
    const call: Call = { context, at, name, signal };
    const key = PER_ACTION.has(notice.name) ? null : toKey(notice, context);
    const before = key === null ? undefined : this.#written.get(key);
    try {
      const written = before === undefined ? null : await this.#count(before, call);
      const result = written ?? await this.#create(notice, call);
      if ("code" in result) return result;
      if (key !== null) this.#remember(key, result);
      return null;
    } catch (error) {
      return { code: 0, message: error instanceof Error ? error.message : String(error) };
    }
  }

  /** `null` when the event has expired meanwhile: then it is created anew. */
  async #count({ name, count }: Written, call: Call): Promise<Written | Failure | null> {
    const { response, error } = await this.#options.client.core.PATCH("/api/v1/namespaces/{namespace}/events/{name}", {
      params: { path: { namespace: call.context.autoscaler.namespace, name }, header: MERGE },
      body: { count: count + 1, lastTimestamp: formatTime(call.at) },
      signal: call.signal,
    });
    if (response.status === 404) return null;
    return response.ok ? { name, count: count + 1 } : toApiError(response, error);
  }

  async #create(notice: Notice, call: Call): Promise<Written | Failure> {
    const { namespace } = call.context.autoscaler;
    const event = this.#newEvent(notice, call);
    const { response, error } = await this.#options.client.core.POST("/api/v1/namespaces/{namespace}/events", {
      params: { path: { namespace } },
      body: event,
      signal: call.signal,
    });
    // 409: an earlier try of this one has arrived.
    return response.ok || response.status === 409 ? { name: call.name, count: 1 } : toApiError(response, error);
  }

  #newName(autoscaler: string, at: number): string {
    const random = Math.floor(this.#options.random() * 0x10000);
    const suffix = [at, this.#serial++ % 0x1000, random].map((one) => one.toString(16)).join("");
    return `${autoscaler.slice(0, 220).replace(/[.-]+$/, "")}.${suffix}`;
  }

  #newEvent({ name, message }: Notice, { context: { autoscaler, pod }, at, name: eventName }: Call): Event {
    const { instance } = this.#options;
    const time = formatTime(at);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: eventName, namespace: autoscaler.namespace },
      involvedObject: {
        apiVersion: "keda.kedify.io/v1alpha1",
        kind: "PodResourceAutoscaler",
        namespace: autoscaler.namespace,
        name: autoscaler.name,
        uid: autoscaler.uid,
      },
      ...(pod === undefined ? {} : {
        related: { apiVersion: "v1", kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid },
      }),
      reason: `${REASON_PREFIX}${name}`,
      message: message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…`,
      type: NOTICES[name],
      source: { component: "podfit" },
      reportingComponent: "podfit",
      reportingInstance: instance,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
  }

  #remember(key: string, written: Written): void {
    this.#written.delete(key);
    this.#written.set(key, written);
    if (this.#written.size > MOST_REMEMBERED) this.#written.delete(this.#written.keys().next().value ?? key);
  }

  #takeToken(uid: string): boolean {
    const now = this.#options.clock.monotonic();
    const bucket = this.#buckets.get(uid) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    this.#buckets.delete(uid);
    this.#buckets.set(uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > MOST_REMEMBERED) this.#buckets.delete(this.#buckets.keys().next().value ?? uid);
    return tokens >= 1;
  }
}

interface Call {
  readonly context: NoticeContext;
  readonly at: number;
  readonly name: string;
  readonly signal: AbortSignal;
}

interface Failure {
  readonly code: number;
  readonly message: string;
}

function toKey({ name, message }: Notice, { autoscaler, pod }: NoticeContext): string {
  return [autoscaler.uid, pod?.uid ?? "", name, message].join("\n");
}
