/**
 * A tick that would raise replicas does not wait for its time (R7). What is remembered of the last one tells, at little cost, whether fresh usage of
 * the pods can lead to that.
 */
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import type { PodRates } from "./rates.ts";
import type { ReplicasReport } from "./report.ts";
import { sumUsage } from "./sum_usage.ts";

/** The tick half's period: the sync period of the HPA controller. */
export const TICK_MS = 15_000;

/** How soon after a tick, ms, another one may be due. */
export const SOONEST_TICK_MS = 5_000;

/** By the index of a cpu or memory trigger, the usage with which its target is met: below it no tick raises replicas. */
export type TargetUsage = ReadonlyMap<number, number>;

/** What the pods use, by the triggers that look at it. */
export interface TriggerUsage {
  readonly resources: readonly ResourceTrigger[];
  /** Of each pod; `null` = not known. */
  readonly rates: readonly (PodRates | null)[];
}

/** By what a tick has just reported of that usage. */
export function readTargetUsage({ resources, rates }: TriggerUsage, { triggers }: ReplicasReport): TargetUsage {
  return new Map(resources.map((trigger) => {
    const ratio = triggers.find((one) => one.index === trigger.index)?.proposal?.ratio ?? null;
    return [trigger.index, ratio === null ? 0 : sumUsage(trigger, rates) / ratio];
  }));
}

/** Whether the usage of some trigger is above its target. */
export function isAboveTarget({ resources, rates }: TriggerUsage, targets: TargetUsage): boolean {
  return resources.some((trigger) => sumUsage(trigger, rates) > (targets.get(trigger.index) ?? 0));
}
