/** What is wanted of a side of a container, before anything is asked whether it may be. */
import type { SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Direction } from "../decision.ts";
import type { Reflex } from "../observe/ending.ts";

/** What is wanted of one side: where to, why, and how urgently. */
export interface Proposal {
  readonly side: SideKey;
  readonly direction: Direction;
  /** The recommendation: millicores or bytes, before any cap, not rounded. */
  readonly amount: number;
  /** In words, for the event: `cpu.requests at 107 %`. */
  readonly why: string;
  readonly cause: Cause;
  /** It moves with the other side of its resource or not at all (L35). */
  readonly isPaired?: boolean;
  /** What an answer to an OOM kill leaves behind once it is accepted (L11). */
  readonly reflex?: Reflex;
}

/** What makes a side be proposed: usage, an OOM kill (L11), or that the pod is new (L40). */
export type Cause = "usage" | "newPod" | "oom";

/** Of proposals that disagree the more urgent ones count. */
export const URGENCY: Readonly<Record<Cause, number>> = { usage: 0, newPod: 1, oom: 2 };

/**
 * Whether a choice rests on samples of usage: all proposals of one have the same urgency. What does not waits for no sample,
 * cooldown or delay, and takes no steps.
 */
export function isByUsage(proposals: readonly Proposal[]): boolean {
  const first = proposals[0];
  return first === undefined || first.cause === "usage";
}

/** Whether a choice answers an OOM kill: all proposals of one have the same urgency. */
export function isAfterOom([first]: readonly Proposal[]): boolean {
  return first?.cause === "oom";
}

/** Shared, as most evaluations propose nothing. */
export const NO_PROPOSALS: readonly Proposal[] = [];

/** Looks at a case and returns what it wants; at most one proposal per side. */
export type Proposer = (it: Case) => readonly Proposal[];
