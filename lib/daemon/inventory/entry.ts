/** What the inventory keeps of one autoscaler. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Selector } from "../../units/selector.ts";
import { Contenders } from "./contenders.ts";
import type { AutoscalerFacts } from "./facts.ts";

/** Kept current pod by pod: asking every pod for every autoscaler would take seconds where there are many of both. */
export interface Entry {
  facts: AutoscalerFacts;
  /** What its pods have to meet; `null` when it contends for none: paused, invalid, or its target is missing. */
  selector: Selector | null;
  /** UIDs of eligible pods. */
  readonly matched: Set<string>;
  /** Those of them that have the container, or one of those that EVERY_CONTAINER stands for. */
  readonly tracked: Map<string, PodFacts>;
  /** UIDs of those for which too many others go first. */
  readonly crowdedOut: Set<string>;
  readonly perContainer: Contenders;
}

export function newEntry(facts: AutoscalerFacts): Entry {
  return {
    facts,
    selector: null,
    matched: new Set(),
    tracked: new Map(),
    crowdedOut: new Set(),
    perContainer: new Contenders(),
  };
}

export function forgetPod({ matched, tracked, crowdedOut }: Entry, uid: string): void {
  matched.delete(uid);
  tracked.delete(uid);
  crowdedOut.delete(uid);
}
