/**
 * What a pod counts for as a whole, as scheduler, kubelet, quotas and limit ranges add its containers up: all that run
 * together, or an init container beside the sidecars started before it if that is more (KEP-753); what the pod's own
 * `resources` say instead of that (KEP-2837). A container counts with the largest of what it asks for, was given and
 * has (KEP-1287).
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/component-helpers/resource/helpers.go
 */
import type { SideKey } from "../../units/resources.ts";
import type { ContainerFacts, PodFacts } from "./pod_facts.ts";

/** What is added up: containers first, init containers in the order in which they start. */
export type Summed = Pick<PodFacts, "containers" | "podResources">;

/** Millicores or bytes of that side, without the pod's overhead. */
export function sumPod({ containers, podResources }: Summed, key: SideKey): number {
  const own = podResources?.[key] ?? null;
  if (own !== null) return own;
  let [running, sidecars, peak] = [0, 0, 0];
  for (const container of containers) {
    const amount = readCounted(container, key) ?? 0;
    if (container.kind === "init") peak = Math.max(peak, sidecars + amount);
    else running += amount;
    if (container.kind === "sidecar") sidecars += amount;
  }
  return Math.max(running, peak);
}

/** How much of that side the container may have at most while the pod counts for no more than `limit`; may be negative. */
export function readMost(
  { containers, podResources }: Summed,
  container: ContainerFacts,
  { key, limit }: { readonly key: SideKey; readonly limit: number },
): number {
  // The containers of such a pod share what it has as a whole.
  if ((podResources?.[key] ?? null) !== null) return Infinity;
  let [running, sidecars, peak, isStarted] = [0, 0, 0, false];
  for (const one of containers) {
    const amount = one === container ? 0 : readCounted(one, key) ?? 0;
    if (one.kind === "init") {
      if (isStarted) peak = Math.max(peak, sidecars + amount);
      continue;
    }
    running += amount;
    if (one.kind === "sidecar") sidecars += amount;
    if (one === container && one.kind === "sidecar") isStarted = true;
  }
  return limit - Math.max(running, peak);
}

/** `null` where the container has none. */
function readCounted({ spec, allocated, reported }: ContainerFacts, key: SideKey): number | null {
  const asked = spec[key];
  if (asked === null) return null;
  return Math.max(asked, allocated?.[key] ?? 0, reported?.[key] ?? 0);
}
