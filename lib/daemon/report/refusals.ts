/**
 * The sink that tells when resizes of an autoscaler are refused for long and none is accepted. The first refusal for a
 * reason of its own is an event already (C44); a server that is busy, or gives no answer, is none until it lasts.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { RefusalReason } from "../../core/reasons.ts";
import type { Answer } from "../../core/resize_request.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatDuration } from "../../units/duration.ts";
import { formatName } from "../inventory/facts.ts";
import type { Recorder } from "./recorder.ts";
import type { Sending } from "../evaluator.ts";
import { findOwner, type Sink } from "./sink.ts";
import { toSteadyWords } from "./steady_words.ts";
import type { OnTrouble } from "./trouble.ts";

/** Whom it tells. */
export interface RefusalsOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly recorder: Pick<Recorder, "publish">;
  readonly onTrouble: OnTrouble;
  /** False for an autoscaler deleted while an answer was on its way: nothing is kept of it. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

const WHAT = "Cannot resize pods";
const BUSY = "the API server is busy, and resizes wait for it";
/** What is over sooner heals by itself. */
const LONG_MS = 60_000;
/** Twice the longest wait after a refusal: whoever was refused before that wants nothing any more. */
const FORGET_MS = 20 * 60_000;

interface Episode {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly isLong: boolean;
  readonly isPublished: boolean;
}

/** Remembers since when each autoscaler has been refused. */
export class Refusals {
  readonly #options: RefusalsOptions;
  /** By uid of the autoscaler. */
  readonly #episodes = new Map<string, Episode>();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  readonly sink: Sink = (evaluation) => {
    const { observation } = evaluation.input;
    if (observation.kind !== "answered") return;
    const { request, answer } = observation;
    const autoscaler = findOwner(evaluation, request);
    if (autoscaler === null || !this.#options.isKnown(autoscaler)) return;
    if (answer.kind === "accepted") return this.#end(autoscaler);
    const refusal = readRefusal(answer);
    if (refusal !== null) this.#note(autoscaler, refusal);
  };

  /** Looks for requests that have waited for their turn for long, as the server is busy. To be called now and then. */
  sweep(listQueued: (forMs: number) => Iterable<Sending>): void {
    const nowMs = this.#options.clock.monotonic();
    for (const { tracked: { contenders }, request } of listQueued(LONG_MS)) {
      const autoscaler = contenders.find(({ uid }) => uid === request.autoscaler);
      if (autoscaler === undefined || !this.#options.isKnown(autoscaler)) continue;
      const before = this.#episodes.get(autoscaler.uid);
      if (before?.isLong === true && nowMs - before.lastMs < LONG_MS) continue;
      this.#note(autoscaler, { reason: "RetryLater", message: BUSY, forMs: LONG_MS });
    }
  }

  /** The autoscaler was deleted. */
  forget(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    this.#end(autoscaler);
  }

  #end(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    if (!this.#episodes.delete(autoscaler.uid)) return;
    this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: formatName(autoscaler) });
  }

  #note(autoscaler: Autoscaler, { reason, message, forMs = 0 }: Refusal): void {
    const { clock, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const nowMs = clock.monotonic();
    const before = this.#episodes.get(uid);
    const isSame = before !== undefined && nowMs - before.lastMs < FORGET_MS;
    const sinceMs = Math.min(isSame ? before.sinceMs : nowMs, nowMs - forMs);
    const isLong = nowMs - sinceMs >= LONG_MS;
    const isPublished = isSame && before.isPublished;
    // The other reasons have an event of their own from the first refusal on.
    const isNews = isLong && reason === "RetryLater" && !isPublished;
    this.#episodes.set(uid, { sinceMs, lastMs: nowMs, isLong, isPublished: isPublished || isNews });
    if (!isLong) return;
    onTrouble({
      kind: "failure",
      level: "warn",
      message: WHAT,
      autoscaler,
      fields: { reason, why: message },
      topic: { what: WHAT, reason, subject: formatName(autoscaler) },
    });
    if (isNews) this.#publish(autoscaler, toSteadyWords(message));
  }

  #publish(autoscaler: Autoscaler, why: string): void {
    const message = `No resize was accepted for ${formatDuration(LONG_MS)} or more (RetryLater): ${why}`;
    this.#options.recorder.publish({ name: "ScaleFailed", message }, { autoscaler });
  }
}

interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
  /** How long it has lasted already, ms. */
  readonly forMs?: number;
}

function readRefusal(answer: Answer): Refusal | null {
  if (answer.kind === "refused") return answer;
  return answer.kind === "unconfirmed" ? { reason: "RetryLater", message: answer.message } : null;
}
