/** Which pods of an autoscaler want more and are held by what does not pass by itself (L53)? */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { LimitFacts } from "../../autoscaler/limited.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { listViews, readStateFor } from "../../core/recommend/shadow.ts";
import { readLimit } from "../../core/settle/limited.ts";
import type { Standing } from "../../core/standing.ts";

/** Counts each pod once, under the first reason of its containers. */
export type ReadLimits = (autoscaler: Autoscaler, pods: Iterable<PodFacts>) => LimitFacts;

/** Reads what the last evaluation of each pod has left. */
export function createLimits(readStanding: (uid: string) => Standing | null): ReadLimits {
  return (autoscaler, pods) => {
    let first: LimitFacts["first"] = null;
    let reasons: Map<string, number> | null = null;
    for (const pod of pods) {
      const reason = findReason(autoscaler, readStanding(pod.uid));
      if (reason === null) continue;
      first ??= { pod: pod.name, reason };
      reasons ??= new Map();
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    return { first, reasons: reasons ?? NO_REASONS };
  };
}

const NO_REASONS: ReadonlyMap<string, number> = new Map();

function findReason(autoscaler: Autoscaler, state: Standing | null): string | null {
  if (state === null) return null;
  for (const view of listViews(autoscaler, readStateFor(autoscaler, state))) {
    const reason = readLimit(view);
    if (reason !== null) return reason;
  }
  return null;
}
