/**
 * What does the answer to a PATCH change in the state of the pod?
 *
 * An accepted request starts the cooldown. A refused size waits, and each further time the wait doubles. A request
 * without an answer is settled when the pod shows whether it arrived.
 */
import type { Action } from "../model/autoscaler.ts";
import {
  type EverythingReason,
  listAllRefusals,
  NO_REFUSALS,
  type Refusal,
  type Refusals,
  type SideRefusals,
} from "../model/container_history.ts";
import type { EnactedResize, Observation, ScaleAction, SizeInput, SizeOutcome } from "../model/decision.ts";
import { type ContainerFacts, findContainer, type PodFacts } from "../model/pod.ts";
import type { RefusalReason, StuckReason } from "../model/reasons.ts";
import { describeChange, listChangedFields, type Refused, type ResizeRequest } from "../model/resize_request.ts";
import { isEnacted } from "../model/resize_status.ts";
import {
  type AutoscalerView,
  type Command,
  type ContainerState,
  findContainerState,
  type PodState,
  type UnconfirmedRequest,
} from "../model/state.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import {
  requestOrLimitOf,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
} from "../units/resources.ts";
import { keepStreaksOverPatch, NOTHING_WANTED } from "./streaks.ts";

/** The state after an answer, and whether a request was accepted or refused. */
export interface AnswerOutcome {
  readonly state: PodState;
  readonly accepted: { readonly request: ResizeRequest; readonly at: number } | null;
  readonly refused: { readonly request: ResizeRequest; readonly answer: Refused } | null;
}

/** The state after all requests whose outcome is known. */
interface SettledPod extends AnswerOutcome, Pick<SizeOutcome, "scaled" | "enacted"> {}

/** Returns the state after an answer, or after what the pod shows of earlier requests. Clauses: C42. */
export function settlePod(state: PodState, input: SizeInput): SettledPod {
  const { observation } = input;
  if (observation.kind === "answered") {
    const answer = nextAfterAnswer(state, input, observation);
    return { ...answer, scaled: toScaleAction(answer), enacted: null };
  }
  const late = nextAfterUnconfirmed(state, input);
  return { ...late, scaled: toScaleAction(late), ...nextCommand(late.state, input) };
}

/** Returns the change of a scale action; `null` for a revert, and if nothing was accepted. */
function toScaleAction({ accepted }: AnswerOutcome): ScaleAction | null {
  if (accepted === null || accepted.request.action === "revert") return null;
  const { at, request: { autoscaler, container, action, from, to } } = accepted;
  // Fields that only go back to the size in force are not part of the action.
  const moved = listChangedFields(from, to);
  const deltas = moved.flatMap((key) => {
    const [before, after] = [from[key], to[key]];
    return before === null || after === null ? [] : [{ key, from: before, to: after }];
  });
  return { autoscaler, container, action, at, change: describeChange(from, to, moved), deltas };
}

/**
 * Returns the state after an answer. An accepted request starts the cooldown, a refused size waits, and a conflict
 * waits for the newer pod.
 */
function nextAfterAnswer(
  state: PodState,
  { now }: SizeInput,
  { request, answer }: AnsweredObservation,
): AnswerOutcome {
  switch (answer.kind) {
    case "accepted":
      return nextAfterAccepted(state, { request, at: now, generation: answer.generation });
    case "gone":
    case "conflict":
      // Either way the watch is behind: the newer pod decides, or its end.
      return withoutResult({ ...state, conflict: { resourceVersion: request.resourceVersion, at: now } });
    case "withdrawn":
      // The change arrives as an observation.
      return withoutResult(state);
    case "unconfirmed": {
      const { message } = answer;
      const busy: Refused = { kind: "refused", reason: "RetryLater", message, resources: [], waitMs: null };
      const waiting = { ...state, unconfirmed: nextUnconfirmed(state.unconfirmed, request, now) };
      return nextAfterRefused(waiting, { request, answer: busy, now });
    }
    case "refused":
      return nextAfterRefused(state, { request, answer, now });
  }
}

/**
 * Returns the state after what the pod shows of unconfirmed requests: one that arrived is accepted, and those that can
 * no longer arrive are dropped.
 */
function nextAfterUnconfirmed(state: PodState, { pod, contenders, now }: SizeInput): AnswerOutcome {
  const unknown: UnconfirmedRequest[] = [];
  for (const one of state.unconfirmed) {
    if (!contenders.some(({ uid }) => uid === one.autoscaler)) continue;
    if (hasArrived(one, pod)) {
      const { at, ...request } = one;
      return nextAfterAccepted(state, { request, at, generation: pod.generation });
    }
    if (now - one.at < UNCONFIRMED_TIMEOUT_MS && findContainer(pod, one.container) !== null) unknown.push(one);
  }
  const isSame = unknown.length === state.unconfirmed.length;
  return { state: isSame ? state : { ...state, unconfirmed: unknown }, accepted: null, refused: null };
}

