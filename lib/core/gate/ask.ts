/**
 * Takes a choice through the gates. Sides that a gate objects to are left out, and the rest is sized and asked about
 * again, until what is left passes every gate or nothing is left. Then the objection counts that came from furthest down the list.
 */
import type { Action } from "../../autoscaler/autoscaler.ts";
import { partnerOf, type SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Decision } from "../decision.ts";
import type { Proposal } from "../propose/proposal.ts";
import type { Choice } from "../propose/propose.ts";
import { type Candidate, newCandidate } from "./candidate.ts";
import { type Gate, GATES } from "./gates.ts";
import type { Objection } from "./objection.ts";

/** How a choice fared: some of it passed every gate, or it was stopped. */
export type Asked = Answered & {
  /** All that gates said on the way, in the order in which sides were left out. */
  readonly objections: readonly Objection[];
};

type Answered =
  | { readonly kind: "passed"; readonly candidate: Candidate }
  /** `candidates`: the sides that would have moved, or that wait (C52). */
  | { readonly kind: "stopped"; readonly decision: Decision; readonly candidates: readonly SideKey[] };

/** `ahead`: the container of the same pod that is resized first. */
export function ask(it: Case, choice: Choice, ahead: string | null = null): Asked {
  let furthest: Found | null = null;
  const objections: Objection[] = [];
  for (let left = choice;;) {
    const { proposals } = left;
    const candidate = newCandidate(it, left, { ahead });
    const found = findObjection(candidate);
    if (found === null) return { kind: "passed", candidate, objections };
    const objection = withPartners(found.objection, proposals);
    objections.push(objection);
    if (furthest === null || found.position > furthest.position) furthest = { objection, position: found.position };
    const { sides } = objection;
    const rest = proposals.filter(({ side }) => !sides.includes(side));
    if (rest.length === 0 || rest.length === proposals.length) {
      return stop(furthest.objection, { action: choice.action, objections });
    }
    left = { ...left, proposals: rest };
  }
}

interface Found {
  readonly objection: Objection;
  /** Of its gate in the list. */
  readonly position: number;
}

/** How the choices of a case fared: the first that passes, or what stopped them. */
export interface AskedFirst {
  readonly choice: Choice;
  readonly asked: Asked;
}

/** `null` where there is no choice. A choice that is blocked says more than one that has nowhere to go. */
export function askFirst(it: Case, choices: readonly Choice[]): AskedFirst | null {
  let stopped: AskedFirst | null = null;
  for (const choice of choices) {
    const asked = ask(it, choice);
    if (asked.kind === "passed") return { choice, asked };
    const isHeld = stopped?.asked.kind === "stopped" && stopped.asked.decision.kind === "hold";
    if (stopped === null || (isHeld && asked.decision.kind === "blocked")) stopped = { choice, asked };
  }
  return stopped;
}

/** What holds one side of a pair holds the other (L35). */
function withPartners(objection: Objection, proposals: readonly Proposal[]): Objection {
  const partners = proposals.filter(({ isPaired, side }) =>
    isPaired && objection.sides.includes(partnerOf(side)) && !objection.sides.includes(side)
  );
  if (partners.length === 0) return objection;
  return { ...objection, sides: [...objection.sides, ...partners.map(({ side }) => side)] };
}

/** What the first gate of the list that objects says; `null` when the candidate may go. */
export function firstObjection(candidate: Candidate): Objection | null {
  return findObjection(candidate)?.objection ?? null;
}

const LIST: readonly Gate[] = Object.values(GATES);

function findObjection(candidate: Candidate): Found | null {
  let position = 0;
  for (const gate of LIST) {
    const objection = gate(candidate);
    if (objection !== null) return { objection, position };
    position++;
  }
  return null;
}

/** Shared, as most that is stopped has nowhere to go. */
const NO_SIDES: readonly SideKey[] = [];

function stop(
  objection: Objection,
  { action, objections }: { readonly action: Action; readonly objections: readonly Objection[] },
): Asked {
  if (objection.kind === "hold") {
    const { kind, reason, message } = objection;
    return { kind: "stopped", decision: { kind, reason, message }, candidates: NO_SIDES, objections };
  }
  const { sides, ...why } = objection;
  return { kind: "stopped", decision: { ...why, action }, candidates: sides, objections };
}
