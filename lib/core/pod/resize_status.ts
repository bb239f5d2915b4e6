/**
 * Where a pod's resize stands (C41), read from generation, conditions and values; pod-wide, since the kubelet admits
 * and applies a pod's resizes as one (KEP-1287).
 */
import { isSameSize, type SideKey } from "../../units/resources.ts";
import { formatDuration } from "../../units/duration.ts";
import { type ContainerFacts, type PodFacts, readActual } from "./pod_facts.ts";
import type { StuckReason } from "../reasons.ts";
import type { PodState } from "../state.ts";

/** Where the resize of a pod stands; idle when there is none. */
export type ResizeStatus = { readonly kind: "idle" } | Unfinished<"inProgress"> | Stuck;

/** The kubelet cannot apply it as things are. */
export type Stuck = Unfinished<"deferred" | "infeasible" | "error">;

interface Unfinished<Kind> {
  readonly kind: Kind;
  readonly message: string;
  /** Epoch ms, by our clock as well as it can be known. */
  readonly since: number;
}

/** The reason for each way of being stuck. */
export const STUCK_REASONS: Readonly<Record<Stuck["kind"], StuckReason>> = {
  deferred: "ResizeDeferred",
  infeasible: "ResizeInfeasible",
  error: "ResizeError",
};

/** Whether the kubelet waits for something that podfit may have to give up. */
export function isStuck(status: ResizeStatus): status is Stuck {
  return status.kind !== "idle" && status.kind !== "inProgress";
}

/** A bare difference of values blocks this long, then it is taken for the runtime's own rounding. */
const DIFFERENCE_MS = 30_000;

/** What holds for the pod as a whole: the first that applies of generations, conditions, values. */
export function readResizeStatus(pod: PodFacts, state: PodState, now: number): ResizeStatus {
  const reported = readFromPod(pod, state, now);
  if (reported.kind !== "idle") return reported;
  if (state.differingSince !== null && now - state.differingSince < DIFFERENCE_MS) {
    const message = `reported and specified sizes differ since ${formatDuration(now - state.differingSince)}`;
    return { kind: "inProgress", message, since: state.differingSince };
  }
  return { kind: "idle" };
}

/** Spec and reported size of some container differ, and nothing says that a resize is under way. */
export function hasBareDifference(pod: PodFacts, state: PodState, now: number): boolean {
  return readFromPod(pod, state, now).kind === "idle" &&
    pod.containers.some((container) =>
      container.kind !== "init" && container.runningAt !== null && !isSameSize(container.spec, readActual(container))
    );
}

/** What the pod itself shows: generations, conditions, allocation. */
function readFromPod(pod: PodFacts, state: PodState, now: number): ResizeStatus {
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

/** No condition, every generation observed, the container's values equal (C45). */
export function isEnacted(pod: PodFacts, container: ContainerFacts, generation: number): boolean {
  if (pod.pending !== null || pod.inProgress !== null) return false;
  if (pod.observedGeneration !== null && pod.observedGeneration < generation) return false;
  if (pod.generation !== null && pod.generation < generation) return false;
  return container.reported !== null && isSameSize(container.spec, container.reported);
}

function isAllocating({ kind, spec, allocated }: ContainerFacts): boolean {
  if (kind === "init" || allocated === null) return false;
  const requests: readonly SideKey[] = ["cpu.requests", "memory.requests"];
  return requests.some((key) => spec[key] !== allocated[key]);
}
