/** Every configured side as it stands with the newest sample: for proposals, and for those who show or explain one. */
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { Resources, SideKey } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import { isFull, readBaseline, readUsage } from "../observe/streaks.ts";
import { findContainer, type PodFacts, readActual } from "../pod/pod_facts.ts";
import { readPodFor, readStateFor } from "../recommend/shadow.ts";
import type { PodState, View } from "../state.ts";

/** One side with the newest sample. */
export interface Assessment {
  readonly key: SideKey;
  /** Measured, in millicores or bytes; `null` while no rate is known. */
  readonly usage: number | null;
  /** What it is judged and sized by: usage, or of CPU more where a limit holds it back (L21). */
  readonly demand: number | null;
  /** The request or limit in force; `null` when it is missing or zero (C37). */
  readonly baseline: number | null;
  readonly utilizationPercent: number | null;
  /** How many samples in a row have pointed in one direction. */
  readonly samples: number;
  /** The direction of a full streak. */
  readonly wanted: Direction | null;
}

/** One per rule, in their order. */
export function assess(rules: readonly SideRule[], view: View, actual: Resources): readonly Assessment[] {
  return rules.map((rule) => assessSide(rule, view, actual));
}

/** The side of one rule. */
export function assessSide(rule: SideRule, { sampling: { sample }, streaks }: View, actual: Resources): Assessment {
  const demand = readUsage(rule, sample);
  const usage = sample !== null && rule.resource === "cpu" ? sample.cpuMillicores : demand;
  const baseline = readBaseline(rule, actual);
  const streak = streaks[rule.key];
  return {
    key: rule.key,
    usage,
    demand,
    baseline,
    utilizationPercent: usage === null || baseline === null ? null : usage / baseline * 100,
    samples: streak?.count ?? 0,
    wanted: streak !== undefined && isFull(rule, streaks) && baseline !== null ? streak.direction : null,
  };
}

/** As `assess`, from a pod's state; empty while nothing is known. */
export function readAssessments(autoscaler: Autoscaler, state: PodState, pod: PodFacts): readonly Assessment[] {
  const view = readStateFor(autoscaler, state).views[autoscaler.key];
  const container = findContainer(readPodFor(autoscaler, pod, state), autoscaler.containerName);
  return view === undefined || container === null ? [] : assess(autoscaler.sides, view, readActual(container));
}