/**
 * Returns the state without its command once the pod shows it in force. A command that was replaced or reverted, or
 * whose autoscaler is gone, ends without being enacted.
 */
function nextCommand(
  state: PodState,
  { pod, contenders, now }: SizeInput,
): { readonly state: PodState; readonly enacted: EnactedResize | null } {
  const { command } = state;
  if (command === null || (pod.generation !== null && pod.generation < command.generation)) {
    return { state, enacted: null };
  }
  const container = findContainer(pod, command.container);
  if (container === null || !isStillCommanded(command, container)) {
    return { state: { ...state, command: null }, enacted: null };
  }
  if (!isEnacted(pod, container, command.generation)) return { state, enacted: null };
  const { autoscaler, action, at } = command;
  const isContender = contenders.some(({ uid }) => uid === autoscaler);
  return {
    state: { ...state, command: null },
    enacted: isContender ? { autoscaler, action, tookMs: now - at } : null,
  };
}

/**
 * Returns the refusals after a refused PATCH: the resources that it names wait, or all that were to change. If the
 * server is busy, every resource waits. Clauses: C44, C47.
 */
export function addRefusals(
  refusals: Refusals,
  request: ResizeRequest,
  { answer, now }: { answer: Refused; now: number },
): Refusals {
  const { reason, message, waitMs } = answer;
  const resources = reason === "RetryLater" ? EVERY_RESOURCE : listRefused(request.changes, answer.resources);
  const next: Partial<Record<ResourceField, SideRefusals>> = { ...refusals };
  for (const key of RESOURCE_FIELDS) {
    if (!resources.has(resourceOf(key))) continue;
    if (isAboutEverything(reason)) {
      const slot = reason === "RetryLater" ? "busy" : "everything";
      const wait = newWait(request, refusals[key]?.[slot], { reason, message, askedMs: waitMs, now });
      next[key] = { ...refusals[key], [slot]: { kind: "everything", ...wait } };
      continue;
    }
    const to = request.to[key];
    // A field that was not to change is not refused, and a limit needs no headroom.
    if (!request.changes.includes(key) || to === null) continue;
    if (reason === "NodeCapacity" && isLimitWithRequest(key, request)) continue;
    const wait = newWait(request, refusals[key]?.size, { reason, message, askedMs: waitMs, now });
    next[key] = { ...refusals[key], size: { kind: "size", ...wait, to } };
  }
  return next;
}

/**
 * Returns the refusals after an accepted PATCH. Those of its resources end, and so does `RetryLater`; the others wait
 * on.
 */
export function dropAcceptedRefusals(refusals: Refusals, request: ResizeRequest, generation: number | null): Refusals {
  const changed = new Set(request.changes.map(resourceOf));
  const next: Partial<Record<ResourceField, SideRefusals>> = {};
  for (const key of RESOURCE_FIELDS) {
    const { everything, size, givenUp } = refusals[key] ?? {};
    const isKept = !changed.has(resourceOf(key));
    const kept: SideRefusals = {
      ...(isKept && everything !== undefined && { everything }),
      ...(isKept && size !== undefined && { size }),
      ...(givenUp !== undefined && { givenUp }),
    };
    if (Object.keys(kept).length > 0) next[key] = kept;
  }
  return Object.keys(next).length === 0 ? NO_REFUSALS : moveRefusals(next, request, generation);
}

/** podfit's own resize does not count as a change of the pod that ends a refusal, of any of its containers. */
function moveRefusals(refusals: Refusals, request: ResizeRequest, generation: number | null): Refusals {
  const move = <T extends Refusal>(refusal: T): T =>
    refusal.podGeneration === request.generation ? { ...refusal, podGeneration: generation } : refusal;
  const next: Partial<Record<ResourceField, SideRefusals>> = {};
  for (const key of RESOURCE_FIELDS) {
    const kinds = refusals[key];
    if (kinds === undefined) continue;
    const { everything, busy, size, givenUp } = kinds;
    next[key] = {
      ...(everything !== undefined && { everything: move(everything) }),
      ...(busy !== undefined && { busy: move(busy) }),
      ...(size !== undefined && { size: move(size) }),
      ...(givenUp !== undefined && { givenUp: move(givenUp) }),
    };
  }
  return next;
}

/**
 * Returns the refusals after a revert: the size that was taken back waits, or it would be sent and reverted forever.
 */
