/** A choice that has been sized: what would be sent for it, and what the gates are asked about. */
import type { Action } from "../../autoscaler/autoscaler.ts";
import { type Resources, SIDE_KEYS, type SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import { listChanges } from "../changes.ts";
import type { Direction } from "../decision.ts";
import { readActual } from "../pod/pod_facts.ts";
import { readQosWith } from "../pod/qos.ts";
import type { Proposal } from "../propose/proposal.ts";
import type { Choice } from "../propose/propose.ts";
import { isOwnWaiting, listStuck, revertTo } from "../propose/revert.ts";
import { readAllowance } from "../size/allowance.ts";
import { fit, type NoteCap, resultOf } from "../size/fit.ts";
import { NO_FLOOR, readKillFloor, readMemoryFloor } from "../size/memory_floor.ts";
import type { Mover, Sized } from "../size/sized.ts";

/** A case whose choice has been sized. */
export interface Candidate extends Case {
  readonly direction: Direction;
  readonly action: Action;
  /** Of the sides that no gate has objected to yet. */
  readonly proposals: readonly Proposal[];
  readonly sized: readonly Sized[];
  /** Sides that sizing moves. */
  readonly moving: readonly SideKey[];
  /** What `to` is measured from: the spec, or where a pending resize is given up, the size in force. */
  readonly base: Resources;
  readonly to: Resources;
  /** The fields in which `to` differs from the spec. */
  readonly changes: readonly SideKey[];
  /** The container of the same pod that is resized first; `null` = none. */
  readonly ahead: string | null;
}

interface Sizing {
  /** The container of the same pod that goes first; `null` = none. */
  readonly ahead: string | null;
  readonly noteCap?: NoteCap;
}

/** Sizes the proposals of a choice together. */
export function newCandidate(it: Case, choice: Choice, { ahead, noteCap }: Sizing): Candidate {
  const { direction, action, proposals } = choice;
  const { autoscaler, container, input: { pod } } = it;
  const actual = readActual(container);
  const movers: Mover[] = [];
  for (const rule of autoscaler.sides) {
    const proposal = proposals.find(({ side }) => side === rule.key);
    const amount = actual[rule.key];
    if (proposal === undefined || amount === null) continue;
    const { isPaired = false, cause } = proposal;
    movers.push({ rule, amount: proposal.amount, actual: amount, isPaired, ignoresStep: cause !== "usage" });
  }
  const base = revertTo(container, listGivenUp(it, direction));
  const sized = fit(movers, {
    direction,
    base,
    allow: (key) => readAllowance(it.input, container, key),
    memoryFloor: direction === "up" ? NO_FLOOR : readMemoryFloor(it),
    killFloorBytes: direction === "up" ? 0 : readKillFloor(it),
    noteCap,
    makesGuaranteed: (to) => pod.qosClass !== "Guaranteed" && readQosWith(pod, container, to) === "Guaranteed",
  });
  const to = resultOf(base, sized);
  const moving: SideKey[] = [];
  for (const one of sized) if (one.kind === "moves") moving.push(one.key);
  const { input, state, status, view, containerState, isDue, isNewSample } = it;
  // Written out: V8 is slow with a spread before so many fields.
  return {
    input,
    state,
    status,
    autoscaler,
    view,
    container,
    containerState,
    isDue,
    isNewSample,
    direction,
    action,
    proposals,
    sized,
    moving,
    base,
    to,
    changes: listChanges(container.spec, to),
    ahead,
  };
}

/**
 * Over a pending resize a scale-down starts from what is in force (C41), and a scale-up takes back what of podfit's waits
 * for room (L31); over a failed one of ours both do (C47).
 */
function listGivenUp({ status, container, input: { pod } }: Case, direction: Direction): readonly SideKey[] {
  if (status.kind === "error") return listStuck(pod, container);
  if (direction === "up") {
    return status.kind === "deferred" && isOwnWaiting(pod, container) ? listStuck(pod, container) : [];
  }
  return status.kind === "deferred" || status.kind === "infeasible" ? SIDE_KEYS : [];
}
