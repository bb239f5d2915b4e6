/**
 * Parses a Pod of the API into `PodFacts`, the fields that decisions use. The rest of the object is dropped, and equal
 * values share one object, so that a watched pod needs little memory.
 */
import type { Container, ContainerStatus, Pod, PodCondition, ResourceRequirements } from "../../api/kubernetes.ts";
import {
  type ContainerFacts,
  NO_TERMINATIONS,
  type PodFacts,
  type ReadyCondition,
  type ResizeCondition,
  type Termination,
} from "../../model/pod.ts";
import { type SummedPod, sumPod } from "../../model/pod_amounts.ts";
import { createDeduplicator } from "../../runtime/buffers.ts";
import { parseResizeEntries } from "../../units/managed_fields.ts";
import { parseAmount } from "../../units/quantity.ts";
import {
  type Amounts,
  NO_RESOURCES,
  type QosClass,
  requestOrLimitOf,
  type Resource,
  RESOURCE_FIELDS,
  resourceOf,
  type Resources,
} from "../../units/resources.ts";
import { isTooLong, measureJson } from "../../units/untrusted.ts";

const OPT_IN = "pra.kedify.io/reconcile";

/**
 * A pod with more has none for podfit, so that no selector finds it. The API server does not limit them, and a thousand
 * pods with a MiB each would fill podfit's memory.
 */
const MAX_LABELS_BYTES = 16 * 1024;

/**
 * Of more containers, the last ones are left out. The API server limits only the bytes of a pod, which hold 20,000. podfit
 * reads the usage of 500 at most: with one more, a pod that has too many still lacks usage.
 */
const MAX_KEPT_CONTAINERS = 501;

/** Written by the kubelet on the mirror of a static pod. */
const MIRROR = "kubernetes.io/config.mirror";

/**
 * Returns the facts of a pod: amounts in millicores and bytes, times in epoch ms. A field that cannot be parsed counts
 * as absent. Never throws; a missing name or uid becomes an empty string.
 */
export function parsePod(pod: Pod): PodFacts {
  const { metadata = {}, spec, status } = pod;
  const annotations = metadata.annotations ?? {};
  const conditions = status?.conditions ?? [];
  const owner = findController(metadata);
  const summed: SummedPod = {
    containers: parseContainers(pod),
    podResources: spec?.resources === undefined ? null : parseResources(spec.resources),
  };
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    nodeName: spec?.nodeName ?? null,
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation ?? null,
    observedGeneration: status?.observedGeneration ?? null,
    revision: owner === null ? null : toRevision(owner, metadata),
    ...(owner !== null && { workload: toWorkload(owner, metadata) }),
    labels: measureJson(metadata.labels, MAX_LABELS_BYTES) > MAX_LABELS_BYTES ? {} : shareLabels(metadata.labels ?? {}),
    optedIn: annotations[OPT_IN] === "enabled",
    deleting: metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null,
    finished: status?.phase === "Succeeded" || status?.phase === "Failed",
    mirror: annotations[MIRROR] !== undefined,
    windows: spec?.os?.name === "windows",
    qosClass: parseQosClass(status?.qosClass),
    podResources: summed.podResources,
    requests: computeRequests(summed, spec?.overhead),
    overhead: parseOverhead(spec?.overhead),
    pending: findResizeCondition(conditions, "PodResizePending"),
    inProgress: findResizeCondition(conditions, "PodResizeInProgress"),
    phase: status?.phase ?? "",
    startAt: parseTimeOrNull(status?.startTime),
    ready: findReadyCondition(conditions),
    readyAt: findTrueSince(conditions, "Ready"),
    containersReadyAt: findTrueSince(conditions, "ContainersReady"),
    // The sums above count them all.
    containers: summed.containers.length > MAX_KEPT_CONTAINERS
      ? summed.containers.slice(0, MAX_KEPT_CONTAINERS)
      : summed.containers,
    ...((spec?.ephemeralContainers ?? []).length > 0 && { hasEphemeralContainers: true }),
    memoryLimitBytes: findMemoryLimit(pod),
    resizes: parseResizeEntries(metadata.managedFields),
  };
}

