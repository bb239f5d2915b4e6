/** Slips in demand that a limit hides (L20 to L23). */
import type { Mutations } from "../../tools/mutation.ts";

export const SATURATION: Mutations = {
  L20: [
    {
      breaks: "measures limits that are not set",
      in: "computeHeldBackShare",
      find: "return cpuLimitMillicores !== null && (isBusy",
      replace: "return (cpuLimitMillicores === null || isBusy",
      test: "computeHeldBack() lets `full` count for a limit that is set and half used, or that throttled (L20)",
    },
    {
      breaks: "believes a total against the kernel's own means",
      in: "computePsiShare",
      find: "hint.percent * MAX_PSI_FADE < share * 100",
      replace: "hint.percent < 0",
      test: "computeHeldBack() doubts a total that the kernel's own means do not bear out (L20)",
    },
    {
      breaks: "takes the runtime's nanoseconds for microseconds",
      in: "findPsiUnit",
      find: 'largest * NS_PER_UNIT.us <= toLongestNs(ageMs) ? "us" : "ns"',
      replace: '"us" as "us" | "ns"',
      test: "parsePressure() gives the same time of the kernel's microseconds and of the runtime's nanoseconds (L20)",
    },
    {
      breaks: "takes all totals for nanoseconds, as they are documented",
      in: "findPsiUnit",
      find: 'largest * NS_PER_UNIT.us <= toLongestNs(ageMs) ? "us" : "ns"',
      replace: '"ns" as "us" | "ns"',
      test: "parsePressure() gives the same time of the kernel's microseconds and of the runtime's nanoseconds (L20)",
    },
  ],
  L21: [
    {
      breaks: "takes the sum over CPUs for time",
      in: "computeThrottledShare",
      find: "? usedNs / largestNs",
      replace: "? 1",
      test: "computeHeldBack() shares throttled time out over the CPUs that ran the container (L21)",
    },
    {
      breaks: "makes one CPU up where none is told apart",
      in: "computeThrottledShare",
      find: ": nodeMillicores / 1000",
      replace: ": 1",
      test:
        "computeHeldBack() takes all of the node's CPUs for those that were throttled where none is told apart (L21)",
    },
    {
      breaks: "makes demand up at the limit",
      in: "computeHeldBack",
      find: "heldBack === null ? cpuMillicores :",
      replace: "heldBack === null ? (isFull ? 2 * cpuMillicores : cpuMillicores) :",
      test: "computeHeldBack() makes nothing up without a measure, nor under `throttling: ignore` (L21)",
    },
    {
      breaks: "has `throttling: ignore` for a word",
      in: "computePointHeldBack",
      find: 'throttling === "measure"',
      replace: "throttling.length > 0",
      test: "decideSize() goes by the letter under `throttling: ignore` (L21)",
    },
    {
      breaks: "judges and sizes by what was used",
      in: "findUsage",
      find: "sample.demandMillicores",
      replace: "sample.cpuMillicores",
      test: "decideSize() sizes requests and limits by demand after one saturated sample (L21, L22)",
    },
    {
      breaks: "hides what a limit hides from those who ask",
      in: "explainHold",
      find: 'words === ""',
      replace: "words.length >= 0",
      test: "explainHold() says what a limit hides where nothing is wanted (L21)",
    },
  ],
  L22: [
    {
      breaks: "waits at the limit as well",
      in: "isLoadStepPossible",
      find: "&& !fillsLimit(cpuMillicores, limitMillicores)",
      replace: "&& limitMillicores !== 0",
      test: "isStreakFull() waits for a second sample where a step may have begun within a short one (L22)",
    },
    {
      breaks: "is full for ever after one saturated sample",
      in: "nextStreaks",
      find: "isSaturated: isSaturated && isSure }",
      replace: "isSaturated: isSaturated && isSure || before?.isSaturated === true }",
      test: "isStreakFull() has a saturated streak of cpu for full while its newest sample is, and no other (L22)",
    },
    {
      breaks: "hurries memory along with cpu",
      in: "nextStreaks",
      find: 'rule.resource === "cpu" ?',
      replace: "rule.key !== undefined ?",
      test: "isStreakFull() has a saturated streak of cpu for full while its newest sample is, and no other (L22)",
    },
    {
      breaks: "starts memory's streak anew with each resize behind the limit",
      in: "keepStreaksOverPatch",
      find: 'changes.every((key) => key.startsWith("cpu.")) ? keepMemoryStreaks(streaks) : NO_STREAKS',
      replace: "changes.length > 9 ? keepMemoryStreaks(streaks) : NO_STREAKS",
      test: "decideSize() keeps memory's streak over the resizes that a saturated CPU brings, and fills it (L3, L22)",
    },
  ],
  L23: [
    {
      breaks: "runs threads on more CPUs than the node has",
      in: "computeHolding",
      find: "Math.max(1, nodeMillicores / 1000)",
      replace: "Infinity",
      test: "computeHolding() gives PSI as it was published: 0.92 for two threads at 168m, 0.75 for four at 500m (L23)",
    },
    {
      breaks: "counts the demand that was not met as throttled, which is in another unit",
      in: "nextMeter",
      find: "got.throttled * got.cpus * MILLICORES",
      replace: "got.unmetMillicores",
      test: "the model throttles as the kernel was recorded to: part-150m (L23)",
    },
    {
      breaks: "serves cAdvisor's totals in nanoseconds",
      in: "toPsi",
      find: 'unit === "us" ? Math.floor(ns / 1000) : ns',
      replace: "ns",
      test: "a summary has PSI in the runtime's nanoseconds first, then in cAdvisor's microseconds (L20, L23)",
    },
    {
      breaks: "serves PSI of a cgroup that has none",
      in: "toContainerStats",
      find: "state.config.hasPsi ? sample.psi : null",
      replace: "sample.psi",
      test: "a summary of a node without PSI has none of the runtime and zeros of cAdvisor, as recorded (L20, L23)",
    },
  ],
};
