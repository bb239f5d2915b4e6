/**
 * The state after the wall clock was set: every time of ours in it moves with the clock, so that a silence, a cooldown,
 * a wait or a window has lasted as long as before. Times of other clocks stay: of the node, the API server, the source.
 * The shell knows of a step; `rebase` is for steps back of which nobody told.
 */
import type { ContainerState, PodState, View } from "../state.ts";
import type { Refusal, Refusals, SideRefusals } from "../settle/refusal.ts";
import type { Evidence } from "./evidence.ts";
import { movePeaks } from "./peaks.ts";

/** The same state by a clock that was set forward by so much, ms; back where that is negative. */
export function stepClock(state: PodState, byMs: number): PodState {
  const { conflict, command, pendingSince, inProgressSince, shadow, scaledIn } = state;
  const { at, differingSince } = move(state, ["at", "differingSince"], byMs);
  return {
    ...state,
    at,
    differingSince,
    containers: mapValues(state.containers, (one) => stepContainer(one, byMs)),
    views: mapValues(state.views, (one) => stepView(one, byMs)),
    pendingSince: pendingSince && move(pendingSince, ["since"], byMs),
    inProgressSince: inProgressSince && move(inProgressSince, ["since"], byMs),
    conflict: conflict && move(conflict, ["at"], byMs),
    command: command && move(command, ["at"], byMs),
    unconfirmed: state.unconfirmed.map((one) => move(one, ["at"], byMs)),
    scaledIn: scaledIn && move(scaledIn, ["at", "since"], byMs),
    shadow: shadow && { ...shadow, state: stepClock(shadow.state, byMs) },
  };
}

/** `entryAt` is a time of the API server. */
function stepContainer(container: ContainerState, byMs: number): ContainerState {
  const { running, podReady, refusals, endings, killFloor } = container;
  return {
    ...move(container, ["readySince", "countsFrom", "resizedAt", "raisedAt", "revertedAt"], byMs),
    running: running && move(running, ["since"], byMs),
    podReady: podReady && move(podReady, ["since"], byMs),
    refusals: stepRefusals(refusals, byMs),
    endings: endings.length === 0 ? endings : endings.map((one) => move(one, ["at"], byMs)),
    killFloor: killFloor && move(killFloor, ["until"], byMs),
  };
}

function stepRefusals(refusals: Refusals, byMs: number): Refusals {
  const stepOne = <T extends Refusal>(refusal: T): T => move(refusal, ["until"], byMs);
  return mapValues(refusals, ({ everything, size, givenUp }): SideRefusals => ({
    ...(everything !== undefined && { everything: stepOne(everything) }),
    ...(size !== undefined && { size: stepOne(size) }),
    ...(givenUp !== undefined && { givenUp: stepOne(givenUp) }),
  }));
}

/** Of a sample only `seenAt` is ours. */
function stepView(view: View, byMs: number): View {
  const { sampling } = view;
  const { sample } = sampling;
  return {
    ...move(view, ["dueAt", "wantedSince", "vetoedSince", "silentSince"], byMs),
    evidence: stepEvidence(view.evidence, byMs),
    sampling: { ...move(sampling, ["newAt"], byMs), sample: sample && move(sample, ["seenAt"], byMs) },
  };
}

function stepEvidence(evidence: Evidence, byMs: number): Evidence {
  if (evidence.since === null) return evidence;
  return {
    ...move(evidence, ["since", "until"], byMs),
    sides: mapValues(
      evidence.sides,
      (side) => side.kind === "peaks" ? movePeaks(side, byMs) : move(side, ["at"], byMs),
    ),
  };
}

/** The object with these of its times moved; `null` = none stays so. */
function move<Key extends string, T extends { readonly [K in Key]: number | null }>(
  object: T,
  keys: readonly Key[],
  byMs: number,
): T {
  const moved: Record<string, unknown> = { ...object };
  for (const key of keys) {
    const at = object[key];
    if (at !== null) moved[key] = at + byMs;
  }
  return moved as T;
}

type Value<R> = Exclude<R[keyof R], undefined>;

/** The same object when it is empty: an empty one may be shared. */
function mapValues<R extends object>(all: R, map: (value: Value<R>) => Value<R>): R {
  const entries = Object.entries<Value<R> | undefined>(all as Record<string, Value<R>>);
  if (entries.length === 0) return all;
  return Object.fromEntries(entries.map(([key, value]) => [key, value === undefined ? value : map(value)])) as R;
}
