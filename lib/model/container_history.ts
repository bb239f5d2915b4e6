/**
 * What is remembered of a container's past: how its instances ended, which OOM kill was answered, and which sizes were
 * refused.
 *
 * Plain data with the constants that say how long each counts.
 */
import type { ResourceField } from "../units/resources.ts";
import type { Action } from "./autoscaler.ts";
import type { RefusalReason, StuckReason } from "./reasons.ts";

// How a container's instances ended, as far as later decisions depend on it (L7, L10): plain data, and how much is
// kept.

/** One instance of a container that has ended. */
export interface Ending {
  /** Its containerID: a kill is answered once (L10). */
  readonly id: string;
  /** Epoch ms, by our clock where the end was watched. */
  readonly at: number;
  readonly kind: EndingKind;
  /**
   * The memory limit in force then, bytes; `null` = none. A kill at the limit (`oom`) is a sample of memory of that size,
   * too: usage was at least this, whatever the last poll had said (L10).
   */
  readonly limitBytes: number | null;
}

/** The answer to the last OOM kill (L11). */
export interface OomResponse {
  /** The `id` of the kill that was answered. */
  readonly kill: string;
  /** The instance that ran when the answer was accepted; `null` where podfit has not seen it. */
  readonly instance: string | null;
  /** How often in a row it was sent because the size had not reached the pod's cgroup. */
  readonly resends: number;
}

/** The least that a scale-down leaves of a memory limit after an OOM kill (L12). */
export interface KillFloor {
  readonly bytes: number;
  /** Epoch ms. */
  readonly until: number;
}

/** Two restarts within this long are a crash loop (L7), ms: so long an ending is kept. */
export const ENDINGS_MS = 30 * 60_000;

/** A kill is answered, and counts as one of a row, for this long (L10, L11), ms. */
export const KILL_MS = 10 * 60_000;

/** For so long the limit stays above the one that killed (L12), ms. */
export const KILL_FLOOR_MS = 24 * 60 * 60_000;

/** The growth of a limit after a kill, and its floor (L11, L12). */
export const KILL_FACTOR = 1.2;

/** Shared, so that a container that has not ended costs no memory for it. */
export const NO_ENDINGS: readonly Ending[] = Object.freeze([]);

/** A kill by the kernel, whoever ran out of memory. */
export function isKill({ kind }: Ending): boolean {
  return kind === "oom" || kind === "node";
}

// Why a side of a container waits (C44, C47). A side may wait for one reason of each kind at once: a server that is
// busy says nothing about the quota that refused a size before.

/** Reasons that are not about the size: whatever is wanted of the side waits. */
export type EverythingReason = Extract<RefusalReason, "RetryLater" | "Rights" | "Unsupported">;

/** The API server refused this size: it waits, and so does what goes as far or further. */
export interface SizeRefusal extends RefusalWait {
  readonly kind: "size";
  readonly reason: SizeReason;
  /** The amount that was refused, millicores or bytes. */
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
export type Refusals = Readonly<Partial<Record<ResourceField, SideRefusals>>>;

/** Shared, so that a container without refusals costs no memory for them. */
export const NO_REFUSALS: Refusals = Object.freeze({});

/** Those of a side, in no particular order. */
export function listRefusals({ everything, size, givenUp }: SideRefusals): readonly Refusal[] {
  return [everything, size, givenUp].filter((one) => one !== undefined);
}

/** Those of a container. */
export function listAllRefusals(refusals: Refusals): readonly Refusal[] {
  return Object.values(refusals).flatMap(listRefusals);
}

/** `oom`: killed at its memory limit; `node`: killed because its node ran out of memory; `crash`: an exit code but 0. */
type EndingKind = "oom" | "node" | "crash" | "exit";

/** Reasons that are about the size: a smaller change may pass. */
type SizeReason = Exclude<RefusalReason, EverythingReason>;

/** Holds back every resize of the side. */
interface EverythingRefusal extends RefusalWait {
  readonly kind: "everything";
  readonly reason: EverythingReason;
}

/** The kubelet could not enact this size, and podfit reverted it: it waits like a refused one. */
interface GivenUpRefusal extends RefusalWait {
  readonly kind: "givenUp";
  readonly reason: StuckReason;
  readonly to: number;
}

interface RefusalWait {
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
