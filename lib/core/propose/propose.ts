/** Every rule that may want something of a container is asked, and of all proposals one direction is chosen. */
import type { Action } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Direction } from "../decision.ts";
import { proposeAfterOom } from "./oom.ts";
import { NO_PROPOSALS, type Proposal, type Proposer, URGENCY } from "./proposal.ts";
import { proposeByThresholds } from "./thresholds.ts";

/** All rules, in no order of rank: urgency decides between them. */
export const PROPOSERS: readonly Proposer[] = [proposeByThresholds, proposeAfterOom];

/** In the order of the proposers; most cases have none, and then it is always the same array. */
export function propose(it: Case): readonly Proposal[] {
  let all = NO_PROPOSALS;
  for (const proposer of PROPOSERS) {
    const some = proposer(it);
    if (some.length > 0) all = [...all, ...some];
  }
  return all;
}

/** A direction, and one proposal for each side that is to move in it. */
export interface Choice {
  readonly direction: Direction;
  readonly action: Action;
  readonly proposals: readonly Proposal[];
}

/**
 * Of the most urgent proposals, any that goes up wins; else those that go down (C32). Where two are about one side the
 * larger amount counts, in either direction. `null` when there are none.
 */
export function choose(proposals: readonly Proposal[]): Choice | null {
  if (proposals.length === 0) return null;
  const urgency = Math.max(...proposals.map(({ cause }) => URGENCY[cause]));
  const urgent = proposals.filter(({ cause }) => URGENCY[cause] === urgency);
  const direction = urgent.some((one) => one.direction === "up") ? "up" : "down";
  const bySide = new Map<SideKey, Proposal>();
  for (const one of urgent) {
    if (one.direction !== direction) continue;
    const other = bySide.get(one.side);
    if (other === undefined || one.amount > other.amount) bySide.set(one.side, one);
  }
  return { direction, action: direction === "up" ? "scaleUp" : "scaleDown", proposals: [...bySide.values()] };
}
