/**
 * The decision about one container for the autoscaler that owns it: choose the direction, size, ask the gates
 * (C32 to C37). Also whether a stuck resize is to be given up (C47).
 */
import { assess, chooseDirection, isCounted, readBaseline } from "./propose/assess.ts";
import type { Assessment, ContainerDecision, Decision, Direction, Input, ResizeRequest } from "./decision.ts";
import {
  type Candidate,
  describeChange,
  firstObjection,
  formatWait,
  listStuck,
  readCooldownEnd,
  resizeIdle,
} from "./gate/gates.ts";
import { findMoves } from "./size/find_moves.ts";
import { type ContainerFacts, type PodFacts, readActual } from "./pod/pod_facts.ts";
import type { Action, Autoscaler } from "../autoscaler/autoscaler.ts";
import type { HoldReason } from "./reasons.ts";
import type { ResizeStatus } from "./pod/resize_status.ts";
import { SILENCE_MS } from "./observe/take_samples.ts";
import { type Resources, SIDE_KEYS, type SideKey } from "../units/resources.ts";
import { resultOf, type Sized } from "./size/size.ts";
import { type ContainerState, NO_STREAKS, type PodState, type View } from "./state.ts";

export interface Case {
  readonly input: Input;
  readonly state: PodState;
  readonly status: ResizeStatus;
  readonly policy: Autoscaler;
  readonly view: View;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** Its turn has come. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
}

export interface Decided {
  readonly decision: ContainerDecision;
  readonly order: ResizeRequest | null;
}

/** The standing wish of a view put to sizing and gates. `order` is set when the decision is to resize. */
export function decideContainer(it: Case): Decided {
  const { decision, candidates, order } = it.view.wantedSince === null
    ? settle(explainHold(it))
    : decideWith(assess(it.policy.sides, it.view, readActual(it.container)), it);
  return { decision: { policy: it.policy, decision, candidates, isNewSample: it.isNewSample }, order };
}

interface Settled {
  readonly decision: Decision;
  readonly candidates: readonly SideKey[];
  readonly order: ResizeRequest | null;
}

function decideWith(assessments: readonly Assessment[], it: Case): Settled {
  const direction = chooseDirection(assessments);
  if (direction === null) return settle(explainHold(it));
  const { sample } = it.view.sampling;
  const now = it.input.now;
  if (sample === null || now - sample.seenAt >= SILENCE_MS) {
    return settle(
      hold("MetricsUnavailable", `the newest usage was first seen ${sample === null ? "never" : "over 60s ago"}`),
    );
  }
  const action: Action = direction === "up" ? "scaleUp" : "scaleDown";
  const wishing = it.policy.sides.filter(({ key }) =>
    assessments.some((one) => one.key === key && one.wish === direction)
  );
  const keys = wishing.map(({ key }) => key);
  const cooled = wishing.filter((side) => readCooldownEnd(it.containerState, side.cooldownMs) <= now);
  if (cooled.length === 0) {
    const until = Math.min(...wishing.map((side) => readCooldownEnd(it.containerState, side.cooldownMs)));
    const message = `${keys.join(", ")} would scale ${direction}; ${formatWait(until - now)} of the cooldown are left`;
    return settle({ kind: "blocked", action, reason: "Cooldown", message, until }, keys);
  }
  const base = returnTo(it.container, listGivenUp(it, direction));
  const found = findMoves(cooled, { ...it, direction, base, sample });
  const moving = found.sized.filter((one) => one.kind === "moves");
  if (moving.length === 0) return settleUnmoved(found, action);
  const candidates = moving.map(({ key }) => key);
  const to = resultOf(base, found.sized);
  const changes = listChanges(it.container.spec, to);
  const candidate: Candidate = { ...it, ...it.input, action, to, changes };
  const objection = changes.length === 0 ? resizeIdle(candidate) : firstObjection(candidate);
  if (objection !== null) return settle({ kind: "blocked", action, ...objection }, candidates);
  if (changes.length === 0) {
    const message = `${describeChange(readActual(it.container), to, candidates)} is commanded already`;
    return settle(hold("AtTarget", message));
  }
  const why = explainMoves(moving, assessments);
  const order = newOrder(it, { action, from: base, to, changes, stuck: null, why });
  return { decision: { kind: "resize", action, from: base, to }, candidates, order };
}

