/**
 * The rule of the document: a side whose streak is full wants usage / target (C31, C33). A scale-down is sized by the
 * most that its evidence shows, never by the newest sample alone (L1).
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import type { Case } from "../case.ts";
import { readEvidence } from "../observe/evidence.ts";
import type { View } from "../state.ts";
import { readActual } from "../pod/pod_facts.ts";
import { recommend } from "../size/recommend.ts";
import { assessSide } from "./assess.ts";
import { heldBackWords } from "./held_back_words.ts";
import { NO_PROPOSALS, type Proposal } from "./proposal.ts";

/** One proposal per side with a full streak; none while nothing is known. */
export function proposeByThresholds({ autoscaler, view, container }: Case): readonly Proposal[] {
  if (view.wantedSince === null) return NO_PROPOSALS;
  const actual = readActual(container);
  const proposals: Proposal[] = [];
  for (const rule of autoscaler.sides) {
    const { wanted, demand, utilizationPercent } = assessSide(rule, view, actual);
    if (wanted === null || demand === null) continue;
    proposals.push({
      side: rule.key,
      direction: wanted,
      amount: recommend(rule[wanted], wanted === "up" ? demand : readLowUsage(rule, view, demand)),
      why: `${rule.key} at ${Math.round(utilizationPercent ?? 0)} %${
        heldBackWords(rule.resource, view.sampling.sample)
      }`,
      cause: "usage",
    });
  }
  return proposals;
}

/** A percentile stands for what was used (L4); else the peak of the streak, or of the window where that is higher. */
function readLowUsage(rule: SideRule, { streaks, evidence }: View, usage: number): number {
  const seen = readEvidence(evidence, rule);
  if (rule.down.percentile !== null) return seen ?? usage;
  const { peakUsage, olderPeakUsage } = streaks[rule.key] ?? {};
  return Math.max(usage, peakUsage ?? 0, olderPeakUsage ?? 0, seen ?? 0);
}
