/**
 * Which containers of a node's pods are read, where a source reads each by itself: those that an autoscaler is for, and all of metered pods.
 */
import { findContainer, type PodFacts } from "../../core/pod/pod_facts.ts";
import type { UsageContainer, UsagePod } from "../../usage/watch_usage.ts";
import type { Tracked } from "../inventory/tracked.ts";

/** One for each pod, in their order, with the containers that its contenders name; metered pods last, with all of theirs. */
export function* listUsagePods(
  { pods, metered }: { readonly pods: ReadonlyMap<string, Tracked>; readonly metered: ReadonlyMap<string, PodFacts> },
): Generator<UsagePod> {
  for (const { pod, contenders } of pods.values()) {
    if (metered.has(pod.uid)) continue;
    const containers: UsageContainer[] = [];
    for (const { containerName } of contenders) {
      const container = findContainer(pod, containerName);
      if (container !== null && !containers.includes(container)) containers.push(container);
    }
    yield toUsagePod(pod, containers);
  }
  for (const pod of metered.values()) yield toUsagePod(pod, pod.containers.filter(({ kind }) => kind !== "init"));
}

function toUsagePod({ uid, namespace, name, qosClass }: PodFacts, containers: readonly UsageContainer[]): UsagePod {
  return { uid, namespace, name, qosClass, containers };
}
