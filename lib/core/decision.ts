/**
 * What the fold is given and what it returns: the input of one decision, and its outcome.
 * hold = nothing wanted, blocked = wanted but stopped, resize = go, return = give up a stuck resize (C47).
 */
import type { PodUsage } from "../api/usage.ts";
import type { Resource, Resources, SideKey } from "../units/resources.ts";
import type { PodFacts } from "./pod/pod_facts.ts";
import type { Action, Autoscaler } from "../autoscaler/autoscaler.ts";
import type { BlockReason, HoldReason, Notice, RefusalReason, StuckReason } from "./reasons.ts";
import type { PodState } from "./state.ts";

export type Direction = "up" | "down";

export interface Input {
  readonly now: number;
  readonly pod: PodFacts;
  /** Policies that match the pod and whose container it has: unpaused, valid, resolved (C12). */
  readonly contenders: readonly Autoscaler[];
  readonly observation: Observation;
  /** One more gate: decide everything, resize nothing. */
  readonly dryRun: boolean;
}

export type Observation =
  | { readonly kind: "usage"; readonly usage: PodUsage; readonly clockOffsetMs: number; readonly capacity: Capacity }
  /** The pod or its contenders changed. */
  | { readonly kind: "changed" }
  /** Time has passed; the usage source had nothing for the pod. */
  | { readonly kind: "tick" }
  | { readonly kind: "answered"; readonly order: ResizeRequest; readonly answer: Answer };

/** Of the node; `null` = unknown. */
export interface Capacity {
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

export type Decision =
  | { readonly kind: "hold"; readonly reason: HoldReason; readonly message: string }
  | {
    readonly kind: "blocked";
    readonly action: Action;
    readonly reason: BlockReason;
    readonly message: string;
    readonly until?: number;
  }
  | { readonly kind: "resize"; readonly action: Action; readonly from: Resources; readonly to: Resources }
  | { readonly kind: "return"; readonly reason: BlockReason; readonly from: Resources; readonly to: Resources };

export interface ContainerDecision {
  readonly policy: Autoscaler;
  readonly decision: Decision;
  /** Sides with a full streak in the wanted direction that sizing would move, sent or blocked (C52). */
  readonly candidates: readonly SideKey[];
  /** False when only the standing wish was put to the gates again. */
  readonly isNewSample: boolean;
}

export interface Assessment {
  readonly key: SideKey;
  readonly usage: number | null;
  readonly baseline: number | null;
  readonly utilizationPercent: number | null;
  readonly samples: number;
  readonly wish: Direction | null;
}

export interface Outcome {
  readonly state: PodState;
  readonly decisions: readonly ContainerDecision[];
  readonly notices: readonly Notice[];
  /** At most one order per pod at a time. */
  readonly request: ResizeRequest | null;
  readonly scaled: Scaled | null;
  readonly enacted: { readonly policy: Autoscaler; readonly action: Action; readonly tookMs: number } | null;
  /** Points that were skipped as absurd. */
  readonly implausible: number;
}

/** The PATCH to send. The answer comes back as an observation. */
export interface ResizeRequest {
  readonly policy: Autoscaler;
  readonly container: string;
  readonly kind: "container" | "sidecar" | "init";
  readonly action: Action | "return";
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | null;
  /** What `to` is measured from: the spec, or where a stuck resize is given up, the size in force. */
  readonly from: Resources;
  readonly to: Resources;
  /** The fields in which `to` differs from the spec. */
  readonly changes: readonly SideKey[];
  /** Of a return: what the resize that is given up is stuck in. */
  readonly stuck: StuckReason | null;
  /** In words, for the event: what was used of what. */
  readonly why: string;
}

export type Answer =
  | { readonly kind: "accepted"; readonly generation: number | null }
  /** The pod is gone or another has its name. */
  | { readonly kind: "gone" }
  /** The pod has changed since the decision. */
  | { readonly kind: "conflict" }
  /** Never sent: the pod, or who contends for it, has changed while it waited for its turn. */
  | { readonly kind: "withdrawn" }
  /** No answer came: it may have arrived or not. */
  | { readonly kind: "lost"; readonly message: string }
  | {
    readonly kind: "refused";
    readonly reason: RefusalReason;
    readonly message: string;
    /** Resources that the refusal names; empty = all that were to change. */
    readonly resources: readonly Resource[];
    /** As the server told; `null` = our own back-off. */
    readonly waitMs: number | null;
  };

/** An accepted PATCH that changed the pod: the cooldown starts, lastScale* is written. */
export interface Scaled {
  readonly policy: Autoscaler;
  readonly action: Action;
  readonly at: number;
  /** Compact before -> after text: `cpu.requests 50m -> 100m`. */
  readonly change: string;
  readonly deltas: readonly { readonly key: SideKey; readonly from: number; readonly to: number }[];
}
