/**
 * The fold that the daemon is: decide(state, input) -> outcome, for one pod. The way of a decision is a line of steps, a
 * folder each: rebase the state to the clock, bring it up to the pod's facts, sample usage, propose, choose one direction,
 * size it, ask the gates, settle what is to be sent, and notify people of what has changed. Sampling and streaks
 * always advance. Pure: the live daemon, simulations, replays and tests drive this same function.
 */
import type { Case } from "./case.ts";
import type { Input, Observation, Outcome } from "./decision.ts";
import { isAsked, listCases, listOthers } from "./cases.ts";
import { ask, type Asked, type AskedFirst, askFirst } from "./gate/ask.ts";
import { notifyOfEvaluation, notifyOfSettled } from "./notify/notify.ts";
import { noteKilledProcesses, renewFloors } from "./observe/endings.ts";
import { nextFacts } from "./observe/facts.ts";
import { rebase } from "./observe/rebase.ts";
import { sample, type Sampled } from "./observe/sample.ts";
import { endDowns } from "./observe/scale_in.ts";
import { readResizeStatus } from "./pod/resize_status.ts";
import { type Choice, listChoices, propose } from "./propose/propose.ts";
import { proposeRevert } from "./propose/revert.ts";
import { readScaled } from "./settle/accepted.ts";
import { decideWithShadow, hasShadow } from "./recommend/recommend.ts";
import { settleAnswer } from "./settle/answers.ts";
import { settleCommand } from "./settle/command.ts";
import { chooseFirst, listHeldBack, toDecision, toRequest, toRevertDecision, type Weighed } from "./settle/requests.ts";
import { nextLimitedView } from "./settle/limited.ts";
import { settleUnconfirmed } from "./settle/unconfirmed.ts";
import { readVetoedSince } from "./settle/veto.ts";
import type { PodState, View } from "./state.ts";

type Answered = Extract<Observation, { kind: "answered" }>;

/** The next state, a decision per container that was asked about, at most one request, and what people are notified of. */
export function decide(before: PodState, input: Input): Outcome {
  return hasShadow(before, input) ? decideWithShadow(before, input, fold) : fold(before, input);
}

function fold(before: PodState, input: Input): Outcome {
  const state = rebase(before, input);
  return input.observation.kind === "answered"
    ? settle(state, input, input.observation)
    : evaluate(endDowns(nextFacts(state, input), input), input);
}

function evaluate(facts: PodState, input: Input): Outcome {
  const late = settleUnconfirmed(facts, input);
  const { state: settled, enacted } = settleCommand(late.state, input);
  const sampled = sample(settled, input);
  const known = renewFloors(noteKilledProcesses(settled, sampled, input), sampled, input.now);
  const status = readResizeStatus(input.pod, known, input.now);
  const cases = listCases(sampled, { input, state: known, status });
  const weighed = weigh(cases);
  const { request, weighed: asked } = weighed;
  const others = listOthers(sampled, { cases, input });
  const decisions = others.length === 0 ? weighed.decisions : [...weighed.decisions, ...others];
  const views: Record<string, View> = {};
  for (const { autoscaler, view, isNewSample } of sampled) {
    const one = weighed.weighed.find(({ it }) => it.autoscaler === autoscaler);
    const next = isNewSample ? nextLimitedView(view, autoscaler, one?.up ?? null) : view;
    const vetoedSince = one === undefined ? view.vetoedSince : one.vetoedSince;
    views[autoscaler.key] = vetoedSince === next.vetoedSince ? next : { ...next, vetoedSince };
  }
  const state: PodState = { ...known, at: input.now, views };
  const notified = notifyOfEvaluation({ input, state, late, sampled, cases, asked, decisions, request });
  return {
    state: notified.state,
    decisions,
    notices: notified.notices,
    request,
    scaled: readScaled(late),
    enacted,
    implausible: countImplausible(sampled),
  };
}

interface Weighing extends Pick<Outcome, "decisions" | "request"> {
  readonly weighed: readonly (Weighed & { readonly up: Asked | null })[];
}

/** Proposals are made, one direction chosen, the sizes found and the gates asked: for each container, then for the pod. */
function weigh(cases: readonly Case[]): Weighing {
  const weighed = cases.filter(isAsked).map((it) => {
    const proposals = propose(it);
    const choices = listChoices(proposals, it.autoscaler);
    const first = askFirst(it, choices);
    const asked = first?.asked ?? null;
    const vetoedSince = readVetoedSince(it, proposals, asked);
    return { it, choice: first?.choice ?? null, asked, up: readHeldUp(it, choices, first), vetoedSince };
  });
  const first = chooseFirst(weighed);
  if (first === null) {
    const revert = proposeRevert(cases, listHeldBack(weighed));
    const decisions = weighed.map(toDecision);
    const all = revert === null ? decisions : [...decisions, toRevertDecision(revert)];
    return { weighed, decisions: all, request: revert };
  }
  // Whoever passed as well is asked again, now that another goes first.
  const decisions = weighed.map((one) => {
    const { it, choice, asked } = one;
    const isBehind = asked?.kind === "passed" && asked.candidate !== first;
    return toDecision(isBehind && choice !== null ? { ...one, asked: ask(it, choice, first.container.name) } : one);
  });
  return { weighed, decisions, request: toRequest(first) };
}

/** How the scale-up fared, which is the first choice where there is one; a scale-down may have gone before it (L34). */
function readHeldUp(it: Case, [up]: readonly Choice[], first: AskedFirst | null): Asked | null {
  if (up?.direction !== "up" || first === null) return null;
  return first.choice === up ? first.asked : ask(it, up);
}

function settle(state: PodState, input: Input, observation: Answered): Outcome {
  const settled = settleAnswer(state, input, observation);
  const { state: next, notices } = notifyOfSettled(settled, input.pod.name);
  return {
    state: { ...next, at: input.now },
    decisions: [],
    notices,
    request: null,
    scaled: readScaled(settled),
    enacted: null,
    implausible: 0,
  };
}

function countImplausible(sampled: readonly Sampled[]): number {
  let count = 0;
  for (const { isImplausible } of sampled) if (isImplausible) count++;
  return count;
}
