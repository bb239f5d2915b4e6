/** The size that usage asks for, before anything caps it (C33). */
import type { SideRule } from "../../autoscaler/autoscaler.ts";

/** usage / target in the unit of usage, not rounded. */
export function recommend({ targetUtilizationPercent }: SideRule, usage: number): number {
  return usage * 100 / targetUtilizationPercent;
}
