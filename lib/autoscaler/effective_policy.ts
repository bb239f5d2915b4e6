/**
 * What a policy came to (L50), in the words of `spec.policy`, with every default and override resolved. Written to
 * `status.effectivePolicy`; as the policy of a manifest without a profile it means the same.
 */
import { formatDuration } from "../units/duration.ts";
import { resourceOf, sideOf } from "../units/resources.ts";
import type { Autoscaler, DirectionRule, SideRule } from "./autoscaler.ts";
import type { PolicyFields } from "./profiles.ts";

/** Gives the policy of an autoscaler as plain data. */
export function toEffectivePolicy(autoscaler: Autoscaler): PolicyFields {
  const { cpu, memory } = { cpu: toSides(autoscaler, "cpu"), memory: toSides(autoscaler, "memory") };
  const [first] = autoscaler.sides;
  return {
    pollInterval: formatDuration(autoscaler.pollIntervalMs),
    // Every side states its own: this one is the policy's only where nothing else is said.
    consecutiveSamples: first?.up.consecutiveSamples ?? 1,
    cooldown: formatDuration(autoscaler.cooldownMs),
    after: autoscaler.after,
    delay: formatDuration(autoscaler.delayMs),
    veto: autoscaler.veto,
    ...(cpu === null ? {} : { cpu: { ...cpu, throttling: autoscaler.throttling } }),
    ...(memory === null
      ? {}
      : { memory: { ...memory, restartToShrink: autoscaler.restartToShrink, oom: autoscaler.oom } }),
  };
}

function toSides({ sides }: Autoscaler, resource: "cpu" | "memory"): PolicyFields | null {
  const own = sides.filter(({ key }) => resourceOf(key) === resource);
  return own.length === 0 ? null : Object.fromEntries(own.map((rule) => [sideOf(rule.key), toSide(rule)]));
}

function toSide(rule: SideRule): PolicyFields {
  const { up, down, hasOwnCooldowns } = rule;
  return {
    scaleUpThreshold: rule.scaleUpThresholdPercent,
    scaleDownThreshold: rule.scaleDownThresholdPercent,
    targetUtilization: up.targetUtilizationPercent,
    // A cooldown that is given for one direction changes what it counts from (L3).
    ...(hasOwnCooldowns ? {} : { cooldown: formatDuration(up.cooldownMs) }),
    scaleUp: toDirection(up, hasOwnCooldowns),
    scaleDown: {
      ...toDirection(down, hasOwnCooldowns),
      window: formatDuration(down.windowMs),
      ...(down.percentile === null
        ? {}
        : { percentile: down.percentile.percent, halfLife: formatDuration(down.percentile.halfLifeMs) }),
    },
  };
}

function toDirection(direction: DirectionRule, hasOwnCooldowns: boolean): PolicyFields {
  return {
    targetUtilization: direction.targetUtilizationPercent,
    consecutiveSamples: direction.consecutiveSamples,
    ...(hasOwnCooldowns ? { cooldown: formatDuration(direction.cooldownMs) } : {}),
  };
}
