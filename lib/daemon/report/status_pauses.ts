/**
 * How soon may a status be written again? The first change is written at once, later ones are gathered for a while, and
 * for longer and longer as long as nothing but words changes: numbers of pods, or the text of an error.
 */
import type { Condition } from "../../autoscaler/conditions.ts";
import { isRecord } from "../../units/untrusted.ts";
import { isEqual } from "./merge_patch.ts";

/** A change of a status, and how long ago the one before was written. */
export interface Change {
  readonly before: object;
  readonly after: object;
  readonly sinceMs: number;
}

const LEAST_MS = 5_000;
const LONGEST_MS = 60_000;
/** Words that have rested for so many pauses are written at once again. */
const RESTED = 4;

/** Remembers pauses by uid of the autoscaler, of those whose words change. */
export class StatusPauses {
  readonly #words = new Map<string, number>();

  forget(uid: string): void {
    this.#words.delete(uid);
  }

  /** Whether the change may be written now. Then the next one of words alone waits for longer. */
  isOver(uid: string, { before, after, sinceMs }: Change): boolean {
    if (sinceMs < LEAST_MS) return false;
    if (!isOfWords(before, after)) return true;
    const pauseMs = this.#words.get(uid) ?? LEAST_MS;
    if (sinceMs < pauseMs) return false;
    if (sinceMs >= RESTED * pauseMs) this.#words.delete(uid);
    else this.#words.set(uid, Math.min(2 * pauseMs, LONGEST_MS));
    return true;
  }
}

/** Whether they are the same but for the times of conditions. */
export function isSameButTimes(a: unknown, b: unknown): boolean {
  return isEqual(strip(a, ["lastTransitionTime"]), strip(b, ["lastTransitionTime"]));
}

function isOfWords(before: object, after: object): boolean {
  return isEqual(strip(before, ["message"]), strip(after, ["message"]));
}

/** `status` may be of any shape. */
function strip(status: unknown, fields: readonly (keyof Condition)[]): unknown {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return status;
  const conditions = status.conditions.map((one) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).filter(([key]) => !fields.includes(key as never))) : one
  );
  return { ...status, conditions };
}
