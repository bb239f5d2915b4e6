/**
 * How does one container live? It starts, ends, is killed, and is started again after a growing wait.
 * It starts again at once the first time, then after 10 s, 20 s ... 300 s.
 */
import { draw, drawBetween, drawHex } from "../../simulate/model/random.ts";
import { reportContainerEvent, type StepContext } from "./event.ts";
import type { BoundContainer, BoundPod, ContainerState, Ended, Run, Stop } from "./state.ts";

/** One step of one container of a pod. */
export interface ContainerContext extends StepContext {
  readonly pod: BoundPod;
  readonly bound: BoundContainer;
  /** The pod is being deleted, or has nothing left to do: what ends stays so. */
  readonly ends: boolean;
}

/** Does the container have a process? */
export function isAlive({ run }: ContainerState): boolean {
  return run.kind === "running";
}

/** It has ended and will not come again. */
export function isOver({ run }: ContainerState): boolean {
  return run.kind === "terminated" && run.restartAt === null;
}

/** The container after the time until `context.now` has passed. */
export function nextContainer(container: ContainerState, context: ContainerContext): ContainerState {
  const { run } = container;
  switch (run.kind) {
    case "waiting":
      return container;
    case "starting":
      if (context.ends) return { ...container, run: { kind: "waiting" } };
      return run.dueAt <= context.now ? start(container, context) : container;
    case "running": {
      const { exits } = context.bound.load;
      if (run.stop !== null && run.stop.at <= context.now) return end(container, { code: run.stop.code }, context);
      const isDone = exits !== null && run.startedAt + exits.afterMs <= context.now;
      return isDone ? end(container, { code: exits.code }, context) : container;
    }
    case "exited":
      if (run.seenAt > context.now) return container;
      if (run.isRestart && !context.ends) {
        return start({ ...container, last: run.ended, restarts: container.restarts + 1 }, context);
      }
      return notice(container, run, context);
    case "terminated":
      if (run.restartAt === null) return container;
      if (context.ends) return { ...container, run: { ...run, restartAt: null } };
      if (run.waitMs === 0) return run.restartAt <= context.now ? restart(container, run, context) : container;
      if (run.restartAt - SHOWN_MS > context.now) return container;
      return { ...container, last: run.ended, run: { ...run, kind: "backOff", restartAt: run.restartAt } };
    case "backOff":
      if (context.ends) return { ...container, run: { ...run, kind: "terminated", restartAt: null } };
      return run.restartAt <= context.now ? restart(container, run, context) : container;
    default:
      return unreachable(run);
  }
}

/** When `nextContainer` has something to do, or its readiness changes. */
export function findContainerDueAt({ run }: ContainerState, bound: BoundContainer, now: number): number {
  switch (run.kind) {
    case "waiting":
      return Infinity;
    case "starting":
      return run.dueAt;
    case "running": {
      const { exits, readyAfterMs } = bound.load;
      const readyAt = run.startedAt + readyAfterMs;
      return Math.min(
        run.stop?.at ?? Infinity,
        exits === null ? Infinity : run.startedAt + exits.afterMs,
        readyAt > now ? readyAt : Infinity,
      );
    }
    case "exited":
      return run.seenAt;
    case "terminated":
      return run.restartAt === null ? Infinity : run.waitMs === 0 ? run.restartAt : run.restartAt - SHOWN_MS;
    case "backOff":
      return run.restartAt;
    default:
      return unreachable(run);
  }
}

/** The container with its process gone, which the kubelet notices at its next look. */
export function end(
  container: ContainerState,
  { code, reason }: { readonly code: number; readonly reason?: Ended["reason"] },
  context: ContainerContext,
): ContainerState {
  const { run } = container;
  if (run.kind !== "running") return container;
  const ended = toEnded(run, { code, reason: reason ?? (code === 0 ? "Completed" : "Error") }, context.now);
  return { ...container, run: { kind: "exited", ended, seenAt: nextLookAt(context), isRestart: false } };
}

/** Killed to be started again with another size: no back-off, and no state between in the pod's status. */
export function endToRestart(container: ContainerState, context: ContainerContext): ContainerState {
  const { run } = container;
  if (run.kind !== "running") return container;
  reportContainerEvent(context, context.pod, {
    container: context.bound,
    type: "Normal",
    reason: "Killing",
    message: `Container ${context.bound.name} resize requires restart`,
  });
  const { afterMs, code } = context.bound.load.stops;
  const ended = toEnded(run, { code, reason: code === 0 ? "Completed" : "Error" }, context.now + afterMs);
  const seenAt = context.now + afterMs + drawBetween([100, 200], [...key(context, container), "resize"]);
  return { ...container, run: { kind: "exited", ended, seenAt, isRestart: true } };
}

