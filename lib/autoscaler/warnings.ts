/**
 * What is valid in an autoscaler and yet will not do what its author expects. Warnings are shown in the message of the
 * condition Ready, and by `podfit lint`; advice by `podfit lint` alone, as the document's own example would get some.
 */
import { formatDuration } from "../units/duration.ts";
import type { Remark } from "../units/problem.ts";
import type { SideKey } from "../units/resources.ts";
import type { Autoscaler, SideRule } from "./autoscaler.ts";

type Rules = Pick<Autoscaler, "sides"> & Partial<Pick<Autoscaler, "veto">>;

/**
 * Warns of targets outside of their thresholds: accepted (C8), but a resize ends where the next one is due. An up whose
 * target lies below the down threshold is no such case where downs aim higher: it goes far, and the down that follows
 * settles it.
 */
export function warnOfTargets({ sides }: Rules): readonly Remark[] {
  return sides.flatMap((side) => {
    const [up, down] = [side.scaleUpThresholdPercent, side.scaleDownThresholdPercent];
    const targets = { up: side.up.targetUtilizationPercent, down: side.down.targetUtilizationPercent };
    const isOne = targets.up === targets.down;
    const [upField, downField] = isOne
      ? ["targetUtilization", "targetUtilization"]
      : ["scaleUp.targetUtilization", "scaleDown.targetUtilization"];
    const found: readonly (readonly [boolean, string, string])[] = [
      [targets.up >= up, upField, `${upField} ${targets.up} is not below scaleUpThreshold ${up}: ${AGAIN} up`],
      [
        targets.down >= up && !isOne,
        downField,
        `${downField} ${targets.down} is not below scaleUpThreshold ${up}: ${AGAIN} up`,
      ],
      [
        targets.down <= down,
        downField,
        `${downField} ${targets.down} is not above scaleDownThreshold ${down}: ${AGAIN} down`,
      ],
    ];
    return found.filter(([isSo]) => isSo).map(([, field, message]) => {
      return { rule: "target-outside", path: `spec.policy.${side.key}.${field}`, message };
    });
  });
}

/**
 * Warns of limits that aim below the requests of their resource. A request is capped at its limit (C34): once the limit
 * is at its target, a request of the same size is still above its threshold, and its direction up holds every
 * scale-down of the container (C32), or with `veto: resource` those of its resource (L34). Warns only where the targets
 * alone lead there.
 */
export function warnOfLimits({ sides, veto = "all" }: Rules): readonly Remark[] {
  return sides.filter(({ side }) => side === "limits").flatMap((limit) => {
    const request = sides.find(({ side, resource }) => side === "requests" && resource === limit.resource);
    if (request === undefined || !isBlocking(request, limit) || isApart(request, limit)) return [];
    const up = request.scaleUpThresholdPercent;
    return [{
      rule: "limit-holds-request",
      path: `spec.policy.${limit.key}.targetUtilization`,
      message:
        `targetUtilization ${
          highestTarget(limit)
        } is not below scaleUpThreshold ${up} of the requests: a request that has ` +
        `reached its limit goes on asking to scale up there, which holds ${VETOED[veto]}`,
    }];
  });
}

/**
 * Warns of memory limits that shrink on what an app uses while it starts. The window's default, and the rule that no
 * instance's memory shrinks in its first minute, keep it from that; `window: 0s` switches both off (L2), and then only
 * `delay` is left.
 */
export function warnOfDelay({ sides, delayMs }: Pick<Autoscaler, "sides" | "delayMs">): readonly Remark[] {
  const isAtRisk = ({ key, down }: SideRule) => key === "memory.limits" && down.windowMs === 0;
  if (delayMs >= START_MS || !sides.some(isAtRisk)) return [];
  const delay = formatDuration(delayMs);
  return [{
    rule: "shrinks-at-start",
    path: "spec.policy.delay",
    message: `delay ${delay} with window 0s for memory.limits lets a container that is still starting shrink, which ` +
      `ends in an OOM kill: set scaleDown.window, such as 15m, or a delay of ${formatDuration(START_MS)} or more`,
  }];
}

/** Warns of bounds for sides that the policy does not manage; `bounded` are the sides with bounds. */
export function warnOfBounds({ sides }: Rules, bounded: Iterable<SideKey>): readonly Remark[] {
  return [...bounded]
    .filter((key) => !sides.some((side) => side.key === key))
    .map((key) => {
      const message = `bounds without effect: policy does not manage ${key}`;
      return { rule: "bounds-unmanaged", path: `spec.bounds.${key}`, message };
    });
}

/**
 * Advises against a long wait on the way up: on real load curves that is most of the time in which a container has less
 * than it wants. One finding, at the first side, since most of them take the policy's.
 */
export function adviseOnCooldown({ sides, cooldownMs }: Pick<Autoscaler, "sides" | "cooldownMs">): readonly Remark[] {
  const slow = sides.find(({ up, hasOwnCooldowns }) =>
    up.cooldownMs > LONG_COOLDOWN_MS && (!hasOwnCooldowns || up.cooldownMs === cooldownMs)
  );
  if (slow === undefined) return [];
  const cooldown = formatDuration(slow.up.cooldownMs);
  return [{
    rule: "slow-up",
    path: slow.up.cooldownMs === cooldownMs ? "spec.policy.cooldown" : `spec.policy.${slow.key}.cooldown`,
    message:
      `cooldown ${cooldown} holds the next scale-up too, while the container has less than it uses: let ups go ` +
      "at once with scaleUp: {cooldown: 0s} in policy, cooldown then is for scale-downs",
  }];
}
const VETOED: Readonly<Record<Autoscaler["veto"], string>> = {
  all: "every scale-down (with policy.veto: resource, only those of its own resource)",
  resource: "every scale-down of its resource",
};

const AGAIN = "a resize ends where the next sample asks to scale";
/** As long as no instance's memory shrinks by default (L2). */
const START_MS = 60_000;
/** As long as two samples of the kubelet take at most: a shorter wait loses little. */
const LONG_COOLDOWN_MS = 30_000;

/** A limit whose target is outside of its own thresholds never stays there, and warnOfTargets() warns of it. */
function isBlocking(request: SideRule, limit: SideRule): boolean {
  const target = highestTarget(limit);
  return target >= request.scaleUpThresholdPercent && target < limit.scaleUpThresholdPercent;
}

/** Where a limit may come to rest with the most usage. */
function highestTarget({ up, down }: SideRule): number {
  return Math.max(up.targetUtilizationPercent, down.targetUtilizationPercent);
}

/** Says whether bounds keep the request below its limit in any case. */
function isApart(request: SideRule, limit: SideRule): boolean {
  return request.bounds.max !== null && limit.bounds.min !== null && request.bounds.max <= limit.bounds.min;
}
