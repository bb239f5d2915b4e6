/**
 * What works and could be better, by the numbers of one autoscaler alone. `podfit lint` says it, and the condition Ready does not: the
 * document's own example would get some.
 */
import { formatDuration } from "../units/duration.ts";
import type { Remark } from "../units/problem.ts";
import { formatAmount } from "../units/quantity.ts";
import { partnerOf, UNIT } from "../units/resources.ts";
import type { Autoscaler, SideRule } from "./autoscaler.ts";
import { adviseOnCooldown } from "./warnings.ts";

/** Gives all advice, in the order of the fields. */
export function advise(autoscaler: Autoscaler): readonly Remark[] {
  return [
    ...adviseOnPolling(autoscaler),
    ...adviseOnCooldown(autoscaler),
    ...autoscaler.sides.flatMap((rule) => [...adviseOnSwings(rule), ...adviseOnBand(rule), ...adviseOnRoom(rule)]),
    ...adviseOnOrder(autoscaler),
  ];
}

/** The kubelet's cAdvisor takes a sample each 10 s to 20 s: twice as often is enough to see each soon. */
const SAMPLE_MS = 10_000;
const LEAST_POLL_MS = SAMPLE_MS / 2;
/** A load that varies by less is rare; percent of the usage at the target. */
const LEAST_BAND_PERCENT = 5;

function adviseOnPolling({ pollIntervalMs }: Autoscaler): readonly Remark[] {
  if (pollIntervalMs >= LEAST_POLL_MS) return [];
  const [given, least, sample] = [pollIntervalMs, LEAST_POLL_MS, SAMPLE_MS].map(formatDuration);
  return [{
    rule: "fast-poll",
    path: "spec.policy.pollInterval",
    message:
      `pollInterval ${given} reads each sample several times, as the kubelet takes one every ${sample} or more, and ` +
      `a repeat counts for nothing: set ${least} or more, unless podfit reads cgroups (--stats-source cgroup)`,
  }];
}

/** Where a scale-up ends at or below the other threshold, or the least size cannot be grown by a unit without going there. */
function adviseOnSwings(rule: SideRule): readonly Remark[] {
  const { key, up, down, scaleUpThresholdPercent, scaleDownThresholdPercent: low } = rule;
  const target = up.targetUtilizationPercent;
  // Beyond both is what the parser warns of.
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
  const unit = UNIT[rule.resource];
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

/** Where a threshold is so near to the target that the noise of any load crosses it. */
function adviseOnBand(rule: SideRule): readonly Remark[] {
  const { key, scaleUpThresholdPercent: high, scaleDownThresholdPercent: low } = rule;
  const [upTarget, downTarget] = [rule.up.targetUtilizationPercent, rule.down.targetUtilizationPercent];
  const [least, most] = [Math.min(upTarget, downTarget), Math.max(upTarget, downTarget)];
  const nearest = [
    { field: "scaleUpThreshold", threshold: high, target: most, percent: (high - most) * 100 / most, to: "raise" },
    { field: "scaleDownThreshold", threshold: low, target: least, percent: (least - low) * 100 / least, to: "lower" },
  ].filter(({ percent }) => percent > 0 && percent < LEAST_BAND_PERCENT);
  return nearest.slice(0, 1).map(({ field, threshold, target, percent, to }) => ({
    rule: "narrow-band",
    path: `spec.policy.${key}.${field}`,
    message:
      `${field} ${threshold} is within ${Math.ceil(percent)} % of targetUtilization ${target}: a load that varies by ` +
      `as little is resized again and again: ${to} ${field}, or move the target away from it`,
  }));
}

/** Where bounds are so close that no resize is left between them. */
function adviseOnRoom({ key, resource, bounds: { min, max } }: SideRule): readonly Remark[] {
  if (min === null || max === null || max - min >= UNIT[resource]) return [];
  const [from, to] = [min, max].map((amount) => formatAmount(amount, resource));
  return [{
    rule: "no-room",
    path: `spec.bounds.${key}`,
    message:
      `min ${from} and max ${to} leave no room: podfit brings ${key} there once and never resizes it again: widen the ` +
      `bounds, or remove ${key} from policy`,
  }];
}

/** Where a request's bounds begin above where its limit's end: the request is capped at the limit (C34). */
function adviseOnOrder({ sides }: Autoscaler): readonly Remark[] {
  return sides.flatMap((rule) => {
    const { key, side, resource, bounds: { min } } = rule;
    const most = sides.find((one) => one.key === partnerOf(key))?.bounds.max ?? null;
    if (side !== "requests" || min === null || most === null || min <= most) return [];
    const [least, limit] = [min, most].map((amount) => formatAmount(amount, resource));
    return [{
      rule: "no-room",
      path: `spec.bounds.${key}.min`,
      message:
        `min ${least} of the request is above max ${limit} of the limit, and no request is above its limit: the request ` +
        `stays at the limit, whatever is used: lower min, or raise bounds.${partnerOf(key)}.max`,
    }];
  });
}
