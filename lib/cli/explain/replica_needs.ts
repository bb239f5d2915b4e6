/** What would have to change for another number of pods, and when it can come at the earliest. */
import type { ReplicasState } from "../../core/replicas/state.ts";
import type { ScalingRules } from "../../scaled_object/behavior.ts";
import { formatAge, formatClock, formatWait } from "./say.ts";
import type { WorkloadExplanation } from "./explanation.ts";

interface Facts
  extends
    Pick<WorkloadExplanation, "now" | "replicas" | "need" | "reason" | "behavior" | "minReplicas" | "maxReplicas"> {
  readonly state: ReplicasState;
  readonly cooldownMs: number;
}

/** --horizontal-pod-autoscaler-downscale-stabilization. */
const DOWN_WINDOW_MS = 300_000;

/** One sentence each. */
export function listReplicaNeeds(facts: Facts): readonly string[] {
  const { reason, maxReplicas, minReplicas, behavior } = facts;
  switch (reason) {
    case "ScaleDownStabilized":
      return [explainWindow(facts, "down")];
    case "ScaleUpStabilized":
      return [explainWindow(facts, "up")];
    case "TooManyReplicas":
      return [`maxReplicaCount is ${maxReplicas}: raise it to have more`];
    case "TooFewReplicas":
      return [`minReplicaCount is ${minReplicas}: lower it to have fewer`];
    case "ScaleUpLimit":
      return [
        `behavior.scaleUp allows ${describeRules(behavior?.scaleUp)}: it goes on at the next tick that allows more`,
      ];
    case "ScaleDownLimit":
      return [
        `behavior.scaleDown allows ${
          describeRules(behavior?.scaleDown)
        }: it goes on at the next tick that allows fewer`,
      ];
    case "VerticalFirst":
      return [
        "its pods grow in place first: there are more of them once they are at their bounds, or their node has no room",
      ];
    case "VerticalUp":
      return ["usage of pods at their CPU limit says too little: their limits go up first"];
    case "ScalerCooldown":
      return [explainCooldown(facts)];
    case "WithinTolerance":
      return [
        "a trigger's value would have to leave its target by more than the tolerance (10 % unless behavior says otherwise)",
      ];
    case "ScalingDisabled":
    case "Idle":
      return ["a trigger would have to become active"];
    default:
      return [];
  }
}

/** The needs of the window that still ask for more, or for fewer. */
function explainWindow({ now, need, behavior, state }: Facts, direction: "up" | "down"): string {
  const windowMs = direction === "up"
    ? behavior?.scaleUp.windowMs ?? 0
    : behavior?.scaleDown.windowMs ?? DOWN_WINDOW_MS;
  const wanted = need ?? 0;
  const others = (state.history?.needs ?? []).filter(({ at, replicas }) =>
    at > now - windowMs && (direction === "down" ? replicas > wanted : replicas < wanted)
  );
  const newest = others.toSorted((a, b) => b.at - a.at)[0];
  const what = `the window of the way ${direction} is ${formatAge(windowMs)}`;
  if (newest === undefined) return `${what}, and ends with the next tick`;
  const until = newest.at + windowMs;
  return `${what}: ${newest.replicas} were needed ${
    formatAge(now - newest.at)
  } ago, so ${wanted} can come at the earliest at ` +
    `${formatClock(until, now)}, in ${formatWait(until - now)}`;
}

function explainCooldown({ now, state: { lastActiveAt }, cooldownMs }: Facts): string {
  const what = `cooldownPeriod is ${formatAge(cooldownMs)}`;
  if (lastActiveAt === null) return what;
  const until = lastActiveAt + cooldownMs;
  return `${what}, and a trigger was active ${formatAge(now - lastActiveAt)} ago: fewest replicas at the earliest at ` +
    `${formatClock(until, now)}, in ${formatWait(until - now)}`;
}

/** `4 pods in 15s or 100 % in 15s, the most of them` */
export function describeRules(rules: ScalingRules | undefined): string {
  if (rules === undefined) return "what an HPA without behavior does";
  if (rules.select === "Disabled") return "nothing (selectPolicy Disabled)";
  const policies = rules.policies.map(({ type, value, periodMs }) =>
    `${value} ${type === "Pods" ? "pods" : "%"} in ${formatAge(periodMs)}`
  );
  const which = rules.policies.length < 2 ? "" : rules.select === "Max" ? ", the most of them" : ", the least of them";
  return `${policies.join(" or ")}${which}`;
}
