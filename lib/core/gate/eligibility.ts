/** When a container may be resized at the earliest: its readiness and the cooldown of its last resize (C24, C36, C42). */
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { Direction } from "../decision.ts";
import type { ContainerState } from "../state.ts";

/** When the gate `after` opened, before `delay`, epoch ms; `null` while it is shut (C24). */
export function readGateStart(
  { after }: Pick<Autoscaler, "after">,
  { running, readySince, podReady }: Pick<ContainerState, "running" | "readySince" | "podReady">,
): number | null {
  switch (after) {
    case "running":
      return running?.since ?? null;
    case "containerReady":
      return readySince;
    case "podReady":
      // A restart within a pod that stays Ready begins a new delay too (C43).
      return podReady === null ? null : Math.max(podReady.since, running?.since ?? 0);
  }
}

/** When the cooldown of a side ends in that direction, epoch ms; -Infinity when it never began (C36, L3). */
export function readSideCooldownEnd(
  { resizedAt, raisedAt }: ContainerState,
  rule: SideRule,
  direction: Direction,
): number {
  const at = direction === "up" && rule.hasOwnCooldowns ? raisedAt : resizedAt;
  return at === null ? -Infinity : at + rule[direction].cooldownMs;
}

/** When a cooldown ends, epoch ms; -Infinity when it never began (C36, C42). */
export function readCooldownEnd({ resizedAt }: Pick<ContainerState, "resizedAt">, cooldownMs: number): number {
  return resizedAt === null ? -Infinity : resizedAt + cooldownMs;
}
