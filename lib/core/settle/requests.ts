/** From what passed the gates to one request for the pod, and to a decision for each container that was asked about. */
import { type Case, newRequest } from "../case.ts";
import type { ContainerDecision } from "../decision.ts";
import type { Asked } from "../gate/ask.ts";
import type { Candidate } from "../gate/candidate.ts";
import { isAfterOom } from "../propose/proposal.ts";
import { explainHold } from "../propose/explain_hold.ts";
import type { ResizeReason } from "../reasons.ts";
import type { ResizeRequest } from "../resize_request.ts";
import { withVeto } from "./veto.ts";

/** A case, and how its proposals fared; `asked` is `null` where there were none. */
export interface Weighed {
  readonly it: Case;
  readonly asked: Asked | null;
  /** Since when a side at its bound has held the scale-downs of another resource, epoch ms; `null` = none does (L34). */
  readonly vetoedSince: number | null;
}

/** One resize in flight per pod: the proposals that have stood longest go first (C12). `null` when nothing passed. */
export function chooseFirst(weighed: readonly Weighed[]): Candidate | null {
  let first: Candidate | null = null;
  for (const { asked } of weighed) {
    if (asked?.kind !== "passed") continue;
    if (first === null || readSince(asked.candidate) < readSince(first)) first = asked.candidate;
  }
  return first;
}

/** Shared, as most evaluations have none. */
const NO_NAMES: readonly string[] = [];

/** Containers whose proposals nothing holds up but a resize of the pod that waits for room (L31). */
export function listHeldBack(weighed: readonly Weighed[]): readonly string[] {
  let names = NO_NAMES;
  for (const { it, asked } of weighed) {
    if (asked?.kind !== "stopped" || asked.decision.kind !== "blocked") continue;
    if (asked.decision.reason === "ResizeDeferred") names = [...names, it.container.name];
  }
  return names;
}

/** The PATCH for a candidate that passed every gate. */
export function toRequest(candidate: Candidate): ResizeRequest {
  const { action, base, to, changes, proposals, container: { spec }, input: { room } } = candidate;
  const reason = readReason(candidate);
  const reflex = proposals[0]?.reflex ?? null;
  // Where room is known, it decides when what was taken back is asked for again (L31).
  const givesUp = action === "scaleUp" && base !== spec && room === null ? spec : null;
  const why = explainMoves(candidate);
  const resize = { action, from: base, to, changes, stuck: null, givesUp, reason, why, reflex };
  return newRequest(candidate, resize);
}

/** What is said of a case that was asked about. */
export function toDecision({ it, asked, vetoedSince }: Weighed): ContainerDecision {
  const { autoscaler: { uid: autoscaler }, container: { name: container }, isNewSample } = it;
  if (asked === null) return { autoscaler, container, decision: explainHold(it), candidates: [], isNewSample };
  if (asked.kind === "stopped") {
    const decision = withVeto(asked.decision, it.input.now, vetoedSince);
    return { autoscaler, container, decision, candidates: asked.candidates, isNewSample };
  }
  const { action, base, to, moving, proposals } = asked.candidate;
  const reason = readReason(asked.candidate);
  const decision = { kind: "resize", action, ...(reason !== null && { reason }), from: base, to } as const;
  // A kill is a sample of its own (L10): it is counted where it is acted on (C52).
  const isNew = isNewSample || isAfterOom(proposals);
  return { autoscaler, container, decision, candidates: moving, isNewSample: isNew };
}

/** A revert stands beside what else was decided about its container. */
export function toRevertDecision({ autoscaler, container, from, to, stuck }: ResizeRequest): ContainerDecision {
  const decision = { kind: "revert", reason: stuck ?? "ResizeError", from, to } as const;
  return { autoscaler, container, decision, candidates: [], isNewSample: false };
}

/** A kill waits for nobody (L11). */
function readSince({ view, proposals }: Candidate): number {
  return isAfterOom(proposals) ? -Infinity : view.wantedSince ?? Infinity;
}

function readReason({ proposals }: Candidate): ResizeReason | null {
  return proposals[0]?.cause === "newPod" ? "Inherited" : null;
}

function explainMoves({ sized, proposals }: Candidate): string {
  const whys = sized.flatMap((one) => {
    if (one.kind !== "moves") return [];
    const why = proposals.find(({ side }) => side === one.key)?.why ?? one.key;
    return [one.cappedBy === null ? why : `${why}, capped by ${one.cappedBy}`];
  });
  // Sides that answer one kill have one reason.
  return [...new Set(whys)].join("; ");
}
