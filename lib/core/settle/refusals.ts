/**
 * Sizes that wait (C44, C47): refused by the API server, or given up because the kubelet could not enact them. Each
 * further time the wait doubles, as long as pod and autoscaler are the same but for podfit's own resizes.
 */
import { NO_RESOURCES, type Resource, resourceOf, type Resources, type SideKey } from "../../units/resources.ts";
import type { Answer, ResizeRequest } from "../decision.ts";
import type { WaitReason } from "../reasons.ts";
import type { ContainerState, Refusal } from "../state.ts";

const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 10 * 60_000;
const UNSUPPORTED_WAIT_MS = 5 * 60_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60_000;

type Refusals = ContainerState["refusals"];
type Refused = Extract<Answer, { kind: "refused" }>;

/** After a refused PATCH: the resources it names wait, or all that were to change when it names none of them. */
export function nextRefused(
  refusals: Refusals,
  order: ResizeRequest,
  { answer, now }: { answer: Refused; now: number },
): Refusals {
  const next: Partial<Record<Resource, Refusal>> = { ...refusals };
  for (const resource of listRefused(order.changes, answer.resources)) {
    const { reason, message, waitMs } = answer;
    next[resource] = newRefusal(order, refusals[resource], { reason, message, toldMs: waitMs, now });
  }
  return next;
}

/**
 * After an accepted PATCH: what the API server refused of its resources is forgotten, the others wait on. podfit's own
 * resize is no change of the pod that would free a waiting size.
 */
export function nextAccepted(refusals: Refusals, order: ResizeRequest, generation: number | null): Refusals {
  const changed = new Set(order.changes.map(resourceOf));
  const next: Partial<Record<Resource, Refusal>> = {};
  for (const resource of ["cpu", "memory"] as const) {
    const refusal = refusals[resource];
    if (refusal === undefined || (changed.has(resource) && !isStuck(refusal.reason))) continue;
    const isSamePod = refusal.podGeneration === order.generation;
    next[resource] = isSamePod ? { ...refusal, podGeneration: generation } : refusal;
  }
  return next;
}

/** After a return: the size given up waits, or it would be commanded, stuck and returned for ever. */
export function nextGivenUp(
  refusals: Refusals,
  order: ResizeRequest,
  { generation, now }: { generation: number | null; now: number },
): Refusals {
  const next: Partial<Record<Resource, Refusal>> = { ...nextAccepted(refusals, order, generation) };
  for (const resource of ["cpu", "memory"] as const) {
    const keys = order.changes.filter((key) => resourceOf(key) === resource);
    if (keys.length === 0 || order.stuck === null) continue;
    const isUp = keys.some((key) => (order.from[key] ?? 0) > (order.to[key] ?? 0));
    const message = `it was given up a while ago (${order.why})`;
    const refusal = newRefusal(order, refusals[resource], { reason: order.stuck, message, toldMs: null, now });
    const action = isUp ? "scaleUp" : "scaleDown";
    next[resource] = { ...refusal, action, to: pickChanged(order.from, order), podGeneration: generation };
  }
  return next;
}

/** Some size still waits for this reason: it has been neither accepted nor refused for another since. */
export function isWaiting(refusals: Refusals, reason: string | undefined): boolean {
  return Object.values(refusals).some((refusal) => refusal.reason === reason);
}

function isStuck(reason: WaitReason): boolean {
  return reason === "ResizeDeferred" || reason === "ResizeInfeasible" || reason === "ResizeError";
}

function listRefused(changes: readonly SideKey[], named: readonly Resource[]): ReadonlySet<Resource> {
  const changed = changes.map(resourceOf);
  const both = changed.filter((resource) => named.includes(resource));
  return new Set(both.length > 0 ? both : changed);
}

/** A side that was not to change is neither refused nor given up. */
function pickChanged(sizes: Resources, { changes }: ResizeRequest): Resources {
  const picked: Record<SideKey, number | null> = { ...NO_RESOURCES };
  for (const key of changes) picked[key] = sizes[key];
  return picked;
}

interface Cause {
  readonly reason: WaitReason;
  readonly message: string;
  readonly toldMs: number | null;
  readonly now: number;
}

function newRefusal(
  order: ResizeRequest,
  before: Refusal | undefined,
  { reason, message, toldMs, now }: Cause,
): Refusal {
  const isAgain = before !== undefined && before.reason === reason && before.podGeneration === order.generation &&
    before.autoscaler === order.policy.uid && before.autoscalerGeneration === order.policy.generation &&
    now < before.until + LONGEST_WAIT_MS;
  // An overloaded server tells everybody one second (API Priority and Fairness): so short a wait grows by itself.
  const isTold = toldMs !== null && toldMs >= FIRST_RETRY_MS;
  const waitMs = isTold ? toldMs : readOwnWait(reason, isAgain ? before.waitMs : null);
  return {
    reason,
    message,
    until: now + waitMs,
    waitMs,
    action: order.action,
    to: pickChanged(order.to, order),
    podGeneration: order.generation,
    autoscaler: order.policy.uid,
    autoscalerGeneration: order.policy.generation,
  };
}

function readOwnWait(reason: WaitReason, beforeMs: number | null): number {
  if (reason === "Unsupported") return UNSUPPORTED_WAIT_MS;
  const [firstMs, longestMs] = reason === "RetryLater"
    ? [FIRST_RETRY_MS, LONGEST_RETRY_MS]
    : [FIRST_WAIT_MS, LONGEST_WAIT_MS];
  return beforeMs === null ? firstMs : Math.min(beforeMs * 2, longestMs);
}
