/**
 * Has the spec of an autoscaler changed? Its generation alone does not tell: an etcd that was restored from a backup
 * counts on from there, and comes to the same generation with another spec.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { AutoscalerFacts } from "./facts.ts";

type Spec = Pick<AutoscalerFacts, "generation" | "autoscaler">;

/** Whether both are of one generation and come to the same. */
export function isSameSpec(before: Spec, after: Spec): boolean {
  if (before.generation !== after.generation) return false;
  if (before.autoscaler === null || after.autoscaler === null) return before.autoscaler === after.autoscaler;
  return isAlike(before.autoscaler, { ...after.autoscaler, generation: before.autoscaler.generation });
}

/**
 * What a changed spec came to. Where the generation is that of the spec before, its negative stands for it: whoever
 * remembers a generation sees that the spec is another (C16).
 */
export function toChanged(before: Spec, { generation, autoscaler }: Spec): Autoscaler | null {
  return autoscaler !== null && before.autoscaler?.generation === generation
    ? { ...autoscaler, generation: -generation }
    : autoscaler;
}

/** Of plain values: the same keys, each with the same value. */
function isAlike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [one, other] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isAlike(one[key], other[key]));
}
