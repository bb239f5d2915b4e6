/** The gauge of pods that want more than they can be given (L53): each podfit sets it for the pods that it looks after. */
import type { Inventory } from "../inventory/inventory.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StatusListener } from "./status_look.ts";

/** Where the gauge is set, and which autoscalers there are. */
export interface LimitGaugesOptions {
  readonly metrics: Pick<Metrics, "setLimited" | "keepErrors">;
  readonly inventory: Pick<Inventory, "autoscalers">;
}

/** Sets the gauge; never throws, as metrics do not. */
export function createLimitGauges({ metrics, inventory }: LimitGaugesOptions): StatusListener {
  return {
    onStatus: ({ autoscaler, facts }) => metrics.setLimited(autoscaler, facts.limits.reasons),
    onSwept: () => metrics.keepErrors(new Set(Array.from(inventory.autoscalers(), ({ namespace }) => namespace))),
    // The figures of an autoscaler go all together.
    forget() {},
  };
}
