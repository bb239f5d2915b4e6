/** How a container's instances ended, as far as later decisions depend on it (L7, L10): plain data, and how much is kept. */

/** `oom`: killed at its memory limit; `node`: killed because its node ran out of memory; `crash`: an exit code but 0. */
export type EndingKind = "oom" | "node" | "crash" | "exit";

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
export interface Reflex {
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
export const FLOOR_MS = 24 * 60 * 60_000;
/** The growth of a limit after a kill, and its floor (L11, L12). */
export const KILL_FACTOR = 1.2;

/** Shared, so that a container that has not ended costs no memory for it. */
export const NO_ENDINGS: readonly Ending[] = Object.freeze([]);

/** A kill by the kernel, whoever ran out of memory. */
export function isKill({ kind }: Ending): boolean {
  return kind === "oom" || kind === "node";
}
