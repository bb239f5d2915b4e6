/**
 * Why a side of a container waits (C44, C47). A side may wait for one reason of each kind at once: a server that is busy
 * says nothing about the quota that refused a size before.
 */
import type { Action } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { RefusalReason, StuckReason } from "../reasons.ts";

/** Reasons that are not about the size: whatever is wanted of the side waits. */
export type EverythingReason = Extract<RefusalReason, "RetryLater" | "Rights" | "Unsupported">;
/** Reasons that are about the size: a smaller change may pass. */
export type SizeReason = Exclude<RefusalReason, EverythingReason>;

/** Holds back every resize of the side. */
export interface EverythingRefusal extends Wait {
  readonly kind: "everything";
  readonly reason: EverythingReason;
}

/** The API server refused this size: it waits, and so does what goes as far or further. */
export interface SizeRefusal extends Wait {
  readonly kind: "size";
  readonly reason: SizeReason;
  /** The amount that was refused, millicores or bytes. */
  readonly to: number;
}

/** The kubelet could not enact this size, and podfit reverted it: it waits like a refused one. */
export interface GivenUpRefusal extends Wait {
  readonly kind: "givenUp";
  readonly reason: StuckReason;
  readonly to: number;
}

/** One reason to wait, of one side. */
export type Refusal = EverythingRefusal | SizeRefusal | GivenUpRefusal;

/** At most one of each kind. */
export interface SideRefusals {
  readonly everything?: EverythingRefusal;
  readonly size?: SizeRefusal;
  readonly givenUp?: GivenUpRefusal;
}

/** By side; a side that waits for nothing is absent. */
export type Refusals = Readonly<Partial<Record<SideKey, SideRefusals>>>;

/** Shared, so that a container without refusals costs no memory for them. */
export const NO_REFUSALS: Refusals = Object.freeze({});

interface Wait {
  readonly message: string;
  /** When it may be tried again, epoch ms, and how long that was from the refusal on. */
  readonly until: number;
  readonly waitMs: number;
  /** What was refused; of what was given up, the action that had led to it. */
  readonly action: Action | "revert";
  /** What must be unchanged for the refusal to hold. */
  readonly podGeneration: number | null;
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly autoscalerGeneration: number;
}

/** Those of a side, in no particular order. */
export function listRefusals({ everything, size, givenUp }: SideRefusals): readonly Refusal[] {
  return [everything, size, givenUp].filter((one) => one !== undefined);
}

/** Those of a container. */
export function listAllRefusals(refusals: Refusals): readonly Refusal[] {
  return Object.values(refusals).flatMap(listRefusals);
}
