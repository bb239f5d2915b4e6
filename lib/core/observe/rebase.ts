/**
 * The state after a wall clock stepped back: no time in it lies ahead of now, so that no cooldown, delay, refusal or
 * silence lasts longer than itself. This is the one place that knows of such steps; the steps after it only ever see time pass.
 */
import type { Input } from "../decision.ts";
import { rebaseRefusals } from "../settle/refusals.ts";
import { rebaseEvidence } from "./evidence.ts";
import { rebaseEnded } from "./endings.ts";
import type { ContainerState, PodState, View } from "../state.ts";

/** The same object while time has passed as it should. */
export function rebase(state: PodState, { now, contenders }: Pick<Input, "now" | "contenders">): PodState {
  if (now >= state.at) return state;
  const containers: Record<string, ContainerState> = {};
  for (const [name, one] of Object.entries(state.containers)) containers[name] = rebaseContainer(one, now);
  const views: Record<string, View> = {};
  for (const [key, view] of Object.entries(state.views)) {
    const intervalMs = contenders.find((one) => one.key === key)?.pollIntervalMs ?? null;
    views[key] = rebaseView(view, { now, intervalMs });
  }
  const { conflict, command, differingSince, pendingSince, inProgressSince } = state;
  return {
    ...state,
    at: now,
    containers,
    views,
    pendingSince: rebaseSince(pendingSince, now),
    inProgressSince: rebaseSince(inProgressSince, now),
    differingSince: noLater(differingSince, now),
    scaledIn: rebaseSince(state.scaledIn, now),
    conflict: conflict !== null && conflict.at > now ? null : conflict,
    command: command === null ? null : { ...command, at: Math.min(command.at, now) },
    unconfirmed: state.unconfirmed.map((one) => ({ ...one, at: Math.min(one.at, now) })),
  };
}

function rebaseContainer(container: ContainerState, now: number): ContainerState {
  return {
    ...container,
    running: rebaseSince(container.running, now),
    podReady: rebaseSince(container.podReady, now),
    readySince: noLater(container.readySince, now),
    countsFrom: Math.min(container.countsFrom, now),
    resizedAt: noLater(container.resizedAt, now),
    raisedAt: noLater(container.raisedAt, now),
    revertedAt: noLater(container.revertedAt, now),
    refusals: rebaseRefusals(container.refusals, now),
    ...rebaseEnded(container, now),
  };
}

function rebaseSince<T extends { readonly since: number }>(since: T | null, now: number): T | null {
  return since === null ? null : { ...since, since: Math.min(since.since, now) };
}

function rebaseView(view: View, { now, intervalMs }: { now: number; intervalMs: number | null }): View {
  const { sampling, dueAt } = view;
  const sample = sampling.sample;
  return {
    ...view,
    // Whole intervals back: the phase stays.
    dueAt: intervalMs === null ? dueAt : dueAt - Math.max(0, Math.ceil((dueAt - now) / intervalMs)) * intervalMs,
    evidence: rebaseEvidence(view.evidence, now),
    vetoedSince: noLater(view.vetoedSince, now),
    silentSince: noLater(view.silentSince, now),
    sampling: {
      ...sampling,
      newAt: Math.min(sampling.newAt, now),
      sample: sample === null ? null : { ...sample, seenAt: Math.min(sample.seenAt, now) },
    },
  };
}

function noLater(at: number | null, now: number): number | null {
  return at === null ? null : Math.min(at, now);
}
