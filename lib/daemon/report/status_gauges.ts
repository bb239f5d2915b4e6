/** The gauges that follow from the conditions of all autoscalers (C52): how many there are, are active, are scaling. */
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { Metrics, Totals } from "../metrics/metrics.ts";
import type { StatusListener, StatusLook } from "./status_look.ts";

/** Where the gauges are set, and which autoscalers there are. */
export interface StatusGaugesOptions {
  readonly metrics: Pick<Metrics, "setTotals" | "setActive">;
  readonly inventory: Pick<Inventory, "autoscalers">;
}

/** Sets the gauges; never throws, as metrics do not. */
export class StatusGauges implements StatusListener {
  readonly #options: StatusGaugesOptions;
  /** uids of autoscalers inside the cooldown of their last resize. */
  readonly #scaling = new Set<string>();

  constructor(options: StatusGaugesOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, status }: StatusLook): void {
    this.#options.metrics.setActive(autoscaler, isTrue(status, "Active"));
    if (status.scaling) this.#scaling.add(autoscaler.uid);
    else this.#scaling.delete(autoscaler.uid);
  }

  onUnknown(uid: string): void {
    this.#scaling.delete(uid);
  }

  onSwept(): void {
    const { metrics, inventory } = this.#options;
    const totals = new Map<string, { total: number; scalingActive: number }>();
    for (const { uid, namespace } of inventory.autoscalers()) {
      const count = totals.get(namespace) ?? { total: 0, scalingActive: 0 };
      totals.set(namespace, count);
      count.total++;
      if (this.#scaling.has(uid)) count.scalingActive++;
    }
    metrics.setTotals(totals satisfies ReadonlyMap<string, Totals>);
  }

  forget(uid: string): void {
    this.#scaling.delete(uid);
  }
}

function isTrue({ conditions = [] }: AutoscalerStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}
