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
import { getPodFor, getStateFor } from "./recommend.ts";
import { newCandidate, type ResizeCandidate } from "./sizing/candidate.ts";
import type { CAPS, Fitted } from "./sizing/caps.ts";

// A pod as it stands after an evaluation, for people who ask why: what is wanted of each container or would be, how it
// is sized by each cap, and what each gate says. It asks what `decideSize` asks, of the state that came of it, and
// changes nothing.

/** A container with its owner. */
export interface ExplainedContainer {
  readonly it: ContainerCase;
  readonly assessments: readonly FieldAssessment[];
  /** What an evaluation would come to now. */
  readonly decision: Decision;
  /** What is wanted, in the order in which it is asked; or what would come of a side that left its thresholds now, up and down. */
  readonly trials: readonly ChoiceTrial[];
}

/** One choice through caps and gates. */
export interface ChoiceTrial {
  readonly direction: Direction;
  /** False: nothing is wanted; it is as if usage had just passed the thresholds. */
  readonly isWanted: boolean;
  readonly proposals: readonly Proposal[];
  readonly candidate: ResizeCandidate;
  readonly caps: readonly CapStep[];
  readonly gates: readonly GateAnswer[];
}

/** What one cap made of a side. */
export interface CapStep extends Fitted {
  readonly key: ResourceField;
  readonly cap: keyof typeof CAPS;
}

/** One per container that has an owner; `state` is that of the outcome. */
export function explainSize(state: PodState, input: SizeInput): readonly ExplainedContainer[] {
  const inFlight = input.observation.kind === "answered" ? false : input.inFlight;
  return MODES.flatMap((mode) => {
    const contenders = input.contenders.filter((one) => one.mode === mode);
    if (contenders.length === 0) return [];
    const [own, pod] = [getStateFor({ mode }, state), getPodFor({ mode }, input.pod, state)];
    return listOwnedCases(own, { ...input, contenders, pod, inFlight }).map(explainCase);
  });
}

/** Percent. */
export function getThresholdPercent(rule: FieldPolicy, direction: Direction): number {
  return direction === "up" ? rule.scaleUpThresholdPercent : rule.scaleDownThresholdPercent;
}

// What each gate by itself says of a candidate, for people who ask why: the decision goes by the first objection
// alone.

export type GateName = keyof typeof GATES;

// Every configured side as it stands with the newest sample: for proposals, and for those who show or explain one.

/** As `assessFields`, from a pod's state; empty while nothing is known. */
export function assessAutoscaler(autoscaler: Autoscaler, state: PodState, pod: PodFacts): readonly FieldAssessment[] {
  const view = getStateFor(autoscaler, state).views[autoscaler.key];
  const container = findContainer(getPodFor(autoscaler, pod, state), autoscaler.containerName);
  return view === undefined || container === null ? [] : assessFields(autoscaler.sides, view, getActualSize(container));
}

const MODES: readonly Autoscaler["mode"][] = ["apply", "recommend"];

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

/** As if the usage of every side were just beyond its threshold. */
function proposeAtThreshold({ autoscaler, container }: ContainerCase, direction: Direction): readonly Proposal[] {
  return autoscaler.sides.flatMap((rule) => {
    const baseline = findBaseline(rule, getActualSize(container));
    if (baseline === null) return [];
    const amount = computeTargetSize(rule[direction], getThresholdPercent(rule, direction) * baseline / 100);
    return [{ side: rule.key, direction, amount, why: `${rule.key} beyond its threshold`, cause: "usage" }];
  });
}

/** One gate's answer; `null` = it lets the candidate pass. */
interface GateAnswer {
  readonly gate: GateName;
  readonly objection: Objection | null;
}

/** One per gate, in their order. */
function askEveryGate(candidate: ResizeCandidate): readonly GateAnswer[] {
  return Object.entries<Gate>(GATES).map(([name, ask]) => ({ gate: name as GateName, objection: ask(candidate) }));
}
