/**
 * A pod's status as its kubelet writes it: states, sizes and conditions in the recorded spelling and order. A condition's
 * transition time moves only with its status, so the status told before is needed.
 */
import type { PodCondition } from "../../api/kubernetes.ts";
import { NO_RESOURCES } from "../../units/resources.ts";
import type { BoundPod } from "./bound_pod.ts";
import { isReady, toContainerStatus } from "./container_status.ts";
import { isPassed } from "./life.ts";
import { toList } from "./quantities.ts";
import { formatTime } from "../../units/time.ts";
import { readTotal } from "./requests.ts";
import type { NodeConfig, PodLife, PodStatus } from "./state.ts";
import { drawBetween } from "./random.ts";

/** What a pod's status is made of beside its life. */
export interface StatusContext {
  readonly now: number;
  readonly config: NodeConfig;
  readonly before: PodStatus | null;
}

/** The status of a pod as the kubelet writes it. */
export function toStatus(pod: BoundPod, life: PodLife, context: StatusContext): PodStatus {
  const { config, now } = context;
  const { phase, observedGeneration, rejected } = life;
  const startTime = formatTime(life.seenAt);
  const qosClass = pod.qosClass;
  if (rejected !== null) return { observedGeneration, phase, ...rejected, qosClass, startTime };
  const statuses = pod.containers.flatMap((bound, index) => {
    const state = life.containers[index];
    return state === undefined ? [] : [{ bound, status: toContainerStatus(bound, state, { pod, life, now }) }];
  });
  const list = (isInit: boolean) =>
    statuses.filter(({ bound }) => (bound.kind !== "container") === isInit).map(({ status }) => status);
  const inits = list(true);
  const ip = toAddress(pod, config);
  const hasAddress = life.containers.some(({ instances }) => instances > 0);
  const total = {
    ...NO_RESOURCES,
    "cpu.requests": sum(pod, life, "cpu.requests"),
    "memory.requests": sum(pod, life, "memory.requests"),
  };
  const allocatedResources = toList(total, "requests");
  return {
    observedGeneration,
    phase,
    conditions: toConditions(pod, life, context),
    hostIP: config.hostIP,
    hostIPs: [{ ip: config.hostIP }],
    ...(hasAddress ? { podIP: ip, podIPs: [{ ip }] } : {}),
    startTime,
    ...(inits.length > 0 ? { initContainerStatuses: inits } : {}),
    // The kubelet sorts them by name; init containers stay in their order.
    containerStatuses: list(false).toSorted((a, b) => a.name < b.name ? -1 : 1),
    qosClass,
    ...(allocatedResources === null ? {} : { allocatedResources }),
    resources: toPodResources(pod, life),
  };
}

function sum(pod: BoundPod, life: PodLife, key: "cpu.requests" | "memory.requests"): number | null {
  const { given } = readTotal(pod, life.allocated, key);
  return given > 0 ? given : null;
}

/** The resources are those of the pod's cgroup, in which a limit shows that a resize did not reach, else the spec's. */
function toPodResources(pod: BoundPod, life: PodLife): NonNullable<PodStatus["resources"]> {
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = life.cgroup;
  const requests = toList({
    ...NO_RESOURCES,
    // The least weight of a cgroup reads as no request (measured).
    "cpu.requests": cpuRequest > MIN_SHARES ? cpuRequest : null,
    "memory.requests": memoryRequest > 0 ? memoryRequest : null,
  }, "requests");
  const given = readTotal(pod, life.allocated, "memory.limits").given;
  const limits = toList({
    ...NO_RESOURCES,
    "cpu.limits": cpuLimit,
    "memory.limits": memoryLimit ?? (life.sandbox.kind === "starting" && given > 0 ? given : null),
  }, "limits");
  const all = memoryLimit === null && life.sandbox.kind === "ready" ? { ...limits, memory: UNLIMITED } : limits;
  return { ...(all === null ? {} : { limits: all }), ...(requests === null ? {} : { requests }) };
}

function toConditions(pod: BoundPod, life: PodLife, { now, before }: StatusContext): PodCondition[] {
  const observedGeneration = life.observedGeneration;
  const known = new Map((before?.conditions ?? []).map((one) => [one.type, one]));
  const condition = (type: string, cause: Cause | null, since?: number): PodCondition => {
    const status = cause === null ? "True" : "False";
    const old = known.get(type);
    const at = old?.status === status ? old.lastTransitionTime : undefined;
    return { type, observedGeneration, status, lastTransitionTime: at ?? formatTime(since ?? now), ...cause };
  };
  const unready = findUnready(pod, life, now);
  return [
    ...toResizeConditions(life),
    condition("PodReadyToStartContainers", life.sandbox.kind === "ready" ? null : {}),
    condition("Initialized", findUninitialized(pod, life)),
    condition("Ready", unready),
    condition("ContainersReady", unready),
    condition("PodScheduled", null, pod.scheduledAt ?? life.seenAt),
  ];
}

function toResizeConditions({ pending, resize }: PodLife): PodCondition[] {
  const conditions: PodCondition[] = [];
  const common = (one: { generation: number; since: number; probeAt: number }) => ({
    observedGeneration: one.generation,
    status: "True",
    lastProbeTime: formatTime(one.probeAt),
    lastTransitionTime: formatTime(one.since),
  });
  if (pending !== null) {
    conditions.push({ type: "PodResizePending", ...common(pending), reason: "Deferred", message: pending.message });
  }
  if (resize !== null) {
    const error = resize.shown === null ? {} : { reason: "Error", message: resize.shown };
    conditions.push({ type: "PodResizeInProgress", ...common(resize), ...error });
  }
  return conditions;
}

interface Cause {
  readonly reason?: string;
  readonly message?: string;
}

function findUnready(pod: BoundPod, life: PodLife, now: number): Cause | null {
  const mains = pod.containers.flatMap((bound, index) => {
    const state = life.containers[index];
    return bound.kind === "init" || state === undefined ? [] : [{ bound, state }];
  });
  if (life.phase === "Failed" || life.phase === "Succeeded" || (life.endsAt !== null && life.stopping === null)) {
    const hasFailed = life.phase !== "Succeeded" &&
      mains.some(({ bound, state: { run } }) =>
        bound.kind === "container" && !(run.kind === "terminated" && run.ended.code === 0)
      );
    return { reason: hasFailed ? "PodFailed" : "PodCompleted" };
  }
  const names = mains.filter(({ bound, state }) => !isReady(bound, state, now)).map((
    { bound },
  ) => bound.name);
  if (names.length === 0) return null;
  return { reason: "ContainersNotReady", message: `containers with unready status: [${names.join(" ")}]` };
}

function findUninitialized(pod: BoundPod, life: PodLife): Cause | null {
  const names = pod.containers.filter((bound, index) => !isPassed(bound, life.containers[index])).map(({ name }) =>
    name
  );
  if (names.length === 0) return null;
  return { reason: "ContainersNotInitialized", message: `containers with incomplete status: [${names.join(" ")}]` };
}

const MIN_SHARES = 2;
/** How cgroup v1 says that there is no limit. */
const UNLIMITED = "9007199254740988Ki";

function toAddress({ uid }: BoundPod, { seed }: NodeConfig): string {
  return `10.88.${drawBetween([0, 255], [seed, uid, "net"])}.${drawBetween([2, 254], [seed, uid, "host"])}`;
}