type Owner = NonNullable<NonNullable<Pod["metadata"]>["ownerReferences"]>[number];

/**
 * Returns `null` also for one with a longer text than a real object has: the API server does not limit these texts, and
 * they would be kept with each pod.
 */
function findController({ ownerReferences }: NonNullable<Pod["metadata"]>): Owner | null {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined || [owner.uid, owner.kind, owner.name].some(isTooLong) ? null : owner;
}

/** StatefulSets and DaemonSets label their pods with a revision, ReplicaSets with a hash of the pod template. */
function toRevision({ uid }: Owner, { labels }: NonNullable<Pod["metadata"]>): string {
  return `${uid}/${labels?.["controller-revision-hash"] ?? labels?.["pod-template-hash"] ?? ""}`;
}

/** The name of a Deployment's ReplicaSet ends with the hash of its template. */
function toWorkload({ kind = "", name = "" }: Owner, { labels }: NonNullable<Pod["metadata"]>): string {
  const suffix = `-${labels?.["pod-template-hash"] ?? ""}`;
  const isOfDeployment = kind === "ReplicaSet" && suffix !== "-" && name.endsWith(suffix);
  return shareText(isOfDeployment ? `Deployment/${name.slice(0, -suffix.length)}` : `${kind}/${name}`);
}

/** The pod's overhead is what its RuntimeClass needs in addition to the containers. */
function computeRequests(summed: SummedPod, overhead: Overhead): Amounts {
  const extra = parseOverhead(overhead);
  return shareAmounts({
    cpuMillicores: sumPod(summed, "cpu.requests") + (extra?.cpuMillicores ?? 0),
    memoryBytes: sumPod(summed, "memory.requests") + (extra?.memoryBytes ?? 0),
  });
}

type Overhead = Readonly<Record<string, unknown>> | undefined;

function parseOverhead(overhead: Overhead): Amounts | null {
  if (overhead === undefined) return null;
  const extra = parseResources({ requests: overhead as Record<string, string> });
  return { cpuMillicores: extra["cpu.requests"] ?? 0, memoryBytes: extra["memory.requests"] ?? 0 };
}

function parseContainers({ spec, status }: Pod): readonly ContainerFacts[] {
  const statuses = new Map<string, ContainerStatus>();
  for (const one of status?.containerStatuses ?? []) statuses.set(one.name, one);
  for (const one of status?.initContainerStatuses ?? []) statuses.set(one.name, one);
  const inits = (spec?.initContainers ?? []).map((one) =>
    parseContainer(one, one.restartPolicy === "Always" ? "sidecar" : "init", statuses.get(one.name))
  );
  return [...(spec?.containers ?? []).map((one) => parseContainer(one, "container", statuses.get(one.name))), ...inits];
}

function parseContainer(
  container: Container,
  kind: ContainerFacts["kind"],
  status: ContainerStatus | undefined,
): ContainerFacts {
  const spec = parseResources(container.resources);
  return {
    name: container.name,
    kind,
    spec,
    reported: status?.resources === undefined ? null : maskAbsent(parseResources(status.resources), spec),
    allocated: status?.allocatedResources === undefined
      ? null
      : parseResources({ requests: status.allocatedResources }),
    restartsOn: parseRestartPolicy(container),
    runningAt: status?.state?.running === undefined ? null : parseTimeOrNull(status.state.running.startedAt) ?? 0,
    ready: status?.ready === true,
    instance: status?.containerID ?? null,
    terminations: parseTerminations(status),
  };
}

