/**
 * From the API's Pod to PodFacts, at the edge: quantities become amounts, times epoch ms, and the rest of the object is
 * let go, so that a watched pod costs little memory. What cannot be read counts as absent.
 */
import type { Container, ContainerStatus, Pod, PodCondition, ResourceRequirements } from "../../api/kubernetes.ts";
import { createSharing } from "../../runtime/sharing.ts";
import { readResizeEntries } from "../../units/managed_fields.ts";
import type { QosClass } from "../../units/qos.ts";
import { parseAmount } from "../../units/quantity.ts";
import {
  type Amounts,
  NO_RESOURCES,
  type Resource,
  resourceOf,
  type Resources,
  SIDE_KEYS,
  sideOf,
} from "../../units/resources.ts";
import {
  type ContainerFacts,
  NO_TERMINATIONS,
  type PodFacts,
  type ReadyCondition,
  type ResizeCondition,
  type Termination,
} from "../../core/pod/pod_facts.ts";
import { type Summed, sumPod } from "../../core/pod/pod_sum.ts";

const OPT_IN = "pra.kedify.io/reconcile";
/** Written by the kubelet on the mirror of a static pod. */
const MIRROR = "kubernetes.io/config.mirror";

/** Never throws; a pod without a name or uid has empty ones. */
export function readPod(pod: Pod): PodFacts {
  const { metadata = {}, spec, status } = pod;
  const annotations = metadata.annotations ?? {};
  const conditions = status?.conditions ?? [];
  const summed: Summed = {
    containers: readContainers(pod),
    podResources: spec?.resources === undefined ? null : readResources(spec.resources),
  };
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    nodeName: spec?.nodeName ?? null,
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation ?? null,
    observedGeneration: status?.observedGeneration ?? null,
    revision: readRevision(metadata),
    labels: shareLabels(metadata.labels ?? {}),
    optedIn: annotations[OPT_IN] === "enabled",
    deleting: metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null,
    finished: status?.phase === "Succeeded" || status?.phase === "Failed",
    mirror: annotations[MIRROR] !== undefined,
    windows: spec?.os?.name === "windows",
    qosClass: readQosClass(status?.qosClass),
    podResources: summed.podResources,
    requests: readRequests(summed, spec?.overhead),
    overhead: readOverhead(spec?.overhead),
    pending: readResizeCondition(conditions, "PodResizePending"),
    inProgress: readResizeCondition(conditions, "PodResizeInProgress"),
    phase: status?.phase ?? "",
    startAt: readTime(status?.startTime),
    ready: readReady(conditions),
    readyAt: readTrueSince(conditions, "Ready"),
    containersReadyAt: readTrueSince(conditions, "ContainersReady"),
    containers: summed.containers,
    memoryLimitBytes: readMemoryLimit(pod),
    resizes: readResizeEntries(metadata.managedFields),
  };
}

/** StatefulSets and DaemonSets label their pods with a revision, ReplicaSets with the hash of their template. */
function readRevision({ ownerReferences, labels }: NonNullable<Pod["metadata"]>): string | null {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return null;
  return `${owner.uid}/${labels?.["controller-revision-hash"] ?? labels?.["pod-template-hash"] ?? ""}`;
}

/** The pod's overhead is what its RuntimeClass needs beside the containers. */
function readRequests(summed: Summed, overhead: Overhead): Amounts {
  const extra = readOverhead(overhead);
  return shareAmounts({
    cpuMillicores: sumPod(summed, "cpu.requests") + (extra?.cpuMillicores ?? 0),
    memoryBytes: sumPod(summed, "memory.requests") + (extra?.memoryBytes ?? 0),
  });
}

type Overhead = Readonly<Record<string, unknown>> | undefined;

function readOverhead(overhead: Overhead): Amounts | null {
  if (overhead === undefined) return null;
  const extra = readResources({ requests: overhead as Record<string, string> });
  return { cpuMillicores: extra["cpu.requests"] ?? 0, memoryBytes: extra["memory.requests"] ?? 0 };
}

function readContainers({ spec, status }: Pod): readonly ContainerFacts[] {
  const statuses = new Map<string, ContainerStatus>();
  for (const one of status?.containerStatuses ?? []) statuses.set(one.name, one);
  for (const one of status?.initContainerStatuses ?? []) statuses.set(one.name, one);
  const inits = (spec?.initContainers ?? []).map((one) =>
    readContainer(one, one.restartPolicy === "Always" ? "sidecar" : "init", statuses.get(one.name))
  );
  return [...(spec?.containers ?? []).map((one) => readContainer(one, "container", statuses.get(one.name))), ...inits];
}

