/**
 * What one evaluation of a pod receives and what it returns: `SizeInput` and `SizeOutcome`.
 *
 * Plain JSON. Decisions and requests name their autoscaler by uid. A `ContainerCase` is one container with its owning
 * autoscaler.
 */
import type { PodUsage } from "../api/usage.ts";
import type { ResourceField, Resources } from "../units/resources.ts";
import type { Action, Autoscaler } from "./autoscaler.ts";
import type { ContainerFacts, PodFacts, Siblings } from "./pod.ts";
import type { Headroom, NamespaceLimits } from "./pod_amounts.ts";
import type { BlockReason, HoldReason, Notice, ResizeReason } from "./reasons.ts";
import type { Answer, ResizeRequest } from "./resize_request.ts";
import type { ResizeStatus } from "./resize_status.ts";
import type { AutoscalerView, ContainerState, PodState } from "./state.ts";

// What the fold is given and what it returns: the input of one evaluation, and its outcome. Plain JSON, in which
// decisions and requests name their autoscaler by uid.

/** Every side of one resize moves in the same direction (C32). */
export type Direction = "up" | "down";

/** Everything that one evaluation of a pod may look at, beside its state. */
export interface SizeInput {
  /** Steady time, epoch ms: the wall clock's steps do not change it. */
  readonly now: number;
  /** How far the wall clock is ahead of `now`, ms; absent = 0. Times of the pod and of the API server are wall times. */
  readonly wallAheadMs?: number;
  readonly pod: PodFacts;
  /** Autoscalers that match the pod and whose container it has: unpaused, valid, resolved (C12). */
  readonly contenders: readonly Autoscaler[];
  readonly observation: Observation;
  /** By container: what the pod's siblings have (L40); `null` where nobody asks for it, or nothing is known. */
  readonly siblings: Siblings | null;
  /** What the pod's node has left (L30); `null` = not known: refusals are believed. */
  readonly room: Headroom | null;
  /** Limit ranges and quotas of the pod's namespace (L32); `null` = none are known. */
  readonly limits: NamespaceLimits | null;
  /** False where API server or kubelet lower no memory limit without a restart: before Kubernetes 1.34 (L33). */
  readonly lowersMemoryLimits: boolean;
  /** A request of the pod has been sent and not answered yet: it is sampled, and not resized (C23, C41). */
  readonly inFlight: boolean;
  /** One more gate: decide everything, resize nothing. */
  readonly dryRun: boolean;
  /** podfit runs in the pod itself, and sizes it where it has the label (C17). */
  readonly isSidecar?: boolean;
  /** The node has condition MemoryPressure (L13). */
  readonly memoryPressure?: boolean;
  /** By container: what scale-downs leave of its memory limit because siblings were OOM-killed, bytes (L14). */
  readonly killFloors?: Readonly<Record<string, number>>;
  /** Since when this podfit leads, where another may have led before, epoch ms (C55); absent = nobody else acts. */
  readonly ledSince?: number;
  /** By container: sides that do not go down because replicas are about to (R86). */
  readonly scaleInPending?: Readonly<Record<string, readonly ResourceField[]>>;
  /** When replicas of the pod's workload last fell by a trigger that is coupled with its size, epoch ms (R86). */
  readonly scaledInAt?: number;
}

/** What made the pod be evaluated. */
export type Observation =
  | {
    readonly kind: "usage";
    readonly usage: PodUsage;
    readonly clockOffsetMs: number;
    readonly capacity: NodeCapacity;
  }
  /** The pod or its contenders changed. */
  | { readonly kind: "changed" }
  /** Time has passed; the usage source had nothing for the pod. */
  | { readonly kind: "tick" }
  /** The API server's answer to a request, or what stands for one. */
  | { readonly kind: "answered"; readonly request: ResizeRequest; readonly answer: Answer };

/** What the node has; `null` = unknown. */
export interface NodeCapacity {
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

/** hold: nothing is wanted. blocked: wanted, but a gate objects. resize: go. revert: give up a stuck resize (C47). */
export type Decision =
  | { readonly kind: "hold"; readonly reason: HoldReason; readonly message: string }
  | {
    readonly kind: "blocked";
    readonly action: Action;
    readonly reason: BlockReason;
    readonly message: string;
    /** When it ends by itself, epoch ms, where that is known. */
    readonly until?: number;
  }
  | {
    readonly kind: "resize";
    readonly action: Action;
    /** What else than usage led to it. */
    readonly reason?: ResizeReason;
    readonly from: Resources;
    readonly to: Resources;
  }
  | { readonly kind: "revert"; readonly reason: BlockReason; readonly from: Resources; readonly to: Resources };

/** The decision about one container for one of its contenders. */
export interface ContainerDecision {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container: string;
  readonly decision: Decision;
  /** Sides with a full streak in the wanted direction that sizing would move, sent or blocked (C52). */
  readonly candidates: readonly ResourceField[];
  /** False when only standing proposals were put to the gates again. */
  readonly isNewSample: boolean;
}

/** What an evaluation comes to: the shell stores the state, sends the request and passes the rest on. */
export interface SizeOutcome {
  readonly state: PodState;
  readonly decisions: readonly ContainerDecision[];
  readonly notices: readonly Notice[];
  readonly request: ResizeRequest | null;
  readonly scaled: ScaleAction | null;
  readonly enacted: EnactedResize | null;
  /** How many points were skipped as implausible. */
  readonly implausible: number;
}

/** An accepted PATCH that changed the pod: the cooldown starts, lastScale* is written. */
export interface ScaleAction {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container: string;
  readonly action: Action;
  readonly at: number;
  /** Compact before -> after text: `cpu.requests 50m -> 100m`. */
  readonly change: string;
  readonly deltas: readonly { readonly key: ResourceField; readonly from: number; readonly to: number }[];
}

/** A commanded resize that the pod's status shows to be in force (C45). */
export interface EnactedResize {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly action: Action;
  /** From the accepted PATCH until it was seen in force. */
  readonly tookMs: number;
}

// One container with the autoscaler that owns it, and all that a decision about it may look at.

/** A container that has an owner, at one evaluation. */
export interface ContainerCase {
  readonly input: SizeInput;
  readonly state: PodState;
  /** Where the pod's resize stands. */
  readonly status: ResizeStatus;
  readonly autoscaler: Autoscaler;
  readonly view: AutoscalerView;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** The evaluation was due: pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
}

/** The request for a resize of the case's container, guarded by the pod as it was seen. */
export function newResizeRequest(
  { autoscaler, container, input: { pod } }: ContainerCase,
  resize: ResizeChange,
): ResizeRequest {
  return {
    autoscaler: autoscaler.uid,
    autoscalerGeneration: autoscaler.generation,
    container: container.name,
    kind: container.kind,
    uid: pod.uid,
    resourceVersion: pod.resourceVersion,
    generation: pod.generation,
    ...resize,
  };
}

/** What the decision adds to a request; the case has the rest. */
type ResizeChange = Pick<
  ResizeRequest,
  "action" | "from" | "to" | "changes" | "stuck" | "givesUp" | "reason" | "why" | "reflex"
>;
