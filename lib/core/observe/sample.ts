/**
 * Sampling and streaks of every contender, each when it is due (C20 to C23, C31). They advance whatever the gates say
 * of a resize.
 */
import type { PodCpu, PodUsage } from "../../api/usage.ts";
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { Input } from "../decision.ts";
import { findContainer, readActual } from "../pod/pod_facts.ts";
import { findContainerState, NO_STREAKS, type PodState, type Sample, type Sampling, type View } from "../state.ts";
import { nextEvidence } from "./evidence.ts";
import { keepMemory } from "./kept_streaks.ts";
import { newSampling, nextSampling, type SamplingStep } from "./sampling.ts";
import { countAtLimit, NOTHING_WANTED } from "./count_shortage.ts";
import { readSilenceMs } from "./silence.ts";
import { isCounted, isFull, nextStreaks, readUsage, type StreakContext } from "./streaks.ts";
import { isAlone, nextWitness, type WitnessContext } from "./witness.ts";

/** A contender after the observation. */
export interface Sampled {
  readonly autoscaler: Autoscaler;
  readonly view: View;
  /** Its pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
  /** Its point was skipped: no node has so much. */
  readonly isImplausible: boolean;
}

/** One per contender that has a view, in the order of the contenders. */
export function sample(state: PodState, input: Input): readonly Sampled[] {
  const sampled: Sampled[] = [];
  for (const autoscaler of input.contenders) {
    const view = state.views[autoscaler.key];
    if (view !== undefined) sampled.push(sampleOne(view, autoscaler, { state, input }));
  }
  return sampled;
}

interface Context {
  readonly state: PodState;
  readonly input: Input;
}

/** An evaluation may come this share of the interval early: polls of a node do not fall on the millisecond. */
const TOLERANCE = 0.1;

function sampleOne(before: View, autoscaler: Autoscaler, context: Context): Sampled {
  const { now, observation } = context.input;
  const brings = observation.kind === "usage" || observation.kind === "tick";
  const toleranceMs = TOLERANCE * autoscaler.pollIntervalMs;
  if (!brings || now < before.dueAt - toleranceMs) {
    return { autoscaler, view: before, isDue: false, isNewSample: false, isImplausible: false };
  }
  const dueAt = nextDue(before.dueAt, autoscaler.pollIntervalMs, now + toleranceMs);
  const step = takeSample(before, autoscaler, context);
  if (step?.kind === "sample" || step?.kind === "witness") {
    const view = countSample(before, autoscaler, { context, dueAt, step });
    return { autoscaler, view, isDue: true, isNewSample: true, isImplausible: false };
  }
  const isImplausible = step?.kind === "implausible";
  const view = watchSilence(nextUnsampled(before, step, dueAt), autoscaler, context);
  return { autoscaler, view, isDue: true, isNewSample: false, isImplausible };
}

/** The first of the beat after `now`: missed evaluations are not made up, and the phase is kept. */
function nextDue(dueAt: number, pollIntervalMs: number, now: number): number {
  return dueAt + (Math.floor((now - dueAt) / pollIntervalMs) + 1) * pollIntervalMs;
}

function takeSample(
  view: View,
  autoscaler: Autoscaler,
  { input: { observation, now, pod } }: Context,
): Step | null {
  if (observation.kind !== "usage") return null;
  const point = findPoint(observation.usage, view.container);
  if (point === null) return null;
  const { capacity, usage } = observation;
  const container = findContainer(pod, view.container);
  const cpuLimitMillicores = container === null ? null : readActual(container)["cpu.limits"];
  const { throttling } = autoscaler;
  const { usageBytes: podUsageBytes } = usage;
  const pointContext = { now, capacity, podUsageBytes, cpuLimitMillicores, throttling };
  const step = nextSampling(view.sampling, point, pointContext);
  const silenceMs = readSilenceMs(autoscaler);
  const isRecent = step.kind !== "sample" || step.sample.at - step.sample.from < silenceMs;
  if (isRecent) {
    const { runningAt = null } = container ?? {};
    if (usage.cpu === undefined || container === null || runningAt === null || !isAlone(pod, container)) return step;
    return addWitness(step, view.sampling, { cpu: usage.cpu, context: { ...pointContext, silenceMs, runningAt } });
  }
  // The source's clock was set forward, or nobody looked for so long: the mean says nothing about now.
  return { kind: "restarted", sampling: { ...newSampling(now), anchor: step.sampling.anchor } };
}

/** A sample, of the container or of its CPU alone as the pod's counter has it, or another step. */
type Step = SamplingStep | { readonly kind: "witness"; readonly sampling: Sampling; readonly sample: Sample };

