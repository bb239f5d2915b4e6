/** What one trigger asks for, before it is held against the others (R37 to R40). */
import type { ProposalReport } from "../report.ts";

/** Replicas, or why there is no number. */
export type Proposal =
  | (ProposalReport & {
    readonly kind: "proposal";
    /** Why it leaves replicas where they are though a yardstick alone would not (R83, R85). */
    readonly hold?: "VerticalFirst" | "VerticalUp";
  })
  /** `reason` is that of the condition HPAActive: FailedGetResourceMetric and the like. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };
