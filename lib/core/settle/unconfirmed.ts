/**
 * PATCHes whose answers were lost (C45): did one arrive? The pod shows it: a newer entry of podfit's in managedFields
 * and the commanded size in its spec. Then it counts as accepted, and is told like any other action.
 */
import { listChanges } from "../decide_container.ts";
import type { Input, ResizeRequest } from "../decision.ts";
import { findContainer, type PodFacts } from "../pod/pod_facts.ts";
import type { UnconfirmedRequest } from "../state.ts";

/** After this it counts as never arrived: a request lives no longer in an API server (--request-timeout). */
const PATIENCE_MS = 60_000;

/** Of all that were made on one resourceVersion at most one can be accepted; a newer pod tells of those before it. */
export function nextUnconfirmed(
  lost: readonly UnconfirmedRequest[],
  { policy, ...order }: ResizeRequest,
  at: number,
): readonly UnconfirmedRequest[] {
  const onSamePod = lost.filter(({ resourceVersion }) => resourceVersion === order.resourceVersion);
  return [...onSamePod, { ...order, autoscaler: policy.uid, at }];
}

export interface Arrived {
  readonly order: ResizeRequest;
  /** When its answer was missed. */
  readonly at: number;
}

/** The one that arrived, and those of which nothing is known yet. */
export function judgeUnconfirmed(
  lost: readonly UnconfirmedRequest[],
  { pod, contenders, now }: Input,
): { readonly arrived: Arrived | null; readonly unknown: readonly UnconfirmedRequest[] } {
  const unknown: UnconfirmedRequest[] = [];
  for (const one of lost) {
    const { autoscaler, at, ...order } = one;
    const policy = contenders.find(({ uid }) => uid === autoscaler);
    if (policy === undefined) continue;
    if (hasArrived(one, pod)) return { arrived: { order: { ...order, policy }, at: Math.min(at, now) }, unknown: [] };
    if (now - at < PATIENCE_MS && findContainer(pod, one.container) !== null) unknown.push(one);
  }
  return { arrived: null, unknown };
}

function hasArrived(
  { container: name, changes, to, resourceVersion, generation }: UnconfirmedRequest,
  pod: PodFacts,
): boolean {
  const isSameSpec = pod.generation !== null && pod.generation === generation;
  if (pod.resourceVersion === resourceVersion || isSameSpec) return false;
  const container = findContainer(pod, name);
  const isOwn = pod.resizes.some(({ manager, owned }) =>
    manager === `podfit.${name}` && changes.every((key) => owned.get(name)?.includes(key) === true)
  );
  return isOwn && container !== null && listChanges(container.spec, to).length === 0;
}
