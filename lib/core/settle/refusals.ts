/**
 * What waits after an answer (C44, C47): sizes that the API server refused, or that were given up because the kubelet
 * could not enact them. Each further time the wait doubles, as long as pod and autoscaler are the same but for podfit's own resizes.
 */
import { type Resource, resourceOf, SIDE_KEYS, type SideKey, sideOf } from "../../units/resources.ts";
import type { RefusalReason, StuckReason } from "../reasons.ts";
import type { Refused, ResizeRequest } from "../resize_request.ts";
import {
  type EverythingReason,
  listAllRefusals,
  NO_REFUSALS,
  type Refusal,
  type Refusals,
  type SideRefusals,
} from "./refusal.ts";

const EVERY_RESOURCE: ReadonlySet<Resource> = new Set(["cpu", "memory"] as const);
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 10 * 60_000;
const UNSUPPORTED_WAIT_MS = 5 * 60_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * After a refused PATCH: the resources it names wait, or all that were to change when it names none of them. A server
 * that is busy is so for every resource.
 */
export function nextRefused(
  refusals: Refusals,
  request: ResizeRequest,
  { answer, now }: { answer: Refused; now: number },
): Refusals {
  const { reason, message, waitMs } = answer;
  const resources = reason === "RetryLater" ? EVERY_RESOURCE : listRefused(request.changes, answer.resources);
  const next: Partial<Record<SideKey, SideRefusals>> = { ...refusals };
  for (const key of SIDE_KEYS) {
    if (!resources.has(resourceOf(key))) continue;
    if (isAboutEverything(reason)) {
      const wait = newWait(request, refusals[key]?.everything, { reason, message, askedMs: waitMs, now });
      next[key] = { ...refusals[key], everything: { kind: "everything", ...wait } };
      continue;
    }
    const to = request.to[key];
    // A side that was not to change is not refused, and a limit needs no room (L31).
    if (!request.changes.includes(key) || to === null) continue;
    if (reason === "NodeCapacity" && isBesideRequest(key, request)) continue;
    const wait = newWait(request, refusals[key]?.size, { reason, message, askedMs: waitMs, now });
    next[key] = { ...refusals[key], size: { kind: "size", ...wait, to } };
  }
  return next;
}

/**
 * After an accepted PATCH: what the API server refused of its resources is forgotten, and that it was busy; the others
 * wait on. podfit's own resize is no change of the pod that would free a waiting size.
 */
export function nextAccepted(refusals: Refusals, request: ResizeRequest, generation: number | null): Refusals {
  const changed = new Set(request.changes.map(resourceOf));
  const move = <T extends Refusal>(refusal: T): T =>
    refusal.podGeneration === request.generation ? { ...refusal, podGeneration: generation } : refusal;
  const next: Partial<Record<SideKey, SideRefusals>> = {};
  for (const key of SIDE_KEYS) {
    const { everything, size, givenUp } = refusals[key] ?? {};
    const isKept = !changed.has(resourceOf(key));
    const kept: SideRefusals = {
      ...(isKept && everything !== undefined && everything.reason !== "RetryLater" && { everything: move(everything) }),
      ...(isKept && size !== undefined && { size: move(size) }),
      ...(givenUp !== undefined && { givenUp: move(givenUp) }),
    };
    if (Object.keys(kept).length > 0) next[key] = kept;
  }
  return Object.keys(next).length === 0 ? NO_REFUSALS : next;
}

