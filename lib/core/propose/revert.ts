/**
 * Ways out of a stuck resize (C47): fields that podfit wrote and the kubelet cannot enact go back to what is in force,
 * so that the node's scheduler and the pod's other resizes are not held up. At most once per cooldown.
 */
import { isSameSize } from "../../units/resources.ts";
import type { ResizeRequest } from "../decision.ts";
import { type Case, listChanges, newOrder, returnTo } from "../decide_container.ts";
import { computeQosWith, ERROR_PATIENCE_MS, listStuck } from "../gate/gates.ts";
import type { ResizeStatus } from "../pod/resize_status.ts";
import type { Refusal } from "../state.ts";

const DEFERRED_PATIENCE_MS = 5 * 60_000;

/** The reason that each kind of stuck resize is told by. */
export const STUCK = { deferred: "ResizeDeferred", infeasible: "ResizeInfeasible", error: "ResizeError" } as const;

/** The order to return, for the first container that can; `null` when there is nothing to give up. */
export function revertStuck(cases: readonly Case[], status: ResizeStatus): ResizeRequest | null {
  if (status.kind === "idle" || status.kind === "inProgress") return null;
  for (const it of cases) {
    if (it.input.dryRun || !isDue(it, status)) continue;
    const to = returnTo(it.container, listStuck(it.input.pod, it.container));
    const from = it.container.spec;
    if (isSameSize(to, from) || exceedsLimit(to)) continue;
    if (computeQosWith(it.input.pod, it.container, to) !== it.input.pod.qosClass) continue;
    const changes = listChanges(from, to);
    return newOrder(it, { action: "return", from, to, changes, stuck: STUCK[status.kind], why: status.message });
  }
  return null;
}

function isDue(it: Case, status: Exclude<ResizeStatus, { kind: "idle" }>): boolean {
  const { now } = it.input;
  if (it.container.runningAt === null || it.state.conflict !== null) return false;
  const { revertedAt: returnedAt, refusals } = it.containerState;
  if (Object.values(refusals).some((refusal) => holdsReturn(refusal, now))) return false;
  if (returnedAt !== null && now - returnedAt < it.policy.cooldownMs) return false;
  const patienceMs = { error: ERROR_PATIENCE_MS, deferred: DEFERRED_PATIENCE_MS, infeasible: 0, inProgress: Infinity };
  return now - status.since >= patienceMs[status.kind];
}

/** A refused return waits like any refused size; a refused scale does not hold it up, unless everything is refused. */
function holdsReturn({ action, reason, until, waitMs }: Refusal, now: number): boolean {
  if (now >= until || now < until - waitMs) return false;
  return action === "return" || reason === "RetryLater" || reason === "Rights" || reason === "Unsupported";
}

function exceedsLimit(to: ResizeRequest["to"]): boolean {
  return (["cpu", "memory"] as const).some((resource) => {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    return request !== null && limit !== null && request > limit;
  });
}
