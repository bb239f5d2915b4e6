/** Slips in scale-downs and their evidence (L1 to L7). */
import type { Mutations } from "../../tools/mutation.ts";

export const EVIDENCE: Mutations = {
  L1: [
    {
      breaks: "remembers the peak of a streak for ever",
      in: "nextStreak",
      find: "peakUsage: usage,",
      replace: "peakUsage: Math.max(peakUsage, usage),",
      test:
        "decideSize() sizes a scale-down by the peak of a streak that waited for long, as far as its last samples go (L1)",
    },
  ],
  L2: [
    {
      breaks: "forgets the peaks before a gap",
      in: "nextEvidence",
      find: "nextEvidenceFields(before.sides, rules, seen)",
      replace: "nextEvidenceFields(isGap ? NO_EVIDENCE_FIELDS : before.sides, rules, seen)",
      test: "decideSize() keeps the peaks from before a silence (L2)",
    },
    {
      breaks: "begins anew with each instance",
      in: "nextView",
      find: "if (isRestarted) return { ...known,",
      replace: "if (isRestarted) return { ...known, evidence: NO_EVIDENCE,",
      test: "decideSize() counts what an instance before used (L2)",
    },
    {
      breaks: "names the first wait to end",
      in: "lowForLong",
      find: "wait.until >= until",
      replace: "until === -Infinity",
      test: "decideSize() goes by the longest of what several sides wait for (L2)",
    },
    {
      breaks: "keeps the newest of a thirtieth",
      in: "addToPeaks",
      find: "getNumber(pairs, to + 1) > usage",
      replace: "getNumber(pairs, to + 1) > usage && pairs[to] !== bucket",
      test: "nextPeaks() keeps the higher of two in one thirtieth (L2)",
    },
    {
      breaks: "keeps what is too old when it writes in place",
      in: "addToPeaks",
      find: "pairs.copyWithin(0, from, to)",
      replace: "pairs.copyWithin(0, 0, to)",
      test: "writeEvidence() writes what nextEvidence() returns, and findNextEvidence() tells it before (L2, L4)",
    },
    {
      breaks: "looks ahead without what was seen",
      in: "findNextEvidence",
      find: ">= oldest",
      replace: "> oldest + WINDOW_BUCKETS",
      test: "writeEvidence() writes what nextEvidence() returns, and findNextEvidence() tells it before (L2, L4)",
    },
    {
      breaks: "writes peaks that another state reads",
      in: "writePeaks",
      find: "if (into === null) return { kind, windowMs, pairs: pairs.slice(0, used), used };",
      replace: "if (into === null) return { kind, windowMs, pairs: pairs as number[], used };",
      test:
        "flattenState() and copyNumbers() give each flat state peaks of its own, which both fields of a resource share (L2)",
    },
  ],
  L3: [
    {
      breaks: "takes its own down for an up",
      in: "nextContainer",
      find: "!isOwnEntry(pod, container.name, entryAt)",
      replace: "true",
      test: "decideSize() lets no up wait for its own down that the pod shows before its answer has come (L3)",
    },
    {
      breaks: "takes its own up for none if the answer was lost",
      in: "nextContainer",
      find: "isAnyLarger(container.spec, before.actual) || ",
      replace: "",
      test: "decideSize() lets an up wait for its own up whose answer was lost, though a webhook changed the size (L3)",
    },
    {
      breaks: "lets an up wait for a down",
      in: "computeFieldCooldownEnd",
      find: "? raisedAt : resizedAt",
      replace: "? resizedAt : resizedAt",
      test: "decideSize() lets an up wait for the last up, and a down for the last resize of either kind (L3)",
    },
    {
      breaks: "aims at one target",
      in: "proposeByThresholds",
      find: "rule[wanted]",
      replace: "rule.up",
      test: "decideSize() aims at the target of the direction (L3)",
    },
    {
      breaks: "asks for the samples of a scale-up",
      in: "isStreakFull",
      find: "rule[streak.direction]",
      replace: "rule.up",
      test: "decideSize() asks for as many samples in a row as the direction says (L3)",
    },
  ],
  L4: [
    {
      breaks: "goes up by the percentile",
      in: "compareWithThresholds",
      find: "usage * 100 >=",
      replace: "low * 100 >=",
      test: "decideSize() goes up by a sample, not by the percentile (L4)",
    },
    {
      breaks: "weighs all samples alike",
      in: "nextHistogram",
      find: "2 ** ((at - from) / halfLifeMs)",
      replace: "1",
      test: "nextHistogram() halves the weight of a sample with each half-life (L4)",
    },
    {
      breaks: "keeps what falls off the end as a bucket more",
      in: "shiftWeights",
      find: "shifted.splice(HISTOGRAM_BUCKETS - 1)",
      replace: "shifted.splice(4 * HISTOGRAM_BUCKETS)",
      test: "nextHistogram() stays bounded and finite whatever comes, and no percentile leaves what was seen (L4)",
    },
    {
      breaks: "keeps two histograms of the same usage",
      in: "nextEvidenceFields",
      find: "lastRule !== null && hasSameWindow",
      replace: "lastRule === undefined && hasSameWindow",
      test: "decideSize() keeps one histogram for both sides of a resource (L4)",
    },
  ],
  L5: [
    {
      breaks: "begins anew with a changed spec",
      in: "nextViewOfPolicy",
      find: "dueAt: now, evidence, streaks",
      replace: "dueAt: now, evidence: NO_EVIDENCE, streaks",
      test: "decideSize() keeps windows over a changed spec (L5)",
    },
    {
      breaks: "takes the watch of another window for that of a new one",
      in: "nextViewOfPolicy",
      find: "? { ...before.evidence, since: null }",
      replace: "? before.evidence",
      test:
        "decideSize() watches for a whole window that a changed spec brings, though it has watched another one (L2, L5)",
    },
  ],
};
