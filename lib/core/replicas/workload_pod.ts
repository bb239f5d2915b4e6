/** A pod of a ScaledObject's target, with all that is known of it beside the API object: what the shell gathers for `readPods`. */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Standing } from "../standing.ts";
import type { BornPod } from "./births.ts";
import type { PodRates } from "./rates.ts";

/** One pod that the target's selector lists. */
export interface WorkloadPod extends BornPod {
  readonly rates: PodRates | null;
  /** What `decide` came to last, and the contenders that it was given (unpaused, resolved); `null` where no autoscaler tracks the pod. */
  readonly vertical: { readonly state: Standing; readonly contenders: readonly Autoscaler[] } | null;
}
