/**
 * Publishes Kubernetes Events: repeated ones become a count, each object has a rate limit, the queue is bounded.
 * Namespaces take turns in the queue. Nothing waits for an event. The limits are those of client-go's recorder.
 *
 * Events on pods repeat what an event of the autoscaler or a condition says. They wait behind the others, and are
 * dropped first.
 */
import type { ApiClient } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Lanes } from "../../runtime/lanes.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatSubject, type OnFailure, toNameField } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import {
  type EventContext,
  type EventNotice,
  EventWriter,
  getSubject,
  type QueuedEvent,
  toEventType,
  type WriteFailure,
} from "./writer.ts";

interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "eventPublished">;
  /** Logs the notices that are warnings. */
  readonly onNotice: OnFailure;
  /** Receives failures to write. */
  readonly onTrouble: OnFailure;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/**
 * Takes notices at any time and writes them while `run` runs. An event that cannot be written is counted, reported and
 * dropped. Clauses: C50, L58, R92.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #queue = new EventQueue({ max: MAX_QUEUED, maxAlike: MAX_ALIKE, writers: MAX_WRITERS });
  readonly #writer: EventWriter;
  /** By key. Writes to one Event run one after the other. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #rates: EventRates;
  /** Pods are many: their rates must not push out those of autoscalers. */
  readonly #podRates: EventRates;
  readonly #idle: (() => void)[] = [];
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#writer = new EventWriter(options);
    this.#rates = new EventRates(options.clock);
    this.#podRates = new EventRates(options.clock);
  }

  publish(notice: EventNotice, context: EventContext): void {
    const { metrics, clock } = this.#options;
    const { isOnPod = false } = context;
    if (!isOnPod) this.#log(notice, context);
    const isAction = PER_ACTION.has(notice.name);
    const { uid, name: subject } = getSubject(context);
    const mayPublish = isOnPod ? this.#podRates.take(uid) : isAction || this.#rates.take(uid);
    if (!mayPublish) return metrics.eventPublished("rate_limited");
    const at = clock.now();
    const key = isAction || isOnPod ? null : toEventKey(notice, context);
    const name = this.#newName(subject, at);
    const dropped = this.#queue.put({ notice, context, at, name, key, times: 1 });
    if (dropped !== null) this.#drop(dropped, "Events are dropped: they come faster than they can be written");
    this.#idle.shift()?.();
  }

  /** Writes until the signal aborts. Then each queued event gets one more try, within 5 s for all. */
  async run(signal: AbortSignal): Promise<void> {
    const writers = Array.from({ length: MAX_WRITERS }, () => this.#runWriter(signal));
    await Promise.all(writers);
    using drain = this.#options.clock.timeout(DRAIN_MS);
    await Promise.all(writers.map(() => this.#drain(signal, drain.signal)));
  }

  async #runWriter(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#queue.take();
      if (next === null) await this.#wait(signal);
      else {
        await this.#write(next, signal);
        this.#queue.release(next);
      }
    }
  }

  async #drain(signal: AbortSignal, deadline: AbortSignal): Promise<void> {
    for (let last = this.#queue.take(); last !== null; last = this.#queue.take()) {
      if (deadline.aborted) this.#drop(last, "Events are dropped: they could not be written before the end");
      else await this.#write(last, signal, deadline);
      this.#queue.release(last);
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#idle.push(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async #write(queued: QueuedEvent, signal: AbortSignal, deadline?: AbortSignal): Promise<void> {
    const { key } = queued;
    if (key === null) return await this.#tryToWrite(queued, signal, deadline);
    const before = this.#writing.get(key) ?? Promise.resolve();
    const writing = before.then(() => this.#tryToWrite(queued, signal, deadline));
    this.#writing.set(key, writing);
    await writing;
    if (this.#writing.get(key) === writing) this.#writing.delete(key);
  }

  async #tryToWrite(queued: QueuedEvent, signal: AbortSignal, deadline?: AbortSignal): Promise<void> {
    const { clock, random, onTrouble } = this.#options;
    const subject = formatSubject(queued.context.autoscaler);
    for (let attempt = 0;; attempt++) {
      const error = await this.#writer.write(queued, { wait: deadline ?? signal, flush: deadline });
      if (error === null) {
        this.#count("ok", queued);
        return onTrouble({ kind: "recovered", what: CANNOT_WRITE_EVENTS, subject });
      }
      const isFinal = error.code !== 0 && error.code < 500 && error.code !== 429;
      if (isFinal || attempt + 1 >= MAX_TRIES || signal.aborted) return this.#giveUp(queued, error);
      await clock.sleep(backoffMs(attempt, { baseMs: 500, maxMs: 10_000, random }), signal).catch(() => {});
    }
  }

  #log(notice: EventNotice, { autoscaler }: EventContext): void {
    const { log, onNotice } = this.#options;
    const fields = { reason: notice.name, note: notice.message };
    if (toEventType(notice) === "Normal") return log.debug("Notice", { ...toNameField(autoscaler), ...fields });
    const topic = { what: "Notice", reason: notice.name, subject: formatSubject(autoscaler) };
    onNotice({ kind: "failure", level: "warn", message: "Notice", autoscaler, fields, topic });
  }

  #giveUp(queued: QueuedEvent, error: WriteFailure): void {
    const reason = error.code === 0 ? "NoAnswer" : String(error.code);
    this.#count("failed", queued);
    this.#report(queued, { message: CANNOT_WRITE_EVENTS, reason, fields: { reason, why: error.message } });
  }

  #drop(queued: QueuedEvent, message: string): void {
    this.#count("dropped", queued);
    this.#report(queued, { message, reason: "Dropped", fields: {} });
  }

  #report({ notice, context: { autoscaler } }: QueuedEvent, { message, reason, fields }: DroppedEvent): void {
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message,
      autoscaler,
      fields: { event: notice.name, ...fields },
      topic: { what: CANNOT_WRITE_EVENTS, reason, subject: formatSubject(autoscaler) },
    });
  }

  #count(result: "ok" | "failed" | "dropped", { times }: QueuedEvent): void {
    for (let time = 0; time < times; time++) this.#options.metrics.eventPublished(result);
  }

  #newName(subject: string, at: number): string {
    const random = Math.floor(this.#options.random() * 0x10000);
    const suffix = [at, this.#serial++ % 0x1000, random].map((one) => one.toString(16)).join("");
    return `${subject.slice(0, 220).replace(/[.-]+$/, "")}.${suffix}`;
  }
}

