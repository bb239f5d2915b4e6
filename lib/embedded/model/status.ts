/** What does a kubelet write into the status of a pod? In the recorded spelling and order of a real one. */
import type { ContainerStatus, PodCondition } from "../../api/kubernetes.ts";
import { drawBetween, drawHex } from "../../simulate/model/random.ts";
import { NO_RESOURCES, type Resources } from "../../units/resources.ts";
import { formatTime } from "../../units/time.ts";
import { toList, toRequirements } from "./event.ts";
import { isPassed } from "./life.ts";
import { computeTotal } from "./requests.ts";
import type { BoundContainer, BoundPod, ContainerState, Ended, NodeConfig, PodLife, PodStatus } from "./state.ts";

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

/** What a pod's status is made of, in addition to its life. */
interface StatusContext {
  readonly now: number;
  readonly config: NodeConfig;
  readonly before: PodStatus | null;
}

function sum(pod: BoundPod, life: PodLife, key: "cpu.requests" | "memory.requests"): number | null {
  const { given } = computeTotal(pod, life.allocated, key);
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
  const given = computeTotal(pod, life.allocated, "memory.limits").given;
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

/** How cgroup v1 writes that a limit is missing. */
const UNLIMITED = "9007199254740988Ki";

function toAddress({ uid }: BoundPod, { seed }: NodeConfig): string {
  return `10.88.${drawBetween([0, 255], [seed, uid, "net"])}.${drawBetween([2, 254], [seed, uid, "host"])}`;
}

/** What a container's status is made of, in addition to its state. */
interface ContainerContext {
  readonly pod: BoundPod;
  readonly life: PodLife;
  readonly now: number;
}

/** The status of a container as the kubelet writes it. */
function toContainerStatus(
  bound: BoundContainer,
  state: ContainerState,
  { pod, life, now }: ContainerContext,
): ContainerStatus {
  const { name, image } = bound;
  const { run, last, restarts } = state;
  const hasRun = state.instances > 0;
  const allocated = life.allocated[name] ?? bound.size;
  const allocatedResources = toList(allocated, "requests");
  // A process that the kubelet has not missed yet counts as running.
  const running = run.kind === "running" ? run : run.kind === "exited" ? run.ended : null;
  const ended = run.kind === "terminated" || run.kind === "backOff" ? run.ended : null;
  const id = running?.id ?? ended?.id;
  return {
    name,
    state: toState(state, pod),
    lastState: last === null ? {} : { terminated: toTerminated(last) },
    ready: isReady(bound, state, now),
    restartCount: restarts,
    image,
    imageID: hasRun ? `sha256:${drawHex(64, [image])}` : "",
    ...(id === undefined ? {} : { containerID: id }),
    started: running !== null,
    ...(hasRun && allocatedResources !== null ? { allocatedResources } : {}),
    ...(hasRun
      ? { resources: toRequirements(running === null ? allocated : toReported(state.actual, allocated)) }
      : {}),
  };
}

/** A plain init container is ready once it has ended well. */
function isReady(bound: BoundContainer, state: ContainerState, now: number): boolean {
  const { run } = state;
  if (bound.kind === "init") return isPassed(bound, state);
  if (run.kind === "exited") return run.ended.startedAt + bound.load.readyAfterMs <= run.ended.finishedAt;
  return run.kind === "running" && run.startedAt + bound.load.readyAfterMs <= now;
}

/** Go writes 80 s as 1m20s and 300 s as 5m0s. */
function formatWait(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function toState({ name, run, instances }: ContainerState, pod: BoundPod): NonNullable<ContainerStatus["state"]> {
  switch (run.kind) {
    case "waiting":
    case "starting": {
      const hasInits = pod.containers.some(({ kind }) => kind !== "container");
      if (instances > 0) throw new Error(`Cannot compute the state of container "${name}": it has run and waits`);
      return { waiting: { reason: hasInits ? "PodInitializing" : "ContainerCreating" } };
    }
    case "running":
      return { running: { startedAt: formatTime(run.startedAt) } };
    case "exited":
      return { running: { startedAt: formatTime(run.ended.startedAt) } };
    case "terminated":
      return { terminated: toTerminated(run.ended) };
    case "backOff": {
      const wait = `back-off ${formatWait(run.waitMs)} restarting failed container=${name}`;
      const message = `${wait} pod=${pod.name}_${pod.namespace}(${pod.uid})`;
      return { waiting: { reason: "CrashLoopBackOff", message } };
    }
  }
}

function toTerminated({ id, startedAt, finishedAt, code, reason }: Ended) {
  return {
    exitCode: code,
    reason,
    startedAt: formatTime(startedAt),
    finishedAt: formatTime(finishedAt),
    containerID: id,
  };
}

/** A cgroup has at least 2 shares and 10m of quota. Where both amounts are below, the admitted amount is reported. */
function toReported(actual: Resources, allocated: Resources): Resources {
  return {
    ...actual,
    "cpu.requests": atLeast(MIN_REQUEST, actual["cpu.requests"], allocated["cpu.requests"]),
    "cpu.limits": atLeast(MIN_LIMIT, actual["cpu.limits"], allocated["cpu.limits"]),
  };
}

const MIN_REQUEST = 2;

const MIN_LIMIT = 10;

function atLeast(min: number, actual: number | null, allocated: number | null): number | null {
  if (actual === null || actual >= min) return actual;
  return allocated !== null && allocated <= min ? allocated : min;
}
