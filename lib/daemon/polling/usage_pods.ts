/** Which containers of tracked pods are read, where a source reads each by itself: those that an autoscaler is for. */
import { findContainer } from "../../core/pod/pod_facts.ts";
import type { UsageContainer, UsagePod } from "../../usage/watch_usage.ts";
import type { Tracked } from "../inventory/tracked.ts";

/** One for each pod, in their order, with the containers that its contenders name. */
export function* listUsagePods(all: Iterable<Tracked>): Generator<UsagePod> {
  for (const { pod, contenders } of all) {
    const containers: UsageContainer[] = [];
    for (const { containerName } of contenders) {
      const container = findContainer(pod, containerName);
      if (container !== null && !containers.includes(container)) containers.push(container);
    }
    const { uid, namespace, name, qosClass } = pod;
    yield { uid, namespace, name, qosClass, containers };
  }
}
