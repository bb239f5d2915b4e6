/** Has a ScaledObject changed, or its status alone? Statuses come back as changes too. */
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";

/** Whether both say the same of spec, annotations and deletion. Finalizers alone are no change. */
export function isSameObject(a: ScaledObjectFacts, b: ScaledObjectFacts): boolean {
  return a.generation === b.generation && a.isDeleting === b.isDeleting && a.isPaused === b.isPaused &&
    isSameRecord(a.scaledObject?.annotations ?? {}, b.scaledObject?.annotations ?? {}) &&
    a.problems.map(({ message }) => message).join("\n") === b.problems.map(({ message }) => message).join("\n");
}

function isSameRecord(a: object, b: object): boolean {
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return left.length === right.size && left.every(([key, value]) => right.get(key) === value);
}
