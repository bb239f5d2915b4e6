/**
 * How does a kubelet carry out a resize? It is admitted or deferred, written to the cgroups, and reported.
 * The kubelet admits or defers a resize as a whole, and writes the cgroups some 40 ms later. It retries while a memory
 * limit would be lower than the usage.
 */
import { drawBetween } from "../../simulate/model/random.ts";
import { isSameSize, NO_RESOURCES } from "../../units/resources.ts";
import { clearBackOff, endToRestart, isAlive } from "./container.ts";
import { reportDeferredEvent, reportResizeEvent, type StepContext } from "./event.ts";
import { computeNeeds, findTooSmall, type PodUse, type Shortage, type Sizes, toCgroup } from "./requests.ts";
import type { BoundPod, ContainerState, PodLife, Resize } from "./state.ts";

/** A step in which a resize may be admitted. */
export interface ResizeContext extends StepContext {
  readonly pod: BoundPod;
  /** Says whether the node can fit the pod with these sizes. */
  readonly findShortage: (sizes: Sizes) => Shortage | null;
  readonly use: PodUse;
}

/** The kubelet looks at a changed spec. */
export function observe(life: PodLife, context: ResizeContext): PodLife {
  const seen: PodLife = { ...life, observedGeneration: context.pod.generation, observeAt: null };
  const wanted = toWanted(context.pod);
  if (hasSameSizes(wanted, life.allocated)) return { ...seen, pending: null };
  return admit(seen, context, wanted);
}

/** Room may have come. */
export function retryDeferred(life: PodLife, context: ResizeContext): PodLife {
  return life.pending === null ? life : admit(life, context, toWanted(context.pod));
}

/** Writes what was admitted, when it is time to. */
export function actuate(life: PodLife, context: ResizeContext): PodLife {
  const { resize } = life;
  if (resize === null) return life;
  if (resize.restartsUntil !== null) {
    return resize.restartsUntil <= context.now ? complete(life, context, resize) : life;
  }
  if (resize.tryAt > context.now) return life;
  const error = findTooSmall(life, context.pod, context.use);
  const next: Resize = resize.error === null ? resize : { ...resize, shown: resize.error, probeAt: context.now };
  if (error !== null) {
    if (error !== resize.error) {
      reportResizeEvent(context, context.pod, {
        reason: "ResizeError",
        generation: resize.generation,
        sizes: life.allocated,
        error,
      });
    }
    const tryAt = context.now + drawRetryMs(resize, context);
    return { ...life, resize: { ...next, error, tries: resize.tries + 1, tryAt } };
  }
  const containers = life.containers.map((one) => {
    const bound = context.pod.containers.find(({ name }) => name === one.name);
    if (bound === undefined || !isAlive(one) || !restarts(one, life, bound.restartsOn)) return one;
    return endToRestart(one, { ...context, bound, ends: false });
  });
  const until = Math.max(
    -Infinity,
    ...containers.map(({ run }) => run.kind === "exited" && run.isRestart ? run.seenAt : -Infinity),
  );
  if (until === -Infinity) return complete(life, context, resize);
  return { ...life, containers, resize: { ...resize, restartsUntil: until } };
}

