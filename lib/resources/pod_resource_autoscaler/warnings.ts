/**
 * What is valid in an autoscaler and still will not do what its author expects.
 *
 * The condition Ready and `podfit lint` show warnings. Only `podfit lint` shows advice.
 */
import type { Autoscaler, FieldPolicy } from "../../model/autoscaler.ts";
import type { NamedWarning } from "../../model/lint_rules.ts";
import { formatAmount } from "../../units/quantity.ts";
import { counterpartOf, RESIZE_UNIT, type ResourceField } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { findOwnField } from "./profiles.ts";

/**
 * Returns warnings about targets outside of their thresholds. They are accepted, but a resize ends where the next one
 * is due. A scale-up target below the scale-down threshold is accepted if scale-downs aim higher. Clauses: C8.
 */
export function warnOfTargets({ sides }: Rules): readonly NamedWarning[] {
  return sides.flatMap((side) => {
    const [up, down] = [side.scaleUpThresholdPercent, side.scaleDownThresholdPercent];
    const targets = { up: side.up.targetUtilizationPercent, down: side.down.targetUtilizationPercent };
    const isOne = targets.up === targets.down;
    const [upField, downField] = isOne
      ? ["targetUtilization", "targetUtilization"]
      : ["scaleUp.targetUtilization", "scaleDown.targetUtilization"];
    const found: readonly (readonly [boolean, string, string])[] = [
      [targets.up >= up, upField, `${upField} ${targets.up} is not below scaleUpThreshold ${up}: ${RESIZED_AGAIN} up`],
      [
        targets.down >= up && !isOne,
        downField,
        `${downField} ${targets.down} is not below scaleUpThreshold ${up}: ${RESIZED_AGAIN} up`,
      ],
      [
        targets.down <= down,
        downField,
        `${downField} ${targets.down} is not above scaleDownThreshold ${down}: ${RESIZED_AGAIN} down`,
      ],
    ];
    return found.filter(([isSo]) => isSo).map(([, field, message]) => {
      return { rule: "target-outside", path: `spec.policy.${side.key}.${field}`, message };
    });
  });
}

/**
 * Returns warnings about limits that aim below the requests of their resource. A request is capped at its limit: once
 * the limit is at its target, the request is still above its threshold and blocks every scale-down of the container, or
 * of its resource with `veto: resource`. Only targets that always lead there get a warning. Clauses: C34, C32, L34.
 */
export function warnOfLimits({ sides, veto = "all" }: Rules): readonly NamedWarning[] {
  return sides.filter(({ side }) => side === "limits").flatMap((limit) => {
    const request = sides.find(({ side, resource }) => side === "requests" && resource === limit.resource);
    if (request === undefined || !isBlocking(request, limit) || isBoundedApart(request, limit)) return [];
    const up = request.scaleUpThresholdPercent;
    return [{
      rule: "limit-holds-request",
      path: `spec.policy.${limit.key}.targetUtilization`,
      message:
        `targetUtilization ${
          highestTarget(limit)
        } is not below scaleUpThreshold ${up} of the requests: a request that has ` +
        `reached its limit goes on asking to scale up there, which holds ${VETO_TEXT[veto]}`,
    }];
  });
}

/**
 * Returns warnings about memory limits that shrink while an app starts. The default window prevents it, and so does the
 * rule that memory does not shrink in an instance's first minute. `window: 0s` switches both off, and only `delay` is
 * left. Clauses: L2.
 */
export function warnOfDelay({ sides, delayMs }: Pick<Autoscaler, "sides" | "delayMs">): readonly NamedWarning[] {
  const isAtRisk = ({ key, down }: FieldPolicy) => key === "memory.limits" && down.windowMs === 0;
  if (delayMs >= MEMORY_START_MS || !sides.some(isAtRisk)) return [];
  const delay = formatDuration(delayMs);
  return [{
    rule: "shrinks-at-start",
    path: "spec.policy.delay",
    message: `delay ${delay} with window 0s for memory.limits lets a container that is still starting shrink, which ` +
      `ends in an OOM kill: set scaleDown.window, such as 15m, or a delay of ${
        formatDuration(MEMORY_START_MS)
      } or more`,
  }];
}

/** Returns warnings about bounds for fields that the policy does not manage; `bounded` are the fields with bounds. */
export function warnOfBounds({ sides }: Rules, bounded: Iterable<ResourceField>): readonly NamedWarning[] {
  return [...bounded]
    .filter((key) => !sides.some((side) => side.key === key))
    .map((key) => {
      const message = `bounds without effect: policy does not manage ${key}`;
      return { rule: "bounds-unmanaged", path: `spec.bounds.${key}`, message };
    });
}

