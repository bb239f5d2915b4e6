/**
 * What the core knows of a pod: the few fields of the API object that decisions depend on, parsed at the edge
 * by `read_pod.ts`. Times are epoch ms as the writer's clock had them (API server or node).
 */
import type { QosClass } from "../../units/qos.ts";
import type { ResizeEntry } from "../../units/managed_fields.ts";
import type { Amounts, Resource, Resources } from "../../units/resources.ts";

/** A pod as far as decisions depend on it; plain JSON. */
export interface PodFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string | null;
  readonly resourceVersion: string;
  /** `null` before Kubernetes 1.33. */
  readonly generation: number | null;
  /** status.observedGeneration; `null` before 1.34. */
  readonly observedGeneration: number | null;
  /**
   * Its controller and the revision of the template that it was made of: pods of one revision are alike at birth. `null`
   * without a controller.
   */
  readonly revision: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Annotation pra.kedify.io/reconcile is "enabled" (C11). */
  readonly optedIn: boolean;
  readonly deleting: boolean;
  /** Phase Succeeded or Failed. */
  readonly finished: boolean;
  /** A static pod's mirror: its resize is forbidden. */
  readonly mirror: boolean;
  readonly windows: boolean;
  readonly qosClass: QosClass | null;
  /** spec.resources, when set: the QoS class then depends on it alone. */
  readonly podResources: Resources | null;
  /** What it counts for on its node, overhead included (L30). */
  readonly requests: Amounts;
  /** What its RuntimeClass adds to the containers; `null` = nothing. */
  readonly overhead: Amounts | null;
  readonly pending: ResizeCondition | null;
  readonly inProgress: ResizeCondition | null;
  /** status.phase; empty when it is not told. */
  readonly phase: string;
  /** status.startTime. */
  readonly startAt: number | null;
  /** The condition Ready as it stands (R33); `null` without one. */
  readonly ready: ReadyCondition | null;
  /** lastTransitionTime of condition Ready, while it is True. */
  readonly readyAt: number | null;
  /** lastTransitionTime of condition ContainersReady, while it is True. */
  readonly containersReadyAt: number | null;
  readonly containers: readonly ContainerFacts[];
  /**
   * status.resources.limits.memory (1.34 and later): the limit of the pod's own cgroup, bytes; `null` when it has none or it
   * is not reported.
   */
  readonly memoryLimitBytes: number | null;
  /** Who resized the pod, and when, from metadata.managedFields. */
  readonly resizes: readonly ResizeEntry[];
}

/** The condition Ready of a pod. */
export interface ReadyCondition {
  readonly status: "True" | "False" | "Unknown";
  /** lastTransitionTime, epoch ms; 0 when it is not told. */
  readonly at: number;
}

/** PodResizePending or PodResizeInProgress; there is no condition once the resize is done (KEP-1287). */
export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  readonly since: number | null;
}

/** A container or init container of a pod. */
export interface ContainerFacts {
  readonly name: string;
  /** `sidecar`: an init container with restartPolicy Always; `init`: a plain one, never resized. */
  readonly kind: "container" | "sidecar" | "init";
  readonly spec: Resources;
  /** status.containerStatuses[].resources, believed whole (C30); `null` when not reported. */
  readonly reported: Resources | null;
  /** status.containerStatuses[].allocatedResources: requests only; `null` when not reported. */
  readonly allocated: Resources | null;
  /** resizePolicy says RestartContainer for that resource. */
  readonly restartsOn: Readonly<Record<Resource, boolean>>;
  readonly runningAt: number | null;
  readonly ready: boolean;
  /** containerID of the present instance; changes with each restart. */
  readonly instance: string | null;
  /** `lastState.terminated`, then `state.terminated`: at most these two, older first. */
  readonly terminations: readonly Termination[];
}

/** The end of one instance of a container, as the kubelet tells it. */
export interface Termination {
  /** Its containerID. */
  readonly id: string;
  /** `OOMKilled`, `Error`, `Completed` and the like. */
  readonly reason: string;
  readonly exitCode: number;
  /** By the node's clock; 0 when it is not told. */
  readonly finishedAt: number;
}

/** Shared: most containers never end. */
export const NO_TERMINATIONS: readonly Termination[] = Object.freeze([]);

/** The size that is in force: what the kubelet reports, else what the spec says (C30). */
export function readActual(container: ContainerFacts): Resources {
  return container.reported ?? container.spec;
}

/** The container that an autoscaler may resize (C15): never a plain init container. */
export function findContainer(pod: PodFacts, name: string): ContainerFacts | null {
  return pod.containers.find((container) => container.name === name && container.kind !== "init") ?? null;
}
