/**
 * Publishes Kubernetes Events: repeated ones become a count, each autoscaler has a rate limit, the queue is bounded.
 * Namespaces take turns in the queue. Nothing waits for an event. The limits are those of client-go's recorder.
 */
import type { ApiClient } from "../../kube/client.ts";
import { backoffMs, type CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatName } from "../cluster/facts.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import {
  type EventContext,
  type EventNotice,
  EventWriter,
  type QueuedEvent,
  toEventType,
  type WriteFailure,
} from "./writer.ts";

// Publishes notices as Kubernetes Events on the autoscaler (C50, R92): deduplicated into a count, rate limited per
// autoscaler, in a bounded queue that a few writers empty. An event that cannot be written is counted, told and
// dropped; nothing ever waits for one. The limits per autoscaler are those of client-go's recorder
// (tools/record/events_cache.go).

/** Where Events are written, and by whom. */
interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "eventPublished">;
  /** While it holds, nothing is written. */
  readonly brake: Pick<CircuitBreaker, "acquire">;
  /** Logs warnings among the notices. */
  readonly onNotice: OnFailure;
  /** Hears of what cannot be written. */
  readonly onTrouble: OnFailure;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** Takes notices at any time and writes them while `run` runs. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #queue = new EventQueue({ max: MAX_QUEUED, maxAlike: MAX_ALIKE });
  readonly #writer: EventWriter;
  /** By key: what is counted on one Event is written one after the other. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #idle: (() => void)[] = [];
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#writer = new EventWriter(options);
  }

  publish(notice: EventNotice, context: EventContext): void {
    const { metrics, clock } = this.#options;
    this.#log(notice, context);
    const isAction = PER_ACTION.has(notice.name);
    if (!isAction && !this.#takeToken(context.autoscaler.uid)) return metrics.eventPublished("rate_limited");
    const at = clock.now();
    const key = isAction ? null : toEventKey(notice, context);
    const name = this.#newName(context.autoscaler.name, at);
    const dropped = this.#queue.put({ notice, context, at, name, key, times: 1 });
    if (dropped !== null) this.#drop(dropped, "Events are dropped: they come faster than they can be written");
    this.#idle.shift()?.();
  }

  /** Writes until the signal aborts; what is queued then gets one more try each, within a few seconds for all. */
  async run(signal: AbortSignal): Promise<void> {
    const writers = Array.from({ length: MAX_WRITERS }, () => this.#runWriter(signal));
    await Promise.all(writers);
    using drain = this.#options.clock.timeout(DRAIN_MS);
    await Promise.all(writers.map(() => this.#drain(signal, drain.signal)));
  }

  async #runWriter(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#queue.take();
      if (next !== null) await this.#write(next, signal);
      else await this.#wait(signal);
    }
  }

  async #drain(signal: AbortSignal, hurry: AbortSignal): Promise<void> {
    for (let last = this.#queue.take(); last !== null; last = this.#queue.take()) {
      if (hurry.aborted) this.#drop(last, "Events are dropped: they could not be written before the end");
      else await this.#write(last, signal, hurry);
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

  async #write(queued: QueuedEvent, signal: AbortSignal, hurry?: AbortSignal): Promise<void> {
    const { key } = queued;
    if (key === null) return await this.#tryToWrite(queued, signal, hurry);
    const before = this.#writing.get(key) ?? Promise.resolve();
    const writing = before.then(() => this.#tryToWrite(queued, signal, hurry));
    this.#writing.set(key, writing);
    await writing;
    if (this.#writing.get(key) === writing) this.#writing.delete(key);
  }

  async #tryToWrite(queued: QueuedEvent, signal: AbortSignal, hurry?: AbortSignal): Promise<void> {
    const { clock, random, onTrouble } = this.#options;
    const subject = formatName(queued.context.autoscaler);
    for (let attempt = 0;; attempt++) {
      const error = await this.#writer.write(queued, { wait: hurry ?? signal, flush: hurry });
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
    const subject = formatName(autoscaler);
    if (toEventType(notice) === "Normal") return log.debug("Notice", { autoscaler: subject, ...fields });
    const topic = { what: "Notice", reason: notice.name, subject };
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
      topic: { what: CANNOT_WRITE_EVENTS, reason, subject: formatName(autoscaler) },
    });
  }

  #count(result: "ok" | "failed" | "dropped", { times }: QueuedEvent): void {
    for (let time = 0; time < times; time++) this.#options.metrics.eventPublished(result);
  }

  #newName(autoscaler: string, at: number): string {
    const random = Math.floor(this.#options.random() * 0x10000);
    const suffix = [at, this.#serial++ % 0x1000, random].map((one) => one.toString(16)).join("");
    return `${autoscaler.slice(0, 220).replace(/[.-]+$/, "")}.${suffix}`;
  }

  #takeToken(uid: string): boolean {
    const now = this.#options.clock.monotonic();
    const bucket = this.#buckets.get(uid) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    this.#buckets.delete(uid);
    this.#buckets.set(uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value ?? uid);
    return tokens >= 1;
  }
}

