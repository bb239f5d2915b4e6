/**
 * What all triggers together ask for (R40), as the HPA controller's computeReplicasForMetrics.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 */
import type { Proposal } from "./proposal.ts";

export type Computed = Extract<Proposal, { readonly kind: "proposal" }>;
type Failed = Extract<Proposal, { readonly kind: "failed" }>;

/** `decider`: the first of the largest. `failure`: why there is no need, in words for the condition HPAActive. */
export type NeedResult =
  | { readonly kind: "need"; readonly need: number; readonly decider: Computed; readonly index: number }
  | { readonly kind: "invalid"; readonly reason: string; readonly message: string; readonly cause: string };

/** What failed may have asked for more: with a failure replicas never fall. */
export function chooseNeed(proposals: readonly Proposal[], replicas: number): NeedResult {
  const failed = proposals.filter((one): one is Failed => one.kind === "failed");
  const computed = proposals.filter((one): one is Computed => one.kind === "proposal");
  const decider = computed.reduce<Computed | null>(
    (most, one) => most === null || one.replicas > most.replicas ? one : most,
    null,
  );
  const [first] = failed;
  if (decider !== null && (first === undefined || decider.replicas >= replicas)) {
    return { kind: "need", need: Math.max(0, decider.replicas), decider, index: proposals.indexOf(decider) };
  }
  const { reason, message } = first ?? NO_TRIGGER;
  const cause = `invalid metrics (${failed.length} invalid out of ${proposals.length}), first error is: ${message}`;
  return { kind: "invalid", reason, message: `the HPA was unable to compute the replica count: ${message}`, cause };
}

const NO_TRIGGER = { reason: "InvalidMetricSourceType", message: "there is no metric" };
