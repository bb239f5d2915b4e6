/**
 * What one evaluation of a pod receives and what it returns: `SizeInput` and `SizeOutcome`.
 *
 * Plain JSON. Decisions and requests name their autoscaler by uid. A `ContainerCase` is one container with its owning
 * autoscaler.
 */
import type { PodUsage } from "../api/usage.ts";
import type { ResourceField, Resources } from "../units/resources.ts";
import type { Action, Autoscaler } from "./autoscaler.ts";
import type { Disruption } from "./disruption.ts";
import type { ContainerFacts, PodFacts, Siblings } from "./pod.ts";
import type { Headroom, NamespaceLimits } from "./pod_amounts.ts";
import type { BlockReason, HoldReason, Notice, ResizeReason } from "./reasons.ts";
import type { Answer, ResizeRequest } from "./resize_request.ts";
import type { ResizeStatus } from "./resize_status.ts";
import type { AutoscalerView, ContainerState, PodState } from "./state.ts";

/** All fields of one resize move in the same direction. */
export type Direction = "up" | "down";

/** Everything that one evaluation of a pod may read in addition to its state. */
export interface SizeInput {
  /** The time of the evaluation: steady time, epoch ms. Steps of the wall clock do not change it. */
  readonly now: number;
  /** How far the wall clock is ahead of `now`, ms; absent = 0. Times of the pod and of the API server are wall times. */
  readonly wallAheadMs?: number;
  readonly pod: PodFacts;
  /** Autoscalers that match the pod and whose container it has: unpaused, valid, resolved. */
  readonly contenders: readonly Autoscaler[];
  readonly observation: Observation;
  /** By container: the sizes of the pod's siblings; `null` = not needed or not known. */
  readonly siblings: Siblings | null;
  /** What the pod's node has left; `null` = not known, and the API server's refusals count. */
  readonly room: Headroom | null;
  /** Limit ranges and quotas of the pod's namespace; `null` = none are known. */
  readonly limits: NamespaceLimits | null;
  /** False if the API server or the kubelet cannot lower a memory limit without a restart: before Kubernetes 1.34. */
  readonly lowersMemoryLimits: boolean;
  /** A request of the pod is queued, or was sent and not answered yet: the pod is sampled and not resized. */
  readonly inFlight: boolean;
  /** Decide everything, send nothing. */
  readonly dryRun: boolean;
  /** podfit runs in the pod itself. It resizes the pod only if the pod has the label. */
  readonly isSidecar?: boolean;
  /** The node has condition MemoryPressure. */
  readonly memoryPressure?: boolean;
  /** By container: the lowest memory limit that a scale-down may set because siblings were OOM-killed, in bytes. */
  readonly killFloors?: Readonly<Record<string, number>>;
  /** Since when this podfit is the leader, epoch ms; absent = without leader election. */
  readonly ledSince?: number;
  /** By container: fields that must not shrink because replicas are about to be removed. */
  readonly scaleInPending?: Readonly<Record<string, readonly ResourceField[]>>;
  /** When replicas of the pod's workload were last removed by a trigger that is coupled with its size, epoch ms. */
  readonly scaledInAt?: number;
  /** What a restart would take from the pod's workload; absent = no resize restarts a container of it. */
  readonly disruption?: Disruption;
}

/** Why the pod is evaluated. */
export type Observation =
  | {
    readonly kind: "usage";
    readonly usage: PodUsage;
    readonly clockOffsetMs: number;
    readonly capacity: NodeCapacity;
  }
  /** The pod or its matching autoscalers changed. */
  | { readonly kind: "changed" }
  /** Time has passed, and there was no usage of the pod. */
  | { readonly kind: "tick" }
  /** The API server's answer to a request, or a substitute for an answer. */
  | { readonly kind: "answered"; readonly request: ResizeRequest; readonly answer: Answer };

/** What the node has; `null` = unknown. */
export interface NodeCapacity {
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

/**
 * hold: nothing to send: no change is wanted, usage is stale, or the size is at its bound or sent already. blocked: a change is wanted, and a gate objects. resize: it is sent. revert: a stuck
 * resize is taken back.
 */
export type Decision =
  | { readonly kind: "hold"; readonly reason: HoldReason; readonly message: string }
  | {
    readonly kind: "blocked";
    readonly action: Action;
    readonly reason: BlockReason;
    readonly message: string;
    /** When the block ends without a further change, epoch ms, if known. */
    readonly until?: number;
  }
  | {
    readonly kind: "resize";
    readonly action: Action;
    /** The cause, if it is not usage. */
    readonly reason?: ResizeReason;
    readonly from: Resources;
    readonly to: Resources;
  }
  | { readonly kind: "revert"; readonly reason: BlockReason; readonly from: Resources; readonly to: Resources };

/** The decision about one container for one matching autoscaler. */
export interface ContainerDecision {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container: string;
  readonly decision: Decision;
  /** Fields with a full streak that sizing would move, whether sent or blocked. */
  readonly candidates: readonly ResourceField[];
  /** False if no new sample was read and earlier proposals were asked again. */
  readonly isNewSample: boolean;
  /** The size that a stopped choice asks for, of its fields alone; absent if nothing is stopped. */
  readonly wanted?: WantedSize;
}

/** The amounts of the fields that should change, millicores or bytes. A field at its bound has what usage asks for. */
export type WantedSize = Readonly<Partial<Record<ResourceField, number>>>;

/** The result of an evaluation: the caller stores the state, sends the request and publishes the rest. */
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

/** An accepted PATCH that changed the pod: the cooldown starts, and lastScale* is written. */
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

/** A commanded resize that the pod's status shows to be in force. */
export interface EnactedResize {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly action: Action;
  /** From the accepted PATCH until it was seen in force. */
  readonly tookMs: number;
}

/** A container with its owning autoscaler, at one evaluation. */
export interface ContainerCase {
  readonly input: SizeInput;
  readonly state: PodState;
  /** The status of the pod's resize. */
  readonly status: ResizeStatus;
  readonly autoscaler: Autoscaler;
  readonly view: AutoscalerView;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** The evaluation was due: pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
}

/** Returns the request for a resize of the case's container. It carries the pod's resourceVersion and generation. */
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

/** The part of a request that the decision adds; the case has the rest. */
type ResizeChange = Pick<
  ResizeRequest,
  "action" | "from" | "to" | "changes" | "stuck" | "givesUp" | "reason" | "why" | "reflex"
>;
