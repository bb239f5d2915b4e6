/**
 * Adds one observation: a new sample for each autoscaler that is due, and its streaks.
 *
 * A streak is the number of samples in a row beyond a threshold. Samples and streaks advance whether or not a resize
 * is possible.
 */
import type { PodCpu, PodUsage } from "../api/usage.ts";
import { type Autoscaler, computeSilenceMs, type FieldPolicy, findBaseline } from "../model/autoscaler.ts";
import { type Ending, isProcessKillOf } from "../model/container_history.ts";
import type { Direction, SizeInput } from "../model/decision.ts";
import { findContainer, getActualSize, getRealSize } from "../model/pod.ts";
import {
  type AutoscalerView,
  type ContainerState,
  type Evidence,
  findContainerState,
  isStreakFull,
  NO_EVIDENCE,
  NO_SHORTAGE,
  NO_STREAKS,
  NOTHING_REPORTED,
  type PodState,
  type Sample,
  type Sampling,
  type Streak,
} from "../model/state.ts";
import { isSameSize, type ResourceField, type Resources } from "../units/resources.ts";
import { findNearLimit, isNearLimit, nextAtLimitCounts } from "./pressure.ts";
import {
  fillsLimit,
  findAloneSince,
  newSampling,
  nextPodCpuSeries,
  nextSampling,
  type PodCpuContext,
  type SamplingStep,
} from "./samples.ts";
import { addPeak, findEvidence, hasNewWindow, nextEvidence } from "./windows.ts";

/** A matching autoscaler after the observation. */
export interface Sampled {
  readonly autoscaler: Autoscaler;
  readonly view: AutoscalerView;
  /** Its pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
  /** Its point was skipped: no node has this much. */
  readonly isImplausible: boolean;
}

/** A pod after the observation. */
interface SampledPod {
  /** The views in it are those of `sampled` before their sample. */
  readonly state: PodState;
  /** One per autoscaler that has a view, in the order of the autoscalers. */
  readonly sampled: readonly Sampled[];
  /** How many points were skipped as implausible. */
  readonly implausible: number;
}

/** Returns the pod after the observation: each autoscaler that is due takes a sample. Clauses: C20 to C23, C31. */
export function sampleUsage(before: PodState, input: SizeInput): SampledPod {
  const state = endScaleDownStreaks(before, input);
  const sampled: Sampled[] = [];
  let implausible = 0;
  for (const autoscaler of input.contenders) {
    const view = state.views[autoscaler.key];
    if (view === undefined) continue;
    const one = sampleAutoscaler(view, autoscaler, { state, input });
    if (one.isImplausible) implausible++;
    sampled.push(one);
  }
  return { state, sampled, implausible };
}

/** What the view of an autoscaler follows from. */
interface NextViewContext {
  /** Undefined for a container that is seen for the first time. */
  readonly before: ContainerState | undefined;
  readonly container: ContainerState;
  /** podfit has commanded the container's size. */
  readonly isOwn: boolean;
  readonly now: number;
}

/** Returns the view of an autoscaler after the facts of its container; `view` is undefined for a new autoscaler. */
export function nextView(
  view: AutoscalerView | undefined,
  autoscaler: Autoscaler,
  { before, container, isOwn, now }: NextViewContext,
): AutoscalerView {
  const known = addKillsToEvidence(
    nextViewOfPolicy(view, autoscaler, now),
    autoscaler,
    listNewKills(before, container),
  );
  if (before === undefined) return known;
  const isRestarted = before.instance !== null && before.instance !== container.instance;
  if (isRestarted) return { ...known, ...NOTHING_WANTED, sampling: newSampling(now, true) };
  if (isSameSize(before.actual, container.actual)) return known;
  const streaks = keepStreaksInForce(known.streaks, { before: before.actual, after: container.actual, isOwn });
  return { ...known, ...NOTHING_WANTED, streaks };
}

