/**
 * A pod as far as decisions depend on it: the fields of the API object, and small questions about them.
 *
 * The daemon parses pods into these types. Times are epoch ms by the clock of the writer, which is the API server or
 * the node.
 */
import { listOwnedFields, type ResizeEntry } from "../units/managed_fields.ts";
import type { Amounts, QosClass, Resource, Resources } from "../units/resources.ts";
import { type Autoscaler, EVERY_CONTAINER } from "./autoscaler.ts";

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
  /**
   * Its workload within the namespace, as kind and name of the controller. For a pod of a Deployment, whose controller is
   * a ReplicaSet, the name is without the hash: its ReplicaSets are one workload. Absent without a controller.
   */
  readonly workload?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Annotation pra.kedify.io/reconcile is "enabled". */
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
  /** What it counts for on its node, overhead included. */
  readonly requests: Amounts;
  /** Added by the RuntimeClass to the containers' amounts; `null` = nothing. */
  readonly overhead: Amounts | null;
  readonly pending: ResizeCondition | null;
  readonly inProgress: ResizeCondition | null;
  /** status.phase; empty if absent. */
  readonly phase: string;
  /** status.startTime. */
  readonly startAt: number | null;
  /** The condition Ready; `null` if absent. */
  readonly ready: ReadyCondition | null;
  /** lastTransitionTime of condition Ready, while it is True. */
  readonly readyAt: number | null;
  /** lastTransitionTime of condition ContainersReady, while it is True. */
  readonly containersReadyAt: number | null;
  readonly containers: readonly ContainerFacts[];
  /** Present where `kubectl debug` or the like has added a container: the pod's usage is then not that of these alone. */
  readonly hasEphemeralContainers?: true;
  /**
   * status.resources.limits.memory (1.36 and later): the limit of the pod's own cgroup, bytes; `null` when it has none or it
   * is not reported.
   */
  readonly memoryLimitBytes: number | null;
  /** Who resized the pod, and when, from metadata.managedFields. */
  readonly resizes: readonly ResizeEntry[];
  /** In mode recommend, where podfit has resized nothing: those of the pod. Else absent. */
  readonly realResizes?: readonly ResizeEntry[];
}

/** The condition Ready of a pod. */
export interface ReadyCondition {
  readonly status: "True" | "False" | "Unknown";
  /** lastTransitionTime, epoch ms; 0 if absent. */
  readonly at: number;
}

/** PodResizePending or PodResizeInProgress. The condition disappears when the resize is complete (KEP-1287). */
export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  readonly since: number | null;
}

/** A pod with more containers, init containers included, is not tracked. Clauses: C11. */
export const MAX_POD_CONTAINERS = 100;

/** A container or init container of a pod. */
export interface ContainerFacts {
  readonly name: string;
  /** `sidecar`: an init container with restartPolicy Always; `init`: a plain one, never resized. */
  readonly kind: "container" | "sidecar" | "init";
  readonly spec: Resources;
  /** status.containerStatuses[].resources, believed whole; `null` when not reported. */
  readonly reported: Resources | null;
  /** status.containerStatuses[].allocatedResources: requests only; `null` when not reported. */
  readonly allocated: Resources | null;
  /** In mode recommend, where the sizes above are the recommended one: the size in force. Else absent. */
  readonly real?: Resources;
  /** True where resizePolicy is RestartContainer. */
  readonly restartsOn: Readonly<Record<Resource, boolean>>;
  readonly runningAt: number | null;
  readonly ready: boolean;
  /** containerID of the present instance; changes with each restart. */
  readonly instance: string | null;
  /** `lastState.terminated`, then `state.terminated`: at most these two, older first. */
  readonly terminations: readonly Termination[];
}

/** The end of one instance of a container, from the pod's status. */
export interface Termination {
  /** Its containerID. */
  readonly id: string;
  /** `OOMKilled`, `Error`, `Completed` and the like. */
  readonly reason: string;
  readonly exitCode: number;
  /** By the node's clock; 0 if absent. */
  readonly finishedAt: number;
}

/** Shared: most containers never end. */
export const NO_TERMINATIONS: readonly Termination[] = Object.freeze([]);

/** Returns the size in force: what the kubelet reports, else the spec. Clauses: C30. */
export function getActualSize(container: ContainerFacts): Resources {
  return container.reported ?? container.spec;
}

/**
 * Returns the size that the kernel enforces. Usage and kills come under it, also where another one is recommended.
 * Clauses: L51.
 */
export function getRealSize(container: ContainerFacts): Resources {
  return container.real ?? getActualSize(container);
}

/** Returns the names of the containers that an autoscaler may resize: no plain init containers. Clauses: C15. */
export function listResizableNames({ containers }: PodFacts): readonly string[] {
  return containers.filter(({ kind }) => kind !== "init").map(({ name }) => name);
}

/** Returns the container that an autoscaler may resize: never a plain init container. Clauses: C15. */
export function findContainer(pod: PodFacts, name: string): ContainerFacts | null {
  return pod.containers.find((container) => container.name === name && container.kind !== "init") ?? null;
}

/**
 * Returns the names, each once: the one that the autoscaler names, or with EVERY_CONTAINER those of all containers and
 * native sidecars that it does not leave out. Empty where the pod has none of them. Clauses: C15, L50.
 */
export function listContainers(
  { containerName, excludeContainers }: Pick<Autoscaler, "containerName" | "excludeContainers">,
  pod: PodFacts,
): readonly string[] {
  if (containerName !== EVERY_CONTAINER) return findContainer(pod, containerName) === null ? NO_NAMES : [containerName];
  const names = new Set<string>();
  for (const { name, kind } of pod.containers) {
    if (kind !== "init" && !excludeContainers.includes(name)) names.add(name);
  }
  return [...names];
}

/** By container name. A container without a size from siblings is absent. */
export type Siblings = Readonly<Record<string, SiblingSize>>;

/** The size of a container in the siblings of its pod. */
export interface SiblingSize {
  /** How many siblings it is the size of. */
  readonly pods: number;
  /**
   * The median size in force, computed for each field; for an even number the lower one. `null` where most siblings
   * lack the field.
   */
  readonly median: Resources;
  /** The highest floor that an OOM kill of one of them has left of its memory limit, bytes; 0 = none. */
  readonly floorBytes: number;
}

/**
 * Returns whether the container was resized since the pod was created. If not, its size is the template's.
 * Clauses: L40.
 */
export function isResized({ resizes }: PodFacts, container: string): boolean {
  return resizes.length > 0 && resizes.some(({ owned }) => listOwnedFields(owned, container).length > 0);
}

/**
 * Returns the siblings' size of a container; `null` if there is none. Only own properties count: a container may be
 * named `constructor`.
 */
export function findSiblingSize(siblings: Siblings | null, container: string): SiblingSize | null {
  return siblings !== null && Object.hasOwn(siblings, container) ? siblings[container] ?? null : null;
}

const NO_NAMES: readonly string[] = [];
