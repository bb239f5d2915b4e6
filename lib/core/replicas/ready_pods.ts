/** How many pods of the target are ready, as the HPA controller counts them for external metrics of type Value (R39). */
import type { PodFacts } from "../pod/pod_facts.ts";

/** Those that run and are Ready, deleting ones included; `null` where the selector lists no pod at all, which makes such a metric an error. */
export function countReadyPods(pods: readonly Pick<PodFacts, "phase" | "ready">[]): number | null {
  if (pods.length === 0) return null;
  return pods.filter(({ phase, ready }) => phase === "Running" && ready?.status === "True").length;
}