/** SIGTERM, and SIGKILL at `killAt`. */
export function stop(container: ContainerState, killAt: number, context: ContainerContext): ContainerState {
  const { run } = container;
  if (run.kind !== "running" || (run.stop !== null && run.stop.at <= killAt)) return container;
  const message = `Stopping container ${context.bound.name}`;
  if (run.stop === null) {
    reportContainerEvent(context, context.pod, {
      container: context.bound,
      type: "Normal",
      reason: "Killing",
      message,
    });
  }
  const { afterMs, code } = context.bound.load.stops;
  const stop: Stop = context.now + afterMs <= killAt ? { at: context.now + afterMs, code } : { at: killAt, code: 137 };
  return { ...container, run: { ...run, stop } };
}

/** An admitted resize of it clears its back-off: it starts at once, and the next wait is the first again (measured). */
export function clearBackOff(container: ContainerState, context: StepContext): ContainerState {
  const { run } = container;
  const cleared = { ...container, backOffMs: FIRST_MS };
  if ((run.kind !== "terminated" && run.kind !== "backOff") || run.restartAt === null || run.waitMs === 0) {
    return container.backOffMs === 0 ? container : cleared;
  }
  const { ended, waitMs } = run;
  return { ...cleared, last: ended, run: { kind: "backOff", ended, waitMs, restartAt: context.now + SHOWN_MS } };
}

const FIRST_MS = 10_000;

const MAX_MS = 300_000;

/** After a run of this length, in ms, the back-off of a container starts again. */
const RESET_MS = 600_000;

/** How long, in ms, CrashLoopBackOff shows before the restart (measured). */
const SHOWN_MS = 110;

/** Past the back-off until the kubelet comes by: measured 2 to 5 s. */
const LATE_MS = [0, 5000] as const;

const LOOK_MS = 1000;

function start(container: ContainerState, context: ContainerContext): ContainerState {
  const { bound, pod } = context;
  const id = `containerd://${drawHex(64, [...key(context, container), "id"])}`;
  const report = (reason: string, message: string) =>
    reportContainerEvent(context, pod, { container: bound, type: "Normal", reason, message });
  report("Pulled", `Container image "${bound.image}" already present on machine and can be accessed by the pod`);
  report("Created", "Container created");
  report("Started", "Container started");
  const run: Run = { kind: "running", startedAt: context.now, id, stop: null };
  return { ...container, run, instances: container.instances + 1 };
}

function restart(
  container: ContainerState,
  { ended }: { readonly ended: Ended },
  context: ContainerContext,
): ContainerState {
  return start({ ...container, last: ended, restarts: container.restarts + 1 }, context);
}

function notice(
  container: ContainerState,
  { ended }: { readonly ended: Ended },
  context: ContainerContext,
): ContainerState {
  const { pod, bound } = context;
  const isRestarted = bound.kind === "sidecar" || pod.restartPolicy === "Always" && bound.kind !== "init" ||
    pod.restartPolicy !== "Never" && ended.code !== 0;
  if (!isRestarted || context.ends) {
    return { ...container, run: { kind: "terminated", ended, restartAt: null, waitMs: 0 } };
  }
  const waitMs = ended.finishedAt - ended.startedAt > RESET_MS ? 0 : container.backOffMs;
  const backOffMs = waitMs === 0 ? FIRST_MS : Math.min(2 * waitMs, MAX_MS);
  const late = drawBetween(LATE_MS, [...key(context, container), "late"]);
  const restartAt = waitMs === 0
    ? context.now + drawBetween([60, 110], [...key(context, container), "again"])
    : Math.max(context.now, ended.finishedAt + waitMs) + late;
  if (waitMs > 0) {
    const message =
      `Back-off restarting failed container ${bound.name} in pod ${pod.name}_${pod.namespace}(${pod.uid})`;
    reportContainerEvent(context, pod, { container: bound, type: "Warning", reason: "BackOff", message });
  }
  return { ...container, backOffMs, run: { kind: "terminated", ended, restartAt, waitMs } };
}

function toEnded(
  { id, startedAt }: Run & { readonly kind: "running" },
  { code, reason }: { readonly code: number; readonly reason: Ended["reason"] },
  finishedAt: number,
): Ended {
  return { id, startedAt, finishedAt, code, reason };
}

/** The kubelet lists its containers once a second, at a node's own moment. */
function nextLookAt({ now, config }: StepContext): number {
  const phase = Math.floor(draw([config.seed, "look"]) * LOOK_MS);
  return now + LOOK_MS - ((now - phase) % LOOK_MS + LOOK_MS) % LOOK_MS;
}

function key({ config, pod }: ContainerContext, { name, instances }: ContainerState): readonly (string | number)[] {
  return [config.seed, pod.uid, name, instances];
}

function unreachable(run: never): never {
  throw new Error(`Cannot run container: unknown state ${JSON.stringify(run)}`);
}
