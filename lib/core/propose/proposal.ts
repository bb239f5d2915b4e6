/**
 * What is wanted of a container, before anything is asked whether it may be: each proposer looks at a case and returns
 * proposals, and of all of them one direction is chosen.
 */
import type { Action } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Direction } from "../decision.ts";
import { proposeByThresholds } from "./thresholds.ts";

export interface Proposal {
  readonly side: SideKey;
  readonly direction: Direction;
  /** The recommendation: millicores or bytes, before any cap, not rounded. */
  readonly amount: number;
  /** In words, for the event: `cpu.requests at 107 %`. */
  readonly why: string;
  /** Of proposals that disagree the more urgent ones count; thresholds have 0. */
  readonly urgency: number;
}

export type Proposer = (it: Case) => readonly Proposal[];

/** Every rule that may want something. */
export const PROPOSERS: readonly Proposer[] = [proposeByThresholds];

/** At most one proposal per side and proposer; most cases have none. */
export function propose(it: Case, proposers: readonly Proposer[] = PROPOSERS): readonly Proposal[] {
  return proposers.flatMap((proposer) => proposer(it));
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
  const urgency = Math.max(...proposals.map((one) => one.urgency));
  const urgent = proposals.filter((one) => one.urgency === urgency);
  const direction = urgent.some((one) => one.direction === "up") ? "up" : "down";
  const bySide = new Map<SideKey, Proposal>();
  for (const one of urgent) {
    if (one.direction !== direction) continue;
    const other = bySide.get(one.side);
    if (other === undefined || one.amount > other.amount) bySide.set(one.side, one);
  }
  return { direction, action: direction === "up" ? "scaleUp" : "scaleDown", proposals: [...bySide.values()] };
}
