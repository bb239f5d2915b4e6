/**
 * A pod's resize as Kubernetes sees it: what somebody else than podfit commands, and which condition says where a
 * resize stands (KEP-1287).
 */
import { patchObject, type PodRef, readPod, waitFor } from "./cluster.ts";
import type { Condition, ResourceLists } from "./objects.ts";

/** As a person does it: the fields are no longer podfit's. */
export async function resizeByHand(
  { namespace, name }: PodRef,
  resources: ResourceLists,
  container = "main",
): Promise<void> {
  const patch = { spec: { containers: [{ name: container, resources }] } };
  await patchObject({ namespace, object: `Pod/${name}` }, patch, { type: "strategic", subresource: "resize" });
}

/** Waits until the pod's resize stands there; the kubelet reports an error only some 20 s after it began. */
export function waitForResizeState(pod: PodRef, state: "Deferred" | "Error"): Promise<Condition> {
  return waitFor(`the resize of pod "${pod.name}" to be ${state}`, async () => {
    const conditions = await readResizeConditions(pod);
    const found = conditions.find(({ reason }) => reason === state);
    if (found !== undefined) return found;
    throw new Error(`conditions: ${JSON.stringify(conditions)}`);
  }, { timeoutMs: 90_000, everyMs: 1000 });
}

/** Waits until no resize of the pod is under way. */
export function waitForRest(pod: PodRef): Promise<true> {
  return waitFor(`pod "${pod.name}" to have no resize under way`, async () => {
    const conditions = await readResizeConditions(pod);
    if (conditions.length === 0) return true;
    throw new Error(`conditions: ${JSON.stringify(conditions)}`);
  }, { timeoutMs: 15_000 });
}

/** Empty when no resize is under way. */
export async function readResizeConditions(pod: PodRef): Promise<readonly Condition[]> {
  return ((await readPod(pod)).status.conditions ?? []).filter(({ type }) => type.startsWith("PodResize"));
}