function findMemoryLimit({ status }: Pod): number | null {
  const quantity = status?.resources?.limits?.["memory"];
  const parsed = quantity === undefined ? null : parseAmount(quantity, "memory");
  // cgroup v1 reports 9007199254740988Ki for no limit. That is too large for an amount, so it counts as absent.
  return parsed?.ok === true ? parsed.amount : null;
}

function parseTerminations(status: ContainerStatus | undefined): readonly Termination[] {
  const [last, now] = [status?.lastState?.terminated, status?.state?.terminated];
  if (!last && !now) return NO_TERMINATIONS;
  return [last, now].flatMap((one) => {
    // Without an ID it cannot be distinguished from the next one.
    if (!one?.containerID) return [];
    const { containerID: id, reason = "", exitCode = 0, finishedAt } = one;
    return [{ id, reason: reason.slice(0, MAX_REASON), exitCode, finishedAt: parseTimeOrNull(finishedAt) ?? 0 }];
  });
}

const MAX_REASON = 64;

function parseResources(resources: ResourceRequirements | undefined): Resources {
  if (resources === undefined) return NO_RESOURCES;
  const amounts: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) {
    const resource = resourceOf(key);
    const quantity = resources[requestOrLimitOf(key)]?.[resource];
    const parsed = quantity === undefined ? null : parseAmount(quantity, resource);
    amounts[key] = parsed?.ok === true ? parsed.amount : null;
  }
  return shareResources(amounts as Resources);
}

/** A request or limit that the spec does not have is not scaled, even if the runtime reports one. Clauses: C37. */
function maskAbsent(reported: Resources, spec: Resources): Resources {
  const masked: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) masked[key] = spec[key] === null ? null : reported[key];
  return shareResources(masked as Resources);
}

const shareText = createDeduplicator<string>((text) => text);

const shareLabels = createDeduplicator<PodFacts["labels"]>((labels) => JSON.stringify(labels));

const shareAmounts = createDeduplicator<Amounts>(({ cpuMillicores, memoryBytes }) => `${cpuMillicores}/${memoryBytes}`);

const shareResources = createDeduplicator<Resources>((size) => RESOURCE_FIELDS.map((key) => size[key]).join("/"));

const NO_RESTARTS: ContainerFacts["restartsOn"] = { cpu: false, memory: false };

function parseRestartPolicy(container: Container): ContainerFacts["restartsOn"] {
  const [cpu, memory] = [restartsOn(container, "cpu"), restartsOn(container, "memory")];
  return cpu || memory ? { cpu, memory } : NO_RESTARTS;
}

function restartsOn(container: Container, resource: Resource): boolean {
  return (container.resizePolicy ?? []).some((policy) =>
    policy.resourceName === resource && policy.restartPolicy === "RestartContainer"
  );
}

function findResizeCondition(conditions: readonly PodCondition[], type: string): ResizeCondition | null {
  const condition = conditions.find((one) => one.type === type && one.status === "True");
  if (condition === undefined) return null;
  const { reason = "", message = "", lastTransitionTime } = condition;
  return { reason, message, since: parseTimeOrNull(lastTransitionTime) };
}

function findTrueSince(conditions: readonly PodCondition[], type: string): number | null {
  const condition = conditions.find((one) => one.type === type && one.status === "True");
  return condition === undefined ? null : parseTimeOrNull(condition.lastTransitionTime) ?? 0;
}

function findReadyCondition(conditions: readonly PodCondition[]): ReadyCondition | null {
  const condition = conditions.find(({ type }) => type === "Ready");
  if (condition === undefined) return null;
  const { status } = condition;
  const at = parseTimeOrNull(condition.lastTransitionTime) ?? 0;
  return { status: status === "True" || status === "False" ? status : "Unknown", at };
}

function parseTimeOrNull(text: string | null | undefined): number | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at;
}

function parseQosClass(text: string | undefined): QosClass | null {
  return text === "Guaranteed" || text === "Burstable" || text === "BestEffort" ? text : null;
}