export function addGivenUp(
  refusals: Refusals,
  request: ResizeRequest,
  { generation, now }: { generation: number | null; now: number },
): Refusals {
  const next: Partial<Record<ResourceField, SideRefusals>> = { ...dropAcceptedRefusals(refusals, request, generation) };
  const reason = request.stuck;
  if (reason === null) return next;
  for (const key of request.changes) {
    const to = request.from[key];
    if (to === null) continue;
    const message = `it was given up a while ago (${request.why})`;
    const wait = newWait(request, refusals[key]?.givenUp, { reason, message, askedMs: null, now });
    const action = wasUp(request, resourceOf(key)) ? "scaleUp" : "scaleDown";
    next[key] = { ...next[key], givenUp: { kind: "givenUp", ...wait, action, podGeneration: generation, to } };
  }
  return next;
}

/** Returns whether some size still waits for this reason. */
export function hasRefusalFor(refusals: Refusals, reason: string | undefined): boolean {
  return refusals !== NO_REFUSALS && listAllRefusals(refusals).some((refusal) => refusal.reason === reason);
}

/** A request that the API server took, as its answer or the pod shows it. */
interface Acceptance {
  readonly request: ResizeRequest;
  /** When the answer came, or failed to come, epoch ms. */
  readonly at: number;
  /** As the answer has it, or the pod that shows it. */
  readonly generation: number | null;
}

/** Returns the state after an accepted request, including one whose answer was lost. */
function nextAfterAccepted(state: PodState, { request, at, generation }: Acceptance): AnswerOutcome {
  if (generation !== null && generation === request.generation) {
    return nextAfterRefused(state, { request, answer: UNCHANGED_ANSWER, now: at });
  }
  // Its last autoscaler may have gone while the answer was on its way: it is an action all the same.
  const container = findContainerState(state, request.container);
  const views: Record<string, AutoscalerView> = {};
  for (const [key, view] of Object.entries(state.views)) {
    views[key] = view.container === request.container
      ? { ...view, ...NOTHING_WANTED, streaks: keepStreaksOverPatch(view.streaks, request.changes), limited: null }
      : view;
  }
  const containers: Record<string, ContainerState> = {};
  for (const [name, one] of Object.entries(state.containers)) {
    containers[name] = one.refusals === NO_REFUSALS
      ? one
      : { ...one, refusals: moveRefusals(one.refusals, request, generation) };
  }
  if (container !== undefined) {
    containers[request.container] = nextResizedContainer(container, request, { at, generation });
  }
  const next: PodState = {
    ...state,
    views,
    containers,
    generation: Math.max(state.generation, generation ?? 0),
    conflict: null,
    unconfirmed: [],
    command: newCommand(request, at, generation ?? 0),
  };
  return { state: next, accepted: { request, at }, refused: null };
}

/** Returns the state after a refused request: the named resources wait, or the whole pod if the server is busy. */
function nextAfterRefused(
  state: PodState,
  { request, answer, now }: { readonly request: ResizeRequest; readonly answer: Refused; readonly now: number },
): AnswerOutcome {
  const container = findContainerState(state, request.container);
  if (container === undefined) return { state, accepted: null, refused: null };
  const containers: Record<string, ContainerState> = { ...state.containers };
  for (const name in state.containers) {
    const one = findContainerState(state, name);
    if (one === undefined || (name !== request.container && answer.reason !== "RetryLater")) continue;
    containers[name] = { ...one, refusals: addRefusals(one.refusals, request, { answer, now }) };
  }
  return { state: { ...state, containers }, accepted: null, refused: { request, answer } };
}

/** The same PATCH again would change as little. */
const UNCHANGED_ANSWER: Refused = {
  kind: "refused",
  reason: "Invalid",
  message: "the API server accepted it and changed nothing: an admission webhook may put the old size back",
  resources: [],
  waitMs: null,
};

function nextResizedContainer(
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
      ? addGivenUp(before, request, { generation, now: at })
      : request.givesUp !== null
      ? addTakenBack(before, request, { generation, now: at })
      : before === NO_REFUSALS
      ? before
      : dropAcceptedRefusals(before, request, generation),
  };
}

function newCommand(request: ResizeRequest, at: number, generation: number): PodState["command"] {
  const { container, autoscaler, to } = request;
  const action: Action | "revert" = request.action;
  return action === "revert" ? null : { container, autoscaler, action, generation, at, to };
}

type AnsweredObservation = Extract<Observation, { kind: "answered" }>;

function withoutResult(state: PodState): AnswerOutcome {
  return { state, accepted: null, refused: null };
}

/** After this it counts as never arrived, ms: a request lives no longer in an API server (--request-timeout). */
const UNCONFIRMED_TIMEOUT_MS = 60_000;

/**
 * Returns the unconfirmed requests with one more. Of requests on one resourceVersion at most one can be accepted; older
 * ones are settled by the newer pod.
 */