/** Limits the events of each object to a burst and then one at a time. */
class EventRates {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Returns whether the object may have one more event now, and counts it. */
  take(uid: string): boolean {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(uid) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    this.#buckets.delete(uid);
    this.#buckets.set(uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value ?? uid);
    return tokens >= 1;
  }
}

/** Each action is a separate event: never merged, and on the autoscaler never rate limited. */
const PER_ACTION: ReadonlySet<EventNotice["name"]> = new Set([
  "ScaleUp",
  "ScaleDown",
  "ResizeMayRestart",
  "SuccessfulRescale",
  "KEDAScaleTargetActivated",
  "KEDAScaleTargetDeactivated",
]);

/** One namespace has at most half of them, so that its webhook or quota does not keep the events of others. */
const MAX_WRITERS = 16;

const MAX_QUEUED = 5000;

const MAX_ALIKE = 200;

/** The most objects of one kind whose rates are remembered. */
const MAX_BUCKETS = 4096;

const BURST = 25;

const REFILL_MS = 300_000;

const MAX_TRIES = 4;

/** For everything that is queued at the end. A process has 30 s to end. */
const DRAIN_MS = 5_000;

const CANNOT_WRITE_EVENTS = "Cannot write events";

interface DroppedEvent {
  readonly message: string;
  readonly reason: string;
  readonly fields: LogFields;
}

function toEventKey({ name, message }: EventNotice, { autoscaler, pod }: EventContext): string {
  return [autoscaler.uid, pod?.uid ?? "", name, message].join("\n");
}

interface EventQueueOptions {
  readonly max: number;
  /** The most events of one autoscaler and name that wait separately; the others are combined into one. */
  readonly maxAlike: number;
  /** How many events are written at once, shared by the namespaces. Default: no limit. */
  readonly writers?: number;
}

