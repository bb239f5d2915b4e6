/**
 * What does a modelled node remember between two steps? Plain JSON, and the pods that are bound to it.
 * Times are epoch ms of the node's clock. Nothing in a state is changed in place.
 */
import type { Container, Pod } from "../../api/kubernetes.ts";
import type { Meter } from "../../simulate/model/meter.ts";
import { parseAmount } from "../../units/quantity.ts";
import {
  computeQosClass,
  type QosClass,
  requestOrLimitOf,
  type Resource,
  RESOURCE_FIELDS,
  resourceOf,
  type Resources,
} from "../../units/resources.ts";
import { IDLE, type Load } from "./load.ts";

/** The status of a pod as the API has it. */
export type PodStatus = NonNullable<Pod["status"]>;

/** What a node is and has. It does not change. */
export interface NodeConfig {
  readonly name: string;
  readonly hostIP: string;
  /** Allocatable, and what there is to share. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly pods: number;
  /** Used by processes outside of pods. Only the node's own numbers include it. */
  readonly system: { readonly cpuMillicores: number; readonly memoryBytes: number };
  /** Runs with the same seed are the same run. */
  readonly seed: string;
  /** How long a load is taken to stand still. */
  readonly stepMs: number;
  /** False for the kubelets of some runtimes, whose containers are always read fresh. */
  readonly hasCadvisor: boolean;
  /** False for a node of cgroup v1, whose kernel measures no CPU pressure of a container (PSI). */
  readonly hasPsi: boolean;
}

/** A node at one moment. */
export interface NodeState {
  readonly version: 1;
  readonly config: NodeConfig;
  readonly startedAt: number;
  readonly at: number;
  /** The pods in the order in which they came. */
  readonly pods: readonly PodState[];
  /** It measures all that runs on the node, since the node started. */
  readonly meter: Meter;
  /** When deferred resizes are tried again; `null` while there are none. */
  readonly retryAt: number | null;
}

/** A pod on a node at one moment. */
export interface PodState {
  readonly spec: BoundPod;
  readonly life: PodLife;
  /** It measures the pod's cgroup and goes on when containers restart. */
  readonly meter: Meter;
  /** The meters of instances with a process, by container name. */
  readonly meters: Readonly<Record<string, Meter>>;
  /** The status that was last reported. */
  readonly status: PodStatus | null;
}

/** How far a pod has come from its start to its end. */
export interface PodLife {
  /** When the kubelet first saw it: status.startTime. */
  readonly seenAt: number;
  readonly observedGeneration: number;
  /** When the changed spec is observed. */
  readonly observeAt: number | null;
  readonly rejected: { readonly reason: string; readonly message: string } | null;
  /** Sandbox and network of the pod. */
  readonly sandbox: { readonly kind: "starting" | "ready" | "gone"; readonly dueAt: number | null };
  /** The sizes that the kubelet has admitted, by container name. */
  readonly allocated: Readonly<Record<string, Resources>>;
  readonly cgroup: PodCgroup;
  readonly pending: Pending | null;
  readonly resize: Resize | null;
  readonly containers: readonly ContainerState[];
  /** It is being deleted since then, and killed when its grace ends. */
  readonly stopping: { readonly at: number; readonly killAt: number; readonly goneAt: number | null } | null;
  /** All has ended, and the phase says so from then on. */
  readonly endsAt: number | null;
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed";
}

/** Written through at a resize; requests of memory have no place in cgroup v1 and stay as at the start (measured). */
export interface PodCgroup {
  readonly cpuRequest: number;
  readonly cpuLimit: number | null;
  readonly memoryRequest: number;
  readonly memoryLimit: number | null;
}

/** How far a resize has come. */
export interface Resize {
  readonly generation: number;
  readonly since: number;
  readonly probeAt: number;
  /** The error that the condition shows. */
  readonly shown: string | null;
  /** The error of the last try, which is shown at the next. */
  readonly error: string | null;
  readonly tries: number;
  readonly tryAt: number;
  /** Containers are being restarted for it. */
  readonly restartsUntil: number | null;
}

/** A container at one moment. */
export interface ContainerState {
  readonly name: string;
  readonly run: Run;
  readonly last: Ended | null;
  readonly restarts: number;
  /** Instances so far; keys the chance of each. */
  readonly instances: number;
  /** The sizes that its cgroup has. */
  readonly actual: Resources;
  /** The wait before the next restart but one: 0, 10 s, 20 s ... 300 s. */
  readonly backOffMs: number;
}