/** The pod's point moves its own series on; it counts where the container has nothing new. */
function addWitness(
  step: SamplingStep,
  before: Sampling,
  { cpu, context }: { readonly cpu: PodCpu; readonly context: WitnessContext },
): Step {
  if (step.kind === "sample") {
    return { ...step, sampling: { ...nextWitness(step.sampling, cpu, context).sampling, sample: step.sample } };
  }
  if (step.kind !== "nothing") return step;
  const { sampling, sample } = nextWitness(before, cpu, context);
  if (sampling === before) return step;
  return sample === null ? { kind: "warmup", sampling } : { kind: "witness", sampling, sample };
}

function findPoint(usage: PodUsage, container: string): PodUsage["points"][number] | null {
  for (const point of usage.points) if (point.container === container) return point;
  return null;
}

function nextUnsampled(view: View, step: Exclude<Step, { kind: "sample" | "witness" }> | null, dueAt: number): View {
  switch (step?.kind) {
    case "restarted":
      return { ...view, dueAt, sampling: step.sampling, ...NOTHING_WANTED };
    case "warmup":
      return { ...view, dueAt, sampling: step.sampling };
    default:
      return { ...view, dueAt };
  }
}

interface NewSample {
  readonly context: Context;
  readonly dueAt: number;
  readonly step: Extract<Step, { kind: "sample" | "witness" }>;
}

function countSample(view: View, autoscaler: Autoscaler, { context, dueAt, step }: NewSample): View {
  const { state, input: { pod, observation, now } } = context;
  const { sampling, sample } = step;
  const isWitness = step.kind === "witness";
  const evidence = nextEvidence(view.evidence, isWitness ? listCpuSides(autoscaler) : autoscaler.sides, {
    at: now,
    silenceMs: readSilenceMs(autoscaler),
    readUsage: (rule) => readUsage(rule, sample),
  });
  const known = isWitness ? { ...evidence, sides: { ...view.evidence.sides, ...evidence.sides } } : evidence;
  const next: View = { ...view, dueAt, sampling, evidence: known, silentSince: null };
  const container = findContainer(pod, view.container);
  const countsFrom = findContainerState(state, view.container)?.countsFrom ?? Infinity;
  const offsetMs = observation.kind === "usage" ? observation.clockOffsetMs : 0;
  if (container === null) return next;
  const answersKills = autoscaler.oom === "raise";
  const actual = readActual(container);
  const taken = { sample, actual, evidence: known, answersKills };
  // Before the new size was in force the sample says nothing about it; a reset starts at 0 and always counts.
  const isOfSize = isCounted(sample, countsFrom + offsetMs);
  const streaks = isOfSize
    ? isWitness
      ? { ...keepMemory(view.streaks), ...nextStreaks(listCpuSides(autoscaler), view.streaks, taken) }
      : nextStreaks(autoscaler.sides, view.streaks, taken)
    : addEarlyUps(view.streaks, autoscaler, taken);
  const shortage = countAtLimit(view.shortage, {
    sample,
    actual: isOfSize ? actual : null,
    isCpuAlone: isWitness,
  });
  if (streaks === view.streaks && !isOfSize) return shortage === view.shortage ? next : { ...next, shortage };
  const isWanted = streaks !== NO_STREAKS && autoscaler.sides.some((rule) => isFull(rule, streaks));
  return { ...next, streaks, shortage, wantedSince: isWanted ? view.wantedSince ?? now : null };
}

/** Usage that no limit held back did not depend on the size: as far as it is too much for the new one it counts (L60). */
function addEarlyUps(before: View["streaks"], autoscaler: Autoscaler, taken: StreakContext): View["streaks"] {
  if (autoscaler.throttling === "ignore" || taken.sample.isSaturated) return before;
  const ups = Object.entries(nextStreaks(listCpuSides(autoscaler), before, taken)).filter(([, one]) =>
    one.direction === "up"
  );
  return ups.length === 0 ? before : { ...before, ...Object.fromEntries(ups) };
}

function listCpuSides({ sides }: Autoscaler): readonly SideRule[] {
  return sides.filter(({ resource }) => resource === "cpu");
}

function watchSilence(view: View, autoscaler: Autoscaler, { input: { pod, now } }: Context): View {
  const runningAt = findContainer(pod, view.container)?.runningAt ?? null;
  if (runningAt === null) return view;
  // A node's clock may be ahead of ours: what is seen now has begun by now.
  const lastAt = Math.max(view.sampling.newAt, Math.min(runningAt, now));
  if (now - lastAt < readSilenceMs(autoscaler)) return view;
  return {
    ...view,
    silentSince: view.silentSince ?? lastAt,
    ...NOTHING_WANTED,
    // The anchor stays only to recognize repeats: a rate over the whole silence would say nothing about now.
    sampling: { ...view.sampling, sample: null, warming: true },
  };
}
