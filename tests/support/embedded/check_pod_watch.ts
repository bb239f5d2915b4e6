/**
 * Can the model report these states of a pod? The rules hold for recorded watches and for the model.
 */
import type { Pod, PodCondition } from "../../../lib/api/kubernetes.ts";
import type { Problem } from "../../../lib/embedded/model/load.ts";
import { checkContainers, isSizeOf, type Report } from "./check_containers.ts";

/** An event of a watch of pods. */
export interface PodEvent {
  /** When it was received; `null` = not known, and no time is checked. */
  readonly at: number | null;
  readonly type: string;
  readonly object: Pod;
}

/** The problems of events of any pods, in the order of the watch. A path is `[number of the event] pod`. */
export function checkPodWatch(stream: readonly PodEvent[]): readonly Problem[] {
  const problems: Problem[] = [];
  const known = new Map<string, Known>();
  for (const [index, { at, type, object }] of stream.entries()) {
    const { uid = "", name = "" } = object.metadata ?? {};
    const report = (message: string) => problems.push({ path: `[${index}] ${name}`, message });
    const before = known.get(uid) ?? null;
    checkPod(object, report);
    checkContainers(before?.pod ?? null, object, report);
    if (before !== null) checkStep(before.pod, object, report);
    if (before !== null && at !== null) checkTimes(before, at, report);
    if (type === "DELETED") known.delete(uid);
    else known.set(uid, toKnown(object, at, before));
  }
  return problems;
}

interface Known {
  readonly pod: Pod;
  /** When its spec moved on and its kubelet had not seen it; when a resize was first reported as in progress. */
  readonly unseenAt: number | null;
  readonly startedAt: number | null;
}