/** What an instance of a container does. */
export type Run =
  | { readonly kind: "waiting" }
  | { readonly kind: "starting"; readonly dueAt: number }
  | { readonly kind: "running"; readonly startedAt: number; readonly id: string; readonly stop: Stop | null }
  /** The process is gone and the kubelet has not looked yet. `isRestart`: killed to be restarted by a resize. */
  | { readonly kind: "exited"; readonly ended: Ended; readonly seenAt: number; readonly isRestart: boolean }
  /** `restartAt`: `null` when it stays so. */
  | { readonly kind: "terminated"; readonly ended: Ended; readonly restartAt: number | null; readonly waitMs: number }
  /** Shows for a moment before the restart only. */
  | { readonly kind: "backOff"; readonly ended: Ended; readonly restartAt: number; readonly waitMs: number };

/** It was sent SIGTERM and ends then. */
export interface Stop {
  readonly at: number;
  readonly code: number;
}

/** How an instance of a container ended. */
export interface Ended {
  readonly id: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly code: number;
  readonly reason: "Completed" | "Error" | "OOMKilled";
}

/** A pod on a node, with what the model needs of its spec. */
export interface BoundPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** The value of its PriorityClass, which orders the pods that wait for resources. */
  readonly priority: number;
  readonly qosClass: QosClass;
  /** The pod's own `resources`, which count on the node instead of its containers'; none where it is left out. */
  readonly podResources?: Resources | null;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** When the scheduler bound it, as condition PodScheduled says; `null` when it was bound from the first. */
  readonly scheduledAt: number | null;
  /** The time it has left once it is being deleted, in ms; `null` while it is not. */
  readonly graceMs: number | null;
  /** Init containers and sidecars in the order they start, then the containers. */
  readonly containers: readonly BoundContainer[];
}

/** A container of such a pod. */
export interface BoundContainer {
  readonly name: string;
  readonly kind: "init" | "sidecar" | "container";
  readonly image: string;
  readonly size: Resources;
  /** resizePolicy says RestartContainer for that resource. */
  readonly restartsOn: Readonly<Record<Resource, boolean>>;
  readonly load: Load;
}

/**
 * `loads` by container name; who has none idles. Quantities that cannot be read count as absent: the API refused them.
 */
export function toBoundPod(pod: Pod, loads: Readonly<Record<string, Load>>): BoundPod {
  const { metadata = {}, spec, status } = pod;
  const inits = (spec?.initContainers ?? []).map((one) =>
    toBoundContainer(one, one.restartPolicy === "Always" ? "sidecar" : "init", loads)
  );
  const containers = [
    ...inits,
    ...(spec?.containers ?? []).map((one) => toBoundContainer(one, "container", loads)),
  ];
  const podResources = spec?.resources === undefined ? null : parseSize(spec.resources);
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled")?.lastTransitionTime;
  const deleting = metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
  const graceSeconds = metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30;
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    generation: metadata.generation ?? 1,
    priority: spec?.priority ?? 0,
    podResources,
    qosClass: computeQosClass({
      podResources,
      containers: containers.map(({ size }) => size),
    }),
    restartPolicy: spec?.restartPolicy ?? "Always",
    scheduledAt: scheduled === undefined ? null : Date.parse(scheduled),
    graceMs: deleting ? graceSeconds * 1000 : null,
    containers,
  };
}

/** A resize that has not been admitted yet. */
interface Pending {
  readonly since: number;
  readonly probeAt: number;
  readonly generation: number;
  readonly message: string;
}

function toBoundContainer(
  container: Container,
  kind: BoundContainer["kind"],
  loads: Readonly<Record<string, Load>>,
): BoundContainer {
  const restarts = (resource: Resource) =>
    (container.resizePolicy ?? []).some((one) =>
      one.resourceName === resource && one.restartPolicy === "RestartContainer"
    );
  return {
    name: container.name,
    kind,
    image: container.image ?? "",
    size: parseSize(container.resources ?? {}),
    restartsOn: { cpu: restarts("cpu"), memory: restarts("memory") },
    load: Object.hasOwn(loads, container.name) ? loads[container.name] ?? IDLE : IDLE,
  };
}

type Lists = { readonly [side in "requests" | "limits"]?: Readonly<Record<string, string>> };

function parseSize(lists: Lists): Resources {
  const size: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) {
    const quantity = lists[requestOrLimitOf(key)]?.[resourceOf(key)];
    const parsed = quantity === undefined ? null : parseAmount(quantity, resourceOf(key), { floats: true });
    size[key] = parsed?.ok === true ? parsed.amount : null;
  }
  return size as Resources;
}
