/** One look at an autoscaler: what its status follows from and the status; and who is handed every such look. */
import type { AutoscalerStatus, StatusFacts } from "../../autoscaler/conditions.ts";
import type { AutoscalerFacts } from "../inventory/facts.ts";

/** An autoscaler, what its status follows from, and the status. */
export interface StatusLook {
  readonly autoscaler: AutoscalerFacts;
  readonly facts: StatusFacts;
  readonly status: AutoscalerStatus;
}

/** Hears of every look. An autoscaler for which `onStatus` throws counts as one that cannot be computed. */
export interface StatusListener {
  /** A status was computed anew; it may be the same as before. */
  onStatus(look: StatusLook): void;
  /** The status of the autoscaler with this uid cannot be computed at present. */
  onUnknown?(uid: string): void;
  /** All autoscalers were looked at. */
  onSwept?(): void;
  /** The autoscaler with this uid was deleted. */
  forget(uid: string): void;
}