/** After a revert: the size given up waits, or it would be commanded, stuck and reverted for ever. */
export function nextGivenUp(
  refusals: Refusals,
  request: ResizeRequest,
  { generation, now }: { generation: number | null; now: number },
): Refusals {
  const next: Partial<Record<SideKey, SideRefusals>> = { ...nextAccepted(refusals, request, generation) };
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

/** After a scale-up that took back sides that waited for room (L31): they wait as after a revert, the others go on. */
export function nextTakenBack(
  refusals: Refusals,
  request: ResizeRequest,
  context: { generation: number | null; now: number },
): Refusals {
  const { givesUp, to, changes } = request;
  const accepted = nextAccepted(refusals, request, context.generation);
  if (givesUp === null) return accepted;
  const returned = changes.filter((key) => request.from[key] === to[key]);
  const revert: ResizeRequest = { ...request, from: givesUp, changes: returned, stuck: "ResizeDeferred" };
  return nextGivenUp(accepted, { ...revert, why: "the node had no room for it" }, context);
}

/** Some size still waits for this reason: it has been neither accepted nor refused for another since. */
export function isWaiting(refusals: Refusals, reason: string | undefined): boolean {
  return refusals !== NO_REFUSALS && listAllRefusals(refusals).some((refusal) => refusal.reason === reason);
}

/** What was refused before a wall clock stepped back to `now` holds nothing up any more. */
export function rebaseRefusals(refusals: Refusals, now: number): Refusals {
  const move = <T extends Refusal>(refusal: T): T =>
    refusal.until - refusal.waitMs > now ? { ...refusal, until: now } : refusal;
  const next: Partial<Record<SideKey, SideRefusals>> = {};
  for (const key of SIDE_KEYS) {
    const side = refusals[key];
    if (side === undefined) continue;
    const { everything, size, givenUp } = side;
    next[key] = {
      ...(everything !== undefined && { everything: move(everything) }),
      ...(size !== undefined && { size: move(size) }),
      ...(givenUp !== undefined && { givenUp: move(givenUp) }),
    };
  }
  return next;
}

function isBesideRequest(key: SideKey, { changes }: ResizeRequest): boolean {
  return sideOf(key) === "limits" && changes.includes(`${resourceOf(key)}.requests`);
}

function isAboutEverything(reason: RefusalReason): reason is EverythingReason {
  return reason === "RetryLater" || reason === "Rights" || reason === "Unsupported";
}

function listRefused(changes: readonly SideKey[], named: readonly Resource[]): ReadonlySet<Resource> {
  const changed = changes.map(resourceOf);
  const both = changed.filter((resource) => named.includes(resource));
  return new Set(both.length > 0 ? both : changed);
}

/** What a revert takes back of the resource was a scale-up when some side of it falls. */
function wasUp({ changes, from, to }: ResizeRequest, resource: Resource): boolean {
  return changes.some((key) => resourceOf(key) === resource && (from[key] ?? 0) > (to[key] ?? 0));
}

interface Cause<Reason> {
  readonly reason: Reason;
  readonly message: string;
  /** What the server asked for, ms. */
  readonly askedMs: number | null;
  readonly now: number;
}

function newWait<Reason extends RefusalReason | StuckReason>(
  request: ResizeRequest,
  before: Refusal | undefined,
  { reason, message, askedMs, now }: Cause<Reason>,
) {
  const isAgain = before !== undefined && before.reason === reason && before.podGeneration === request.generation &&
    before.autoscaler === request.autoscaler && before.autoscalerGeneration === request.autoscalerGeneration &&
    now < before.until + LONGEST_WAIT_MS;
  // An overloaded server asks everybody for the same few seconds (API Priority and Fairness): our own wait grows beside it.
  const waitMs = Math.max(askedMs ?? 0, readOwnWait(reason, isAgain ? before.waitMs : null));
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

function readOwnWait(reason: RefusalReason | StuckReason, beforeMs: number | null): number {
  if (reason === "Unsupported") return UNSUPPORTED_WAIT_MS;
  const [firstMs, longestMs] = reason === "RetryLater"
    ? [FIRST_RETRY_MS, LONGEST_RETRY_MS]
    : [FIRST_WAIT_MS, LONGEST_WAIT_MS];
  return beforeMs === null ? firstMs : Math.min(beforeMs * 2, longestMs);
}
