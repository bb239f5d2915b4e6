/**
 * A veto (C32): a side that wants up and is at its bound holds every scale-down of its container, for as long as it
 * lasts. After a while the words of the decision say so, and what an autoscaler may say against it (L34).
 */
import { formatDuration } from "../../units/duration.ts";
import type { Case } from "../case.ts";
import type { Decision } from "../decision.ts";
import type { Asked } from "../gate/ask.ts";
import type { Proposal } from "../propose/proposal.ts";
import { listHeldDowns } from "../propose/propose.ts";

/** So long a veto is no passing thing, ms. */
const STANDING_MS = 10 * 60_000;

/** Since when a side at its bound has held the scale-downs of another resource, epoch ms; `null` = none does. */
export function readVetoedSince(
  { autoscaler, view, input: { now } }: Case,
  proposals: readonly Proposal[],
  asked: Asked | null,
): number | null {
  if (asked?.kind !== "stopped" || asked.decision.kind !== "hold" || asked.decision.reason !== "AtBound") return null;
  if (autoscaler.veto !== "all" || proposals.every(({ direction }) => direction === "down")) return null;
  return listHeldDowns(proposals).length === 0 ? null : view.vetoedSince ?? now;
}

/** The decision, with the veto in its words once that has stood for 10 minutes. */
export function withVeto(decision: Decision, now: number, vetoedSince: number | null): Decision {
  if (decision.kind !== "hold" || vetoedSince === null || now - vetoedSince < STANDING_MS) return decision;
  const forLong = formatDuration(Math.floor((now - vetoedSince) / 60_000) * 60_000);
  const message = `${decision.message}; it has held the scale-down of another resource for ${forLong}: with ` +
    "policy.veto: resource it would hold its own only";
  return { ...decision, message };
}