/** Returns the same with the kills that only the samples have shown, as samples of memory. Clauses: L10, L13. */
export function addSampledKills(
  sampled: readonly Sampled[],
  { before, after }: { readonly before: PodState; readonly after: PodState },
): readonly Sampled[] {
  if (before.containers === after.containers) return sampled;
  return sampled.map((one) => {
    const { autoscaler, view } = one;
    const container = findContainerState(after, view.container);
    if (container === undefined) return one;
    const killed = listNewKills(findContainerState(before, view.container), container);
    return { ...one, view: addKillsToEvidence(view, autoscaler, killed) };
  });
}

/**
 * Returns the usage that the field is compared and sized with, in millicores or bytes: for CPU the demand, which is
 * never below usage. `null` while no rate is known. Clauses: L21, C30, C31.
 */
export function findUsage(rule: FieldPolicy, sample: Sample | null): number | null {
  if (sample === null) return null;
  return rule.resource === "cpu" ? sample.demandMillicores : sample.workingSetBytes;
}

/**
 * Returns the direction of usage beyond a threshold; `null` within them. Thresholds are inclusive, and compared without
 * dividing, so that exactly 75 % is 75 %. `low`: compared with the lower threshold if it is not the usage itself.
 * Clauses: L4.
 */
export function compareWithThresholds(
  rule: FieldPolicy,
  usage: number,
  baseline: number,
  low = usage,
): Direction | null {
  if (usage * 100 >= rule.scaleUpThresholdPercent * baseline) return "up";
  if (low * 100 <= rule.scaleDownThresholdPercent * baseline) return "down";
  return null;
}

/** Returns the streaks after one more sample that counts. */
export function nextStreaks(
  rules: readonly FieldPolicy[],
  streaks: AutoscalerView["streaks"],
  { sample, actual, real = actual, evidence, answersKills = false }: StreakContext,
): AutoscalerView["streaks"] {
  let next: Partial<Record<ResourceField, Streak>> | null = null;
  for (const rule of rules) {
    const usage = findUsage(rule, sample);
    const baseline = findBaseline(rule, actual);
    if (usage === null || baseline === null) continue;
    const low = rule.down.percentile === null ? usage : findEvidence(evidence, rule) ?? usage;
    const isSaturated = rule.resource === "cpu"
      ? sample.isSaturated
      : answersKills && rule.key === "memory.limits" && findNearLimit(sample, { actual, real }) !== null;
    // A container that waits for memory cannot use more, so it may never reach the threshold. In mode recommend it waits
    // at the limit in force, and the recommended one may be large enough.
    const isStalled = isSaturated && rule.resource === "memory" && sample.isMemoryStalled === true &&
      isNearLimit(usage, baseline, true);
    const direction = isStalled ? "up" : compareWithThresholds(rule, usage, baseline, low);
    // Throttled usage does not show that less would be enough.
    if (direction === null || isSaturated && direction === "down") continue;
    const before = streaks[rule.key]?.direction === direction ? streaks[rule.key] : undefined;
    const isSure = before !== undefined || rule.resource !== "cpu" || !isLoadStepPossible(sample, real["cpu.limits"]);
    const used: StreakUsage = { usage, usageBytes: sample.usageBytes, isSaturated: isSaturated && isSure };
    next ??= {};
    next[rule.key] = before === undefined ? newStreak(direction, used) : nextStreak(before, rule, used);
  }
  return next ?? NO_STREAKS;
}

/** Returns the streaks of the autoscaler after a sample that counts. One of CPU alone leaves those of memory. */
export function nextStreaksOfSample(
  autoscaler: Autoscaler,
  before: AutoscalerView["streaks"],
  { isCpuAlone, ...taken }: StreakContext & { readonly isCpuAlone: boolean },
): AutoscalerView["streaks"] {
  return isCpuAlone
    ? { ...keepMemoryStreaks(before), ...nextStreaks(listCpuFields(autoscaler), before, taken) }
    : nextStreaks(autoscaler.sides, before, taken);
}

/** Returns whether at least half of the sample's interval is after `from`, both in the source's clock. Clauses: C31. */
export function isSampleCounted(sample: Sample, from: number): boolean {
  return from <= (sample.from + sample.at) / 2;
}

