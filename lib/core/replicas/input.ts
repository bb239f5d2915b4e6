/**
 * What one pass of a ScaledObject through its fold may look at, and what comes of it:
 *
 *     decideReplicas(state, input) -> { state, write, notices, report }
 *
 * One state per object and one writer. The poll half activates and deactivates, the tick half does what the HPA does; the shell calls them by their
 * clocks (R7) and never both at once (R8).
 */
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { PodReading } from "./pod_reading.ts";
import type { ReplicasNotice } from "./notices.ts";
import type { CheckReason, ReplicasReason } from "./reasons.ts";
import type { ReplicasReport } from "./report.ts";
import type { ReplicasState } from "./state.ts";

/** Everything that one pass may look at, beside the state. */
export interface ReplicasInput {
  /** When the half was due (R7), or what happened was seen; wall clock, epoch ms. */
  readonly now: number;
  readonly object: ScaledObjectFacts;
  readonly observation: ReplicasObservation;
  /** `--dry-run`: nothing is written. */
  readonly dryRun: boolean;
  /** What the message of condition Ready warns of, beside: checks of other HPAs that were skipped (R77). */
  readonly warnings?: readonly string[];
}

export type ReplicasObservation =
  /** The object or podfit appeared, the spec or an annotation changed, or an obstacle is gone. No trigger is asked. */
  | { readonly kind: "changed"; readonly scale: Scale }
  /** Neither half runs until it is gone. */
  | { readonly kind: "obstructed"; readonly obstacle: Obstacle }
  /** `triggers` has one for each external trigger, by its index. */
  | { readonly kind: "poll"; readonly scale: Scale; readonly triggers: TriggerReadings; readonly readyPods: number }
  /** `triggers` has one for each trigger, by its index; `readyPods` is `countReadyPods`' answer. */
  | {
    readonly kind: "tick";
    readonly scale: Scale;
    readonly triggers: TriggerReadings;
    readonly readyPods: number | null;
  }
  | { readonly kind: "answered"; readonly write: ScaleWrite; readonly answer: ScaleAnswer }
  /** metadata.deletionTimestamp is set; `scale` is `null` when the target is gone. */
  | { readonly kind: "deleted"; readonly scale: Scale | null };

export type TriggerReadings = ReadonlyMap<number, TriggerReading>;

/** What asking one trigger gave. */
export type TriggerReading =
  /** As the source has it, not rounded (R17). `isCounted`: it is no repetition of one that was counted (R8, R70). */
  | { readonly kind: "value"; readonly value: number; readonly isCounted: boolean }
  | { readonly kind: "failed"; readonly message: string; readonly isCounted: boolean }
  /** Of a cpu or memory trigger; `isCoupled` (R80). */
  | { readonly kind: "pods"; readonly pods: readonly PodReading[]; readonly isCoupled: boolean };

/** The target's subresource scale. */
export interface Scale {
  /** spec.replicas, 0 where it is absent. */
  readonly replicas: number;
  readonly statusReplicas: number;
  readonly resourceVersion: string;
  /** The target's uid: another one is another target. */
  readonly uid: string;
  /** The plural name of the target's resource, by discovery; absent for Deployments and StatefulSets. */
  readonly resource?: string;
}

/** Why nothing is done with an object. */
export type Obstacle =
  | { readonly kind: "invalid" }
  /** ScaledObjectCheckFailed: no target, no /scale, no right, another HPA, a missing secret, an authentication that is not there. */
  | { readonly kind: "check"; readonly reason: CheckReason; readonly message: string }
  /** AmbiguousSelector (R78), InvalidSelector (R30). */
  | { readonly kind: "selector"; readonly reason: "AmbiguousSelector" | "InvalidSelector"; readonly message: string }
  /** GET scale failed: FailedGetScale. */
  | { readonly kind: "scale"; readonly message: string };

/** PUT of scale: from what was read to what shall be. */
export interface ScaleWrite {
  readonly from: Scale;
  readonly replicas: number;
  readonly half: "poll" | "tick" | "paused" | "restore";
  /** When the half was due (R7): stamps what is recorded once the write is accepted, however late the answer comes. */
  readonly at: number;
  readonly reason: ReplicasReason;
  /** What the event and the log say of it. */
  readonly message: string;
}

/** What became of a write. */
export type ScaleAnswer =
  | { readonly kind: "accepted"; readonly replicas: number }
  /** Somebody else wrote meanwhile, and replicas are others (R46). */
  | { readonly kind: "dropped" }
  | { readonly kind: "refused"; readonly code: number; readonly message: string }
  | { readonly kind: "unanswered"; readonly message: string };

/** What a pass comes to: the shell stores the state, sends the write and passes the rest on. */
export interface ReplicasOutcome {
  readonly state: ReplicasState;
  readonly write: ScaleWrite | null;
  readonly notices: readonly ReplicasNotice[];
  /** For log and metrics; `null` where no half ran. */
  readonly report: ReplicasReport | null;
}
