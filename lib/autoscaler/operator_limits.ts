/**
 * What the operator of podfit lets an autoscaler ask for, whatever its manifest says: a manifest is a tenant's, and how often
 * kubelets are read and how large a pod becomes is the cluster's.
 */
import { formatAmount } from "../units/quantity.ts";
import { formatDuration } from "../units/duration.ts";
import type { Problem } from "../units/problem.ts";
import type { Autoscaler, SideRule } from "./autoscaler.ts";

/** `null` = no limit. */
export interface OperatorLimits {
  readonly minPollIntervalMs: number | null;
  /** The most that any side of CPU goes up to, millicores. */
  readonly maxCpuMillicores: number | null;
  /** The same of memory, bytes. */
  readonly maxMemoryBytes: number | null;
}

export const NO_LIMITS: OperatorLimits = { minPollIntervalMs: null, maxCpuMillicores: null, maxMemoryBytes: null };

/** Gives the autoscaler within the limits, and a warning for each value of its manifest that they change. */
export function applyLimits(
  autoscaler: Autoscaler,
  limits: OperatorLimits,
): { readonly autoscaler: Autoscaler; readonly warnings: readonly Problem[] } {
  const least = limits.minPollIntervalMs ?? 0;
  const isSlower = autoscaler.pollIntervalMs < least;
  const sides = autoscaler.sides.map((rule) => limitSide(rule, limits));
  const pollIntervalMs = isSlower ? least : autoscaler.pollIntervalMs;
  const interval = {
    path: "spec.policy.pollInterval",
    message: `${formatDuration(autoscaler.pollIntervalMs)} is raised to podfit's --min-poll-interval ${
      formatDuration(least)
    }`,
  };
  return {
    autoscaler: isSlower || sides.some((rule, index) => rule !== autoscaler.sides[index])
      ? { ...autoscaler, pollIntervalMs, sides }
      : autoscaler,
    warnings: [...(isSlower ? [interval] : []), ...autoscaler.sides.flatMap((rule) => warnOfSide(rule, limits))],
  };
}

function readMost({ resource }: SideRule, { maxCpuMillicores, maxMemoryBytes }: OperatorLimits): number {
  return (resource === "cpu" ? maxCpuMillicores : maxMemoryBytes) ?? Infinity;
}

function limitSide(rule: SideRule, limits: OperatorLimits): SideRule {
  const most = readMost(rule, limits);
  const { min, max } = rule.bounds;
  if (most === Infinity || (max ?? Infinity) <= most) return rule;
  return { ...rule, bounds: { ...rule.bounds, max: most, min: min === null ? null : Math.min(min, most) } };
}

/** Of what somebody wrote: a side without bounds is none the wiser for a warning. */
function warnOfSide(rule: SideRule, limits: OperatorLimits): readonly Problem[] {
  const { key, resource, bounds: { min, max } } = rule;
  const most = readMost(rule, limits);
  const flag = resource === "cpu" ? "--max-cpu" : "--max-memory";
  return ([["min", min], ["max", max]] as const).flatMap(([name, amount]) => {
    if (amount === null || amount <= most) return [];
    const [written, lowered] = [formatAmount(amount, resource), formatAmount(most, resource)];
    return [{ path: `spec.bounds.${key}.${name}`, message: `${written} is lowered to podfit's ${flag} ${lowered}` }];
  });
}
