/**
 * One container in a pod's status: what it does now and did before, and the size that its cgroup reads back as.
 */
import type { ContainerStatus } from "../../api/kubernetes.ts";
import type { Resources } from "../../units/resources.ts";
import type { BoundContainer, BoundPod } from "./bound_pod.ts";
import { isPassed } from "./life.ts";
import { toList, toRequirements } from "./quantities.ts";
import { formatTime } from "../../units/time.ts";
import { drawHex } from "./random.ts";
import type { ContainerState, Ended, PodLife } from "./state.ts";

/** What a container's status is made of beside its state. */
export interface ContainerContext {
  readonly pod: BoundPod;
  readonly life: PodLife;
  readonly now: number;
}

/** The status of a container as the kubelet writes it. */
export function toContainerStatus(
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
export function isReady(bound: BoundContainer, state: ContainerState, now: number): boolean {
  const { run } = state;
  if (bound.kind === "init") return isPassed(bound, state);
  if (run.kind === "exited") return run.ended.startedAt + bound.load.readyAfterMs <= run.ended.finishedAt;
  return run.kind === "running" && run.startedAt + bound.load.readyAfterMs <= now;
}

/** Go writes 80 s as 1m20s and 300 s as 5m0s. */
export function formatWait(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function toState({ name, run, instances }: ContainerState, pod: BoundPod): NonNullable<ContainerStatus["state"]> {
  switch (run.kind) {
    case "waiting":
    case "starting": {
      const hasInits = pod.containers.some(({ kind }) => kind !== "container");
      if (instances > 0) throw new Error(`Cannot tell state of container "${name}": it has run and waits`);
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

/** A cgroup has at least 2 shares and 10m of quota; where both sides are below, the admitted amount is told. */
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