/**
 * Returns advice against a long cooldown of scale-ups. On real load curves it causes most of the time in which a
 * container has too little. One finding, at the first field, since most fields use the policy's cooldown.
 */
export function adviseOnCooldown(
  { sides, cooldownMs }: Pick<Autoscaler, "sides" | "cooldownMs">,
): readonly NamedWarning[] {
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

/**
 * Returns advice against a window that takes a profile's memory of peaks away. Whoever writes `policy.scaleDown.window`
 * often means CPU, and memory inherits it. A window of the memory limit itself is meant, and warnOfDelay() is for one
 * of 0s.
 */
function adviseOnMemory(
  { profile, sides }: Pick<Autoscaler, "profile" | "sides">,
  spec: unknown,
): readonly NamedWarning[] {
  const limit = sides.find(({ key }) => key === "memory.limits");
  if (profile === null || limit === undefined || limit.scaleDownThresholdPercent === 0 || !hasRoom(limit)) return [];
  const { windowMs } = limit.down;
  const own = ["policy", "memory", "limits", "scaleDown", "window"].reduce(findOwnField, spec);
  if (windowMs === 0 || windowMs >= PROFILE_MEMORY_MS || own !== null) return [];
  const window = formatDuration(windowMs);
  return [{
    rule: "short-memory",
    path: "spec.policy.memory.limits.scaleDown.window",
    message: `the memory limit can fall below what the container used ${window} ago, as policy replaces the ` +
      `${formatDuration(PROFILE_MEMORY_MS)} of profile ${profile}: if the window is for CPU, write it in policy.cpu; ` +
      "if it is for memory too, write it in policy.memory.limits as well",
  }];
}

/** Returns all advice, in the order of the fields. `spec` is as the manifest has it: a profile fills no field in. */
export function advise(autoscaler: Autoscaler, spec: unknown): readonly NamedWarning[] {
  return [
    ...adviseOnPolling(autoscaler),
    ...adviseOnCooldown(autoscaler),
    ...adviseOnMemory(autoscaler, spec),
    ...autoscaler.sides.flatMap((
      rule,
    ) => [...adviseOnSwings(rule), ...adviseOnBand(rule), ...adviseOnBoundRange(rule)]),
    ...adviseOnOrder(autoscaler),
  ];
}

type Rules = Pick<Autoscaler, "sides"> & Partial<Pick<Autoscaler, "veto">>;

const VETO_TEXT: Readonly<Record<Autoscaler["veto"], string>> = {
  all: "every scale-down (with policy.veto: resource, only those of its own resource)",
  resource: "every scale-down of its resource",
};

const RESIZED_AGAIN = "a resize ends where the next sample asks to scale";

/** As long as no instance's memory shrinks by default. */
const MEMORY_START_MS = 60_000;

/** The window of memory limits in each profile. */
const PROFILE_MEMORY_MS = 24 * 60 * 60_000;

/** As long as two samples of the kubelet take at most: a shorter wait loses little. */
const LONG_COOLDOWN_MS = 30_000;

/**
 * Returns whether the limit's target blocks its request. A target outside of the limit's own thresholds is never kept,
 * and warnOfTargets() reports it.
 */
function isBlocking(request: FieldPolicy, limit: FieldPolicy): boolean {
  const target = highestTarget(limit);
  return target >= request.scaleUpThresholdPercent && target < limit.scaleUpThresholdPercent;
}

/** Returns the highest utilization at which a limit is left unchanged. */
function highestTarget({ up, down }: FieldPolicy): number {
  return Math.max(up.targetUtilizationPercent, down.targetUtilizationPercent);
}

/** Returns whether bounds keep the request below its limit in any case. */
function isBoundedApart(request: FieldPolicy, limit: FieldPolicy): boolean {
  return request.bounds.max !== null && limit.bounds.min !== null && request.bounds.max <= limit.bounds.min;
}

/** The kubelet's cAdvisor takes a sample each 10 s to 20 s: twice as often is enough to see each soon. */
const KUBELET_SAMPLE_MS = 10_000;

const MIN_POLL_MS = KUBELET_SAMPLE_MS / 2;

/** A load that varies by less is rare; percent of the usage at the target. */
const MIN_BAND_PERCENT = 5;

function adviseOnPolling({ pollIntervalMs }: Autoscaler): readonly NamedWarning[] {
  if (pollIntervalMs >= MIN_POLL_MS) return [];
  const [given, least, sample] = [pollIntervalMs, MIN_POLL_MS, KUBELET_SAMPLE_MS].map(formatDuration);
  return [{
    rule: "fast-poll",
    path: "spec.policy.pollInterval",
    message:
      `pollInterval ${given} reads each sample several times, as the kubelet takes one every ${sample} or more, and ` +
      `a repeat counts for nothing: set ${least} or more, unless podfit reads cgroups (--stats-source cgroup)`,
  }];
}

/** Returns advice if a scale-up ends at or below the other threshold, or if one unit more than the minimum does. */
function adviseOnSwings(rule: FieldPolicy): readonly NamedWarning[] {
  const { key, up, down, scaleUpThresholdPercent, scaleDownThresholdPercent: low } = rule;
  const target = up.targetUtilizationPercent;
  // The parser warns if it is beyond both.
  if (target <= low && down.targetUtilizationPercent > low && down.windowMs === 0) {
    return [{
      rule: "swings",
      path: `spec.policy.${key}.scaleUp.targetUtilization`,
      message:
        `scaleUp.targetUtilization ${target} is not above scaleDownThreshold ${low}: each scale-up ends where the ` +
        `next samples ask to scale down, two resizes where one would do: set it above ${low}, or a scaleDown.window`,
    }];
  }
  const { min } = rule.bounds;
  if (min === null || min <= 0 || target <= low || target >= scaleUpThresholdPercent) return [];
  const unit = RESIZE_UNIT[rule.resource];
  const used = min * scaleUpThresholdPercent / 100;
  const next = Math.ceil(used * 100 / target / unit) * unit;
  const percent = used / next * 100;
  if (percent > low) return [];
  const [from, to] = [min, next].map((amount) => formatAmount(amount, rule.resource));
  return [{
    rule: "swings",
    path: `spec.bounds.${key}.min`,
    message:
      `min ${from} grows to ${to} at once, as sizes are whole units, and usage that asked to scale up is then at ` +
      `${
        Math.floor(percent)
      } %, where it asks to scale down (scaleDownThreshold ${low}): raise min, or lower scaleDownThreshold`,
  }];
}

/** Returns advice if a threshold is so near to the target that the noise of any load crosses it. */
function adviseOnBand(rule: FieldPolicy): readonly NamedWarning[] {
  const { key, scaleUpThresholdPercent: high, scaleDownThresholdPercent: low } = rule;
  const [upTarget, downTarget] = [rule.up.targetUtilizationPercent, rule.down.targetUtilizationPercent];
  const [least, most] = [Math.min(upTarget, downTarget), Math.max(upTarget, downTarget)];
  const nearest = [
    { field: "scaleUpThreshold", threshold: high, target: most, percent: (high - most) * 100 / most, to: "raise" },
    { field: "scaleDownThreshold", threshold: low, target: least, percent: (least - low) * 100 / least, to: "lower" },
  ].filter(({ percent }) => percent > 0 && percent < MIN_BAND_PERCENT);
  return nearest.slice(0, 1).map(({ field, threshold, target, percent, to }) => ({
    rule: "narrow-band",
    path: `spec.policy.${key}.${field}`,
    message:
      `${field} ${threshold} is within ${Math.ceil(percent)} % of targetUtilization ${target}: a load that varies by ` +
      `as little is resized again and again: ${to} ${field}, or move the target away from it`,
  }));
}

/** Returns advice if bounds are so close that no resize is possible between them. */
function adviseOnBoundRange(rule: FieldPolicy): readonly NamedWarning[] {
  const { key, resource, bounds: { min, max } } = rule;
  if (min === null || max === null || hasRoom(rule)) return [];
  const [from, to] = [min, max].map((amount) => formatAmount(amount, resource));
  return [{
    rule: "no-room",
    path: `spec.bounds.${key}`,
    message:
      `min ${from} and max ${to} leave no room: podfit brings ${key} there once and never resizes it again: widen the ` +
      `bounds, or remove ${key} from policy`,
  }];
}

function hasRoom({ resource, bounds: { min, max } }: FieldPolicy): boolean {
  return min === null || max === null || max - min >= RESIZE_UNIT[resource];
}

/**
 * Returns advice if a request's minimum is above its limit's maximum: the request is capped at the limit. Clauses: C34.
 */
function adviseOnOrder({ sides }: Autoscaler): readonly NamedWarning[] {
  return sides.flatMap((rule) => {
    const { key, side, resource, bounds: { min } } = rule;
    const most = sides.find((one) => one.key === counterpartOf(key))?.bounds.max ?? null;
    if (side !== "requests" || min === null || most === null || min <= most) return [];
    const [least, limit] = [min, most].map((amount) => formatAmount(amount, resource));
    return [{
      rule: "no-room",
      path: `spec.bounds.${key}.min`,
      message:
        `min ${least} of the request is above max ${limit} of the limit, and no request is above its limit: the request ` +
        `stays at the limit, whatever is used: lower min, or raise bounds.${counterpartOf(key)}.max`,
    }];
  });
}
