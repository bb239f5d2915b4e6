/**
 * Writes one Kubernetes Event: it creates a new one, or raises the count of the one written before. It tries once; the
 * caller retries. The format of the Event is here too.
 */
import type { Event } from "../../api/kubernetes.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import { type NoticeName, NOTICES } from "../../model/reasons.ts";
import { REPLICAS_NOTICES, type ReplicasNoticeName } from "../../model/replicas_decision.ts";
import { CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatTime } from "../../units/time.ts";
import { findBusy } from "../permits.ts";

interface EventWriterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly instance: string;
}

/** The signals that end a write early. */
interface WriteSignals {
  /** Ends the wait for a permit. */
  readonly wait: AbortSignal;
  /** Ends the write. */
  readonly flush: AbortSignal | undefined;
}

/** Why an event was not written; code 0 = no answer. */
export interface WriteFailure {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

/** Remembers what it has written, by key. The caller writes only one event of a key at a time. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #written = new Map<string, WrittenEvent>();
  /** Not that of resizes: an API server may refuse events alone, as the admission plugin EventRateLimit does. */
  readonly #brake: CircuitBreaker;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#brake = new CircuitBreaker(options);
  }

  /** Writes an event once. Returns `null` if it was written, otherwise the failure. Never rejects. */
  async write(queued: QueuedEvent, { wait, flush }: WriteSignals): Promise<WriteFailure | null> {
    const { clock } = this.#options;
    try {
      using pass = await this.#brake.acquire(wait);
      using timeout = clock.timeout(TIMEOUT_MS);
      const signal = flush === undefined ? timeout.signal : AbortSignal.any([timeout.signal, flush]);
      const before = queued.key === null ? undefined : this.#written.get(queued.key);
      const result = (before === undefined ? null : await this.#add(queued, before, signal)) ??
        await this.#create(queued, signal);
      pass.report("code" in result && !isLimitOfNamespace(result) ? findBusy(result) : null);
      if ("code" in result) return result;
      if (queued.key !== null) this.#remember(queued.key, result);
      return null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { code: 0, message, retryAfterMs: null };
    }
  }

  /** Raises the count of the Event. Returns `null` if it has expired and must be created again. */
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
    // 409: an earlier try of this event has arrived.
    return response.ok || response.status === 409 ? { name, count } : toApiError(response, error);
  }

  #remember(key: string, written: WrittenEvent): void {
    this.#written.delete(key);
    this.#written.set(key, written);
    if (this.#written.size > MAX_REMEMBERED) this.#written.delete(this.#written.keys().next().value ?? key);
  }
}

/**
 * Is it a limit of the admission plugin EventRateLimit that holds for one namespace or object alone? The events of others
 * may be written. https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/eventratelimit/limitenforcer.go
 */
function isLimitOfNamespace({ message }: WriteFailure): boolean {
  return /\blimit reached on type (Namespace|SourceAndObject) /.test(message);
}

/** An event that waits to be written. */
export interface QueuedEvent {
  readonly notice: EventNotice;
  readonly context: EventContext;
  /** The time of the last publication, epoch ms. */
  readonly at: number;
  /** The name of the Event. It is the same at each try, so that an Event whose answer was lost is not created twice. */
  readonly name: string;
  /** Events with the same key are counted on one Event; `null` = a separate Event. */
  readonly key: string | null;
  /** The number of publications since the last write. */
  readonly times: number;
}

/** A notice about a PodResourceAutoscaler or a ScaledObject. */
export interface EventNotice {
  readonly name: NoticeName | ReplicasNoticeName;
  readonly message: string;
}

/** The objects of an Event: the one that it is on, and the related one. */
export interface EventContext {
  readonly autoscaler: {
    /** PodResourceAutoscaler by default. */
    readonly kind?: "ScaledObject";
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** The Event is on the pod, and the autoscaler is the related object. By default it is the other way round. */
  readonly isOnPod?: boolean;
}

/** Returns the object that the Event is on. */
export function getSubject(
  { autoscaler, pod, isOnPod }: EventContext,
): { readonly name: string; readonly uid: string } {
  return isOnPod && pod !== undefined ? pod : autoscaler;
}

/** The other facts of an Event. */
interface EventFacts {
  readonly context: EventContext;
  /** Epoch ms. */
  readonly at: number;
  readonly name: string;
  readonly count: number;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** KEDA's event names have no prefix. */
const EVENT_KINDS = {
  PodResourceAutoscaler: { apiVersion: "keda.kedify.io/v1alpha1", prefix: "PodResourceAutoscaler" },
  ScaledObject: { apiVersion: "keda.sh/v1alpha1", prefix: "" },
} as const;

const EVENT_TYPES = { ...NOTICES, ...REPLICAS_NOTICES };

/** Returns the type of the Event. Clauses: C50, R92. */
export function toEventType({ name }: EventNotice): "Normal" | "Warning" {
  return EVENT_TYPES[name];
}

/** core/v1 has no limit, events.k8s.io has 1024. */
const MAX_MESSAGE = 1024;

/** Returns the core/v1 Event, which is on the autoscaler or on the pod. */
function toEvent(notice: EventNotice, { context, at, name, count, instance }: EventFacts): Event {
  const time = formatTime(at);
  const { kind = "PodResourceAutoscaler", namespace, name: autoscalerName, uid } = context.autoscaler;
  const { apiVersion, prefix } = EVENT_KINDS[kind];
  const autoscaler = { apiVersion, kind, namespace, name: autoscalerName, uid };
  const { pod: about, isOnPod = false } = context;
  const pod = about && { apiVersion: "v1", kind: "Pod", namespace: about.namespace, name: about.name, uid: about.uid };
  const [subject, related] = isOnPod && pod ? [pod, autoscaler] : [autoscaler, pod];
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: subject,
    ...(related && { related }),
    reason: `${prefix}${notice.name}`,
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

/** Shortens a message to the limit of an Event. */
function toEventMessage(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 1).toWellFormed()}…`;
}

const MAX_REMEMBERED = 4096;

const TIMEOUT_MS = 10_000;

interface WrittenEvent {
  readonly name: string;
  readonly count: number;
}
