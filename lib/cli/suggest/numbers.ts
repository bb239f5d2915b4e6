/** The numbers that a search may change, one at a time, and what it tries for each. */
import { formatAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import type { Value } from "./candidate.ts";
import type { Seen } from "./seen.ts";

/** A number of the manifest. */
export interface Coordinate {
  /** Within the spec. */
  readonly path: string;
  readonly resource: Resource;
  readonly values: readonly Value[];
}

/** Those of what was seen, the ones that matter most first. */
export function listCoordinates(seen: Seen, resources: readonly Resource[]): readonly Coordinate[] {
  const { half, most95, most99, max } = seen.cpu;
  const all: readonly Coordinate[] = [
    // First: a kill goes before everything.
    memory("bounds.memory.limits.min", listLimits(seen.memory.max)),
    cpu("bounds.cpu.requests.min", listMins([half, most95, most99, max], 10)),
    cpu("bounds.cpu.limits.min", listMins([most95, most99, max, 1.5 * max], 25)),
    cpu("policy.cpu.requests.scaleDown.window", ["2m", "4m", "10m", "30m", "2h"]),
    cpu("policy.cpu.requests.targetUtilization", [66, 72, 80, 88]),
    cpu("policy.cpu.requests.scaleDown.targetUtilization", [72, 80, 86, 92]),
    cpu("policy.cpu.requests.scaleUpThreshold", [93, 99, 105, 115, 125]),
    cpu("policy.cpu.requests.scaleDownThreshold", [45, 55, 62, 69]),
    cpu("policy.cpu.limits.scaleDown.window", ["30m", "2h", "6h"]),
    cpu("policy.cpu.limits.targetUtilization", [25, 30, 40, 50]),
    cpu("policy.cooldown", ["1m", "4m", "10m", "30m"]),
    memory("policy.memory.requests.targetUtilization", [80, 85, 90, 94]),
    memory("policy.memory.limits.targetUtilization", [35, 50, 60, 70]),
    memory("policy.memory.requests.scaleDown.window", ["1h", "6h", "24h"]),
  ];
  return all.filter(({ resource, values }) => resources.includes(resource) && values.length > 0);
}

function cpu(path: string, values: readonly Value[]): Coordinate {
  return { path, resource: "cpu", values };
}

function memory(path: string, values: readonly Value[]): Coordinate {
  return { path, resource: "memory", values };
}

const STEP_BYTES = 16 * 2 ** 20;

/** Limits that hold the most that was seen, and somewhat more. */
function listLimits(most: number): readonly Value[] {
  return [1.1, 1.3, 1.6].map((factor) => formatAmount(Math.ceil(factor * most / STEP_BYTES) * STEP_BYTES, "memory"));
}

/** Round amounts of 10m at least; `least` is the profiles' own, below which a min says nothing. */
function listMins(millicores: readonly number[], least: number): readonly Value[] {
  const amounts = millicores.map((one) => Math.max(5, Math.ceil(one / 5) * 5)).filter((one) => one > least);
  return [...new Set(amounts)].map((amount) => formatAmount(amount, "cpu"));
}
