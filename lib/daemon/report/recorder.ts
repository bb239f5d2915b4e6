/**
 * Publishes notices as Kubernetes Events on the autoscaler (C50, R92): deduplicated into a count, rate limited per
 * autoscaler, in a bounded queue that a few writers empty. An event that cannot be written is counted, told and dropped;
 * nothing ever waits for one. The limits per autoscaler are those of client-go's recorder (tools/record/events_cache.go).
 */
import type { ApiClient } from "../../kube/client.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Brake } from "../../runtime/brake.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type NoticeContext, type Publication, readType } from "./event_object.ts";
import { EventQueue, type QueuedEvent } from "./event_queue.ts";
import { EventWriter, type WriteFailure } from "./event_writer.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where Events are written, and by whom. */
export interface RecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "eventPublished">;
  /** While it holds, nothing is written. */
  readonly brake: Pick<Brake, "pass">;
  /** Logs warnings among the notices. */
  readonly onNotice: OnTrouble;
  /** Hears of what cannot be written. */
  readonly onTrouble: OnTrouble;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** One per action: never merged with another, never rate limited. */
const PER_ACTION: ReadonlySet<Publication["name"]> = new Set([
  "ScaleUp",
  "ScaleDown",
  "ResizeMayRestart",
  "SuccessfulRescale",
  "KEDAScaleTargetActivated",
  "KEDAScaleTargetDeactivated",
]);
const AT_ONCE = 8;
const MOST_QUEUED = 5000;
const MOST_ALIKE = 200;
/** Autoscalers whose rates are remembered. */
const MOST_REMEMBERED = 4096;
const BURST = 25;
const REFILL_MS = 300_000;
const TRIES = 4;
/** For all that is queued at the end: a process is given 30 s to end. */
const DRAIN_MS = 5_000;
const WHAT = "Cannot write events";

/** Takes notices at any time and writes them while `run` runs. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #queue = new EventQueue({ most: MOST_QUEUED, mostAlike: MOST_ALIKE });
  readonly #writer: EventWriter;
  /** By key: what is counted on one Event is written one after the other. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #idle: (() => void)[] = [];
  #serial = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#writer = new EventWriter(options);
  }

  publish(notice: Publication, context: NoticeContext): void {
    const { metrics, clock } = this.#options;
    this.#log(notice, context);
    const isAction = PER_ACTION.has(notice.name);
    if (!isAction && !this.#takeToken(context.autoscaler.uid)) return metrics.eventPublished("rate_limited");
    const at = clock.now();
    const key = isAction ? null : toKey(notice, context);
    const name = this.#newName(context.autoscaler.name, at);
    const dropped = this.#queue.put({ notice, context, at, name, key, times: 1 });
    if (dropped !== null) this.#drop(dropped, "Events are dropped: they come faster than they can be written");
    this.#idle.shift()?.();
  }

  /** Writes until the signal aborts; what is queued then gets one more try each, within a few seconds for all. */
  async run(signal: AbortSignal): Promise<void> {
    const writers = Array.from({ length: AT_ONCE }, () => this.#runWriter(signal));
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
      const error = await this.#writer.write(queued, { leave: hurry ?? signal, hurry });
      if (error === null) {
        this.#count("ok", queued);
        return onTrouble({ kind: "recovered", what: WHAT, subject });
      }
      const isFinal = error.code !== 0 && error.code < 500 && error.code !== 429;
      if (isFinal || attempt + 1 >= TRIES || signal.aborted) return this.#giveUp(queued, error);
      await clock.sleep(backoffMs(attempt, { baseMs: 500, maxMs: 10_000, random }), signal).catch(() => {});
    }
  }

  #log(notice: Publication, { autoscaler }: NoticeContext): void {
    const { log, onNotice } = this.#options;
    const fields = { reason: notice.name, note: notice.message };
    const subject = formatName(autoscaler);
    if (readType(notice) === "Normal") return log.debug("Notice", { autoscaler: subject, ...fields });
    const topic = { what: "Notice", reason: notice.name, subject };
    onNotice({ kind: "failure", level: "warn", message: "Notice", autoscaler, fields, topic });
  }

  #giveUp(queued: QueuedEvent, error: WriteFailure): void {
    const reason = error.code === 0 ? "NoAnswer" : String(error.code);
    this.#count("failed", queued);
    this.#tell(queued, { message: WHAT, reason, fields: { reason, why: error.message } });
  }

  #drop(queued: QueuedEvent, message: string): void {
    this.#count("dropped", queued);
    this.#tell(queued, { message, reason: "Dropped", fields: {} });
  }

  #tell({ notice, context: { autoscaler } }: QueuedEvent, { message, reason, fields }: Told): void {
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message,
      autoscaler,
      fields: { event: notice.name, ...fields },
      topic: { what: WHAT, reason, subject: formatName(autoscaler) },
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
    if (this.#buckets.size > MOST_REMEMBERED) this.#buckets.delete(this.#buckets.keys().next().value ?? uid);
    return tokens >= 1;
  }
}

interface Told {
  readonly message: string;
  readonly reason: string;
  readonly fields: LogFields;
}

function toKey({ name, message }: Publication, { autoscaler, pod }: NoticeContext): string {
  return [autoscaler.uid, pod?.uid ?? "", name, message].join("\n");
}
