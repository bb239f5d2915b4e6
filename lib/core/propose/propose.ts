/** Every rule that may want something of a container is asked, and of all proposals one direction is chosen. */
import type { Action, Autoscaler } from "../../autoscaler/autoscaler.ts";
import { resourceOf, type SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Direction } from "../decision.ts";
import { proposeInheritance } from "./inherit.ts";
import { proposeAfterOom } from "./oom.ts";
import { pairUp } from "./pairs.ts";
import { NO_PROPOSALS, type Proposal, type Proposer, URGENCY } from "./proposal.ts";
import { proposeByThresholds } from "./thresholds.ts";

/** All rules, in no order of rank: urgency decides between them. */
export const PROPOSERS: readonly Proposer[] = [proposeByThresholds, proposeInheritance, proposeAfterOom];

/** In the order of the proposers, pairs settled (L35); most cases have none, and then it is always the same array. */
export function propose(it: Case): readonly Proposal[] {
  let all = NO_PROPOSALS;
  for (const proposer of PROPOSERS) {
    const some = proposer(it);
    if (some.length > 0) all = all.length === 0 ? some : [...all, ...some];
  }
  return pairUp(it, all);
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
  const first = proposals[0];
  if (first === undefined) return null;
  if (proposals.length === 1) return toChoice(first.direction, proposals);
  const urgency = Math.max(...proposals.map(({ cause }) => URGENCY[cause]));
  const urgent = proposals.filter(({ cause }) => URGENCY[cause] === urgency);
  const direction = urgent.some((one) => one.direction === "up") ? "up" : "down";
  const bySide = new Map<SideKey, Proposal>();
  for (const one of urgent) {
    if (one.direction !== direction) continue;
    const other = bySide.get(one.side);
    if (other === undefined || one.amount > other.amount) bySide.set(one.side, one);
  }
  return toChoice(direction, [...bySide.values()]);
}

function toChoice(direction: Direction, proposals: readonly Proposal[]): Choice {
  return { direction, action: direction === "up" ? "scaleUp" : "scaleDown", proposals };
}

/**
 * The choices to be asked in their order, until one passes. A wish to go up holds every scale-down (C32), or with
 * `veto: resource` those of its own resource only: then what else goes down is a second choice (L34).
 */
export function listChoices(proposals: readonly Proposal[], { veto }: Pick<Autoscaler, "veto">): readonly Choice[] {
  const first = choose(proposals);
  if (first === null) return NO_CHOICES;
  if (veto === "all" || first.direction === "down") return [first];
  const second = choose(listHeldDowns(proposals));
  return second === null ? [first] : [first, second];
}

/** The scale-downs of resources of which no side wants up. */
export function listHeldDowns(proposals: readonly Proposal[]): readonly Proposal[] {
  return proposals.filter(({ side }) =>
    !proposals.some((one) => one.direction === "up" && resourceOf(one.side) === resourceOf(side))
  );
}

const NO_CHOICES: readonly Choice[] = [];
