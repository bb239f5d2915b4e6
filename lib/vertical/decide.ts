/**
 * `decideSize(state, input)`: the next state of one pod, a decision for each container, at most one request, and the
 * events.
 *
 * Pure. The daemon, `simulate`, `replay`, the demo and the tests call the same function. Its steps are the files of
 * this folder, in the order of the imports.
 */
import type { ContainerCase, Observation, SizeInput, SizeOutcome } from "../model/decision.ts";
import { computeResizeStatus } from "../model/resize_status.ts";
import type { AutoscalerView, PodState } from "../model/state.ts";
import { nextAfterAnswer, nextAfterUnconfirmed, nextCommand, toScaleAction } from "./answers.ts";
import { askChoices, askGates, type ChoiceResult, type GateResult } from "./gates/ask.ts";
import { reportAnswerOutcome, reportEvaluation } from "./notices/notices.ts";
import { addKilledProcesses, renewKillFloors } from "./oom.ts";
import {
  type CaseResult,
  chooseLongestWanted,
  findVetoedSince,
  listWaitingForDeferred,
  nextLimitedView,
  proposeRevert,
  toContainerDecision,
  toResizeRequest,
  toRevertDecision,
} from "./outcome.ts";
import { nextPodFacts } from "./pod_facts.ts";
import {
  type Choice,
  isDecisionDue,
  listCases,
  listChoices,
  listNotOwnerDecisions,
  proposeSizes,
} from "./proposals.ts";
import { decideWithRecommended, hasRecommendedState } from "./recommend.ts";
import { endScaleDownStreaks, type Sampled, sampleUsage } from "./streaks.ts";

// The fold that the daemon is: decide(state, input) -> outcome, for one pod. The way of a decision is a line of steps,
// a folder each: bring the state up to the pod's facts, sample usage, propose, choose one
// direction, size it, ask the gates, settle what is to be sent, and notify people of what has changed. Sampling and
// streaks always advance. Pure: the live daemon, simulations, replays and tests drive this same function.

/** The next state, a decision per container that was asked about, at most one request, and what people are notified of. */
export function decideSize(before: PodState, input: SizeInput): SizeOutcome {
  return hasRecommendedState(before, input)
    ? decideWithRecommended(before, input, decideOnPod)
    : decideOnPod(before, input);
}

type Answered = Extract<Observation, { kind: "answered" }>;

function decideOnPod(state: PodState, input: SizeInput): SizeOutcome {
  return input.observation.kind === "answered"
    ? decideAfterAnswer(state, input, input.observation)
    : evaluatePod(endScaleDownStreaks(nextPodFacts(state, input), input), input);
}

function evaluatePod(facts: PodState, input: SizeInput): SizeOutcome {
  const late = nextAfterUnconfirmed(facts, input);
  const { state: settled, enacted } = nextCommand(late.state, input);
  const sampled = sampleUsage(settled, input);
  const known = renewKillFloors(addKilledProcesses(settled, sampled, input), sampled, input.now);
  const status = computeResizeStatus(input.pod, known, input.now);
  const cases = listCases(sampled, { input, state: known, status });
  const weighed = chooseRequest(cases);
  const { request, weighed: asked } = weighed;
  const others = listNotOwnerDecisions(sampled, { cases, input });
  const decisions = others.length === 0 ? weighed.decisions : [...weighed.decisions, ...others];
  const views: Record<string, AutoscalerView> = {};
  for (const { autoscaler, view, isNewSample } of sampled) {
    const one = weighed.weighed.find(({ it }) => it.autoscaler === autoscaler);
    const next = isNewSample ? nextLimitedView(view, autoscaler, one?.up ?? null) : view;
    const vetoedSince = one === undefined ? view.vetoedSince : one.vetoedSince;
    views[autoscaler.key] = vetoedSince === next.vetoedSince ? next : { ...next, vetoedSince };
  }
  const state: PodState = { ...known, at: input.now, views };
  const notified = reportEvaluation({ input, state, late, sampled, cases, asked, decisions, request });
  return {
    state: notified.state,
    decisions,
    notices: notified.notices,
    request,
    scaled: toScaleAction(late),
    enacted,
    implausible: countImplausible(sampled),
  };
}

interface ChosenRequest extends Pick<SizeOutcome, "decisions" | "request"> {
  readonly weighed: readonly (CaseResult & { readonly up: GateResult | null })[];
}

/** Proposals are made, one direction chosen, the sizes found and the gates asked: for each container, then for the pod. */
function chooseRequest(cases: readonly ContainerCase[]): ChosenRequest {
  const weighed = cases.filter(isDecisionDue).map((it) => {
    const proposals = proposeSizes(it);
    const choices = listChoices(proposals, it.autoscaler);
    const first = askChoices(it, choices);
    const asked = first?.asked ?? null;
    const vetoedSince = findVetoedSince(it, proposals, asked);
    return { it, choice: first?.choice ?? null, asked, up: findScaleUpResult(it, choices, first), vetoedSince };
  });
  const first = chooseLongestWanted(weighed);
  if (first === null) {
    const revert = proposeRevert(cases, listWaitingForDeferred(weighed));
    const decisions = weighed.map(toContainerDecision);
    const all = revert === null ? decisions : [...decisions, toRevertDecision(revert)];
    return { weighed, decisions: all, request: revert };
  }
  // Whoever passed as well is asked again, now that another goes first.
  const decisions = weighed.map((one) => {
    const { it, choice, asked } = one;
    const isBehind = asked?.kind === "passed" && asked.candidate !== first;
    return toContainerDecision(
      isBehind && choice !== null ? { ...one, asked: askGates(it, choice, first.container.name) } : one,
    );
  });
  return { weighed, decisions, request: toResizeRequest(first) };
}

/** How the scale-up fared, which is the first choice where there is one; a scale-down may have gone before it (L34). */
function findScaleUpResult(it: ContainerCase, [up]: readonly Choice[], first: ChoiceResult | null): GateResult | null {
  if (up?.direction !== "up" || first === null) return null;
  return first.choice === up ? first.asked : askGates(it, up);
}

function decideAfterAnswer(state: PodState, input: SizeInput, observation: Answered): SizeOutcome {
  const settled = nextAfterAnswer(state, input, observation);
  const { state: next, notices } = reportAnswerOutcome(settled, input.pod.name);
  return {
    state: { ...next, at: input.now },
    decisions: [],
    notices,
    request: null,
    scaled: toScaleAction(settled),
    enacted: null,
    implausible: 0,
  };
}

function countImplausible(sampled: readonly Sampled[]): number {
  let count = 0;
  for (const { isImplausible } of sampled) if (isImplausible) count++;
  return count;
}