/**
 * Returns the streaks after an accepted PATCH. Memory's stay if a saturated sample caused it and only CPU changes:
 * behind a limit each sample may cause a PATCH, and streaks of memory would never fill. Clauses: L22, C31.
 */
export function keepStreaksOverPatch(streaks: Streaks, changes: readonly ResourceField[]): Streaks {
  const isSaturated = streaks["cpu.requests"]?.isSaturated || streaks["cpu.limits"]?.isSaturated;
  return isSaturated && changes.every((key) => key.startsWith("cpu.")) ? keepMemoryStreaks(streaks) : NO_STREAKS;
}

/**
 * Returns the streaks once another size is in force: memory's stay if podfit changed only CPU. `isOwn`: podfit has
 * commanded the size.
 */
function keepStreaksInForce(
  streaks: Streaks,
  { before, after, isOwn }: { readonly before: Resources; readonly after: Resources; readonly isOwn: boolean },
): Streaks {
  const isCpuAlone = before["memory.requests"] === after["memory.requests"] &&
    before["memory.limits"] === after["memory.limits"];
  return isOwn && isCpuAlone ? keepMemoryStreaks(streaks) : NO_STREAKS;
}

/** The part of a view that ends with another instance, another size, or silence. */
export const NOTHING_WANTED: Pick<AutoscalerView, "streaks" | "wantedSince" | "shortage"> = Object.freeze({
  streaks: NO_STREAKS,
  wantedSince: null,
  shortage: NO_SHORTAGE,
});

/**
 * Returns the state after replicas were removed: streaks down end, and windows start again (`findWindowWait`), since
 * the remaining pods are about to get more. The same object without a new removal. Clauses: R86.
 */
export function endScaleDownStreaks(state: PodState, { now, scaledInAt, contenders }: SizeInput): PodState {
  if (scaledInAt === undefined || scaledInAt === state.scaledIn?.at) return state;
  const views: Record<string, AutoscalerView> = { ...state.views };
  for (const { key, sides } of contenders) {
    const view = views[key];
    if (view === undefined) continue;
    const streaks = keepScaleUpStreaks(view.streaks);
    const isWanted = sides.some((rule) => isStreakFull(rule, streaks));
    views[key] = { ...view, streaks, wantedSince: isWanted ? view.wantedSince : null };
  }
  return { ...state, views, scaledIn: { at: scaledInAt, since: Math.min(scaledInAt, now) } };
}

/** Shared, as most evaluations show no kill. */
const NO_KILLS: readonly Ending[] = [];

/** Returns the kills since the last evaluation at a memory limit that is known. Clauses: L10. */
function listNewKills(before: ContainerState | undefined, { endings, reflex }: ContainerState): readonly Ending[] {
  if (endings.length === 0 || endings === before?.endings) return NO_KILLS;
  // A resize has followed a kill before podfit's start: the limit was another one.
  if (before === undefined && reflex !== null) return NO_KILLS;
  // A kill that ends its container may have been counted as that of a process before.
  const isKnown = ({ id, at }: Ending) =>
    before?.endings.some((one) => one.id === id || (one.at === at && isProcessKillOf(one, id))) === true;
  return endings.filter((one) => one.kind === "oom" && !isKnown(one));
}

/**
 * Returns the view with the limits at which the container was killed as samples of memory at that time: usage was at
 * least that. Clauses: L10.
 */
function addKillsToEvidence(
  view: AutoscalerView,
  { sides }: Autoscaler,
  killed: readonly Ending[],
): AutoscalerView {
  let { evidence } = view;
  for (const { at, limitBytes } of killed) {
    if (limitBytes !== null) evidence = addPeak(evidence, sides, { at, bytes: limitBytes });
  }
  return evidence === view.evidence ? view : { ...view, evidence };
}

