/**
 * Requests without an answer (C45): did one arrive? The pod shows it: a newer entry of podfit's in managedFields and the
 * commanded size in its spec. Then it counts as accepted, like any other.
 */
import { readOwnedSides } from "../../units/managed_fields.ts";
import { listChanges } from "../changes.ts";
import type { Input } from "../decision.ts";
import { findContainer, type PodFacts } from "../pod/pod_facts.ts";
import type { ResizeRequest } from "../resize_request.ts";
import type { PodState, UnconfirmedRequest } from "../state.ts";
import { settleAccepted, type Settled } from "./accepted.ts";

/** After this it counts as never arrived, ms: a request lives no longer in an API server (--request-timeout). */
const PATIENCE_MS = 60_000;

/** At most one of all that were made on one resourceVersion can be accepted; a newer pod decides about those before it. */
export function nextUnconfirmed(
  unconfirmed: readonly UnconfirmedRequest[],
  request: ResizeRequest,
  at: number,
): readonly UnconfirmedRequest[] {
  const onSamePod = unconfirmed.filter(({ resourceVersion }) => resourceVersion === request.resourceVersion);
  return [...onSamePod, { ...request, at }];
}

/** What the pod shows of them: the one that arrived is accepted, those that can no longer arrive are forgotten. */
export function settleUnconfirmed(state: PodState, { pod, contenders, now }: Input): Settled {
  const unknown: UnconfirmedRequest[] = [];
  for (const one of state.unconfirmed) {
    if (!contenders.some(({ uid }) => uid === one.autoscaler)) continue;
    if (hasArrived(one, pod)) {
      const { at, ...request } = one;
      return settleAccepted(state, { request, at, generation: pod.generation });
    }
    if (now - one.at < PATIENCE_MS && findContainer(pod, one.container) !== null) unknown.push(one);
  }
  const isSame = unknown.length === state.unconfirmed.length;
  return { state: isSame ? state : { ...state, unconfirmed: unknown }, accepted: null, refused: null };
}

function hasArrived(request: UnconfirmedRequest, pod: PodFacts): boolean {
  const { container: name, changes, to, resourceVersion, generation } = request;
  const isSameSpec = pod.generation !== null && pod.generation === generation;
  if (pod.resourceVersion === resourceVersion || isSameSpec) return false;
  const container = findContainer(pod, name);
  const isOwn = pod.resizes.some(({ manager, owned }) =>
    manager === `podfit.${name}` && changes.every((key) => readOwnedSides(owned, name).includes(key))
  );
  return isOwn && container !== null && listChanges(container.spec, to).length === 0;
}
