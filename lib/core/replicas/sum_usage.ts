/** How much do pods use together, as far as it is known? */
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import type { PodRates } from "./rates.ts";

/** In nanocores or bytes, of the container that the trigger names, or all. A double: good for comparing, not for the HPA's arithmetic. */
export function sumUsage(
  { type, container }: Pick<ResourceTrigger, "type" | "container">,
  pods: Iterable<PodRates | null>,
): number {
  let sum = 0;
  for (const rates of pods) {
    for (const name in rates?.containers) {
      const own = rates.containers[name];
      if (own === undefined || (container !== null && container !== name)) continue;
      sum += type === "cpu" ? own.rate?.nanocores ?? 0 : own.workingSetBytes;
    }
  }
  return sum;
}