function nextViewOfPolicy(before: AutoscalerView | undefined, autoscaler: Autoscaler, now: number): AutoscalerView {
  if (before === undefined || before.container !== autoscaler.containerName) {
    return {
      generation: autoscaler.generation,
      container: autoscaler.containerName,
      dueAt: now,
      sampling: newSampling(now),
      streaks: NO_STREAKS,
      evidence: NO_EVIDENCE,
      wantedSince: null,
      shortage: NO_SHORTAGE,
      limited: null,
      vetoedSince: null,
      silentSince: null,
      notified: NOTHING_REPORTED,
    };
  }
  if (before.generation === autoscaler.generation) return before;
  // A window that is new has watched nothing yet.
  const evidence = hasNewWindow(before.evidence, autoscaler.sides)
    ? { ...before.evidence, since: null }
    : before.evidence;
  return { ...before, generation: autoscaler.generation, dueAt: now, evidence, streaks: NO_STREAKS, wantedSince: null };
}

interface SampleContext {
  readonly state: PodState;
  readonly input: SizeInput;
}

/** An evaluation may come this share of the interval early: polls of a node do not fall on the millisecond. */
export const DUE_TOLERANCE = 0.1;

function sampleAutoscaler(before: AutoscalerView, autoscaler: Autoscaler, context: SampleContext): Sampled {
  const { now, observation } = context.input;
  const brings = observation.kind === "usage" || observation.kind === "tick";
  const toleranceMs = DUE_TOLERANCE * autoscaler.pollIntervalMs;
  if (!brings || now < before.dueAt - toleranceMs) {
    return { autoscaler, view: before, isDue: false, isNewSample: false, isImplausible: false };
  }
  const dueAt = nextDueAt(before.dueAt, autoscaler.pollIntervalMs, now + toleranceMs);
  const step = takeSample(before, autoscaler, context);
  if (step?.kind === "sample" || step?.kind === "witness") {
    const view = countSample(before, autoscaler, { context, dueAt, step });
    return { autoscaler, view, isDue: true, isNewSample: true, isImplausible: false };
  }
  const isImplausible = step?.kind === "implausible";
  const view = nextSilence(nextUnsampled(before, step, dueAt), autoscaler, context);
  return { autoscaler, view, isDue: true, isNewSample: false, isImplausible };
}

/** Returns the first due time after `now`: missed evaluations are not repeated, and the phase is kept. */
export function nextDueAt(dueAt: number, pollIntervalMs: number, now: number): number {
  return dueAt + (Math.floor((now - dueAt) / pollIntervalMs) + 1) * pollIntervalMs;
}

function takeSample(
  view: AutoscalerView,
  autoscaler: Autoscaler,
  { input: { observation, now, pod } }: SampleContext,
): UsageStep | null {
  if (observation.kind !== "usage") return null;
  const point = findPoint(observation.usage, view.container);
  if (point === null) return null;
  const { capacity, usage } = observation;
  const container = findContainer(pod, view.container);
  const cpuLimitMillicores = container === null ? null : getRealSize(container)["cpu.limits"];
  const { throttling } = autoscaler;
  const { usageBytes: podUsageBytes } = usage;
  const pointContext = { now, capacity, podUsageBytes, cpuLimitMillicores, throttling };
  const step = nextSampling(view.sampling, point, pointContext);
  const silenceMs = computeSilenceMs(autoscaler);
  const isRecent = step.kind !== "sample" || step.sample.at - step.sample.from < silenceMs;
  if (isRecent) {
    const aloneAt = container === null ? Infinity : findAloneSince(pod, container);
    if (usage.cpu === undefined || aloneAt === Infinity) return step;
    return addPodCpu(step, view.sampling, {
      cpu: usage.cpu,
      context: { ...pointContext, silenceMs, aloneAt },
    });
  }
  // The source's clock was set forward, or there was no poll for this long: the mean does not describe the present.
  return { kind: "restarted", sampling: { ...newSampling(now), anchor: step.sampling.anchor } };
}

/** A sample, of the container or of its CPU alone as the pod's counter has it, or another step. */
type UsageStep = SamplingStep | { readonly kind: "witness"; readonly sampling: Sampling; readonly sample: Sample };

