/**
 * What the poll half does next (R52, R53): the table of KEDA's RequestScale.
 * https://github.com/kedacore/keda/blob/v2.20.2/pkg/scaling/executor/scale_scaledobjects.go
 */
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";

export type PollStep =
  /** From zero or idle to at least one. */
  | "activate"
  /** Active, but some trigger failed. */
  | "doubt"
  | "stay"
  /** Failed triggers will be replaced by fallback, or have none to wait for. Neither ever scales to zero. */
  | "awaitFallback"
  | "fail"
  /** To idle or zero, once cooled. */
  | "deactivate"
  /** Inactive with fewer than the minimum. */
  | "raise"
  | "rest";

/** What the table looks at. */
export interface PollCase extends Pick<ScaledObject, "idleReplicas" | "minReplicas"> {
  /** By its triggers, or forced. */
  readonly isActive: boolean;
  readonly isError: boolean;
  readonly hasFallback: boolean;
  readonly replicas: number;
}

export function choosePollStep(it: PollCase): PollStep {
  return it.isActive ? chooseActive(it) : chooseInactive(it);
}

function chooseActive({ isError, idleReplicas, minReplicas, replicas }: PollCase): PollStep {
  if (replicas === 0 || (idleReplicas !== null && replicas < minReplicas)) return "activate";
  return isError ? "doubt" : "stay";
}

function chooseInactive({ isError, hasFallback, idleReplicas, minReplicas, replicas }: PollCase): PollStep {
  if (isError) return hasFallback ? "awaitFallback" : "fail";
  if (idleReplicas !== null && replicas > idleReplicas) return "deactivate";
  if (replicas > 0 && minReplicas === 0) return "deactivate";
  return idleReplicas === null && replicas < minReplicas ? "raise" : "rest";
}
