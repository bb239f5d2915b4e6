/** Makes up what pods use and what external metrics are. */
import { parseAmount } from "../../../lib/units/quantity.ts";
import {
  askedOf,
  type CourseContainer,
  type CoursePod,
  type CourseTick,
  type HpaSpec,
  type HpaTarget,
  type Sample,
  targetOf,
} from "./course.ts";
import type { Random } from "./random.ts";

/** The load of a tick: about how many times its request a pod uses. */
export interface Load {
  readonly at: number;
  readonly load: number;
  /** Usage is at, or just beside, an edge of what the target tolerates. */
  readonly isExact: boolean;
  readonly isCalm: boolean;
  readonly spec: HpaSpec;
  readonly status: number;
}

/** Of the target: both ends of the tolerances that specs have, what is just beyond them, and further away. */
export const FACTORS = [1, 1.1, 1.11, 1.12, 0.9, 0.89, 0.88, 1.05, 1.06, 0.95, 0.94, 1.2, 0.8, 1.5, 0.5, 2, 0.2, 3, 0];

/** A hundred times what 40 pods use fits in the controller's 64 bits, and their sum in no double. */
const MOST = 2e15;

export function generateUsage(random: Random, pods: readonly CoursePod[], now: Load): CourseTick["usage"] {
  const keys = ["cpu", "cpu/a", "cpu/b", "cpu/s", "memory"];
  const usage: Record<string, Record<string, Sample>> = Object.fromEntries(keys.map((key) => [key, {}]));
  const factor = now.isExact ? random.pick(FACTORS) * findPercent(now.spec) / 100 : null;
  for (const pod of pods) {
    if (random.chance(now.isCalm ? 0.01 : 0.05)) continue;
    const at = now.at - random.pick([0, 1000, 5000, 15_000, 29_000]);
    const window = random.pick([10_000, 15_000, 20_000]);
    for (const key of keys) {
      const times = factor ?? now.load * random.between(0.5, 1.2);
      const value = Math.min(MOST, Math.floor(readRequest(pod, key) * times + 1e-6));
      if (key !== "cpu/s" || random.chance(0.9)) usage[key] = { ...usage[key], [pod.name]: { value, at, window } };
    }
  }
  return Object.fromEntries(Object.entries(usage).filter(() => random.chance(0.98)));
}

/** Values are of one metric each, as a ScaledObject's are; a formula's may be negative. */
export function generateExternal(random: Random, { load, isExact, spec, status }: Load): CourseTick["external"] {
  const external: Record<string, readonly number[]> = {};
  for (const metric of spec.metrics) {
    if (metric.type !== "External" || askedOf(metric) !== null || random.chance(0.06)) continue;
    const { metric: { name }, target } = metric.external;
    const exact = readMilli(target) * random.pick(FACTORS) * (target.type === "Value" ? 1 : status);
    const usual = random.pick([load * 1000, load * 5000, load * 30_000]);
    const strange = random.pick([0, -1, -700, 9e15]);
    external[name] = [Math.round(random.chance(0.02) ? strange : isExact ? exact : usual)];
  }
  return external;
}

function findPercent({ metrics }: HpaSpec): number {
  for (const metric of metrics) {
    const target = targetOf(metric);
    if (target.type === "Utilization") return target.averageUtilization;
  }
  return 100;
}

/** In thousandths: of the containers that run, as far as their requests are given. */
function readRequest({ containers, init = [] }: CoursePod, key: string): number {
  const [resource = "", name] = key.split("/");
  const running = [...containers, ...init.filter(({ restartPolicy }) => restartPolicy === "Always")];
  return running.filter((one) => name === undefined || one.name === name)
    .reduce((sum, one) => sum + readAmount(one, resource), 0);
}

function readAmount({ resources }: CourseContainer, resource: string): number {
  return toMilli(resources.requests[resource] ?? "50m");
}

function readMilli(target: HpaTarget): number {
  return target.type === "Utilization" ? 0 : toMilli(target.type === "Value" ? target.value : target.averageValue);
}

function toMilli(quantity: string): number {
  const parsed = parseAmount(quantity, "cpu");
  if (!parsed.ok) throw new RangeError(parsed.message);
  return parsed.amount;
}
