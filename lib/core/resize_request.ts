/**
 * A PATCH of pods/resize as data: what the fold asks for, and what the API server answered. The shell sends it and
 * feeds the answer back as an observation.
 */
import type { Action } from "../autoscaler/autoscaler.ts";
import type { Resource, Resources, SideKey } from "../units/resources.ts";
import type { Reflex } from "./observe/ending.ts";
import type { RefusalReason, ResizeReason, StuckReason } from "./reasons.ts";

/** At most one per pod at a time. */
export interface ResizeRequest {
  /** The autoscaler's uid, and the generation of its spec that this was decided by. */
  readonly autoscaler: string;
  readonly autoscalerGeneration: number;
  readonly container: string;
  readonly kind: "container" | "sidecar" | "init";
  /** `revert`: gives up a stuck resize (C47), which is no scale action. */
  readonly action: Action | "revert";
  /** The pod as it was decided on: the PATCH is refused for another one. */
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | null;
  /** What `to` is measured from: the spec, or where a stuck resize is given up, the size in force. */
  readonly from: Resources;
  readonly to: Resources;
  /** The fields in which `to` differs from the spec. */
  readonly changes: readonly SideKey[];
  /** What the resize that a revert gives up is stuck in; `null` for scale actions. */
  readonly stuck: StuckReason | null;
  /** `null` for one by usage, and for a revert. */
  readonly reason: ResizeReason | null;
  /**
   * The size that the spec had, where a scale-up takes back sides that waited for room (L31): they wait like refused
   * ones. `null` = it takes back none, or room is known and says when they go.
   */
  readonly givesUp: Resources | null;
  /** In words, for the event: what was used of what. */
  readonly why: string;
  /** What is remembered of an answer to an OOM kill once it is accepted (L11); `null` for any other request. */
  readonly reflex: Reflex | null;
}

/** What came of a request. */
export type Answer =
  | { readonly kind: "accepted"; readonly generation: number | null }
  /** The pod is gone or another has its name. */
  | { readonly kind: "gone" }
  /** The pod has changed since the decision. */
  | { readonly kind: "conflict" }
  /** Never sent: the pod, or who contends for it, has changed while it waited for a free slot. */
  | { readonly kind: "withdrawn" }
  /** No answer came: the request may have arrived or not. */
  | { readonly kind: "unconfirmed"; readonly message: string }
  | Refused;

/** The API server said no; nothing has changed. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: RefusalReason;
  readonly message: string;
  /** Resources that the refusal names; empty = all that were to change. */
  readonly resources: readonly Resource[];
  /** How long to wait as the server asked, ms; `null` = our own back-off. */
  readonly waitMs: number | null;
}
