/**
 * The gate of sizes that wait (C44, C47): a refused size, or one that goes as far or further, waits; a smaller change,
 * or a changed pod or autoscaler, may go at once. The other sides still move.
 */
import type { SideKey } from "../../units/resources.ts";
import { listRefusals, type Refusal } from "../settle/refusal.ts";
import type { Candidate } from "./candidate.ts";
import type { Objection } from "./objection.ts";

/** About every side that waits; with the words of the refusal that ends first. */
export function refusalsOver(candidate: Candidate): Objection | null {
  const sides: SideKey[] = [];
  let first: Refusal | null = null;
  for (const one of candidate.sized) {
    if (one.kind !== "moves") continue;
    const refusal = findRefusal(one.key, one.to, candidate);
    if (refusal === null) continue;
    sides.push(one.key);
    if (first === null || refusal.until < first.until) first = refusal;
  }
  if (first === null) return null;
  const { reason, message, until } = first;
  return { kind: "blocked", reason, message, until, sides };
}

/** What holds back that amount of the side, the longest if there are several. */
function findRefusal(key: SideKey, to: number, candidate: Candidate): Refusal | null {
  let longest: Refusal | null = null;
  for (const refusal of listRefusals(candidate.containerState.refusals[key] ?? {})) {
    if (holds(refusal, to, candidate) && (longest === null || refusal.until > longest.until)) longest = refusal;
  }
  return longest;
}

function holds(refusal: Refusal, to: number, { input: { now, pod }, autoscaler, action }: Candidate): boolean {
  if (now >= refusal.until) return false;
  const isSame = refusal.podGeneration === pod.generation && refusal.autoscaler === autoscaler.uid &&
    refusal.autoscalerGeneration === autoscaler.generation;
  switch (refusal.kind) {
    case "everything":
      // A server that is busy is so whatever has changed.
      return isSame || refusal.reason === "RetryLater";
    case "size":
    case "givenUp":
      if (!isSame || refusal.action !== action) return false;
      return action === "scaleUp" ? to >= refusal.to : to <= refusal.to;
  }
}
