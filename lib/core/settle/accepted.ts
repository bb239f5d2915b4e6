/**
 * An accepted PATCH (C42): it starts the cooldown of its container, ends the streaks there, and is commanded until the
 * pod shows it in force. One that changed nothing is no action, and counts as refused.
 */
import type { Action } from "../../autoscaler/autoscaler.ts";
import { keepOverPatch } from "../observe/kept_streaks.ts";
import { NOTHING_WANTED } from "../observe/count_shortage.ts";
import { describeChange, listChanges } from "../changes.ts";
import type { Scaled } from "../decision.ts";
import type { Refused, ResizeRequest } from "../resize_request.ts";
import { type ContainerState, findContainerState, type PodState, type View } from "../state.ts";
import { nextAccepted, nextGivenUp, nextRefused, nextTakenBack } from "./refusals.ts";
import { NO_REFUSALS } from "./refusal.ts";

/** The state after an answer, and what the answer came to. */
export interface Settled {
  readonly state: PodState;
  readonly accepted: { readonly request: ResizeRequest; readonly at: number } | null;
  readonly refused: { readonly request: ResizeRequest; readonly answer: Refused } | null;
}

/** A request that the API server took, as its answer or the pod shows it. */
export interface Acceptance {
  readonly request: ResizeRequest;
  /** When the answer came, or failed to come, epoch ms. */
  readonly at: number;
  /** As the answer has it, or the pod that shows it. */
  readonly generation: number | null;
}

/** For an answer, and for a request without one that turns out to have arrived. */
export function settleAccepted(state: PodState, { request, at, generation }: Acceptance): Settled {
  if (generation !== null && generation === request.generation) {
    return settleRefused(state, { request, answer: UNCHANGED, now: at });
  }
  // Its last contender may have gone while the answer was on its way: it is an action all the same.
  const container = findContainerState(state, request.container);
  const views: Record<string, View> = {};
  for (const [key, view] of Object.entries(state.views)) {
    views[key] = view.container === request.container
      ? { ...view, ...NOTHING_WANTED, streaks: keepOverPatch(view.streaks, request.changes), limited: null }
      : view;
  }
  const next: PodState = {
    ...state,
    views,
    containers: container === undefined
      ? state.containers
      : { ...state.containers, [request.container]: nextResized(container, request, { at, generation }) },
    generation: Math.max(state.generation, generation ?? 0),
    conflict: null,
    unconfirmed: [],
    command: newCommand(request, at, generation ?? 0),
  };
  return { state: next, accepted: { request, at }, refused: null };
}

/** What a refusal names waits, or the whole pod for a server that is busy; nothing else changes. */
export function settleRefused(
  state: PodState,
  { request, answer, now }: { readonly request: ResizeRequest; readonly answer: Refused; readonly now: number },
): Settled {
  const container = findContainerState(state, request.container);
  if (container === undefined) return { state, accepted: null, refused: null };
  const containers: Record<string, ContainerState> = { ...state.containers };
  for (const name in state.containers) {
    const one = findContainerState(state, name);
    if (one === undefined || (name !== request.container && answer.reason !== "RetryLater")) continue;
    containers[name] = { ...one, refusals: nextRefused(one.refusals, request, { answer, now }) };
  }
  return { state: { ...state, containers }, accepted: null, refused: { request, answer } };
}

/** What a scale action moved; `null` for a revert, which is none, and where nothing was accepted. */
export function readScaled({ accepted }: Settled): Scaled | null {
  if (accepted === null || accepted.request.action === "revert") return null;
  const { at, request: { autoscaler, container, action, from, to } } = accepted;
  // Fields that only go back to what is in force are no part of the action.
  const moved = listChanges(from, to);
  const deltas = moved.flatMap((key) => {
    const [before, after] = [from[key], to[key]];
    return before === null || after === null ? [] : [{ key, from: before, to: after }];
  });
  return { autoscaler, container, action, at, change: describeChange(from, to, moved), deltas };
}

/** The same PATCH again would change as little. */
const UNCHANGED: Refused = {
  kind: "refused",
  reason: "Invalid",
  message: "the API server accepted it and changed nothing: an admission webhook may put the old size back",
  resources: [],
  waitMs: null,
};

function nextResized(
  container: ContainerState,
  request: ResizeRequest,
  { at, generation }: { readonly at: number; readonly generation: number | null },
): ContainerState {
  const isRevert = request.action === "revert";
  const before = container.refusals;
  return {
    ...container,
    // An answer that failed to come is settled late: the resize, and another in force, may have come since.
    resizedAt: Math.max(container.resizedAt ?? at, at),
    raisedAt: request.action === "scaleUp" ? Math.max(container.raisedAt ?? at, at) : container.raisedAt,
    countsFrom: Math.max(container.countsFrom, at),
    revertedAt: isRevert ? at : container.revertedAt,
    isInherited: container.isInherited || request.reason === "Inherited",
    reflex: request.reflex ?? container.reflex,
    refusals: isRevert
      ? nextGivenUp(before, request, { generation, now: at })
      : request.givesUp !== null
      ? nextTakenBack(before, request, { generation, now: at })
      : before === NO_REFUSALS
      ? before
      : nextAccepted(before, request, generation),
  };
}

function newCommand(request: ResizeRequest, at: number, generation: number): PodState["command"] {
  const { container, autoscaler, to } = request;
  const action: Action | "revert" = request.action;
  return action === "revert" ? null : { container, autoscaler, action, generation, at, to };
}
