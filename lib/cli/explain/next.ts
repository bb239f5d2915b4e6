/** What would have to change for the next resize of a container, and when it can come at the earliest. */
import { type Examined, readThreshold, type Trial } from "../../core/explain/examine.ts";
import { readActual } from "../../core/pod/pod_facts.ts";
import { readBaseline } from "../../core/observe/streaks.ts";
import type { BlockReason, HoldReason } from "../../core/reasons.ts";
import { resourceOf, type SideKey } from "../../units/resources.ts";
import { formatSize } from "./say.ts";
import type { NextExplanation } from "./explanation.ts";

export function explainNext(examined: Examined): NextExplanation {
  const wanted = examined.trials.filter(({ isWanted }) => isWanted);
  if (wanted.length > 0) return { needs: listObjections(wanted), earliest: readWanted(wanted, examined) };
  return {
    needs: examined.trials.flatMap((trial) => listCrossings(examined, trial)),
    earliest: readEarliest(examined),
  };
}

/** What is in the way of what is wanted. */
function listObjections(trials: readonly Trial[]): readonly string[] {
  const messages = trials.flatMap(({ gates }) =>
    gates.flatMap(({ objection }) => {
      if (objection === null) return [];
      const advice = adviseBound(objection.message) ?? ADVICE[objection.reason];
      return advice === undefined ? objection.message : `${objection.message}; ${advice}`;
    })
  );
  return [...new Set(messages)];
}

/** A side may be bound by the other one of its resource. */
function adviseBound(message: string): string | undefined {
  const [, side] = /: (\w+\.\w+) leaves no room/.exec(message) ?? [];
  return side === undefined ? undefined : `let the autoscaler manage ${side} too, or change it in the pod template`;
}

/** What a person can do about what does not pass by itself; where it is missing, the message says it. */
const ADVICE: Readonly<Partial<Record<BlockReason | HoldReason, string>>> = {
  AtBound: "change bounds in its autoscaler to let it",
  NodeCapacity: "make room on its node, or delete the pod to have it scheduled elsewhere",
  Quota: "raise the namespace's ResourceQuota, or free some of it",
  LimitRange: "change the namespace's LimitRange, or bounds in its autoscaler",
  ResizeDeferred: "the kubelet tries again by itself once its node has room",
  ResizeInfeasible: "the node is too small for it: lower bounds, or move the pod",
  Rights: "give podfit's service account the right to patch pods/resize",
  MetricsUnavailable: "see the log of podfit for why usage of its node is not read",
};

/** What usage would have to be. */
function listCrossings({ it }: Examined, { direction, candidate }: Trial): readonly string[] {
  return it.autoscaler.sides.flatMap((rule) => {
    const baseline = readBaseline(rule, readActual(it.container));
    if (baseline === null) return [];
    const { key, resource } = rule;
    const one = candidate.sized.find((sized) => sized.key === key);
    const [beyond, goes] = direction === "up" ? ["more than", "goes up"] : ["less than", "goes down"];
    if (one?.kind === "holds" && one.reason === "AtBound") {
      return [`${key} cannot ${goes.replace("goes", "go")}: ${one.message}`];
    }
    const percent = readThreshold(rule, direction);
    const { consecutiveSamples } = rule[direction];
    const amount = formatSize(Math.round(percent * baseline / 100), resource);
    return [`${key} ${goes} once ${beyond} ${amount} (${percent} %) is used in ${formatSamples(consecutiveSamples)}`];
  });
}

function formatSamples(count: number): string {
  return count === 1 ? "one sample" : `${count} samples in a row`;
}

/** At once where nothing is in the way of one of them. */
function readWanted(wanted: readonly Trial[], { it }: Examined): number | null {
  const isFree = wanted.some(({ gates }) => gates.every(({ objection }) => objection === null));
  return isFree ? it.input.now : readLatest(wanted[0]);
}

/** When all that is in the way of a trial has ended by itself; `null` where something does not. */
function readLatest(trial: Trial | undefined): number | null {
  let latest: number | null = null;
  for (const { objection } of trial?.gates ?? []) {
    if (objection === null) continue;
    if (objection.kind === "hold" || objection.until === undefined) return null;
    latest = Math.max(latest ?? 0, objection.until);
  }
  return latest;
}

/** Of the direction that is nearest: the samples that its streak lacks, and what time alone ends. */
function readEarliest({ it, trials }: Examined): number | null {
  const all = trials.flatMap((trial) => {
    const held = trial.gates.some(({ objection }) => objection !== null) ? readLatest(trial) : 0;
    const sampledAt = readFull(it, trial);
    return held === null || sampledAt === null ? [] : [Math.max(held, sampledAt)];
  });
  return all.length === 0 ? null : Math.min(...all);
}

function readFull({ autoscaler, view }: Examined["it"], { direction, proposals }: Trial): number | null {
  const sides: readonly SideKey[] = proposals.map(({ side }) => side);
  const missing = autoscaler.sides.filter(({ key }) => sides.includes(key)).map((rule) => {
    const streak = view.streaks[rule.key];
    const count = streak?.direction === direction ? streak.count : 0;
    return Math.max(1, rule[direction].consecutiveSamples - count);
  });
  return missing.length === 0 ? null : view.dueAt + (Math.min(...missing) - 1) * autoscaler.pollIntervalMs;
}

/** `349m -> 466m`, or just the size where it stays. */
export function formatMove(key: SideKey, from: number, to: number): string {
  const resource = resourceOf(key);
  return from === to ? formatSize(from, resource) : `${formatSize(from, resource)} -> ${formatSize(to, resource)}`;
}