/** One per action: never merged with another, never rate limited. */
const PER_ACTION: ReadonlySet<EventNotice["name"]> = new Set([
  "ScaleUp",
  "ScaleDown",
  "ResizeMayRestart",
  "SuccessfulRescale",
  "KEDAScaleTargetActivated",
  "KEDAScaleTargetDeactivated",
]);

const MAX_WRITERS = 8;

const MAX_QUEUED = 5000;

const MAX_ALIKE = 200;

/** Autoscalers whose rates are remembered. */
const MAX_BUCKETS = 4096;

const BURST = 25;

const REFILL_MS = 300_000;

const MAX_TRIES = 4;

/** For all that is queued at the end: a process is given 30 s to end. */
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

// Which event is written next? Namespaces take turns, so that a burst in one holds up no other. What is the same is
// counted where it waits, and of many alike the later ones become one, as client-go's correlator has it
// (tools/record/events_cache.go). The queue is bounded: what does not fit is dropped where most wait.

/** How much is kept. */
interface EventQueueOptions {
  readonly max: number;
  /** So many events of one autoscaler and name wait by themselves, the others as one. */
  readonly maxAlike: number;
}

const COMBINED = "(combined from similar events): ";

/** In order of arrival within a namespace. */
export class EventQueue {
  readonly #options: EventQueueOptions;
  /** By namespace; the first is served next. */
  readonly #queues = new Map<string, QueuedEvent[]>();
  readonly #byKey = new Map<string, QueuedEvent>();
  readonly #alike = new Map<string, number>();
  #size = 0;

  constructor(options: EventQueueOptions) {
    this.#options = options;
  }

  /** Takes an event; gives the one that had to be dropped, this or another, `null` = none. */
  put(event: QueuedEvent): QueuedEvent | null {
    if (event.key !== null && this.#merge(event.key, event)) return null;
    const kind = toAlikeKey(event);
    const mostAlike = this.#size < this.#options.max ? this.#options.maxAlike : 1;
    if ((this.#alike.get(kind) ?? 0) < mostAlike) return this.#add(event);
    const combined = { ...event, key: `${kind}\n${COMBINED}`, notice: toCombined(event.notice) };
    return this.#merge(combined.key, combined) ? null : this.#add(combined, 2 * this.#options.max);
  }

  /** `null` when nothing waits. */
  take(): QueuedEvent | null {
    for (const [namespace, lane] of this.#queues) {
      const event = lane.shift();
      this.#queues.delete(namespace);
      if (lane.length > 0) this.#queues.set(namespace, lane);
      if (event === undefined) continue;
      return this.#remove(event);
    }
    return null;
  }

  #merge(key: string, { notice, context, at }: QueuedEvent): boolean {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return false;
    const merged = { ...waiting, notice, context, at, times: waiting.times + 1 };
    const lane = this.#queues.get(context.autoscaler.namespace) ?? [];
    lane[lane.indexOf(waiting)] = merged;
    this.#byKey.set(key, merged);
    return true;
  }

  /** One that stands for many has a place beside them. */
  #add(event: QueuedEvent, most = this.#options.max): QueuedEvent | null {
    const { namespace } = event.context.autoscaler;
    const longest = this.#size < most ? null : this.#findLongest();
    const isOwn = longest !== null && longest.length <= (this.#queues.get(namespace)?.length ?? 0);
    if (isOwn) return event;
    const dropped = longest?.pop() ?? null;
    if (dropped !== null) this.#remove(dropped);
    const lane = this.#queues.get(namespace) ?? [];
    lane.push(event);
    this.#queues.set(namespace, lane);
    if (event.key !== null) this.#byKey.set(event.key, event);
    this.#alike.set(toAlikeKey(event), (this.#alike.get(toAlikeKey(event)) ?? 0) + 1);
    this.#size++;
    return dropped;
  }

  #remove(event: QueuedEvent): QueuedEvent {
    const kind = toAlikeKey(event);
    const left = (this.#alike.get(kind) ?? 1) - 1;
    if (left === 0) this.#alike.delete(kind);
    else this.#alike.set(kind, left);
    if (event.key !== null) this.#byKey.delete(event.key);
    this.#size--;
    return event;
  }

  #findLongest(): QueuedEvent[] | null {
    let longest: QueuedEvent[] | null = null;
    for (const lane of this.#queues.values()) if (lane.length > (longest?.length ?? 0)) longest = lane;
    return longest;
  }
}

function toAlikeKey({ notice, context: { autoscaler } }: QueuedEvent): string {
  return `${autoscaler.uid}\n${notice.name}`;
}

/** The newest message stands for all. */
function toCombined(notice: EventNotice): EventNotice {
  return { ...notice, message: COMBINED + notice.message };
}