/** Returns the step after the pod's point. It counts if the container has nothing new. */
function addPodCpu(
  step: SamplingStep,
  before: Sampling,
  { cpu, context }: { readonly cpu: PodCpu; readonly context: PodCpuContext },
): UsageStep {
  if (step.kind === "sample") {
    return { ...step, sampling: { ...nextPodCpuSeries(step.sampling, cpu, context).sampling, sample: step.sample } };
  }
  if (step.kind !== "nothing") return step;
  const { sampling, sample } = nextPodCpuSeries(before, cpu, context);
  if (sampling === before) return step;
  return sample === null ? { kind: "warmup", sampling } : { kind: "witness", sampling, sample };
}

function findPoint(usage: PodUsage, container: string): PodUsage["points"][number] | null {
  for (const point of usage.points) if (point.container === container) return point;
  return null;
}

function nextUnsampled(
  view: AutoscalerView,
  step: Exclude<UsageStep, { kind: "sample" | "witness" }> | null,
  dueAt: number,
): AutoscalerView {
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
  readonly context: SampleContext;
  readonly dueAt: number;
  readonly step: Extract<UsageStep, { kind: "sample" | "witness" }>;
}

function countSample(
  view: AutoscalerView,
  autoscaler: Autoscaler,
  { context, dueAt, step }: NewSample,
): AutoscalerView {
  const { state, input: { pod, observation, now } } = context;
  const { sampling, sample } = step;
  const isWitness = step.kind === "witness";
  const evidence = nextEvidence(view.evidence, isWitness ? listCpuFields(autoscaler) : autoscaler.sides, {
    at: now,
    silenceMs: computeSilenceMs(autoscaler),
    cpu: sample.demandMillicores,
    memory: sample.workingSetBytes,
  });
  const known = isWitness ? { ...evidence, sides: { ...view.evidence.sides, ...evidence.sides } } : evidence;
  const next: AutoscalerView = { ...view, dueAt, sampling, evidence: known, silentSince: null };
  const container = findContainer(pod, view.container);
  const countsFrom = findContainerState(state, view.container)?.countsFrom ?? Infinity;
  const offsetMs = observation.kind === "usage" ? observation.clockOffsetMs : 0;
  if (container === null) return next;
  const answersKills = autoscaler.oom === "raise";
  const [actual, real] = [getActualSize(container), getRealSize(container)];
  const taken = { sample, actual, real, evidence: known, answersKills };
  // A sample from before the new size was in force does not count; a reset starts at 0 and always counts.
  const isOfSize = isSampleCounted(sample, countsFrom + offsetMs);
  const streaks = isOfSize
    ? nextStreaksOfSample(autoscaler, view.streaks, { ...taken, isCpuAlone: isWitness })
    : addEarlyScaleUps(view.streaks, autoscaler, taken);
  const shortage = nextAtLimitCounts(view.shortage, {
    sample,
    actual: isOfSize ? real : null,
    isCpuAlone: isWitness,
  });
  if (streaks === view.streaks && !isOfSize) return shortage === view.shortage ? next : { ...next, shortage };
  const isWanted = streaks !== NO_STREAKS && autoscaler.sides.some((rule) => isStreakFull(rule, streaks));
  return { ...next, streaks, shortage, wantedSince: isWanted ? view.wantedSince ?? now : null };
}

/**
 * Returns the streaks with scale-ups from before the new size. Usage that no limit throttled did not depend on the
 * size, so it counts if it is too much for the new one. Clauses: L60.
 */
function addEarlyScaleUps(
  before: AutoscalerView["streaks"],
  autoscaler: Autoscaler,
  taken: StreakContext,
): AutoscalerView["streaks"] {
  if (autoscaler.throttling === "ignore" || taken.sample.isSaturated) return before;
  const ups = Object.entries(nextStreaks(listCpuFields(autoscaler), before, taken)).filter(([, one]) =>
    one.direction === "up"
  );
  return ups.length === 0 ? before : { ...before, ...Object.fromEntries(ups) };
}

function listCpuFields({ sides }: Autoscaler): readonly FieldPolicy[] {
  return sides.filter(({ resource }) => resource === "cpu");
}

