/**
 * A container's past: how its instances ended, which OOM kill was answered, and which sizes were refused.
 *
 * Plain data with the constants that say how long each counts.
 */
import type { ResourceField } from "../units/resources.ts";
import type { Action } from "./autoscaler.ts";
import type { RefusalReason, StuckReason } from "./reasons.ts";

/** One instance of a container that has ended. */
export interface Ending {
  /** Its containerID, so that each kill is answered once. Of a killed process see `toProcessKillId`. */
  readonly id: string;
  /** Epoch ms, by podfit's clock if podfit saw the end. */
  readonly at: number;
  readonly kind: EndingKind;
  /**
   * The memory limit in force at that time, in bytes; `null` = none. A kill at the limit (`oom`) also counts as a
   * sample of memory: usage was at least the limit.
   */
  readonly limitBytes: number | null;
}

/** The answer to the last OOM kill. */
export interface OomResponse {
  /** The `id` of the kill that was answered. */
  readonly kill: string;
  /** The instance that ran when the answer was accepted; `null` where podfit has not seen it. */
  readonly instance: string | null;
  /** How many times in a row it was sent because the size had not reached the pod's cgroup. */
  readonly resends: number;
}

/** The least that a scale-down leaves of a memory limit after an OOM kill. */
export interface KillFloor {
  readonly bytes: number;
  /** Epoch ms. */
  readonly until: number;
}

/** Two restarts within this time are a crash loop, in ms. An ending is kept for as long. */
export const ENDINGS_MS = 30 * 60_000;

/** A kill is answered, and counts as part of a series, for this long, in ms. */
export const KILL_MS = 10 * 60_000;

/** For this long the limit stays above the one that killed, in ms. */
export const KILL_FLOOR_MS = 24 * 60 * 60_000;

/** The growth of a limit after a kill, and its floor. */
export const KILL_FACTOR = 1.2;

/** Shared, so that a container that has not ended costs no memory for it. */
export const NO_ENDINGS: readonly Ending[] = Object.freeze([]);

/** Returns whether the kernel killed it, because of its limit or because of the node. */
export function isKill({ kind }: Ending): boolean {
  return kind === "oom" || kind === "node";
}

/**
 * Returns the id of a kill that only the cgroup shows: a process was killed, and its instance runs on. `count`: of the
 * kills in that cgroup. Clauses: L13.
 */
export function toProcessKillId(instance: string, count: number): string {
  return `${instance}#${count}`;
}

/** Returns whether it has such an id: the instance did not end. */
export function isProcessKill({ id }: Ending): boolean {
  return id.includes("#");
}

/** Returns whether it is the kill of a process of that instance. */
export function isProcessKillOf({ id }: Pick<Ending, "id">, instance: string): boolean {
  return id.startsWith(`${instance}#`);
}

/** Reasons that are not about the size: whatever is wanted of the field waits. */
export type EverythingReason = Extract<RefusalReason, "RetryLater" | "Rights" | "Unsupported">;

/** The API server refused this size. This size and any size further in that direction wait. */
export interface SizeRefusal extends RefusalWait {
  readonly kind: "size";
  readonly reason: SizeReason;
  /** The amount that was refused, millicores or bytes. */
  readonly to: number;
}

/** One reason to wait, of one field. */
export type Refusal = EverythingRefusal | SizeRefusal | GivenUpRefusal;

/**
 * At most one of each kind. They are separate: a server that is busy does not change a quota that refused a size
 * before.
 */
export interface SideRefusals {
  readonly everything?: EverythingRefusal;
  /** RetryLater: the server is asked again soon, and what it has refused before goes on waiting. */
  readonly busy?: EverythingRefusal;
  readonly size?: SizeRefusal;
  readonly givenUp?: GivenUpRefusal;
}

/** By field. A field without a refusal is absent. */
export type Refusals = Readonly<Partial<Record<ResourceField, SideRefusals>>>;

/** Shared, so that a container without refusals costs no memory for them. */
export const NO_REFUSALS: Refusals = Object.freeze({});

/** Returns the refusals of one field, in no particular order. Clauses: C44, C47. */
export function listRefusals({ everything, busy, size, givenUp }: SideRefusals): readonly Refusal[] {
  return [everything, busy, size, givenUp].filter((one) => one !== undefined);
}

/** Returns the refusals of all fields of a container. */
export function listAllRefusals(refusals: Refusals): readonly Refusal[] {
  return Object.values(refusals).flatMap(listRefusals);
}

/**
 * `oom`: killed at its memory limit; `node`: killed because its node ran out of memory; `crash`: any exit code except
 * 0.
 */
type EndingKind = "oom" | "node" | "crash" | "exit";

/** Reasons that concern the size: a smaller change may be accepted. */
type SizeReason = Exclude<RefusalReason, EverythingReason>;

/** Blocks every resize of the field. */
interface EverythingRefusal extends RefusalWait {
  readonly kind: "everything";
  readonly reason: EverythingReason;
}

/** The kubelet could not apply this size, and podfit reverted it. It waits like a refused size. */
interface GivenUpRefusal extends RefusalWait {
  readonly kind: "givenUp";
  readonly reason: StuckReason;
  readonly to: number;
}

interface RefusalWait {
  readonly message: string;
  /** When it may be tried again, epoch ms. `waitMs` is the length of that wait. */
  readonly until: number;
  readonly waitMs: number;
  /** The refused action; for a size that was reverted, the action that led to it. */
  readonly action: Action | "revert";
  /** The refusal ends when one of these changes. */
  readonly podGeneration: number | null;
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly autoscalerGeneration: number;
}
