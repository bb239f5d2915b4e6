/** When did podfit send a PATCH, refused or not, and did it wait as long as it has to? */
import { assert } from "#assert";
import { type PodRef, waitFor } from "./cluster.ts";
import { readAt } from "./log.ts";
import type { Podfit } from "./podfit.ts";

/** When podfit sent each PATCH for the pod, in epoch ms. Refused ones leave a trace in its log alone. */
export function readAttempts(podfit: Podfit, pod: PodRef): readonly number[] {
  return podfit.log("Resizing").filter((line) => line.pod === pod.name).map(readAt);
}

export interface AttemptOptions {
  readonly count: number;
  readonly timeoutMs?: number;
}

/** Waits until podfit has sent so many PATCHes for the pod, refused ones too. */
export function waitForAttempts(podfit: Podfit, pod: PodRef, { count, timeoutMs = 90_000 }: AttemptOptions) {
  return waitFor(`${count} PATCHes of pod "${pod.name}"`, () => {
    const attempts = readAttempts(podfit, pod);
    if (attempts.length >= count) return Promise.resolve(attempts);
    throw new Error(`there are ${attempts.length}`);
  }, { timeoutMs });
}

/** A wait ends at one of podfit's evaluations: this much later at most, on a busy machine. */
const EVALUATION_MS = 9_000;

/** Throws unless this long passed from one moment (epoch ms) to the other, up to the next evaluation. */
export function assertWaited([from = NaN, to = NaN]: readonly (number | undefined)[], waitMs: number): void {
  const passedMs = to - from;
  assert(passedMs >= waitMs && passedMs < waitMs + EVALUATION_MS, `waited ${passedMs} ms, not ${waitMs} ms`);
}
