/** How does a pod live on its node? From its sandbox to its deletion. */
import { drawBetween } from "../../simulate/model/random.ts";
import { type ContainerContext, findContainerDueAt, isAlive, isOver, nextContainer, stop } from "./container.ts";
import type { StepContext } from "./event.ts";
import { toCgroup } from "./requests.ts";
import { actuate, observe, type ResizeContext } from "./resize.ts";
import type { BoundContainer, BoundPod, ContainerState, PodLife } from "./state.ts";

/** A pod that the node has just seen; `rejected`: the node cannot fit it. */
export function newLife(pod: BoundPod, rejected: PodLife["rejected"], { now, config }: StepContext): PodLife {
  const allocated = Object.fromEntries(pod.containers.map(({ name, size }) => [name, size]));
  return {
    seenAt: now,
    observedGeneration: pod.generation,
    observeAt: pod.graceMs === null ? null : now,
    rejected,
    sandbox: rejected === null
      ? { kind: "starting", dueAt: now + drawBetween([150, 450], [config.seed, pod.uid, "sandbox"]) }
      : { kind: "gone", dueAt: null },
    allocated,
    cgroup: toCgroup(pod, allocated),
    pending: null,
    resize: null,
    containers: pod.containers.map(({ name, size }) => ({
      name,
      run: { kind: "waiting" },
      last: null,
      restarts: 0,
      instances: 0,
      actual: size,
      backOffMs: 0,
    })),
    stopping: null,
    endsAt: null,
    phase: rejected === null ? "Pending" : "Failed",
  };
}

/** Has the pod ended? */
export function isFinished({ phase }: PodLife): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** A changed spec is observed a moment later. */
export function observeSpec(life: PodLife, pod: BoundPod, { now, config }: StepContext): PodLife {
  if (isFinished(life) && pod.graceMs !== null) {
    return life.stopping !== null ? life : { ...life, stopping: { at: now, killAt: now, goneAt: now + 10 } };
  }
  const isDeleted = pod.graceMs !== null && life.stopping === null;
  if (pod.generation === life.observedGeneration && !isDeleted) return life;
  const observeAt = now + drawBetween([5, 25], [config.seed, pod.uid, "observe", pod.generation]);
  return { ...life, observeAt: Math.min(life.observeAt ?? Infinity, observeAt) };
}

/** Returns the life of a pod after this step. */
export function nextLife(life: PodLife, context: ResizeContext): PodLife {
  const { pod, now } = context;
  if (isFinished(life)) return life.observeAt === null || life.observeAt > now ? life : follow(life, pod);
  let next = life;
  if (next.observeAt !== null && next.observeAt <= now) {
    next = observe(next, context);
    if (pod.graceMs !== null) {
      const { at, killAt } = next.stopping ?? { at: now, killAt: Infinity };
      next = { ...next, stopping: { at, killAt: Math.min(killAt, now + pod.graceMs), goneAt: null } };
    }
  }
  if (next.sandbox.kind === "starting" && (next.sandbox.dueAt ?? 0) <= now) {
    next = { ...next, sandbox: { kind: "ready", dueAt: null } };
  }
  // First the resize: containers that it restarts come up in its new size.
  next = actuate(next, context);
  const ends = next.stopping !== null || isDone(next, pod);
  next = mapContainers(next, context, ends, nextContainer);
  if (ends || isDone(next, pod)) next = stopAll(next, context);
  else next = startNext(next, context);
  return finish(next, context);
}

/** When `nextLife` has something to do, or the status changes by time alone. */
export function findLifeDueAt(life: PodLife, pod: BoundPod, now: number): number {
  if (isFinished(life)) {
    const goneAt = life.stopping?.goneAt ?? Infinity;
    return Math.min(goneAt > now ? goneAt : Infinity, life.observeAt ?? Infinity);
  }
  const { resize } = life;
  return Math.min(
    life.observeAt ?? Infinity,
    life.sandbox.dueAt ?? Infinity,
    resize === null ? Infinity : resize.restartsUntil ?? resize.tryAt,
    life.endsAt ?? Infinity,
    ...life.containers.map((one, index) => {
      const bound = pod.containers[index];
      return bound === undefined ? Infinity : findContainerDueAt(one, bound, now);
    }),
  );
}

/** It does not bar the way of those after it: a plain init container has ended well, a sidecar has been started. */
export function isPassed({ kind }: BoundContainer, state: ContainerState | undefined): boolean {
  if (kind === "container") return true;
  if (state === undefined) return false;
  if (kind === "sidecar") return state.instances > 0;
  return isOver(state) && state.run.kind === "terminated" && state.run.ended.code === 0;
}

