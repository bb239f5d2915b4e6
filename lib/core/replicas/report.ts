/** What a pass of a ScaledObject tells log, metrics and people who ask why (R94). */
import type { ReplicasReason } from "./reasons.ts";

/** What one half found and did. */
export interface ReplicasReport {
  readonly half: "poll" | "tick";
  readonly replicas: number;
  /** After this pass, if what it writes is accepted. */
  readonly desired: number;
  /** `null` = nothing was wanted. */
  readonly reason: ReplicasReason | null;
  readonly message: string;
  readonly triggers: readonly TriggerReport[];
  /** What the metrics ask for before any limit; `null` where no metric was computed. */
  readonly need: number | null;
  /** After the windows; `null` likewise. */
  readonly stabilized: number | null;
}

/** What one trigger said. */
export interface TriggerReport {
  /** That of a formula is 0, as in KEDA's metrics. */
  readonly index: number;
  /** `composite` = the formula, which comes last. */
  readonly type: string;
  /** Its metric's name; that of a cpu or memory trigger is `cpu`, `memory`. */
  readonly metricName: string;
  /** The value that counted: that of fallback too (R71), and of a cpu or memory trigger the sum over its pods. `null` = there was none. */
  readonly value: number | null;
  /** Why asking it failed; `null` = it did not. */
  readonly error: string | null;
  /** `null` = it says nothing of activity. */
  readonly isActive: boolean | null;
  /** Of the tick half only. */
  readonly proposal: ProposalReport | null;
}

/** How the tick half came to a trigger's proposal. */
export interface ProposalReport {
  readonly replicas: number;
  /** Where they differ the trigger is coupled (R83). */
  readonly lo: number;
  readonly hi: number;
  /** Of usage to target, by the run that decided; `null` where there is none. */
  readonly ratio: number | null;
  readonly ready: number;
  readonly unready: number;
  readonly missing: number;
}
