/**
 * Sampling and streaks of every contender, each at its own turn (C20 to C23, C31). They always advance, whatever the
 * gates say; what is noticed on the way (metrics lost and back, a missing baseline) is told on the edge.
 */
import type { PodUsage } from "../../api/usage.ts";
import type { Resources } from "../../units/resources.ts";
import { hasWish, isCounted, nextStreaks, readBaseline } from "../propose/assess.ts";
import type { Input, Observation } from "../decision.ts";
import { findContainer, readActual } from "../pod/pod_facts.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Notice } from "../reasons.ts";
import { newSampling, nextSampling, type SamplingStep } from "./sampling.ts";
import { NO_STREAKS, NOTHING_TOLD, type PodState, type Sample, type Sampling, type View } from "../state.ts";
import { tell } from "../notify/edge.ts";

export interface Sampled {
  readonly policy: Autoscaler;
  readonly view: View;
  /** Its turn had come: pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
}

export interface SampledViews {
  readonly turns: readonly Sampled[];
  /** Its receiver goes on with it. */
  readonly notices: Notice[];
  readonly absurd: number;
}

/** A turn may come this much early: polls of a node do not fall on the millisecond. */
const TOLERANCE = 0.1;
/** Nothing new for this long, or for three polls, and the source counts as gone for the container. */
export const SILENCE_MS = 60_000;

export function sampleViews(state: PodState, input: Input): SampledViews {
  const notices: Notice[] = [];
  let absurd = 0;
  const turns: Sampled[] = [];
  for (const policy of input.contenders) {
    const before = state.views[policy.uid];
    if (before === undefined) continue;
    const turn = takeTurn(before, policy, { state, input, notices });
    if (turn.isAbsurd) absurd++;
    turns.push(turn);
  }
  return { turns, notices, absurd };
}

interface TurnContext {
  readonly state: PodState;
  readonly input: Input;
  readonly notices: Notice[];
}

function takeTurn(before: View, policy: Autoscaler, context: TurnContext): Sampled & { isAbsurd: boolean } {
  const { now, observation } = context.input;
  const isTurn = observation.kind === "usage" || observation.kind === "tick";
  const isDue = isTurn && hasCome(before.dueAt, policy.pollIntervalMs, now);
  if (!isDue) return { policy, view: before, isDue, isNewSample: false, isAbsurd: false };
  const dueAt = nextDue(before.dueAt, policy.pollIntervalMs, now);
  const step = takeSample(before, policy, { observation, now });
  if (step?.kind === "sample") {
    const view = countSample(before, policy, { ...context, dueAt, sampling: step.sampling, sample: step.sample });
    return { policy, view, isDue, isNewSample: true, isAbsurd: false };
  }
  let view: View = { ...before, dueAt };
  if (step?.kind === "restarted") view = { ...view, sampling: step.sampling, streaks: NO_STREAKS, wantedSince: null };
  if (step?.kind === "warmup") view = { ...view, sampling: step.sampling };
  view = watchSilence(view, policy, context);
  return { policy, view, isDue, isNewSample: false, isAbsurd: step?.kind === "absurd" };
}

/** Also when the turn lies more than an interval ahead: the wall clock has stepped back. */
function hasCome(dueAt: number, pollIntervalMs: number, now: number): boolean {
  const toleranceMs = TOLERANCE * pollIntervalMs;
  return now >= dueAt - toleranceMs || dueAt > now + pollIntervalMs + toleranceMs;
}

/** Missed turns are not made up; the phase is kept. */
function nextDue(dueAt: number, pollIntervalMs: number, now: number): number {
  const late = now + TOLERANCE * pollIntervalMs - dueAt;
  return dueAt + (Math.floor(late / pollIntervalMs) + 1) * pollIntervalMs;
}

function takeSample(
  view: View,
  policy: Autoscaler,
  { observation, now }: { observation: Observation; now: number },
): SamplingStep | null {
  if (observation.kind !== "usage") return null;
  const point = findPoint(observation.usage, view.container);
  if (point === null) return null;
  const { capacity, usage } = observation;
  const step = nextSampling(view.sampling, point, { now, capacity, podUsageBytes: usage.usageBytes });
  if (step.kind !== "sample" || step.sample.at - step.sample.from < readSilenceMs(policy)) return step;
  // The source's clock was set forward, or nobody looked for so long: the mean says nothing about now.
  return { kind: "restarted", sampling: { ...newSampling(now), anchor: step.sampling.anchor } };
}