/** The status of a pod that has ended follows a resize, and nothing else does. */
function follow(life: PodLife, pod: BoundPod): PodLife {
  const observed = { ...life, observedGeneration: pod.generation, observeAt: null };
  if (life.rejected !== null) return observed;
  return { ...observed, allocated: Object.fromEntries(pod.containers.map(({ name, size }) => [name, size])) };
}

type Step = (container: ContainerState, context: ContainerContext) => ContainerState;

function mapContainers(life: PodLife, context: ResizeContext, ends: boolean, step: Step): PodLife {
  let changed = false;
  const containers = life.containers.map((one, index) => {
    const bound = context.pod.containers[index];
    if (bound === undefined) return one;
    // A sidecar that fails while its pod ends is not started again; a container of a running pod may be.
    const next = step(one, { ...context, bound, ends });
    changed ||= next !== one;
    return next;
  });
  return changed ? { ...life, containers } : life;
}

/** All containers have ended for good, or an init container has failed for good. */
function isDone(life: PodLife, pod: BoundPod): boolean {
  const mains = life.containers.filter((_, index) => pod.containers[index]?.kind === "container");
  const hasFailed = life.containers.some((one, index) =>
    pod.containers[index]?.kind === "init" && isOver(one) && one.run.kind === "terminated" && one.run.ended.code !== 0
  );
  return hasFailed || mains.every(isOver);
}

/** Sidecars last. */
function stopAll(life: PodLife, context: ResizeContext): PodLife {
  const killAt = life.stopping?.killAt ?? context.now + JOB_GRACE_MS;
  const isMain = (index: number) => context.pod.containers[index]?.kind !== "sidecar";
  const hasMains = life.containers.some((one, index) => isMain(index) && isLeft(one));
  return mapContainers(life, context, true, (one, step) => {
    if (hasMains && step.bound.kind === "sidecar" && killAt > context.now) return one;
    return stop(one, killAt, step);
  });
}

function startNext(life: PodLife, context: ResizeContext): PodLife {
  if (life.sandbox.kind !== "ready" || life.phase === "Failed") return life;
  let delayMs = 0;
  let isOpen = true;
  return mapContainers(life, context, false, (one, { bound, config, pod, now }) => {
    if (!isOpen) return one;
    isOpen = isPassed(bound, one);
    if (one.run.kind !== "waiting") return one;
    delayMs += drawBetween([60, 180], [config.seed, pod.uid, one.name, "start"]);
    return { ...one, run: { kind: "starting", dueAt: now + delayMs } };
  });
}

function finish(life: PodLife, context: ResizeContext): PodLife {
  const { pod, now, config } = context;
  const phase = life.phase === "Pending" && hasStarted(life, pod) ? "Running" : life.phase;
  const ends = life.stopping !== null || isDone(life, pod);
  if (!ends || life.containers.some(isLeft)) return phase === life.phase ? life : { ...life, phase };
  // A job's phase follows the end of its containers; a deleted pod's comes with it.
  const endsAt = life.endsAt ?? (life.stopping !== null ? Math.max(now, life.stopping.at + 300) : now + 900);
  if (endsAt > now) return { ...life, phase, endsAt };
  const hasFailed = life.containers.some(({ run, instances }, index) =>
    pod.containers[index]?.kind !== "sidecar" &&
    (instances === 0 || (run.kind === "terminated" && run.ended.code !== 0))
  );
  const goneAt = now + drawBetween([200, 800], [config.seed, pod.uid, "gone"]);
  return {
    ...life,
    phase: hasFailed ? "Failed" : "Succeeded",
    endsAt: null,
    pending: null,
    resize: null,
    sandbox: { kind: "gone", dueAt: null },
    stopping: life.stopping === null ? null : { ...life.stopping, goneAt },
  };
}

/** A job's sidecars are given what the pod's grace is by default. */
const JOB_GRACE_MS = 30_000;

function isLeft(container: ContainerState): boolean {
  return isAlive(container) || container.run.kind === "exited";
}

function hasStarted(life: PodLife, pod: BoundPod): boolean {
  return pod.containers.every((bound, index) => isPassed(bound, life.containers[index])) &&
    life.containers.some(({ instances }, index) => pod.containers[index]?.kind === "container" && instances > 0);
}
