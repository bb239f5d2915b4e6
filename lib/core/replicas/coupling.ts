/** Which triggers bear on what PodResourceAutoscalers resize (R80)? */
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import type { Resource, SideKey } from "../../units/resources.ts";
import { chooseOwner, type OwnershipContext } from "../ownership.ts";
import { findContainer } from "../pod/pod_facts.ts";
import { findContainerState } from "../state.ts";
import type { WorkloadPod } from "./workload_pod.ts";

/** A container whose request some autoscaler resizes. */
export interface Owner {
  readonly autoscaler: Autoscaler;
  /** Its rule for the request. */
  readonly rule: SideRule;
}

/** Who resizes that request of the container; `null` = nobody. Who only recommends takes no container (L51). */
export function findRequestOwner(of: WorkloadPod, container: string, { resource, now }: OwnerQuery): Owner | null {
  const autoscaler = chooseApplying(of, container, now);
  const rule = autoscaler?.sides.find(({ key }) => key === `${resource}.requests`);
  return autoscaler === null || rule === undefined ? null : { autoscaler, rule };
}

/** Of which resource, and when. */
export interface OwnerQuery {
  readonly resource: Resource;
  readonly now: number;
}

/** Whether an autoscaler resizes what the trigger's utilization is of, in at least one of the pods. */
export function isCoupled(trigger: ResourceTrigger, pods: readonly WorkloadPod[], now: number): boolean {
  if (trigger.target.kind !== "Utilization") return false;
  return pods.some((of) => listOwned(trigger, of, now).length > 0);
}

/**
 * By container of the pod: the sides that do not go down while replicas are about to (R86), requests and limits, as the pods that
 * stay get more of both: `Input.scaleInPending` of the pod's evaluation. `triggers`: those of the pod's ScaledObject.
 */
export function listCoupledSides(
  triggers: readonly ResourceTrigger[],
  of: WorkloadPod,
  now: number,
): Readonly<Record<string, readonly SideKey[]>> {
  const held: Record<string, SideKey[]> = {};
  for (const trigger of triggers) {
    if (trigger.target.kind !== "Utilization") continue;
    for (const { name, owner: { autoscaler } } of listOwned(trigger, of, now)) {
      for (const { key, resource } of autoscaler.sides) {
        const sides = Object.hasOwn(held, name) ? held[name] ?? [] : [];
        if (resource === trigger.type && !sides.includes(key)) held[name] = [...sides, key];
      }
    }
  }
  return held;
}

interface Owned {
  readonly name: string;
  readonly owner: Owner;
}

/** The containers that the trigger looks at and some autoscaler resizes. */
function listOwned({ type: resource, container }: ResourceTrigger, of: WorkloadPod, now: number): readonly Owned[] {
  if (of.vertical === null) return NONE;
  return of.pod.containers.flatMap(({ name, kind }) => {
    if (kind === "init" || (container !== null && container !== name)) return NONE;
    const owner = findRequestOwner(of, name, { resource, now });
    return owner === null ? NONE : [{ name, owner }];
  });
}

const NONE: readonly Owned[] = [];

function chooseApplying({ pod, vertical }: WorkloadPod, container: string, now: number): Autoscaler | null {
  const facts = findContainer(pod, container);
  if (vertical === null || facts === null) return null;
  const applies = ({ containerName, mode }: Autoscaler) => containerName === container && mode === "apply";
  // Nearly always all of them do, and no new list is needed.
  const contenders = vertical.contenders.every(applies) ? vertical.contenders : vertical.contenders.filter(applies);
  const containerState = findContainerState(vertical.state, container) ?? UNSEEN;
  return chooseOwner(contenders, { now, pod, container: facts, containerState });
}

/** Of a container that was never evaluated. */
const UNSEEN: OwnershipContext["containerState"] = { running: null, readySince: null, podReady: null, resizedAt: null };
