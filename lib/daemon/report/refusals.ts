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
/** What is over sooner heals by itself. */
const LONG_MS = 60_000;
/** Twice the longest wait after a refusal: whoever was refused before that wants nothing any more. */
const FORGET_MS = 20 * 60_000;

interface Episode {
  readonly sinceMs: number;
  readonly lastMs: number;
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

  /** The autoscaler was deleted. */
  forget(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    this.#end(autoscaler);
  }

  #end(autoscaler: { readonly uid: string; readonly namespace: string; readonly name: string }): void {
    if (!this.#episodes.delete(autoscaler.uid)) return;
    this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: formatName(autoscaler) });
  }

  #note(autoscaler: Autoscaler, { reason, message }: Refusal): void {
    const { clock, recorder, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const nowMs = clock.monotonic();
    const before = this.#episodes.get(uid);
    const isSame = before !== undefined && nowMs - before.lastMs < FORGET_MS;
    const { sinceMs, isPublished } = isSame ? before : { sinceMs: nowMs, isPublished: false };
    const isLong = nowMs - sinceMs >= LONG_MS;
    const isSilent = reason === "RetryLater";
    this.#episodes.set(uid, { sinceMs, lastMs: nowMs, isPublished: isPublished || (isLong && isSilent) });
    if (!isLong) return;
    onTrouble({
      kind: "failure",
      level: "warn",
      message: WHAT,
      autoscaler,
      fields: { reason, why: message },
      topic: { what: WHAT, reason, subject: formatName(autoscaler) },
    });
    if (isPublished || !isSilent) return;
    const why = `no resize was accepted for ${formatDuration(LONG_MS)} or more (${reason}): ${toSteadyWords(message)}`;
    recorder.publish({ autoscaler: uid, name: "ScaleFailed", message: why }, { autoscaler });
  }
}

interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
}

function readRefusal(answer: Answer): Refusal | null {
  if (answer.kind === "refused") return answer;
  return answer.kind === "unconfirmed" ? { reason: "RetryLater", message: answer.message } : null;
}
