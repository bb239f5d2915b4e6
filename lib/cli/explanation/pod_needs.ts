/** What would have to change before a container is resized again, and when is that possible at the earliest? */
import { findBaseline } from "../../model/autoscaler.ts";
import { getActualSize } from "../../model/pod.ts";
import type { BlockReason, HoldReason } from "../../model/reasons.ts";
import { type ResourceField, resourceOf } from "../../units/resources.ts";
import { type ChoiceTrial, type ExplainedContainer, getThresholdPercent } from "../../vertical/explain.ts";
import { formatSize } from "../terminal/numbers.ts";
import type { NextExplanation } from "./explanation.ts";

export function explainNextResize(examined: ExplainedContainer): NextExplanation {
  const wanted = examined.trials.filter(({ isWanted }) => isWanted);
  if (wanted.length > 0) return { needs: listObjections(wanted), earliest: computeEarliestWanted(wanted, examined) };
  return {
    needs: examined.trials.flatMap((trial) => listCrossings(examined, trial)),
    earliest: computeEarliest(examined),
  };
}

/** What blocks the wanted change. */
function listObjections(trials: readonly ChoiceTrial[]): readonly string[] {
  const messages = trials.flatMap(({ gates }) =>
    gates.flatMap(({ objection }) => {
      if (objection === null) return [];
      const advice = adviseBound(objection.message) ?? ADVICE[objection.reason];
      return advice === undefined ? objection.message : `${objection.message}; ${advice}`;
    })
  );
  return [...new Set(messages)];
}

/** A resource field may be bound by the other field of its resource. */
function adviseBound(message: string): string | undefined {
  const [, side] = /: (\w+\.\w+) leaves no room/.exec(message) ?? [];
  return side === undefined ? undefined : `let the autoscaler manage ${side} too, or change it in the pod template`;
}

/** What a person can do about a block that does not end without help. Where it is missing, the message has it. */
const ADVICE: Readonly<Partial<Record<BlockReason | HoldReason, string>>> = {
  AtBound: "change bounds in its autoscaler to let it",
  NodeCapacity: "make room on its node, or delete the pod to have it scheduled elsewhere",
  Quota: "raise the namespace's ResourceQuota, or free some of it",
  LimitRange: "change the namespace's LimitRange, or bounds in its autoscaler",
  PodResources: "raise spec.resources in the pod template, or change bounds in its autoscaler",
  ResizeDeferred: "the kubelet tries again once its node has headroom",
  ResizeInfeasible: "the node is too small for it: lower bounds, or move the pod",
  Rights: "give podfit's service account the right to patch pods/resize",
  MetricsUnavailable: "see the log of podfit for why usage of its node is not read",
};

/** The usage that would pass the threshold. */
function listCrossings({ it }: ExplainedContainer, { direction, candidate }: ChoiceTrial): readonly string[] {
  return it.autoscaler.sides.flatMap((rule) => {
    const baseline = findBaseline(rule, getActualSize(it.container));
    if (baseline === null) return [];
    const { key, resource } = rule;
    const one = candidate.sized.find((sized) => sized.key === key);
    const [beyond, goes] = direction === "up" ? ["more than", "goes up"] : ["less than", "goes down"];
    if (one?.kind === "holds" && one.reason === "AtBound") {
      return [`${key} cannot ${goes.replace("goes", "go")}: ${one.message}`];
    }
    const percent = getThresholdPercent(rule, direction);
    const { consecutiveSamples } = rule[direction];
    const amount = formatSize(Math.round(percent * baseline / 100), resource);
    return [`${key} ${goes} once ${beyond} ${amount} (${percent} %) is used in ${formatSamples(consecutiveSamples)}`];
  });
}

function formatSamples(count: number): string {
  return count === 1 ? "one sample" : `${count} samples in a row`;
}

/** Now, where one of them has no blocker. */
function computeEarliestWanted(wanted: readonly ChoiceTrial[], { it }: ExplainedContainer): number | null {
  const isFree = wanted.some(({ gates }) => gates.every(({ objection }) => objection === null));
  return isFree ? it.input.now : computeBlockedUntil(wanted[0]);
}

/** When time has ended all blockers of a trial; `null` where one needs more than time. */
function computeBlockedUntil(trial: ChoiceTrial | undefined): number | null {
  let latest: number | null = null;
  for (const { objection } of trial?.gates ?? []) {
    if (objection === null) continue;
    if (objection.kind === "hold" || objection.until === undefined) return null;
    latest = Math.max(latest ?? 0, objection.until);
  }
  return latest;
}

/** For the nearest direction: the samples that its streak lacks, and what time ends. */
function computeEarliest({ it, trials }: ExplainedContainer): number | null {
  const all = trials.flatMap((trial) => {
    const held = trial.gates.some(({ objection }) => objection !== null) ? computeBlockedUntil(trial) : 0;
    const sampledAt = computeStreakEnd(it, trial);
    return held === null || sampledAt === null ? [] : [Math.max(held, sampledAt)];
  });
  return all.length === 0 ? null : Math.min(...all);
}

function computeStreakEnd(
  { autoscaler, view }: ExplainedContainer["it"],
  { direction, proposals }: ChoiceTrial,
): number | null {
  const sides: readonly ResourceField[] = proposals.map(({ side }) => side);
  const missing = autoscaler.sides.filter(({ key }) => sides.includes(key)).map((rule) => {
    const streak = view.streaks[rule.key];
    const count = streak?.direction === direction ? streak.count : 0;
    return Math.max(1, rule[direction].consecutiveSamples - count);
  });
  return missing.length === 0 ? null : view.dueAt + (Math.min(...missing) - 1) * autoscaler.pollIntervalMs;
}

/** `349m -> 466m`, or just the size where it does not change. */
export function formatSizeChange(key: ResourceField, from: number, to: number): string {
  const resource = resourceOf(key);
  return from === to ? formatSize(from, resource) : `${formatSize(from, resource)} -> ${formatSize(to, resource)}`;
}
