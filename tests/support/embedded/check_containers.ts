/**
 * Can the model report this of the containers of a pod? From one status to the next.
 */
import type { ContainerStatus, Pod } from "../../../lib/api/kubernetes.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";

/** Receives one problem in words. */
export type Report = (message: string) => void;

/** Reports what a kubelet could not have done to the containers of a pod between two states. */
export function checkContainers(before: Pod | null, after: Pod, report: Report): void {
  const known = new Map((before === null ? [] : listStatuses(before)).map((one) => [one.name, one]));
  const names = (after.spec?.containers ?? []).map(({ name }) => name);
  const told = (after.status?.containerStatuses ?? []).map(({ name }) => name);
  if (told.length > 0 && told.join() !== names.toSorted().join()) report(`tells of ${told.join()}`);
  for (const status of listStatuses(after)) {
    const tell = (message: string) => report(`container ${status.name} ${message}`);
    checkContainer(status, tell);
    const old = known.get(status.name);
    if (old !== undefined) checkStep(old, status, tell);
  }
}

/** Requests that are admitted and the size that is in force are the spec's. */
export function isSizeOf(pod: Pod, { name, resources, allocatedResources }: ContainerStatus): boolean {
  const container = [...pod.spec?.containers ?? [], ...pod.spec?.initContainers ?? []].find((one) => one.name === name);
  return (["cpu", "memory"] as const).every((resource) =>
    isSameAmount(container?.resources?.requests?.[resource], allocatedResources?.[resource], resource) &&
    isSameAmount(container?.resources?.requests?.[resource], resources?.requests?.[resource], resource) &&
    isSameAmount(container?.resources?.limits?.[resource], resources?.limits?.[resource], resource)
  );
}

const CODES: Readonly<Record<string, (code: number) => boolean>> = {
  Completed: (code) => code === 0,
  Error: (code) => code !== 0,
  OOMKilled: (code) => code === 137,
};

const BACK_OFF = /^back-off (10s|20s|40s|1m20s|2m40s|5m0s) restarting failed container=(\S+) pod=\S+_\S+\(\S+\)$/;

const WAITING = ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"];

function checkContainer(status: ContainerStatus, report: Report): void {
  const { state = {}, lastState = {}, ready, started, containerID } = status;
  const kinds = Object.keys(state);
  if (kinds.length !== 1) report(`has states ${kinds.join()}`);
  for (const ended of [state.terminated, lastState.terminated]) {
    if (ended === undefined) continue;
    if (CODES[ended.reason ?? ""]?.(ended.exitCode) !== true) report(`ended with ${ended.exitCode} ${ended.reason}`);
    if ((ended.startedAt ?? "") > (ended.finishedAt ?? "")) report("ended before it started");
  }
  const { waiting, running, terminated } = state;
  if (waiting !== undefined && !WAITING.includes(waiting.reason ?? "")) report(`waits for ${waiting.reason}`);
  if (waiting?.reason === "CrashLoopBackOff") {
    if (BACK_OFF.exec(waiting.message ?? "")?.[2] !== status.name) report(waiting.message ?? "has no message");
    if (lastState.terminated === undefined) report("backs off from nothing");
  }
  if (terminated !== undefined && terminated.containerID !== containerID) report("is another than the one that ended");
  if (running !== undefined && containerID === undefined) report("runs without an id");
  if (started !== (running !== undefined)) report(`has started=${started}`);
  // An init container is ready when it has ended well.
  if (ready && running === undefined && terminated?.exitCode !== 0) report("is ready and does not run");
}

function checkStep(old: ContainerStatus, status: ContainerStatus, report: Report): void {
  const count = status.restartCount - old.restartCount;
  const isOther = old.containerID !== undefined && status.containerID !== old.containerID;
  if (count < 0) report(`has ${-count} restarts less`);
  if ((count > 0) !== isOther) report(`has ${count} more restarts, and is ${isOther ? "another" : "the same"}`);
  if (old.containerID !== undefined && status.containerID === undefined) report("loses its id");
  if (isOther) {
    // A status must not forget the instance before.
    const { terminated: ended } = old.state ?? {};
    const last = status.lastState?.terminated;
    if (last === undefined) report("was restarted after nothing");
    if (ended !== undefined && count === 1 && last?.containerID !== ended.containerID) report("forgets its last end");
    if ((status.state?.running?.startedAt ?? "9") < (last?.finishedAt ?? "")) {
      report("was restarted before its last end");
    }
  } else {
    const [was, is] = [toKind(old), toKind(status)];
    if (NEXT[was]?.includes(is) !== true) report(`goes from ${was} to ${is}`);
    if (
      old.state?.running?.startedAt !== undefined && is === "running" &&
      old.state.running.startedAt !== status.state?.running?.startedAt
    ) {
      report("moves its start");
    }
  }
}

/** The states that one instance may have next, by its present one. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  waiting: ["waiting", "running", "terminated"],
  running: ["running", "terminated"],
  terminated: ["terminated", "backOff"],
  // A pod that is deleted meanwhile shows how it ended.
  backOff: ["backOff", "terminated"],
};

function toKind({ state = {} }: ContainerStatus): string {
  if (state.running !== undefined) return "running";
  if (state.terminated !== undefined) return "terminated";
  return state.waiting?.reason === "CrashLoopBackOff" ? "backOff" : "waiting";
}

function listStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
}

/** Same amount in whatever spelling. */
function isSameAmount(a: string | undefined, b: string | undefined, resource: "cpu" | "memory"): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [one, other] = [parseAmount(a, resource), parseAmount(b, resource)];
  return one.ok && other.ok && one.amount === other.amount;
}
