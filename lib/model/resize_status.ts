/**
 * Where is the resize of a pod: idle, in progress, deferred, infeasible or in error?
 *
 * The answer comes from generations, conditions and values. It is about the whole pod, as the kubelet admits all
 * resizes of a pod together (KEP-1287). Also: which fields podfit wrote and the kubelet has not enacted.
 */
import { listOwnedFields } from "../units/managed_fields.ts";
import { isSameSize, RESOURCE_FIELDS, type ResourceField, type Resources } from "../units/resources.ts";
import { formatDuration } from "../units/time.ts";
import { type ContainerFacts, getActualSize, type PodFacts } from "./pod.ts";
import type { StuckReason } from "./reasons.ts";
import type { PodState } from "./state.ts";

/** The status of the pod's resize; idle if there is none. */
export type ResizeStatus = { readonly kind: "idle" } | UnfinishedResize<"inProgress"> | StuckResize;

/** The kubelet cannot apply it as things are. */
export type StuckResize = UnfinishedResize<"deferred" | "infeasible" | "error">;

/** The reason for each way of being stuck. */
export const STUCK_REASONS: Readonly<Record<StuckResize["kind"], StuckReason>> = {
  deferred: "ResizeDeferred",
  infeasible: "ResizeInfeasible",
  error: "ResizeError",
};

/** Returns whether the kubelet waits for something that podfit may have to give up. Clauses: C41. */
export function isStuck(status: ResizeStatus): status is StuckResize {
  return status.kind !== "idle" && status.kind !== "inProgress";
}

/** Returns the status of the whole pod: the first that applies of generations, conditions and values. */
export function computeResizeStatus(pod: PodFacts, state: PodState, now: number): ResizeStatus {
  const reported = computeReportedStatus(pod, state, now);
  if (reported.kind !== "idle") return reported;
  if (state.differingSince !== null && now - state.differingSince < DIFFERENCE_MS) {
    const message = `reported and specified sizes differ since ${formatDuration(now - state.differingSince)}`;
    return { kind: "inProgress", message, since: state.differingSince };
  }
  return { kind: "idle" };
}

/** Returns whether spec and reported size of some container differ without a resize condition. */
export function hasBareDifference(pod: PodFacts, state: PodState, now: number): boolean {
  return computeReportedStatus(pod, state, now).kind === "idle" &&
    pod.containers.some((container) =>
      container.kind !== "init" && container.runningAt !== null && !isSameSize(container.spec, getActualSize(container))
    );
}

/**
 * Returns whether the resize is in force: no condition, every generation observed, the container's values equal.
 * Clauses: C45.
 */
export function isEnacted(pod: PodFacts, container: ContainerFacts, generation: number): boolean {
  if (pod.pending !== null || pod.inProgress !== null) return false;
  if (pod.observedGeneration !== null && pod.observedGeneration < generation) return false;
  if (pod.generation !== null && pod.generation < generation) return false;
  return container.reported !== null && isSameSize(container.spec, container.reported);
}

/** Returns the fields of the container that podfit was the last to write and that are not enacted. Clauses: C47. */
export function listStuckFields(pod: PodFacts, container: ContainerFacts): readonly ResourceField[] {
  const actual = getActualSize(container);
  return pod.resizes.filter(({ manager }) => manager === `podfit.${container.name}`)
    .flatMap(({ owned }) => listOwnedFields(owned, container.name))
    .filter((key) => container.spec[key] !== actual[key]);
}

/**
 * Returns whether everything in the pod that waits for headroom was written by podfit in this container. Then it may be
 * taken back. Clauses: L31.
 */
export function isOwnResizeWaiting(pod: PodFacts, container: ContainerFacts): boolean {
  const own = listStuckFields(pod, container);
  if (own.length === 0) return false;
  return pod.containers.every((one) => {
    if (one.kind === "init") return true;
    const actual = getActualSize(one);
    return RESOURCE_FIELDS.every((key) => one.spec[key] === actual[key] || (one === container && own.includes(key)));
  });
}

/** Returns whether all that waits in the pod was written by podfit, in whichever container. Clauses: L31. */
export function isEachWaitingOwn(pod: PodFacts): boolean {
  return pod.containers.every((one) => {
    if (one.kind === "init") return true;
    const [actual, own] = [getActualSize(one), listStuckFields(pod, one)];
    return RESOURCE_FIELDS.every((key) => one.spec[key] === actual[key] || own.includes(key));
  });
}

/** Returns the container's spec with these fields at the size in force. */
export function toReverted(container: ContainerFacts, sides: readonly ResourceField[]): Resources {
  if (sides.length === 0) return container.spec;
  const to: Record<ResourceField, number | null> = { ...container.spec };
  for (const key of sides) to[key] = getActualSize(container)[key] ?? container.spec[key];
  return to;
}

interface UnfinishedResize<Kind> {
  readonly kind: Kind;
  readonly message: string;
  /** Epoch ms, by podfit's clock as far as it is known. */
  readonly since: number;
}

/** A bare difference of values blocks this long, then it is taken for the runtime's own rounding. */
const DIFFERENCE_MS = 30_000;

/** Returns the status that the pod itself shows: generations, conditions, allocation. */
function computeReportedStatus(pod: PodFacts, state: PodState, now: number): ResizeStatus {
  const generation = Math.max(pod.generation ?? 0, state.generation);
  if (pod.observedGeneration !== null && generation > pod.observedGeneration) {
    const message = `the kubelet has seen generation ${pod.observedGeneration} of ${generation}`;
    return { kind: "inProgress", message, since: state.command?.at ?? now };
  }
  if (pod.observedGeneration === null && pod.generation !== null && generation > pod.generation) {
    const message = `generation ${generation} of the pod has not arrived yet`;
    return { kind: "inProgress", message, since: state.command?.at ?? now };
  }
  if (pod.inProgress !== null) {
    const { reason, message, since } = pod.inProgress;
    const kind = reason === "Error" ? "error" : "inProgress";
    const began = state.inProgressSince?.since ?? since ?? now;
    return { kind, message: message || "the kubelet is applying it", since: began };
  }
  if (pod.pending !== null) {
    const { reason, message, since } = pod.pending;
    const kind = reason === "Infeasible" ? "infeasible" : "deferred";
    return { kind, message: message || reason, since: state.pendingSince?.since ?? since ?? now };
  }
  if (pod.observedGeneration === null && pod.containers.some(isAllocating)) {
    return { kind: "inProgress", message: "allocated requests differ from the spec's", since: now };
  }
  return { kind: "idle" };
}

function isAllocating({ kind, spec, allocated }: ContainerFacts): boolean {
  if (kind === "init" || allocated === null) return false;
  const requests: readonly ResourceField[] = ["cpu.requests", "memory.requests"];
  return requests.some((key) => spec[key] !== allocated[key]);
}