/** After so long without anything new the streaks end (C22). */
function readSilenceMs({ pollIntervalMs }: Autoscaler): number {
  return Math.max(SILENCE_MS, 3 * pollIntervalMs);
}

function findPoint(usage: PodUsage, container: string): PodUsage["points"][number] | null {
  for (const point of usage.points) if (point.container === container) return point;
  return null;
}

interface NewSample extends TurnContext {
  readonly dueAt: number;
  readonly sampling: Sampling;
  readonly sample: Sample;
}

function countSample(view: View, policy: Autoscaler, context: NewSample): View {
  const { state, input, dueAt, sampling, sample } = context;
  const container = findContainer(input.pod, view.container);
  const containerState = state.containers[view.container];
  if (container === null || containerState === undefined) return { ...view, dueAt, sampling };
  const actual = readActual(container);
  const told = tellRecovered(tellBaselines(view, policy, { ...context, actual }), policy, context);
  const offsetMs = input.observation.kind === "usage" ? input.observation.clockOffsetMs : 0;
  // Before the new size was in force the sample says nothing about it; a reset starts at 0 and always counts.
  if (!isCounted(sample, containerState.countsFrom + offsetMs)) return { ...view, dueAt, sampling, told };
  const streaks = nextStreaks(policy.sides, view.streaks, { sample, actual });
  const wishSince = hasWish(policy.sides, streaks) ? view.wantedSince ?? input.now : null;
  return { ...view, dueAt, sampling, told, streaks, wantedSince: wishSince };
}

function tellBaselines(
  view: View,
  policy: Autoscaler,
  { actual, input, notices }: TurnContext & { actual: Resources },
): View["told"] {
  let { told } = view;
  for (const side of policy.sides) {
    const isMissing = readBaseline(side, actual) === null;
    if (!isMissing && told === NOTHING_TOLD) continue;
    const topic = `baseline ${side.key}`;
    const where = `of container "${view.container}" of pod "${input.pod.name}"`;
    if (isMissing) {
      told = tell(told, topic, "BaselineUnavailable", () =>
        notices.push({
          autoscaler: policy.uid,
          name: "BaselineUnavailable",
          message: `${side.key} ${where} is missing or zero: nothing to compare usage with, the side is skipped; ` +
            `set it in the pod template or remove policy.${side.key}`,
        }));
    } else {
      told = tell(told, topic, null, () =>
        notices.push({
          autoscaler: policy.uid,
          name: "BaselineAvailable",
          message: `${side.key} ${where} is there again`,
        }));
    }
  }
  return told;
}

function tellRecovered(told: View["told"], policy: Autoscaler, { input: { pod }, notices }: TurnContext): View["told"] {
  return tell(told, "metrics", null, () =>
    notices.push({
      autoscaler: policy.uid,
      name: "MetricsRecovered",
      message: `usage of container "${policy.containerName}" of pod "${pod.name}" is read again`,
    }));
}

function watchSilence(view: View, policy: Autoscaler, { input, notices }: TurnContext): View {
  const { pod, now } = input;
  const runningAt = findContainer(pod, view.container)?.runningAt ?? null;
  const silentMs = now - Math.max(view.sampling.newAt, Math.min(runningAt ?? now, now));
  if (runningAt === null || silentMs < readSilenceMs(policy)) return view;
  const told = tell(view.told, "metrics", "MetricsUnavailable", () =>
    notices.push({
      autoscaler: policy.uid,
      name: "MetricsUnavailable",
      message: `no new usage of container "${view.container}" of pod "${pod.name}" for ${
        Math.round(silentMs / 1000)
      }s: it is not resized until there is`,
    }));
  // The anchor stays only to tell repeats: a rate over the whole silence would say nothing about now.
  const sampling = { ...view.sampling, sample: null, warming: true };
  return { ...view, told, streaks: NO_STREAKS, wantedSince: null, sampling };
}
