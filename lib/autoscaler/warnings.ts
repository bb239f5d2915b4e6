/**
 * What is valid in an autoscaler and yet will not do what its author expects. Warnings are shown in the message of the
 * condition Ready, and by `podfit lint`.
 */
import type { Problem } from "../units/problem.ts";
import type { SideKey } from "../units/resources.ts";
import type { Autoscaler, SideRule } from "./autoscaler.ts";

type Rules = Pick<Autoscaler, "sides"> & Partial<Pick<Autoscaler, "veto">>;

/** Warns of targets outside of their thresholds: accepted (C8), but a resize ends where the next one is due. */
export function warnOfTargets({ sides }: Rules): readonly Problem[] {
  return sides.flatMap((side) => {
    const target = side.up.targetUtilizationPercent;
    const [up, down] = [side.scaleUpThresholdPercent, side.scaleDownThresholdPercent];
    const path = `spec.policy.${side.key}.targetUtilization`;
    if (target >= up) {
      return [{ path, message: `targetUtilization ${target} is not below scaleUpThreshold ${up}: ${AGAIN} up` }];
    }
    if (target <= down) {
      return [{ path, message: `targetUtilization ${target} is not above scaleDownThreshold ${down}: ${AGAIN} down` }];
    }
    return [];
  });
}

/**
 * Warns of limits that aim below the requests of their resource. A request is capped at its limit (C34): once the limit
 * is at its target, a request of the same size is still above its threshold, and its direction up holds every
 * scale-down of the container (C32), or with `veto: resource` those of its resource (L34). Warns only where the targets
 * alone lead there.
 */
export function warnOfLimits({ sides, veto = "all" }: Rules): readonly Problem[] {
  return sides.filter(({ side }) => side === "limits").flatMap((limit) => {
    const request = sides.find(({ side, resource }) => side === "requests" && resource === limit.resource);
    if (request === undefined || !isBlocking(request, limit) || isApart(request, limit)) return [];
    const { targetUtilizationPercent: target } = limit.up;
    const up = request.scaleUpThresholdPercent;
    return [{
      path: `spec.policy.${limit.key}.targetUtilization`,
      message: `targetUtilization ${target} is not below scaleUpThreshold ${up} of the requests: a request that has ` +
        `reached its limit goes on asking to scale up there, which holds ${VETOED[veto]}`,
    }];
  });
}

/** Warns of bounds for sides that the policy does not manage; `bounded` are the sides with bounds. */
export function warnOfBounds({ sides }: Rules, bounded: Iterable<SideKey>): readonly Problem[] {
  return [...bounded]
    .filter((key) => !sides.some((side) => side.key === key))
    .map((key) => ({ path: `spec.bounds.${key}`, message: `bounds without effect: policy does not manage ${key}` }));
}

const VETOED: Readonly<Record<Autoscaler["veto"], string>> = {
  all: "every scale-down (with policy.veto: resource, only those of its own resource)",
  resource: "every scale-down of its resource",
};

const AGAIN = "a resize ends where the next sample asks to scale";

/** A limit whose target is outside of its own thresholds never stays there, and warnOfTargets() warns of it. */
function isBlocking(request: SideRule, limit: SideRule): boolean {
  const target = limit.up.targetUtilizationPercent;
  return target >= request.scaleUpThresholdPercent && target < limit.scaleUpThresholdPercent;
}

/** Says whether bounds keep the request below its limit in any case. */
function isApart(request: SideRule, limit: SideRule): boolean {
  return request.bounds.max !== null && limit.bounds.min !== null && request.bounds.max <= limit.bounds.min;
}
