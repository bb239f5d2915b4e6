/**
 * How far replicas may go at once (R41, R43), in doubles of just this order: 100 and 10 % are 111, 10 less 90 % are 0. As the HPA controller's
 * convertDesiredReplicasWithRules and convertDesiredReplicasWithBehaviorRate.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 */
import type { Behavior, ScalingPolicy, ScalingRules } from "../../../scaled_object/behavior.ts";
import type { History, ScaleEvent } from "./history.ts";

export interface RateInput {
  readonly now: number;
  readonly replicas: number;
  readonly stabilized: number;
  /** At least 1. */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly behavior: Behavior | null;
}

export type Limit = "TooManyReplicas" | "TooFewReplicas" | "ScaleUpLimit" | "ScaleDownLimit";

/** `limit`: what keeps replicas from being what is stabilized; `null` = nothing. */
export interface Limited {
  readonly desired: number;
  readonly limit: Limit | null;
}

export function limitRate(history: History, input: RateInput): Limited {
  const { behavior, replicas, stabilized, minReplicas, maxReplicas } = input;
  if (behavior === null) return limitPlain(input);
  if (stabilized > replicas) {
    const most = Math.max(replicas, toUpLimit(history, input, behavior.scaleUp));
    return atMost(stabilized, maxReplicas > most ? [most, "ScaleUpLimit"] : [maxReplicas, "TooManyReplicas"]);
  }
  if (stabilized < replicas) {
    const least = Math.min(replicas, toDownLimit(history, input, behavior.scaleDown));
    return atLeast(stabilized, minReplicas < least ? [least, "ScaleDownLimit"] : [minReplicas, "TooFewReplicas"]);
  }
  return { desired: stabilized, limit: null };
}

/** Without behavior replicas may double, or become 4, in one tick. */
function limitPlain({ replicas, stabilized, minReplicas, maxReplicas }: RateInput): Limited {
  if (stabilized < minReplicas) return { desired: minReplicas, limit: "TooFewReplicas" };
  const most = Math.max(2 * replicas, 4);
  return atMost(stabilized, maxReplicas > most ? [most, "ScaleUpLimit"] : [maxReplicas, "TooManyReplicas"]);
}

function atMost(desired: number, [most, limit]: readonly [number, Limit]): Limited {
  return desired > most ? { desired: most, limit } : { desired, limit: null };
}

function atLeast(desired: number, [least, limit]: readonly [number, Limit]): Limited {
  return desired < least ? { desired: least, limit } : { desired, limit: null };
}

type Now = Pick<RateInput, "now" | "replicas">;

function toUpLimit(history: History, now: Now, { select, policies }: ScalingRules): number {
  if (select === "Disabled") return now.replicas;
  const limits = policies.map((policy) => {
    const start = toStart(history, now, policy);
    return policy.type === "Pods" ? start + policy.value : Math.ceil(start * (1 + policy.value / 100));
  });
  return select === "Min" ? Math.min(...limits) : Math.max(...limits);
}

function toDownLimit(history: History, now: Now, { select, policies }: ScalingRules): number {
  if (select === "Disabled") return now.replicas;
  const limits = policies.map((policy) => {
    const start = toStart(history, now, policy);
    return policy.type === "Pods" ? start - policy.value : Math.trunc(start * (1 - policy.value / 100));
  });
  // The least change leaves the most.
  return select === "Min" ? Math.max(...limits) : Math.min(...limits);
}

/** Replicas at the period's start, by what the tick half itself has changed since then, in both directions. */
function toStart({ ups, downs }: History, { now, replicas }: Now, { periodMs }: ScalingPolicy): number {
  const sum = (events: readonly ScaleEvent[]) =>
    events.reduce((total, { at, change }) => at > now - periodMs ? total + change : total, 0);
  return replicas - sum(ups) + sum(downs);
}
