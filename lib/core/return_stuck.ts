/**
 * Ways out of a stuck resize (C47): fields that podfit wrote and the kubelet cannot enact go back to what is in force,
 * so that the node's scheduler and the pod's other resizes are not held up. At most once per cooldown.
 */
import { isSameSize } from "../units/resources.ts";
import type { Order } from "./decision.ts";
import { type Case, listChanges, newOrder, returnTo } from "./decide_container.ts";
import { computeQosWith, ERROR_PATIENCE_MS, listStuck } from "./gates.ts";
import type { ResizeStatus } from "./resize_status.ts";

const DEFERRED_PATIENCE_MS = 5 * 60_000;

/** The order to return, for the first container that can; `null` when there is nothing to give up. */
export function returnStuck(cases: readonly Case[], status: ResizeStatus): Order | null {
  if (status.kind === "idle" || status.kind === "inProgress") return null;
  for (const it of cases) {
    if (it.input.dryRun || !isDue(it, status)) continue;
    const to = returnTo(it.container, listStuck(it.input.pod, it.container));
    const from = it.container.spec;
    if (isSameSize(to, from) || exceedsLimit(to)) continue;
    if (computeQosWith(it.input.pod, it.container, to) !== it.input.pod.qosClass) continue;
    const changes = listChanges(from, to);
    return newOrder(it, { action: "return", from, to, changes, why: `${status.kind}: ${status.message}` });
  }
  return null;
}

function isDue(it: Case, status: Exclude<ResizeStatus, { kind: "idle" }>): boolean {
  const { now } = it.input;
  if (it.container.runningAt === null || it.state.conflict !== null) return false;
  const { returnedAt } = it.containerState;
  if (returnedAt !== null && now - returnedAt < it.policy.cooldownMs) return false;
  const patienceMs = { error: ERROR_PATIENCE_MS, deferred: DEFERRED_PATIENCE_MS, infeasible: 0, inProgress: Infinity };
  return now - status.since >= patienceMs[status.kind];
}

function exceedsLimit(to: Order["to"]): boolean {
  return (["cpu", "memory"] as const).some((resource) => {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    return request !== null && limit !== null && request > limit;
  });
}
