/** The last resizes of a container as its pod's records tell them: what was changed, why, and how long it took. */
import { describeChange, listChanges } from "../../core/changes.ts";
import type { PodLine } from "../../record/line.ts";
import type { ResizeExplanation } from "./explanation.ts";

/** So many are told. */
const MOST = 5;

/** The newest first; refused ones too. */
export function listResizes(lines: readonly PodLine[], container: string): readonly ResizeExplanation[] {
  const found: ResizeExplanation[] = [];
  for (const { record: { input: { now, observation }, outcome } } of lines) {
    if (outcome.enacted !== null) noteEnacted(found, outcome.enacted.tookMs);
    if (observation.kind !== "answered" || observation.request.container !== container) continue;
    const { request: { action, from, to, why }, answer } = observation;
    const isRefused = answer.kind === "refused";
    if (!isRefused && answer.kind !== "accepted" && answer.kind !== "unconfirmed") continue;
    const change = describeChange(from, to, listChanges(from, to));
    const refused = isRefused ? `${answer.reason}: ${answer.message}` : null;
    found.push({ at: now, action, change, why, tookMs: null, refused });
  }
  return found.slice(-MOST).reverse();
}

/** A pod has one resize under way at a time: it is the last that was accepted. */
function noteEnacted(found: ResizeExplanation[], tookMs: number): void {
  const last = found.findLastIndex(({ refused }) => refused === null);
  const one = found[last];
  if (one !== undefined && one.tookMs === null) found[last] = { ...one, tookMs };
}
