/**
 * Writes one Event: it creates a new one, or raises the count of the one written before. The caller retries.
 */
import type { Event } from "../../api/kubernetes.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import { type NoticeName, NOTICES } from "../../model/reasons.ts";
import { REPLICAS_NOTICES, type ReplicasNoticeName } from "../../model/replicas_decision.ts";
import type { CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatTime } from "../../units/time.ts";
import { findBusy } from "../permits.ts";

// Writes one event: a new Event object, or a higher count on the one that was written before. It asks once; whoever
// calls it tries again.

/** Where Events are written. */
interface EventWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly brake: Pick<CircuitBreaker, "acquire">;
  readonly instance: string;
}

/** What end a write before it is done. */
interface WriteSignals {
  /** Ends the wait for leave to write. */
  readonly wait: AbortSignal;
  /** Ends the write. */
  readonly flush: AbortSignal | undefined;
}

/** Why an event is not written; code 0 when no answer came. */
export interface WriteFailure {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

/** Remembers what it has written, by key. Of one key one event is to be written at a time. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #written = new Map<string, WrittenEvent>();

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  /** `null` when written. Never rejects. */
  async write(queued: QueuedEvent, { wait, flush }: WriteSignals): Promise<WriteFailure | null> {
    const { clock, brake } = this.#options;
    try {
      using pass = await brake.acquire(wait);
      using timeout = clock.timeout(TIMEOUT_MS);
      const signal = flush === undefined ? timeout.signal : AbortSignal.any([timeout.signal, flush]);
      const before = queued.key === null ? undefined : this.#written.get(queued.key);
      const result = (before === undefined ? null : await this.#add(queued, before, signal)) ??
        await this.#create(queued, signal);
      pass.report("code" in result ? findBusy(result) : null);
      if ("code" in result) return result;
      if (queued.key !== null) this.#remember(queued.key, result);
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { code: 0, message, retryAfterMs: null };
    }
  }

  /** `null` when the event has expired meanwhile: then it is created anew. */
  async #add(
    queued: QueuedEvent,
    before: WrittenEvent,
    signal: AbortSignal,
  ): Promise<WrittenEvent | WriteFailure | null> {
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

  async #create(queued: QueuedEvent, signal: AbortSignal): Promise<WrittenEvent | WriteFailure> {
    const { notice, context, at, name, times: count } = queued;
    const { response, error } = await this.#options.client.core.POST("/api/v1/namespaces/{namespace}/events", {
      params: { path: { namespace: context.autoscaler.namespace } },
      body: toEvent(notice, { context, at, name, count, instance: this.#options.instance }),
      signal,
    });
    // 409: an earlier try of this one has arrived.
    return response.ok || response.status === 409 ? { name, count } : toApiError(response, error);
  }

  #remember(key: string, written: WrittenEvent): void {
    this.#written.delete(key);
    this.#written.set(key, written);
    if (this.#written.size > MAX_REMEMBERED) this.#written.delete(this.#written.keys().next().value ?? key);
  }
}

// Which event is written next? Namespaces take turns, so that a burst in one holds up no other. What is the same is
// counted where it waits, and of many alike the later ones become one, as client-go's correlator has it
// (tools/record/events_cache.go). The queue is bounded: what does not fit is dropped where most wait.

/** An event that waits to be written. */
export interface QueuedEvent {
  readonly notice: EventNotice;
  readonly context: EventContext;
  /** When it was last published, epoch ms. */
  readonly at: number;
  /** The name of the Event: the same at each try, so that one whose answer did not arrive is not created twice. */
  readonly name: string;
  /** What is counted on one Event; `null` = it has an Event of its own. */
  readonly key: string | null;
  /** How often it was published since it was last written. */
  readonly times: number;
}

// A notice as a Kubernetes Event of core/v1 on its autoscaler, with the pod as the related object (C50, R92).

/** What is published: a notice about a PodResourceAutoscaler or a ScaledObject. */
export interface EventNotice {
  readonly name: NoticeName | ReplicasNoticeName;
  readonly message: string;
}

/** The objects that an Event is about: its autoscaler, and the related pod. */
export interface EventContext {
  readonly autoscaler: {
    /** A PodResourceAutoscaler unless it says otherwise. */
    readonly kind?: "ScaledObject";
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** What the Event says beside the notice. */
interface EventFacts {
  readonly context: EventContext;
  /** Epoch ms. */
  readonly at: number;
  readonly name: string;
  readonly count: number;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** KEDA's names of events are whole. */
const EVENT_KINDS = {
  PodResourceAutoscaler: { apiVersion: "keda.kedify.io/v1alpha1", prefix: "PodResourceAutoscaler" },
  ScaledObject: { apiVersion: "keda.sh/v1alpha1", prefix: "" },
} as const;

const EVENT_TYPES = { ...NOTICES, ...REPLICAS_NOTICES };

/** Normal or Warning. */
export function toEventType({ name }: EventNotice): "Normal" | "Warning" {
  return EVENT_TYPES[name];
}

/** core/v1 has no limit of its own, events.k8s.io has 1024. */
const MAX_MESSAGE = 1024;

/** The Event as it is created. */
function toEvent(
  notice: EventNotice,
  { context: { autoscaler, pod }, at, name, count, instance }: EventFacts,
): Event {
  const time = formatTime(at);
  const { kind = "PodResourceAutoscaler" } = autoscaler;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: autoscaler.namespace },
    involvedObject: {
      apiVersion: EVENT_KINDS[kind].apiVersion,
      kind,
      namespace: autoscaler.namespace,
      name: autoscaler.name,
      uid: autoscaler.uid,
    },
    ...(pod === undefined ? {} : {
      related: { apiVersion: "v1", kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid },
    }),
    reason: `${EVENT_KINDS[kind].prefix}${notice.name}`,
    message: toEventMessage(notice.message),
    type: toEventType(notice),
    source: { component: "podfit" },
    reportingComponent: "podfit",
    reportingInstance: instance,
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  };
}

/** Not longer than an Event may have it. */
function toEventMessage(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 1).toWellFormed()}…`;
}

const MAX_REMEMBERED = 4096;

const TIMEOUT_MS = 10_000;

interface WrittenEvent {
  readonly name: string;
  readonly count: number;
}