function admit(life: PodLife, context: ResizeContext, wanted: Sizes): PodLife {
  const { pod, now } = context;
  const [before, after] = [computeNeeds(pod, life.allocated), computeNeeds(pod, wanted)];
  const grows = after.cpu > before.cpu || after.memory > before.memory;
  const shortage = grows ? context.findShortage(wanted) : null;
  if (shortage !== null) return defer(life, context, { wanted, shortage });

  const touched = (one: ContainerState) =>
    !isSameSize(life.allocated[one.name] ?? NO_RESOURCES, wanted[one.name] ?? NO_RESOURCES);
  const differs = (one: ContainerState) => !isSameSize(one.actual, wanted[one.name] ?? NO_RESOURCES);
  const admitted: PodLife = {
    ...life,
    allocated: wanted,
    pending: null,
    containers: life.containers.map((one) => touched(one) ? clearBackOff(one, context) : one),
  };
  const event = { generation: pod.generation, sizes: wanted };
  reportResizeEvent(context, pod, { reason: "ResizeStarted", ...event });
  if (life.resize === null && !life.containers.some((one) => isAlive(one) && (touched(one) || differs(one)))) {
    // Before there is a cgroup it is made in the new size. Afterwards, as in
    // https://github.com/kubernetes/kubernetes/issues/138760: reported as done, but the pod's cgroup keeps its old
    // limit.
    reportResizeEvent(context, pod, { reason: "ResizeCompleted", ...event });
    return {
      ...admitted,
      cgroup: life.sandbox.kind === "starting" ? toCgroup(pod, wanted) : life.cgroup,
      containers: admitted.containers.map((one) => ({ ...one, actual: wanted[one.name] ?? one.actual })),
    };
  }
  const tryAt = now + drawBetween(ACTUATE_MS, [context.config.seed, pod.uid, "actuate", pod.generation]);
  const resize: Resize = {
    generation: pod.generation,
    since: now,
    probeAt: now,
    shown: null,
    error: null,
    tries: 0,
    tryAt,
    restartsUntil: null,
  };
  return { ...admitted, resize };
}

function defer(
  life: PodLife,
  context: ResizeContext,
  { wanted, shortage }: { readonly wanted: Sizes; readonly shortage: Shortage },
): PodLife {
  const { pod, now } = context;
  const { resource, message } = shortage;
  // While it waits nothing of it moves, lastProbeTime neither (measured).
  if (life.pending?.generation === pod.generation) return life;
  reportDeferredEvent(context, pod, { resource, generation: pod.generation, sizes: wanted, error: message });
  const since = life.pending?.since ?? now;
  return { ...life, pending: { since, probeAt: now, generation: pod.generation, message } };
}

function complete(life: PodLife, context: ResizeContext, { generation }: Resize): PodLife {
  reportResizeEvent(context, context.pod, { reason: "ResizeCompleted", generation, sizes: life.allocated });
  const { memoryRequest } = life.cgroup;
  return {
    ...life,
    resize: null,
    // cgroup v1 has no place for a request of memory: it reads as at the start (measured).
    cgroup: { ...toCgroup(context.pod, life.allocated), memoryRequest },
    containers: life.containers.map((one) => ({ ...one, actual: life.allocated[one.name] ?? one.actual })),
  };
}

/** The time from the kubelet's first look at a resize to the cgroups: 25 to 60 ms were measured. */
const ACTUATE_MS = [25, 60] as const;

/** Mostly the kubelet's own retry; sometimes something else wakes it early (measured: after 1 s, 11 s, 13 s). */
const RETRY_MS = [10_000, 15_000] as const;

const EARLY_MS = [900, 2500] as const;

const EARLY_ONE_IN = 4;

function drawRetryMs({ generation, tries }: Resize, { config, pod }: ResizeContext): number {
  const key = [config.seed, pod.uid, "retry", generation, tries];
  const isEarly = tries === 0 && drawBetween([1, EARLY_ONE_IN], [...key, "early"]) === 1;
  return drawBetween(isEarly ? EARLY_MS : RETRY_MS, key);
}

function restarts(
  { name, actual }: ContainerState,
  { allocated }: PodLife,
  restartsOn: BoundPod["containers"][number]["restartsOn"],
): boolean {
  const to = allocated[name] ?? actual;
  return (["cpu", "memory"] as const).some((resource) =>
    restartsOn[resource] &&
    (to[`${resource}.requests`] !== actual[`${resource}.requests`] ||
      to[`${resource}.limits`] !== actual[`${resource}.limits`])
  );
}

function toWanted(pod: BoundPod): Sizes {
  return Object.fromEntries(pod.containers.map(({ name, size }) => [name, size]));
}

function hasSameSizes(a: Sizes, b: Sizes): boolean {
  return Object.entries(a).every(([name, size]) => isSameSize(size, b[name] ?? NO_RESOURCES));
}