function nextSilence(
  view: AutoscalerView,
  autoscaler: Autoscaler,
  { input: { pod, now, wallAheadMs = 0 } }: SampleContext,
): AutoscalerView {
  const runningAt = findContainer(pod, view.container)?.runningAt ?? null;
  if (runningAt === null) return view;
  // A node's clock may be ahead of podfit's: what is seen now has begun by now.
  const lastAt = Math.max(view.sampling.newAt, Math.min(runningAt - wallAheadMs, now));
  if (now - lastAt < computeSilenceMs(autoscaler)) return view;
  return {
    ...view,
    silentSince: view.silentSince ?? lastAt,
    ...NOTHING_WANTED,
    // The anchor stays only to recognize repeats: a rate over the whole silence would not describe the present.
    sampling: { ...view.sampling, sample: null, warming: true },
  };
}

/** What one more sample is held against. */
interface StreakContext {
  readonly sample: Sample;
  readonly actual: Resources;
  /** The size that the kernel enforces; absent = `actual`. */
  readonly real?: Resources;
  /** With the sample in it. */
  readonly evidence: Evidence;
  /** OOM kills are answered, and so is memory that is about to be killed. */
  readonly answersKills?: boolean;
}

/**
 * Up to this interval, waiting for the next sample costs less than a resize that is too small, and its cooldown; ms.
 */
const SHORT_INTERVAL_MS = 5_000;

/**
 * Returns whether load may have started within the sample: it was throttled for part of a short interval and used less
 * than the limit. Its demand is a mean with the time before, so it counts only as one of a streak. Clauses: L22.
 */
function isLoadStepPossible({ from, at, cpuMillicores }: Sample, limitMillicores: number | null): boolean {
  return at - from <= SHORT_INTERVAL_MS && !fillsLimit(cpuMillicores, limitMillicores);
}

interface StreakUsage {
  readonly usage: number;
  readonly usageBytes: number | null;
  readonly isSaturated: boolean;
}

function newStreak(direction: Direction, { usage, usageBytes, isSaturated }: StreakUsage): Streak {
  return {
    direction,
    count: 1,
    isSaturated,
    peakUsage: usage,
    olderPeakUsage: null,
    peakUsageBytes: usageBytes,
    olderPeakUsageBytes: null,
  };
}

/**
 * Returns the streak after one more sample. A blocked streak may last for days: its peaks are renewed with every whole
 * `consecutiveSamples`.
 */
function nextStreak(before: Streak, rule: FieldPolicy, { usage, usageBytes, isSaturated }: StreakUsage): Streak {
  const { direction, peakUsage, olderPeakUsage, peakUsageBytes, olderPeakUsageBytes } = before;
  const count = before.count + 1;
  return before.count % rule[direction].consecutiveSamples === 0
    ? {
      direction,
      count,
      isSaturated,
      peakUsage: usage,
      olderPeakUsage: peakUsage,
      peakUsageBytes: usageBytes,
      olderPeakUsageBytes: peakUsageBytes,
    }
    : {
      direction,
      count,
      isSaturated,
      peakUsage: Math.max(peakUsage, usage),
      olderPeakUsage,
      peakUsageBytes: maxOrNull(peakUsageBytes, usageBytes),
      olderPeakUsageBytes,
    };
}

function maxOrNull(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}

type Streaks = AutoscalerView["streaks"];

/** Returns only the streaks of memory. */
function keepMemoryStreaks(streaks: Streaks): Streaks {
  const { "memory.requests": requests, "memory.limits": limits } = streaks;
  if (requests === undefined && limits === undefined) return NO_STREAKS;
  return {
    ...(requests === undefined ? {} : { "memory.requests": requests }),
    ...(limits === undefined ? {} : { "memory.limits": limits }),
  };
}

function keepScaleUpStreaks(streaks: AutoscalerView["streaks"]): AutoscalerView["streaks"] {
  const ups = Object.entries(streaks).filter(([, { direction }]) => direction === "up");
  return ups.length === 0 ? NO_STREAKS : Object.fromEntries(ups);
}
