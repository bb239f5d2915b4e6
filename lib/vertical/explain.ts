/**
 * Explains a pod after an evaluation: what is wanted, what each cap makes of it, and what each gate answers.
 *
 * It asks the same functions as `decideSize` and changes nothing.
 */
import { type Autoscaler, type FieldPolicy, findBaseline } from "../model/autoscaler.ts";
import type { ContainerCase, Decision, Direction, SizeInput } from "../model/decision.ts";
import { findContainer, getActualSize, type PodFacts } from "../model/pod.ts";
import { computeResizeStatus } from "../model/resize_status.ts";
import type { PodState } from "../model/state.ts";
import type { ResourceField } from "../units/resources.ts";
import { askChoices } from "./gates/ask.ts";
import { type Gate, GATES, type Objection } from "./gates/gates.ts";
import { toContainerDecision } from "./outcome.ts";
import {
  assessFields,
  type Choice,
  chooseDirection,
  computeTargetSize,
  type FieldAssessment,
  listCases,
  listChoices,
  pairUp,
  type Proposal,
  proposeSizes,
} from "./proposals.ts";
import { getPodFor, getStateFor, splitByMode, toRecommendedInput } from "./recommend.ts";
import { newCandidate, type ResizeCandidate } from "./sizing/candidate.ts";
import type { CAPS, Fitted } from "./sizing/caps.ts";

/** A container with its owner. */
export interface ExplainedContainer {
  readonly it: ContainerCase;
  readonly assessments: readonly FieldAssessment[];
  /** The decision of an evaluation now. */
  readonly decision: Decision;
  /**
   * The wanted changes in the order in which they are asked. If there are none: what a field would do that crossed its
   * threshold now, up and down.
   */
  readonly trials: readonly ChoiceTrial[];
}

/** One choice through caps and gates. */
export interface ChoiceTrial {
  readonly direction: Direction;
  /** False: no change is wanted, and usage is assumed to have just crossed the thresholds. */
  readonly isWanted: boolean;
  readonly proposals: readonly Proposal[];
  readonly candidate: ResizeCandidate;
  readonly caps: readonly CapStep[];
  readonly gates: readonly GateAnswer[];
}

/** What one cap made of a field. */
export interface CapStep extends Fitted {
  readonly key: ResourceField;
  readonly cap: keyof typeof CAPS;
}

/** Returns one explanation for each container with an owner; `state` is the one of the outcome. */
export function explainSize(state: PodState, input: SizeInput): readonly ExplainedContainer[] {
  const settled: SizeInput = input.observation.kind === "answered"
    ? { ...input, observation: { kind: "changed" }, inFlight: false }
    : input;
  const { applying, recommending } = splitByMode(state, settled);
  const parts = recommending === null ? [applying] : [applying, toRecommendedInput(recommending)];
  return parts.flatMap((part) => listOwnedCases(part.state, part.input).map(explainCase));
}

/** Percent. */
export function getThresholdPercent(rule: FieldPolicy, direction: Direction): number {
  return direction === "up" ? rule.scaleUpThresholdPercent : rule.scaleDownThresholdPercent;
}

export type GateName = keyof typeof GATES;

/** Returns the result of `assessFields` from a pod's state; empty if nothing was sampled. */
export function assessAutoscaler(autoscaler: Autoscaler, state: PodState, pod: PodFacts): readonly FieldAssessment[] {
  const view = getStateFor(autoscaler, state).views[autoscaler.key];
  const container = findContainer(getPodFor(autoscaler, pod, state), autoscaler.containerName);
  return view === undefined || container === null ? [] : assessFields(autoscaler.sides, view, getActualSize(container));
}

function listOwnedCases(state: PodState, input: SizeInput): readonly ContainerCase[] {
  const status = computeResizeStatus(input.pod, state, input.now);
  const sampled = input.contenders.flatMap((autoscaler) => {
    const view = state.views[autoscaler.key];
    return view === undefined ? [] : [{ autoscaler, view, isDue: true, isNewSample: false, isImplausible: false }];
  });
  return listCases(sampled, { input, state, status });
}

function explainCase(it: ContainerCase): ExplainedContainer {
  const assessments = assessFields(it.autoscaler.sides, it.view, getActualSize(it.container));
  const choices = listChoices(proposeSizes(it), it.autoscaler);
  const { decision } = toContainerDecision(it, askChoices(it, choices).asked, it.view.vetoedSince);
  if (choices.length > 0) {
    return { it, assessments, decision, trials: choices.map((choice) => tryChoice(it, choice, true)) };
  }
  const supposed = DIRECTIONS.flatMap((direction) =>
    chooseDirection(pairUp(it, proposeAtThreshold(it, direction))) ?? []
  );
  return { it, assessments, decision, trials: supposed.map((choice) => tryChoice(it, choice, false)) };
}

const DIRECTIONS: readonly Direction[] = ["up", "down"];

function tryChoice(it: ContainerCase, choice: Choice, isWanted: boolean): ChoiceTrial {
  const caps: CapStep[] = [];
  const candidate = newCandidate(it, choice, (key, cap, fitted) => void caps.push({ key, cap, ...fitted }));
  const { direction, proposals } = choice;
  return { direction, isWanted, proposals, candidate, caps, gates: askEveryGate(candidate) };
}

/** Returns the proposals if the usage of every field were just beyond its threshold. */
function proposeAtThreshold({ autoscaler, container }: ContainerCase, direction: Direction): readonly Proposal[] {
  return autoscaler.sides.flatMap((rule) => {
    const baseline = findBaseline(rule, getActualSize(container));
    if (baseline === null) return [];
    const amount = computeTargetSize(rule[direction], getThresholdPercent(rule, direction) * baseline / 100);
    return [{ side: rule.key, direction, amount, why: `${rule.key} beyond its threshold`, cause: "usage" }];
  });
}

/** One gate's answer; `null` = it does not object. */
interface GateAnswer {
  readonly gate: GateName;
  readonly objection: Objection | null;
}

/** Returns one answer for each gate, in their order. */
function askEveryGate(candidate: ResizeCandidate): readonly GateAnswer[] {
  return Object.entries<Gate>(GATES).map(([name, ask]) => ({ gate: name as GateName, objection: ask(candidate) }));
}
