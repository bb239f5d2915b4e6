/** Counts pods for kubernetes-workload triggers (R12): of selectors that are kept current, so that a poll costs little however many pods there are. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { formatSelector } from "../../units/selector.ts";
import type { CountPods } from "../../triggers/value_sources.ts";
import type { HeldPodSet, PodSets } from "./pod_sets.ts";

/** Selectors that were asked for last are kept, so many. */
const MOST_HELD = 2_000;

export function createCountPods(sets: Pick<PodSets, "hold">): CountPods {
  const held = new Map<string, HeldPodSet>();
  return ({ namespace, selector, isByNode }) => {
    const key = `${namespace}/${formatSelector(selector)}`;
    const one = held.get(key) ?? sets.hold(namespace, selector, null);
    held.delete(key);
    held.set(key, one);
    const [oldest] = held;
    if (held.size > MOST_HELD && oldest !== undefined) {
      held.delete(oldest[0]);
      oldest[1][Symbol.dispose]();
    }
    const pods = [...one.set.pods.values()].filter(isCounted);
    if (!isByNode) return pods.length;
    return new Set(pods.flatMap(({ nodeName }) => nodeName ?? [])).size;
  };
}

function isCounted({ finished }: PodFacts): boolean {
  return !finished;
}
