/**
 * A PATCH whose answer was lost (C45): did it arrive? The pod shows it: a newer entry of podfit's in managedFields and
 * the commanded size in its spec. Then it counts as accepted, and is told like any other action.
 */
import { listChanges } from "./decide_container.ts";
import type { Input, Order } from "./decision.ts";
import { findContainer } from "./pod_facts.ts";
import type { LostOrder, PodState } from "./state.ts";

/** After this it counts as never arrived: a request lives no longer in an API server (--request-timeout). */
const PATIENCE_MS = 60_000;

export function toLost({ policy, ...order }: Order, at: number): LostOrder {
  return { ...order, autoscaler: policy.uid, at };
}

export type LostVerdict =
  | { readonly kind: "arrived"; readonly order: Order; readonly generation: number | null }
  | { readonly kind: "unknown" }
  | { readonly kind: "never" };

/** Asked with each pod that is newer than the one the order was made on. */
export function judgeLost({ lost }: PodState, { pod, contenders, now }: Input): LostVerdict {
  if (lost === null) return { kind: "never" };
  const policy = contenders.find(({ uid }) => uid === lost.autoscaler);
  const container = findContainer(pod, lost.container);
  if (policy === undefined || container === null || now < lost.at) return { kind: "never" };
  const isOwn = pod.resizes.some(({ manager, owned }) =>
    manager === `podfit.${lost.container}` &&
    lost.changes.every((key) => owned.get(lost.container)?.includes(key) === true)
  );
  const isNewer = pod.resourceVersion !== lost.resourceVersion && pod.generation !== lost.generation;
  if (isNewer && isOwn && listChanges(container.spec, lost.to).length === 0) {
    const { autoscaler: _, at: __, ...order } = lost;
    return { kind: "arrived", order: { ...order, policy }, generation: pod.generation };
  }
  return now - lost.at < PATIENCE_MS ? { kind: "unknown" } : { kind: "never" };
}
