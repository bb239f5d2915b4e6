/**
 * Ways out of a stuck resize (C47): fields that podfit wrote and the kubelet cannot enact go back to what is in force,
 * so that the node's scheduler and the pod's other resizes are not held up. At most once per cooldown.
 */
import { readOwnedSides } from "../../units/managed_fields.ts";
import { isSameSize, type Resources, SIDE_KEYS, type SideKey } from "../../units/resources.ts";
import { type Case, newRequest } from "../case.ts";
import { listChanges } from "../changes.ts";
import { type ContainerFacts, findContainer, type PodFacts, readActual } from "../pod/pod_facts.ts";
import { readQosWith } from "../pod/qos.ts";
import { isStuck, type Stuck, STUCK_REASONS } from "../pod/resize_status.ts";
import type { ResizeRequest } from "../resize_request.ts";
import { listAllRefusals, type Refusal } from "../settle/refusal.ts";
import { findContainerState } from "../state.ts";

/** How long a resize may stay in each state before it is given up, ms. */
const PATIENCE_MS: Readonly<Record<Stuck["kind"], number>> = {
  error: 30_000,
  deferred: 5 * 60_000,
  infeasible: 0,
};

/**
 * The request to revert, for the first container that can; `null` when there is nothing to give up. What waits for room
 * goes back at once where it holds up one of `heldBack`, other containers of the pod (L31).
 */
export function proposeRevert(cases: readonly Case[], heldBack: readonly string[] = []): ResizeRequest | null {
  const [sponsor] = cases;
  if (sponsor === undefined || !isStuck(sponsor.status)) return null;
  for (const it of [...cases, ...listOrphans(cases, sponsor)]) {
    const { status, container, input: { pod, dryRun } } = it;
    if (dryRun || !isStuck(status) || !isDue(it, status, heldBack)) continue;
    const from = container.spec;
    const to = revertTo(container, listStuck(pod, container));
    if (isSameSize(to, from) || exceedsLimit(to) || readQosWith(pod, container, to) !== pod.qosClass) continue;
    const changes = listChanges(from, to);
    return newRequest(it, {
      action: "revert",
      from,
      to,
      changes,
      stuck: STUCK_REASONS[status.kind],
      reason: null,
      givesUp: null,
      why: status.message,
      reflex: null,
    });
  }
  return null;
}

/** The sides of the container that podfit was the last to write and that are not enacted. */
export function listStuck(pod: PodFacts, container: ContainerFacts): readonly SideKey[] {
  const actual = readActual(container);
  return pod.resizes.filter(({ manager }) => manager === `podfit.${container.name}`)
    .flatMap(({ owned }) => readOwnedSides(owned, container.name))
    .filter((key) => container.spec[key] !== actual[key]);
}

/**
 * Whether all that waits for room in the pod is of podfit's own making, in this container: then it may be taken back
 * together with what can go now (L31).
 */
export function isOwnWaiting(pod: PodFacts, container: ContainerFacts): boolean {
  const own = listStuck(pod, container);
  if (own.length === 0) return false;
  return pod.containers.every((one) => {
    if (one.kind === "init") return true;
    const actual = readActual(one);
    return SIDE_KEYS.every((key) => one.spec[key] === actual[key] || (one === container && own.includes(key)));
  });
}

/** The container's spec with these of its sides at what is in force. */
export function revertTo(container: ContainerFacts, sides: readonly SideKey[]): Resources {
  if (sides.length === 0) return container.spec;
  const to: Record<SideKey, number | null> = { ...container.spec };
  for (const key of sides) to[key] = readActual(container)[key] ?? container.spec[key];
  return to;
}

/**
 * Whether the kubelet has had its time. It counts from the container's last resize too: the condition may be about an
 * older one, of a sibling perhaps, and what was just sent would be given up at once, again and again.
 */
export function isPatienceOver({ input: { now }, containerState: { resizedAt } }: Case, status: Stuck): boolean {
  return now - Math.max(status.since, resizedAt ?? -Infinity) >= PATIENCE_MS[status.kind];
}

/**
 * Containers that podfit resized for an autoscaler that is gone, and whose resize is stuck: it holds up the whole pod, so
 * the first contender that is left gives it up.
 */
function listOrphans(cases: readonly Case[], sponsor: Case): readonly Case[] {
  const orphans: Case[] = [];
  for (const name in sponsor.state.containers) {
    if (cases.some(({ container }) => container.name === name)) continue;
    const container = findContainer(sponsor.input.pod, name);
    const containerState = findContainerState(sponsor.state, name);
    if (container !== null && containerState !== undefined) orphans.push({ ...sponsor, container, containerState });
  }
  return orphans;
}

function isDue(it: Case, status: Stuck, heldBack: readonly string[]): boolean {
  const { input: { now, inFlight }, state, container, containerState, autoscaler } = it;
  if (container.runningAt === null || state.conflict !== null || inFlight) return false;
  const { revertedAt, refusals } = containerState;
  if (listAllRefusals(refusals).some((refusal) => holdsRevert(refusal, now))) return false;
  if (revertedAt !== null && now - revertedAt < autoscaler.cooldownMs) return false;
  if (status.kind === "deferred" && heldBack.some((name) => name !== container.name)) return true;
  return isPatienceOver(it, status);
}

/** A refused revert waits like any refused size; a refused scale does not hold it up, unless everything is refused. */
function holdsRevert({ kind, action, until }: Refusal, now: number): boolean {
  return now < until && (kind === "everything" || action === "revert");
}

function exceedsLimit(to: Resources): boolean {
  return (["cpu", "memory"] as const).some((resource) => {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    return request !== null && limit !== null && request > limit;
  });
}
