/** The size that usage asks for, before anything caps it (C33). */
import type { DirectionRule } from "../../autoscaler/autoscaler.ts";

/** usage / target in the unit of usage, not rounded. */
export function recommend({ targetUtilizationPercent }: DirectionRule, usage: number): number {
  return usage * 100 / targetUtilizationPercent;
}
