/** A podfit's `/debug/records`, however it is reached. */
import type { RecordLine } from "../../record/line.ts";

/** What is asked for; `/debug/records?namespace=NS&pod=NAME` and the like. */
export interface DebugQuery {
  readonly namespace?: string;
  readonly pod?: string;
  readonly scaledObject?: string;
  readonly latest?: true;
  /** Goes on with each later evaluation. */
  readonly watch?: true;
  /** With `watch`: without what is remembered. */
  readonly past?: false;
}

export interface DebugSource {
  /** For messages: `pod podfit/podfit-0` and the like. */
  readonly name: string;
  /** Lines as they come. Throws a DebugError; `NothingKnown` where that podfit has nothing of it. */
  readonly read: (query: DebugQuery, signal: AbortSignal) => AsyncIterable<RecordLine>;
}

/** A podfit that answers over HTTP. */
export interface DebugListener extends DebugSource {
  /** The answer, as lines of JSON. Rejects with a DebugError where it is none. */
  readonly open: (query: DebugQuery, signal: AbortSignal) => Promise<Response>;
}

/** Why records cannot be had, which decides what is tried next. */
export type DebugReason =
  | "NothingKnown"
  | "NoPod"
  | "NoPodfit"
  | "NoListener"
  | "NoRight"
  | "NeedsToken"
  | "Unreachable"
  | "BadAnswer";

/** One line that says what to do. */
export class DebugError extends Error {
  override readonly name = "DebugError";
  readonly reason: DebugReason;

  constructor(reason: DebugReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** `?namespace=shop&pod=web` */
export function toSearch(query: DebugQuery): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `?${search}`;
}

/** How the debug listener's 404 begins, unlike that of a listener without records. */
export const NOTHING_KNOWN = /^Nothing is known of /;
