/**
 * A pod as it stands after an evaluation, for people who ask why: what is wanted of each container or would be, how it is sized by each cap, and what
 * each gate says. It asks what `decide` asks, of the state that came of it, and changes nothing.
 */
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import { listCases } from "../cases.ts";
import type { Decision, Direction, Input } from "../decision.ts";
import { askFirst } from "../gate/ask.ts";
import { askEvery, type GateAnswer } from "../gate/ask_every.ts";
import { type Candidate, newCandidate } from "../gate/candidate.ts";
import { readBaseline } from "../observe/streaks.ts";
import { readActual } from "../pod/pod_facts.ts";
import { readResizeStatus } from "../pod/resize_status.ts";
import { assess, type Assessment } from "../propose/assess.ts";
import { pairUp } from "../propose/pairs.ts";
import type { Proposal } from "../propose/proposal.ts";
import { type Choice, choose, listChoices, propose } from "../propose/propose.ts";
import { readPodFor, readStateFor } from "../recommend/shadow.ts";
import type { CAPS, Fitted } from "../size/caps.ts";
import { recommend } from "../size/recommend.ts";
import { toDecision } from "../settle/requests.ts";
import type { PodState } from "../state.ts";

/** A container with its owner. */
export interface Examined {
  readonly it: Case;
  readonly assessments: readonly Assessment[];
  /** What an evaluation would come to now. */
  readonly decision: Decision;
  /** What is wanted, in the order in which it is asked; or what would come of a side that left its thresholds now, up and down. */
  readonly trials: readonly Trial[];
}

/** One choice through caps and gates. */
export interface Trial {
  readonly direction: Direction;
  /** False: nothing is wanted; it is as if usage had just passed the thresholds. */
  readonly isWanted: boolean;
  readonly proposals: readonly Proposal[];
  readonly candidate: Candidate;
  readonly caps: readonly CapStep[];
  readonly gates: readonly GateAnswer[];
}

/** What one cap made of a side. */
export interface CapStep extends Fitted {
  readonly key: SideKey;
  readonly cap: keyof typeof CAPS;
}

/** One per container that has an owner; `state` is that of the outcome. */
export function examine(state: PodState, input: Input): readonly Examined[] {
  const inFlight = input.observation.kind === "answered" ? false : input.inFlight;
  return MODES.flatMap((mode) => {
    const contenders = input.contenders.filter((one) => one.mode === mode);
    if (contenders.length === 0) return [];
    const [own, pod] = [readStateFor({ mode }, state), readPodFor({ mode }, input.pod, state)];
    return listOwned(own, { ...input, contenders, pod, inFlight }).map(examineCase);
  });
}

const MODES: readonly Autoscaler["mode"][] = ["apply", "recommend"];

function listOwned(state: PodState, input: Input): readonly Case[] {
  const status = readResizeStatus(input.pod, state, input.now);
  const sampled = input.contenders.flatMap((autoscaler) => {
    const view = state.views[autoscaler.key];
    return view === undefined ? [] : [{ autoscaler, view, isDue: true, isNewSample: false, isImplausible: false }];
  });
  return listCases(sampled, { input, state, status });
}

function examineCase(it: Case): Examined {
  const assessments = assess(it.autoscaler.sides, it.view, readActual(it.container));
  const choices = listChoices(propose(it), it.autoscaler);
  const { vetoedSince } = it.view;
  const { decision } = toDecision({ it, asked: askFirst(it, choices)?.asked ?? null, vetoedSince });
  if (choices.length > 0) {
    return { it, assessments, decision, trials: choices.map((choice) => tryChoice(it, choice, true)) };
  }
  const supposed = DIRECTIONS.flatMap((direction) => choose(pairUp(it, suppose(it, direction))) ?? []);
  return { it, assessments, decision, trials: supposed.map((choice) => tryChoice(it, choice, false)) };
}

const DIRECTIONS: readonly Direction[] = ["up", "down"];

function tryChoice(it: Case, choice: Choice, isWanted: boolean): Trial {
  const caps: CapStep[] = [];
  const candidate = newCandidate(it, choice, {
    ahead: null,
    noteCap: (key, cap, fitted) => void caps.push({ key, cap, ...fitted }),
  });
  const { direction, proposals } = choice;
  return { direction, isWanted, proposals, candidate, caps, gates: askEvery(candidate) };
}

/** As if the usage of every side were just beyond its threshold. */
function suppose({ autoscaler, container }: Case, direction: Direction): readonly Proposal[] {
  return autoscaler.sides.flatMap((rule) => {
    const baseline = readBaseline(rule, readActual(container));
    if (baseline === null) return [];
    const amount = recommend(rule[direction], readThreshold(rule, direction) * baseline / 100);
    return [{ side: rule.key, direction, amount, why: `${rule.key} beyond its threshold`, cause: "usage" }];
  });
}

/** Percent. */
export function readThreshold(rule: SideRule, direction: Direction): number {
  return direction === "up" ? rule.scaleUpThresholdPercent : rule.scaleDownThresholdPercent;
}