const ORDER = [
  "PodResizePending",
  "PodResizeInProgress",
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

const WHOLE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const DEFERRED = /^Node didn't have enough resource: (cpu|memory|pods), requested: \d+, used: \d+, capacity: \d+$/;

const CAUSE = 'attempting to set (?:pod|container "[^"]+") memory limit \\(\\d+\\) below current usage \\(\\d+\\)';

const ERROR = new RegExp(`^cannot decrease memory limits: (?:${CAUSE}|\\[${CAUSE}(?:, ${CAUSE})+\\])$`);

const UNLIMITED = "9007199254740988Ki";

const PHASES = ["Pending", "Running", "Succeeded", "Failed"];

/** Measured: seen within 45 ms, reported as done within 200 ms, or as in error within 20 s. */
const SEEN_MS = 500;

const DONE_MS = 20_000;

function checkPod(pod: Pod, report: Report): void {
  const { status = {}, metadata = {} } = pod;
  const conditions = status.conditions ?? [];
  const types = conditions.map(({ type }) => type);
  if (ORDER.filter((type) => types.includes(type)).join() !== types.join()) report(`has conditions ${types.join()}`);
  if ((status.observedGeneration ?? 0) > (metadata.generation ?? 0)) report("has seen what is not there yet");
  for (const condition of conditions) checkCondition(condition, status.observedGeneration, report);
  const [pending, inProgress] = ORDER.slice(0, 2).map((type) => conditions.find((one) => one.type === type));
  if (pending !== undefined || inProgress !== undefined || isEnded(pod)) return;
  // No resize is under way and the spec was seen, so what runs has the size of the spec.
  if (status.observedGeneration !== metadata.generation) return;
  for (const state of [...status.containerStatuses ?? [], ...status.initContainerStatuses ?? []]) {
    if (state.state?.running !== undefined && !isSizeOf(pod, state)) {
      report(`container ${state.name} is not as large as its spec`);
    }
  }
}

function checkCondition(condition: PodCondition, observedGeneration: number | undefined, report: Report): void {
  const { type, status, reason, message = "", lastTransitionTime = "", lastProbeTime } = condition;
  if (!WHOLE.test(lastTransitionTime)) report(`${type} is of ${lastTransitionTime}`);
  const seen = condition.observedGeneration;
  if (!type.startsWith("PodResize")) {
    // The scheduler, which sets PodScheduled, sees no generation.
    if (observedGeneration !== undefined && seen !== observedGeneration) report(`${type} has seen ${seen}`);
    const names = type === "Ready" || type === "ContainersReady";
    if (names && reason === "ContainersNotReady" && !/^containers with unready status: \[.+\]$/.test(message)) {
      report(message);
    }
    return;
  }
  if (status !== "True") report(`${type} is ${status}`);
  if ((seen ?? 0) > (observedGeneration ?? 0)) report(`${type} has seen ${seen}`);
  if (!WHOLE.test(lastProbeTime ?? "")) report(`${type} was probed at ${lastProbeTime}`);
  if ((lastProbeTime ?? "") < lastTransitionTime) report(`${type} was probed before it was`);
  if (type === "PodResizePending" && !(reason === "Deferred" && DEFERRED.test(message))) {
    report(`${reason}: ${message}`);
  }
  if (type === "PodResizeInProgress" && reason !== undefined && !(reason === "Error" && ERROR.test(message))) {
    report(`${reason}: ${message}`);
  }
}

function checkStep(before: Pod, after: Pod, report: Report): void {
  const [old, status] = [before.status ?? {}, after.status ?? {}];
  if ((status.observedGeneration ?? 0) < (old.observedGeneration ?? 0)) report("has seen less than before");
  const [from, to] = [PHASES.indexOf(old.phase ?? ""), PHASES.indexOf(status.phase ?? "")];
  if (to < from || (from >= 2 && to !== from)) report(`is ${status.phase} after ${old.phase}`);
  const conditions = new Map((old.conditions ?? []).map((one) => [one.type, one]));
  for (const condition of status.conditions ?? []) {
    const known = conditions.get(condition.type);
    if (known === undefined) continue;
    const hasMoved = known.lastTransitionTime !== condition.lastTransitionTime;
    if ((condition.lastTransitionTime ?? "") < (known.lastTransitionTime ?? "")) {
      report(`${condition.type} goes back in time`);
    }
    if (hasMoved && known.status === condition.status && known.observedGeneration === condition.observedGeneration) {
      report(`${condition.type} moves without a change`);
    }
  }
  checkPodSize(before, after, report);
  const pending = (pod: Pod) => pod.status?.conditions?.find(({ type }) => type === "PodResizePending");
  const waits = pending(before)?.observedGeneration === pending(after)?.observedGeneration &&
    pending(after) !== undefined;
  if (waits && JSON.stringify(old.allocatedResources) !== JSON.stringify(status.allocatedResources)) {
    report("is given what is deferred");
  }
}

/** The pod's own cgroup is written by a resize that is in progress alone: that it was not is the trace of a trap. */
function checkPodSize(before: Pod, after: Pod, report: Report): void {
  if (isEnded(after) || before.status?.resources === undefined) return;
  const [old, now] = [before.status.resources, after.status?.resources ?? {}];
  if (old.requests?.memory !== now.requests?.memory) report("changes its request of memory");
  const limits = [old.limits?.memory, now.limits?.memory];
  if (limits[0] === limits[1] || limits.includes(UNLIMITED)) return;
  const isUnderWay = before.status.conditions?.some(({ type }) => type === "PodResizeInProgress") === true;
  if (!isUnderWay) report(`changes its memory limit from ${limits[0]} to ${limits[1]} without a resize`);
}

function toKnown(pod: Pod, at: number | null, before: Known | null): Known {
  const generation = pod.metadata?.generation ?? 0;
  const isUnseen = (pod.status?.observedGeneration ?? generation) < generation;
  const inProgress = pod.status?.conditions?.find(({ type }) => type === "PodResizeInProgress");
  const wasSame = before?.pod.status?.conditions?.some(({ type, observedGeneration }) =>
    type === "PodResizeInProgress" && observedGeneration === inProgress?.observedGeneration
  );
  return {
    pod,
    unseenAt: !isUnseen || isEnded(pod) ? null : before?.pod.metadata?.generation === generation ? before.unseenAt : at,
    startedAt: inProgress === undefined ? null : wasSame === true ? before?.startedAt ?? null : at,
  };
}

/** `at`: of the event that follows on what is known. */
function checkTimes({ pod, unseenAt, startedAt }: Known, at: number, report: Report): void {
  if (unseenAt !== null && at - unseenAt > SEEN_MS) report(`is not seen for ${at - unseenAt} ms`);
  const hasError = pod.status?.conditions?.some(({ type, reason }) =>
    type === "PodResizeInProgress" && reason === "Error"
  );
  if (startedAt !== null && hasError !== true && at - startedAt > DONE_MS) {
    report(`is in progress for ${at - startedAt} ms without an error`);
  }
}

function isEnded({ status, metadata }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded" || metadata?.deletionTimestamp !== undefined;
}