function readContainer(
  container: Container,
  kind: ContainerFacts["kind"],
  status: ContainerStatus | undefined,
): ContainerFacts {
  const spec = readResources(container.resources);
  return {
    name: container.name,
    kind,
    spec,
    reported: status?.resources === undefined ? null : maskAbsent(readResources(status.resources), spec),
    allocated: status?.allocatedResources === undefined ? null : readResources({ requests: status.allocatedResources }),
    restartsOn: readRestarts(container),
    runningAt: status?.state?.running === undefined ? null : readTime(status.state.running.startedAt) ?? 0,
    ready: status?.ready === true,
    instance: status?.containerID ?? null,
    terminations: readTerminations(status),
  };
}

function readMemoryLimit({ status }: Pod): number | null {
  const quantity = status?.resources?.limits?.["memory"];
  const parsed = quantity === undefined ? null : parseAmount(quantity, "memory");
  // How cgroup v1 says that there is no limit, 9007199254740988Ki, is more than an amount can be.
  return parsed?.ok === true ? parsed.amount : null;
}

function readTerminations(status: ContainerStatus | undefined): readonly Termination[] {
  const [last, now] = [status?.lastState?.terminated, status?.state?.terminated];
  if (!last && !now) return NO_TERMINATIONS;
  return [last, now].flatMap((one) => {
    // Without an ID it could not be told from the next one.
    if (!one?.containerID) return [];
    const { containerID: id, reason = "", exitCode = 0, finishedAt } = one;
    return [{ id, reason: reason.slice(0, MAX_REASON), exitCode, finishedAt: readTime(finishedAt) ?? 0 }];
  });
}

const MAX_REASON = 64;

function readResources(resources: ResourceRequirements | undefined): Resources {
  if (resources === undefined) return NO_RESOURCES;
  const amounts: Record<string, number | null> = {};
  for (const key of SIDE_KEYS) {
    const resource = resourceOf(key);
    const quantity = resources[sideOf(key)]?.[resource];
    const parsed = quantity === undefined ? null : parseAmount(quantity, resource);
    amounts[key] = parsed?.ok === true ? parsed.amount : null;
  }
  return shareResources(amounts as Resources);
}

/** A request or limit that the spec lacks is none to scale, whatever the runtime reports (C37). */
function maskAbsent(reported: Resources, spec: Resources): Resources {
  const masked: Record<string, number | null> = {};
  for (const key of SIDE_KEYS) masked[key] = spec[key] === null ? null : reported[key];
  return shareResources(masked as Resources);
}

const shareLabels = createSharing<PodFacts["labels"]>((labels) => JSON.stringify(labels));
const shareAmounts = createSharing<Amounts>(({ cpuMillicores, memoryBytes }) => `${cpuMillicores}/${memoryBytes}`);
const shareResources = createSharing<Resources>((size) => SIDE_KEYS.map((key) => size[key]).join("/"));

const NO_RESTARTS: ContainerFacts["restartsOn"] = { cpu: false, memory: false };

function readRestarts(container: Container): ContainerFacts["restartsOn"] {
  const [cpu, memory] = [restartsOn(container, "cpu"), restartsOn(container, "memory")];
  return cpu || memory ? { cpu, memory } : NO_RESTARTS;
}

function restartsOn(container: Container, resource: Resource): boolean {
  return (container.resizePolicy ?? []).some((policy) =>
    policy.resourceName === resource && policy.restartPolicy === "RestartContainer"
  );
}

function readResizeCondition(conditions: readonly PodCondition[], type: string): ResizeCondition | null {
  const condition = conditions.find((one) => one.type === type && one.status === "True");
  if (condition === undefined) return null;
  const { reason = "", message = "", lastTransitionTime } = condition;
  return { reason, message, since: readTime(lastTransitionTime) };
}

function readTrueSince(conditions: readonly PodCondition[], type: string): number | null {
  const condition = conditions.find((one) => one.type === type && one.status === "True");
  return condition === undefined ? null : readTime(condition.lastTransitionTime) ?? 0;
}

function readReady(conditions: readonly PodCondition[]): ReadyCondition | null {
  const condition = conditions.find(({ type }) => type === "Ready");
  if (condition === undefined) return null;
  const { status } = condition;
  const at = readTime(condition.lastTransitionTime) ?? 0;
  return { status: status === "True" || status === "False" ? status : "Unknown", at };
}

function readTime(text: string | null | undefined): number | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at;
}

function readQosClass(text: string | undefined): QosClass | null {
  return text === "Guaranteed" || text === "Burstable" || text === "BestEffort" ? text : null;
}