/** Over a pending resize a scale-down starts from what is in force (C41); over a failed one of ours all do (C47). */
function listGivenUp({ status, container, input: { pod } }: Case, direction: Direction): readonly SideKey[] {
  if (status.kind === "error") return listStuck(pod, container);
  return direction === "down" && (status.kind === "deferred" || status.kind === "infeasible") ? SIDE_KEYS : [];
}

/** The container's spec with those of its un-enacted fields at what is in force. */
export function returnTo(container: ContainerFacts, only: readonly SideKey[]): Resources {
  const to: Record<SideKey, number | null> = { ...container.spec };
  for (const key of only) to[key] = readActual(container)[key] ?? container.spec[key];
  return to;
}

export function listChanges(from: Resources, to: Resources): readonly SideKey[] {
  return SIDE_KEYS.filter((key) => from[key] !== to[key]);
}

export function newOrder(
  { policy, container, input: { pod } }: { policy: Autoscaler; container: ContainerFacts; input: { pod: PodFacts } },
  resize: Pick<ResizeRequest, "action" | "from" | "to" | "changes" | "stuck" | "why">,
): ResizeRequest {
  const { uid, resourceVersion, generation } = pod;
  return { policy, container: container.name, kind: container.kind, uid, resourceVersion, generation, ...resize };
}

function settle(decision: Decision, candidates: readonly SideKey[] = []): Settled {
  return { decision, candidates, order: null };
}

function settleUnmoved({ sized, refusal }: ReturnType<typeof findMoves>, action: Action): Settled {
  if (refusal !== null) {
    const { reason, message, until, keys } = refusal;
    return settle({ kind: "blocked", action, reason, message, until }, keys);
  }
  const held = sized.filter((one) => one.kind === "holds");
  const inUse = held.find(({ reason }) => reason === "MemoryInUse");
  if (inUse !== undefined) {
    return settle({ kind: "blocked", action, reason: "MemoryInUse", message: inUse.message }, [inUse.key]);
  }
  const first = held.find(({ reason }) => reason === "AtBound") ?? held[0];
  const reason: HoldReason = first?.reason === "AtBound" ? "AtBound" : "AtTarget";
  return settle(hold(reason, held.map(({ message }) => message).join("; ")));
}

function hold(reason: HoldReason, message: string): Decision {
  return { kind: "hold", reason, message };
}

/** In few words: the numbers are in the state, for those who ask. */
function explainHold({ input, view, container, containerState, policy }: Case): Decision {
  const { sample } = view.sampling;
  if (container.runningAt === null) return NOT_RUNNING;
  if (view.told["metrics"] !== undefined) return UNREAD;
  if (sample === null) return WARMUP;
  const offsetMs = input.observation.kind === "usage" ? input.observation.clockOffsetMs : 0;
  if (!isCounted(sample, containerState.countsFrom + offsetMs)) return NEW_SIZE;
  const actual = readActual(container);
  if (policy.sides.every((side) => readBaseline(side, actual) === null)) return NO_BASELINE;
  return view.streaks === NO_STREAKS || Object.keys(view.streaks).length === 0 ? IN_BAND : STREAK_SHORT;
}

const NOT_RUNNING = hold("NotRunning", "the container is not running");
const UNREAD = hold("MetricsUnavailable", "no new usage is read");
const WARMUP = hold("Warmup", "waiting for the first samples");
const NEW_SIZE = hold("Warmup", "waiting for a sample of the new size");
const NO_BASELINE = hold("BaselineUnavailable", "no configured side has a request or limit to compare with");
const STREAK_SHORT = hold("StreakShort", "outside the thresholds, but not for enough samples yet");
const IN_BAND = hold("InBand", "inside the thresholds");

function explainMoves(moving: readonly Sized[], assessments: readonly Assessment[]): string {
  return moving.map((one) => {
    const assessment = assessments.find(({ key }) => key === one.key);
    const used = assessment === undefined ? one.key : describeUse(assessment);
    return one.kind === "moves" && one.cappedBy !== null ? `${used}, capped by ${one.cappedBy}` : used;
  }).join("; ");
}

function describeUse({ key, utilizationPercent }: Assessment): string {
  return `${key} at ${utilizationPercent === null ? "unknown" : Math.round(utilizationPercent)} %`;
}