const COMBINED = "(combined from similar events): ";

/**
 * The bounded queue of events, in order of arrival within a namespace. Namespaces take turns. Equal events are counted,
 * and many similar ones are combined, as in client-go (tools/record/events_cache.go). If it is full, an event of the
 * namespace with the most events is dropped.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  /** By namespace. */
  readonly #queues: Lanes<QueuedEvent>;
  readonly #byKey = new Map<string, QueuedEvent>();
  readonly #alike = new Map<string, number>();
  #size = 0;

  constructor(options: EventQueueOptions) {
    this.#options = options;
    this.#queues = new Lanes(options.writers);
  }

  /** Adds an event. Returns the event that had to be dropped, this or another one; `null` = none. */
  put(event: QueuedEvent): QueuedEvent | null {
    if (event.context.isOnPod) return this.#add(event);
    if (event.key !== null && this.#merge(event.key, event)) return null;
    const kind = toAlikeKey(event);
    const mostAlike = this.#size < this.#options.max ? this.#options.maxAlike : 1;
    if ((this.#alike.get(kind) ?? 0) < mostAlike) return this.#add(event);
    const combined = { ...event, key: `${kind}\n${COMBINED}`, notice: toCombined(event.notice) };
    return this.#merge(combined.key, combined) ? null : this.#add(combined, 2 * this.#options.max);
  }

  /** Returns the next event, to be released when it is written; `null` if there is none that may be written now. */
  take(): QueuedEvent | null {
    const next = this.#queues.take();
    if (next === null) return null;
    this.#queues.hold(next.lane);
    return this.#forget(next.item);
  }

  /** The event was written, or dropped after it was taken. */
  release({ context }: QueuedEvent): void {
    this.#queues.release(context.autoscaler.namespace);
  }

  #merge(key: string, { notice, context, at }: QueuedEvent): boolean {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return false;
    const merged = { ...waiting, notice, context, at, times: waiting.times + 1 };
    this.#queues.replace(context.autoscaler.namespace, waiting, merged);
    this.#byKey.set(key, merged);
    return true;
  }

  /**
   * In a full queue the event takes the place of one on a pod, if there is any, of the namespace with the most of them.
   * An event on a pod takes no other place. A combined event has an extra place in addition to the limit.
   */
  #add(event: QueuedEvent, most = this.#options.max): QueuedEvent | null {
    const { autoscaler: { namespace }, isOnPod = false } = event.context;
    const isUrgent = !isOnPod;
    let dropped: QueuedEvent | null = null;
    if (this.#size >= most) {
      const onPod = this.#queues.findSurplus();
      const surplus = isUrgent ? onPod ?? this.#queues.findSurplus({ isUrgent }) : onPod;
      const isOfSameKind = isOnPod || onPod === null;
      if (surplus === null || (isOfSameKind && surplus.count <= this.#queues.count(namespace, { isUrgent }))) {
        return event;
      }
      this.#queues.remove(surplus.lane, surplus.item);
      dropped = this.#forget(surplus.item);
    }
    this.#queues.add(namespace, event, { isUrgent });
    this.#size++;
    if (isOnPod) return dropped;
    if (event.key !== null) this.#byKey.set(event.key, event);
    this.#alike.set(toAlikeKey(event), (this.#alike.get(toAlikeKey(event)) ?? 0) + 1);
    return dropped;
  }

  #forget(event: QueuedEvent): QueuedEvent {
    this.#size--;
    if (event.context.isOnPod) return event;
    const kind = toAlikeKey(event);
    const left = (this.#alike.get(kind) ?? 1) - 1;
    if (left === 0) this.#alike.delete(kind);
    else this.#alike.set(kind, left);
    if (event.key !== null) this.#byKey.delete(event.key);
    return event;
  }
}

function toAlikeKey({ notice, context: { autoscaler } }: QueuedEvent): string {
  return `${autoscaler.uid}\n${notice.name}`;
}

/** Returns the combined notice with the newest message. */
function toCombined(notice: EventNotice): EventNotice {
  return { ...notice, message: COMBINED + notice.message };
}
