/**
 * A PATCH of pods/resize as data, and the answers that the API server may give to it.
 *
 * The decision returns the request. The daemon sends it and gives the answer back as an observation. Also: how two
 * sizes differ, as text.
 */
import { formatAmount } from "../units/quantity.ts";
import { type Resource, RESOURCE_FIELDS, type ResourceField, resourceOf, type Resources } from "../units/resources.ts";
import type { Action } from "./autoscaler.ts";
import type { OomResponse } from "./container_history.ts";
import type { RefusalReason, ResizeReason, StuckReason } from "./reasons.ts";

/** At most one per pod at a time. */
export interface ResizeRequest {
  /** The autoscaler's uid, and the generation of its spec that this was decided by. */
  readonly autoscaler: string;
  readonly autoscalerGeneration: number;
  readonly container: string;
  readonly kind: "container" | "sidecar" | "init";
  /** `revert`: takes back a stuck resize, and does not count as a scale action. */
  readonly action: Action | "revert";
  /** The pod as it was decided on: the PATCH is refused for another one. */
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | null;
  /** What `to` is measured from: the spec, or where a stuck resize is given up, the size in force. */
  readonly from: Resources;
  readonly to: Resources;
  /** The fields in which `to` differs from the spec. */
  readonly changes: readonly ResourceField[];
  /** What the resize that a revert gives up is stuck in; `null` for scale actions. */
  readonly stuck: StuckReason | null;
  /** `null` for one by usage, and for a revert. */
  readonly reason: ResizeReason | null;
  /**
   * The size that the spec had, if a scale-up takes back fields that waited for headroom: they wait like refused ones.
   * `null` = none is taken back, or headroom is known and decides.
   */
  readonly givesUp: Resources | null;
  /** The cause as text, for the event. */
  readonly why: string;
  /** What is remembered of an answer to an OOM kill once it is accepted; `null` for any other request. */
  readonly reflex: OomResponse | null;
}

/** What came of a request. */
export type Answer =
  | { readonly kind: "accepted"; readonly generation: number | null }
  /** The pod is gone or another has its name. */
  | { readonly kind: "gone" }
  /** The pod has changed since the decision. */
  | { readonly kind: "conflict" }
  /** Never sent: the pod or its matching autoscalers changed while the request waited for a free slot. */
  | { readonly kind: "withdrawn" }
  /** No answer came: the request may have arrived or not. */
  | { readonly kind: "unconfirmed"; readonly message: string }
  | Refused;

/** The API server refused the request, and nothing changed. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: RefusalReason;
  readonly message: string;
  /** Resources that the refusal names; empty = all that were to change. */
  readonly resources: readonly Resource[];
  /** How long to wait as the server asked, ms; `null` = podfit's own back-off. */
  readonly waitMs: number | null;
}

/** Returns the fields in which two sizes differ, in the order of RESOURCE_FIELDS. */
export function listChangedFields(from: Resources, to: Resources): readonly ResourceField[] {
  return from === to ? NO_CHANGES : RESOURCE_FIELDS.filter((key) => from[key] !== to[key]);
}

/** Returns a change as text: `cpu.requests 50m -> 100m, memory.limits 64Mi -> 96Mi`. */
export function describeChange(from: Resources, to: Resources, keys: readonly ResourceField[]): string {
  return keys.map((key) => `${key} ${formatFieldAmount(key, from[key])} -> ${formatFieldAmount(key, to[key])}`).join(
    ", ",
  );
}

/** Returns the text of the amount of a field as in a pod's spec: `50m`, `96Mi`; `none` if the field is absent. */
export function formatFieldAmount(key: ResourceField, amount: number | null): string {
  return amount === null ? "none" : formatAmount(amount, resourceOf(key));
}

/** Shared, as most sizes that are compared are one. */
const NO_CHANGES: readonly ResourceField[] = [];