function nextUnconfirmed(
  unconfirmed: readonly UnconfirmedRequest[],
  request: ResizeRequest,
  at: number,
): readonly UnconfirmedRequest[] {
  const onSamePod = unconfirmed.filter(({ resourceVersion }) => resourceVersion === request.resourceVersion);
  return [...onSamePod, { ...request, at }];
}

function hasArrived(request: UnconfirmedRequest, pod: PodFacts): boolean {
  const { container: name, changes, to, resourceVersion, generation } = request;
  const isSameSpec = pod.generation !== null && pod.generation === generation;
  if (pod.resourceVersion === resourceVersion || isSameSpec) return false;
  const container = findContainer(pod, name);
  const isOwn = pod.resizes.some(({ manager, owned }) =>
    manager === `podfit.${name}` && changes.every((key) => listOwnedFields(owned, name).includes(key))
  );
  return isOwn && container !== null && listChangedFields(container.spec, to).length === 0;
}

function isStillCommanded({ to }: Command, { spec }: ContainerFacts): boolean {
  return RESOURCE_FIELDS.every((key) => spec[key] === to[key]);
}

const EVERY_RESOURCE: ReadonlySet<Resource> = new Set(["cpu", "memory"] as const);

const FIRST_WAIT_MS = 30_000;

const MAX_WAIT_MS = 10 * 60_000;

const UNSUPPORTED_WAIT_MS = 5 * 60_000;

const FIRST_RETRY_MS = 5_000;

const MAX_RETRY_MS = 60_000;

/**
 * Returns the refusals after a scale-up that took back fields that waited for headroom: they wait as after a revert.
 * Clauses: L31.
 */
function addTakenBack(
  refusals: Refusals,
  request: ResizeRequest,
  context: { generation: number | null; now: number },
): Refusals {
  const { givesUp, to, changes } = request;
  const accepted = dropAcceptedRefusals(refusals, request, context.generation);
  if (givesUp === null) return accepted;
  const returned = changes.filter((key) => request.from[key] === to[key]);
  const revert: ResizeRequest = { ...request, from: givesUp, changes: returned, stuck: "ResizeDeferred" };
  return addGivenUp(accepted, { ...revert, why: "the node had no room for it" }, context);
}

function isLimitWithRequest(key: ResourceField, { changes }: ResizeRequest): boolean {
  return requestOrLimitOf(key) === "limits" && changes.includes(`${resourceOf(key)}.requests`);
}

function isAboutEverything(reason: RefusalReason): reason is EverythingReason {
  return reason === "RetryLater" || reason === "Rights" || reason === "Unsupported";
}

function listRefused(changes: readonly ResourceField[], named: readonly Resource[]): ReadonlySet<Resource> {
  const changed = changes.map(resourceOf);
  const both = changed.filter((resource) => named.includes(resource));
  return new Set(both.length > 0 ? both : changed);
}

/** Returns whether a revert takes back a scale-up of the resource: some field of it falls. */
function wasUp({ changes, from, to }: ResizeRequest, resource: Resource): boolean {
  return changes.some((key) => resourceOf(key) === resource && (from[key] ?? 0) > (to[key] ?? 0));
}

interface WaitCause<Reason> {
  readonly reason: Reason;
  readonly message: string;
  /** What the server asked for, ms. */
  readonly askedMs: number | null;
  readonly now: number;
}

function newWait<Reason extends RefusalReason | StuckReason>(
  request: ResizeRequest,
  before: Refusal | undefined,
  { reason, message, askedMs, now }: WaitCause<Reason>,
) {
  const isAgain = before !== undefined && before.reason === reason && before.podGeneration === request.generation &&
    before.autoscaler === request.autoscaler && before.autoscalerGeneration === request.autoscalerGeneration &&
    now < before.until + MAX_WAIT_MS;
  // An overloaded server asks every client for the same few seconds (API Priority and Fairness), so podfit's wait also
  // grows.
  const waitMs = Math.max(askedMs ?? 0, computeBackoffMs(reason, isAgain ? before.waitMs : null));
  return {
    reason,
    message,
    until: now + waitMs,
    waitMs,
    action: request.action,
    podGeneration: request.generation,
    autoscaler: request.autoscaler,
    autoscalerGeneration: request.autoscalerGeneration,
  };
}

function computeBackoffMs(reason: RefusalReason | StuckReason, beforeMs: number | null): number {
  if (reason === "Unsupported") return UNSUPPORTED_WAIT_MS;
  const [firstMs, longestMs] = reason === "RetryLater" ? [FIRST_RETRY_MS, MAX_RETRY_MS] : [FIRST_WAIT_MS, MAX_WAIT_MS];
  return beforeMs === null ? firstMs : Math.min(beforeMs * 2, longestMs);
}
