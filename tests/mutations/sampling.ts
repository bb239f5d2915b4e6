/** Slips in turns, samples and the gates of a start (C20 to C24). */
import type { Mutations } from "../../tools/mutation.ts";

export const SAMPLING: Mutations = {
  C20: [
    {
      breaks: "drifts by each late evaluation",
      in: "sampleAutoscaler",
      find: "nextDueAt(before.dueAt, autoscaler.pollIntervalMs, now + toleranceMs)",
      replace: "now + autoscaler.pollIntervalMs",
      test: "decideSize() keeps its phase after a late turn (C20)",
    },
    {
      breaks: "evaluates at each change of the pod",
      in: "sampleAutoscaler",
      find: '=== "usage" || observation.kind === "tick"',
      replace: '!== "answered"',
      test: "decideSize() takes a changed pod for no evaluation (C20)",
    },
    {
      breaks: "polls as rarely as the slowest of the node's autoscalers",
      in: "PollSchedule.#getOwnMs",
      find: "Math.min",
      replace: "intervalMs === Infinity ? pollIntervalMs : Math.max",
      test: "a node is polled as often as its most frequent autoscaler wants, once for all its pods (C20)",
    },
    {
      breaks: "polls twice as often",
      in: "toNextDue",
      find: "return dueMs + intervalMs;",
      replace: "return dueMs + intervalMs / 2;",
      test: "pollKubelet() reads tracked pods once per interval, after its first delay (C20)",
    },
  ],
  C21: [
    {
      breaks: "divides by the receive clock",
      in: "nextSampling",
      find: "point.at - anchor.at",
      replace: "context.now - sampling.newAt",
      test: "nextSampling() divides the counter's growth by the samples' own times (C21)",
    },
    {
      breaks: "moves the anchor with points that are too close",
      in: "nextSampling",
      find: '(elapsedMs < MIN_RESOLUTIONS * point.resolutionMs) return { kind: "nothing" }',
      replace: "(elapsedMs < MIN_RESOLUTIONS * point.resolutionMs) return toWarmUp(here, context.now)",
      test: "nextSampling() keeps the older anchor over points that are too close (C21)",
    },
    {
      breaks: "takes memory with its page cache for used",
      in: "findUsage",
      find: "sample.workingSetBytes",
      replace: "sample.usageBytes",
      test: "readUsage() gives the rate of cpu, and the working set of memory without page cache (C21)",
    },
    {
      breaks: "counts the first sample for memory",
      in: "nextSampling",
      find: 'return isOverMemory(point, context) ? { kind: "implausible" } : toWarmUp(here, context.now);',
      replace:
        '{ const sample = newSample(point, { from: point.at, cpuMillicores: 0 }, context); return { kind: "sample", sample, sampling: { anchor: here, sample, newAt: context.now, warming: false } }; }',
      test: "nextSampling() only warms up with a first point (C21)",
    },
    {
      breaks: "lowers memory before it hears cpu",
      in: "nextSampling",
      find: 'return isOverMemory(point, context) ? { kind: "implausible" } : toWarmUp(here, context.now);',
      replace:
        '{ const sample = newSample(point, { from: point.at, cpuMillicores: NaN }, context); return { kind: "sample", sample, sampling: { anchor: here, sample, newAt: context.now, warming: false } }; }',
      test: "decideSize() hears cpu before it lowers memory: both warm up with the first sample (C21, C32)",
    },
  ],
  C22: [
    {
      breaks: "counts the newest sample again at each repeat",
      in: "sampleAutoscaler",
      find: "const step = takeSample(before, autoscaler, context);",
      replace:
        'let step = takeSample(before, autoscaler, context); const { sampling } = before; if (step?.kind === "nothing" && sampling.sampleUsage !== null) step = { kind: "sample", sampling, sampleUsage: sampling.sampleUsage };',
      test: "decideSize() advances no streak by repeats, but puts standing proposals to the gates again for 60s (C22)",
    },
    {
      breaks: "asks the gates about standing proposals with new samples only",
      in: "isDecisionDue",
      find: "if (isDue) return true;",
      replace: "if (isDue && (it.isNewSample || view.wantedSince === null)) return true;",
      test: "decideSize() advances no streak by repeats, but puts standing proposals to the gates again for 60s (C22)",
    },
  ],
  C23: [
    {
      breaks: "samples no more while a delay runs",
      in: "sampleAutoscaler",
      find: "if (!brings ||",
      replace:
        "const opensAt = (context.state.containers[autoscaler.containerName]?.readySince ?? now) + autoscaler.delayMs; if (!brings || now < opensAt ||",
      test: "decideSize() samples on while a delay runs (C23)",
    },
    {
      breaks: "samples no more while a resize is in flight or pending",
      in: "sampleAutoscaler",
      find: "if (!brings ||",
      replace:
        "const { pending, inProgress } = context.input.pod; if (!brings || pending !== null || inProgress !== null ||",
      test: "decideSize() samples on while a resize is deferred (C23)",
    },
    {
      breaks: "ends the streaks while the container is not ready",
      in: "countSample",
      find: "nextStreaksOfSample(autoscaler, view.streaks, {",
      replace:
        "nextStreaksOfSample(autoscaler, findContainerState(state, view.container)?.readySince === null ? NO_STREAKS : view.streaks, {",
      test: "decideSize() samples on while the container is not ready (C23)",
    },
  ],
  C24: [
    {
      breaks: "takes running for ready",
      in: "findReadyAt",
      find: "readySince;",
      replace: "running?.since ?? readySince;",
      test: "decideSize() starts the delay when it sees the container turn ready, and again when it lost it (C24)",
    },
    {
      breaks: "waits for readiness where running would do",
      in: "findReadyAt",
      find: "running?.since ?? null",
      replace: "readySince",
      test: "findFirstObjection() after running: needs no readiness (C24)",
    },
    {
      breaks: "takes a ready container for a ready pod",
      in: "findReadyAt",
      find: "podReady === null ? null",
      replace: "podReady === null ? readySince",
      test: "findFirstObjection() after podReady: waits for the pod (C24)",
    },
    {
      breaks: "counts on over a readiness that was lost",
      in: "nextContainer",
      find: "before.readySince ?? now) : null",
      replace: "before.readySince ?? now) : before.readySince",
      test: "decideSize() starts the delay when it sees the container turn ready, and again when it lost it (C24)",
    },
  ],
};
