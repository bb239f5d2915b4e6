/**
 * What a kubelet reads of a pod that is bound to its node: sizes as amounts, the order in which containers start, and
 * the load that stands in for each one's program.
 */
import type { Container, Pod } from "../../api/kubernetes.ts";
import { computeQosClass, type QosClass } from "../../units/qos.ts";
import { parseAmount } from "../../units/quantity.ts";
import { type Resource, resourceOf, type Resources, SIDE_KEYS, sideOf } from "../../units/resources.ts";
import { IDLE, type Load } from "./load.ts";

/** A pod on a node, with what the model needs of its spec. */
export interface BoundPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** The value of its PriorityClass, by which pods that wait for room are served. */
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

/** `loads` by container name; who has none idles. Quantities that cannot be read count as absent: the API refused them. */
export function toBoundPod(pod: Pod, loads: Readonly<Record<string, Load>>): BoundPod {
  const { metadata = {}, spec, status } = pod;
  const inits = (spec?.initContainers ?? []).map((one) =>
    toBoundContainer(one, one.restartPolicy === "Always" ? "sidecar" : "init", loads)
  );
  const containers = [
    ...inits,
    ...(spec?.containers ?? []).map((one) => toBoundContainer(one, "container", loads)),
  ];
  const podResources = spec?.resources === undefined ? null : readSize(spec.resources);
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
    size: readSize(container.resources ?? {}),
    restartsOn: { cpu: restarts("cpu"), memory: restarts("memory") },
    load: Object.hasOwn(loads, container.name) ? loads[container.name] ?? IDLE : IDLE,
  };
}

type Lists = { readonly [side in "requests" | "limits"]?: Readonly<Record<string, string>> };

function readSize(lists: Lists): Resources {
  const size: Record<string, number | null> = {};
  for (const key of SIDE_KEYS) {
    const quantity = lists[sideOf(key)]?.[resourceOf(key)];
    const parsed = quantity === undefined ? null : parseAmount(quantity, resourceOf(key), { floats: true });
    size[key] = parsed?.ok === true ? parsed.amount : null;
  }
  return size as Resources;
}
