/**
 * Asks the gates about a choice.
 *
 * Fields that a gate holds are left out, and the rest is sized and asked again, until all of it passes or nothing is
 * left.
 */
import type { ContainerCase, Decision, WantedSize } from "../../model/decision.ts";
import { counterpartOf, type ResourceField } from "../../units/resources.ts";
import type { Choice, Proposal } from "../proposals.ts";
import { newCandidate, type ResizeCandidate } from "../sizing/candidate.ts";
import { type Gate, GATES, type Objection } from "./gates.ts";

/** How a choice fared: some of it passed every gate, or it was stopped. */
export type GateResult = PassedOrStopped & {
  /** All objections, in the order in which fields were left out. */
  readonly objections: readonly Objection[];
};

/** How the choices of a case fared. */
export interface ChoicesResult {
  /** The result that counts: the first choice that passes, or what stopped them all; `null` without a choice. */
  readonly asked: GateResult | null;
  /** How the scale-up fared, which is the first choice where there is one; `null` where none is wanted. */
  readonly up: GateResult | null;
}

/** Returns the results of the choices. If none passes, a block counts before a hold. */
export function askChoices(it: ContainerCase, choices: readonly Choice[]): ChoicesResult {
  let asked: GateResult | null = null;
  let up: GateResult | null = null;
  for (const choice of choices) {
    const result = askGates(it, choice);
    if (choice === choices[0] && choice.direction === "up") up = result;
    if (result.kind === "passed") return { asked: result, up };
    const isHeld = asked?.kind === "stopped" && asked.decision.kind === "hold";
    if (asked === null || (isHeld && result.decision.kind === "blocked")) asked = result;
  }
  return { asked, up };
}

/** Returns the result of a candidate that passed, after another container of the pod was chosen. Clauses: C12. */
export function toWaiting({ candidate, objections }: PassedResult, ahead: string): GateResult {
  const objection = GATES.siblingDone({ ...candidate, ahead });
  return objection === null
    ? { kind: "passed", candidate, objections }
    : toStopped(objection, { candidate, objections: [...objections, objection] });
}

type PassedResult = Extract<GateResult, { kind: "passed" }>;

/** Returns the result of one choice. If all of it is stopped, the objection of the gate furthest down the list counts. */
function askGates(it: ContainerCase, choice: Choice): GateResult {
  let furthest: FoundObjection | null = null;
  let whole: ResizeCandidate | null = null;
  const objections: Objection[] = [];
  for (let left = choice;;) {
    const { proposals } = left;
    const candidate = newCandidate(it, left);
    whole ??= candidate;
    const found = findObjection(candidate);
    if (found === null) return { kind: "passed", candidate, objections };
    const objection = addPartners(found.objection, proposals);
    objections.push(objection);
    if (furthest === null || found.position > furthest.position) furthest = { objection, position: found.position };
    const { sides } = objection;
    const rest = proposals.filter(({ side }) => !sides.includes(side));
    if (rest.length === 0 || rest.length === proposals.length) {
      return toStopped(furthest.objection, { candidate: whole, objections });
    }
    left = { ...left, proposals: rest };
  }
}

type PassedOrStopped =
  | { readonly kind: "passed"; readonly candidate: ResizeCandidate }
  /** `candidates`: the fields that would have moved, or that wait. */
  | {
    readonly kind: "stopped";
    readonly decision: Decision;
    readonly candidates: readonly ResourceField[];
    /** The size that the whole choice asks for. */
    readonly wanted: WantedSize;
  };

interface FoundObjection {
  readonly objection: Objection;
  /** Its gate's position in the list. */
  readonly position: number;
}

/** Returns the objection, which also holds the other field of a pair. Clauses: L35. */
function addPartners(objection: Objection, proposals: readonly Proposal[]): Objection {
  const partners = proposals.filter(({ isPaired, side }) =>
    isPaired && objection.sides.includes(counterpartOf(side)) && !objection.sides.includes(side)
  );
  if (partners.length === 0) return objection;
  return { ...objection, sides: [...objection.sides, ...partners.map(({ side }) => side)] };
}

const GATE_LIST: readonly Gate[] = Object.values(GATES);

function findObjection(candidate: ResizeCandidate): FoundObjection | null {
  let position = 0;
  for (const gate of GATE_LIST) {
    const objection = gate(candidate);
    if (objection !== null) return { objection, position };
    position++;
  }
  return null;
}

/** Shared, as most that is stopped has nowhere to go. */
const NO_FIELDS: readonly ResourceField[] = [];

function toStopped(
  objection: Objection,
  { candidate, objections }: { readonly candidate: ResizeCandidate; readonly objections: readonly Objection[] },
): GateResult {
  const wanted = computeWantedSize(candidate);
  if (objection.kind === "hold") {
    const { kind, reason, message } = objection;
    return { kind: "stopped", decision: { kind, reason, message }, candidates: NO_FIELDS, wanted, objections };
  }
  const { sides, ...why } = objection;
  const decision = { ...why, action: candidate.action };
  return { kind: "stopped", decision, candidates: sides, wanted, objections };
}

/** Returns the size of each field that should move, and what usage asks for where a bound or headroom stops it. */
function computeWantedSize({ sized, proposals }: ResizeCandidate): WantedSize {
  const wanted: Partial<Record<ResourceField, number>> = {};
  for (const one of sized) {
    if (one.kind === "holds" && one.reason === "AtTarget") continue;
    const amount = one.kind === "moves" ? one.to : proposals.find(({ side }) => side === one.key)?.amount;
    if (amount !== undefined) wanted[one.key] = amount;
  }
  return wanted;
}
