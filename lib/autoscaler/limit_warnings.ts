/**
 * Does a policy aim at limits below the requests it aims at? Accepted, but a request is capped at its limit (C34):
 * where the limit has reached its target and rests, a request as high as it still wants up, and for as long vetoes every
 * scale-down of the container (C32). Told only where the targets alone make it so.
 */
import type { Autoscaler, SideRule } from "./autoscaler.ts";
import type { Problem } from "../units/problem.ts";

export function warnOfLimits({ sides }: Pick<Autoscaler, "sides">): readonly Problem[] {
  return sides.filter(({ side }) => side === "limits").flatMap((limit) => {
    const request = sides.find(({ side, resource }) => side === "requests" && resource === limit.resource);
    if (request === undefined || !isRestless(request, limit) || isApart(request, limit)) return [];
    const { targetUtilizationPercent: target } = limit;
    const up = request.scaleUpThresholdPercent;
    return [{
      path: `spec.policy.${limit.key}.targetUtilization`,
      message: `targetUtilization ${target} is not below scaleUpThreshold ${up} of the requests: a request that has ` +
        "reached its limit goes on asking to scale up there, which holds every scale-down",
    }];
  });
}

/** A limit whose target is outside its own thresholds does not rest; of that there is a warning already. */
function isRestless(request: SideRule, limit: SideRule): boolean {
  const target = limit.targetUtilizationPercent;
  return target >= request.scaleUpThresholdPercent && target < limit.scaleUpThresholdPercent;
}

/** Bounds may keep the request from ever reaching its limit. */
function isApart(request: SideRule, limit: SideRule): boolean {
  return request.bounds.max !== null && limit.bounds.min !== null && request.bounds.max <= limit.bounds.min;
}
