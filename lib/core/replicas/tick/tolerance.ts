/** How far usage may be from the target before replicas follow (R36). */
import type { Behavior } from "../../../scaled_object/behavior.ts";

/** Fractions of the target, as doubles. */
export interface Tolerance {
  readonly up: number;
  readonly down: number;
}

/** --horizontal-pod-autoscaler-tolerance. */
const DEFAULT = 0.1;

export function toTolerance(behavior: Behavior | null): Tolerance {
  return { up: behavior?.scaleUp.tolerance ?? DEFAULT, down: behavior?.scaleDown.tolerance ?? DEFAULT };
}

/** Both ends are within; NaN and Infinity are not. */
export function isWithin(ratio: number, { up, down }: Tolerance): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}
