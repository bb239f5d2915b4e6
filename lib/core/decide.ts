/**
 * The fold that the daemon is: decide(state, input) -> outcome, for one pod. The way of a decision is a line of steps, a
 * folder each: rebase the state to the clock, bring it up to the pod's facts, sample usage, propose, choose one direction,
 * size it, ask the gates, settle what is to be sent, and notify people of what has changed. Sampling and streaks
 * always advance. Pure: the live daemon, simulations, replays and tests drive this same function.
 */
import type { Case } from "./case.ts";
import type { Input, Observation, Outcome } from "./decision.ts";
import { isAsked, listCases, listOthers } from "./cases.ts";
import { ask, askFirst } from "./gate/ask.ts";
import { notifyOfEvaluation, notifyOfSettled } from "./notify/notify.ts";
import { nextFacts } from "./observe/facts.ts";
import { rebase } from "./observe/rebase.ts";
import { sample, type Sampled } from "./observe/sample.ts";
import { readResizeStatus } from "./pod/resize_status.ts";
import { listChoices, propose } from "./propose/propose.ts";
import { proposeRevert } from "./propose/revert.ts";
import { readScaled } from "./settle/accepted.ts";
import { settleAnswer } from "./settle/answers.ts";
import { settleCommand } from "./settle/command.ts";
import { chooseFirst, listHeldBack, toDecision, toRequest, toRevertDecision, type Weighed } from "./settle/requests.ts";
import { settleUnconfirmed } from "./settle/unconfirmed.ts";
import { readVetoedSince } from "./settle/veto.ts";
import type { PodState, View } from "./state.ts";

type Answered = Extract<Observation, { kind: "answered" }>;

/** The next state, a decision per container that was asked about, at most one request, and what people are notified of. */
export function decide(before: PodState, input: Input): Outcome {
  const state = rebase(before, input);
  return input.observation.kind === "answered"
    ? settle(state, input, input.observation)
    : evaluate(nextFacts(state, input), input);
}

function evaluate(facts: PodState, input: Input): Outcome {
  const late = settleUnconfirmed(facts, input);
  const { state: known, enacted } = settleCommand(late.state, input);
  const sampled = sample(known, input);
  const status = readResizeStatus(input.pod, known, input.now);
  const cases = listCases(sampled, { input, state: known, status });
  const weighed = weigh(cases);
  const { request, weighed: asked } = weighed;
  const others = listOthers(sampled, cases);
  const decisions = others.length === 0 ? weighed.decisions : [...weighed.decisions, ...others];
  const views: Record<string, View> = {};
  for (const { autoscaler, view } of sampled) views[autoscaler.key] = view;
  for (const { it: { autoscaler, view }, vetoedSince } of weighed.weighed) {
    if (vetoedSince !== view.vetoedSince) views[autoscaler.key] = { ...view, vetoedSince };
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

/** Proposals are made, one direction chosen, the sizes found and the gates asked: for each container, then for the pod. */
function weigh(
  cases: readonly Case[],
): Pick<Outcome, "decisions" | "request"> & { readonly weighed: readonly Weighed[] } {
  const weighed = cases.filter(isAsked).map((it) => {
    const proposals = propose(it);
    const first = askFirst(it, listChoices(proposals, it.autoscaler));
    const asked = first?.asked ?? null;
    return { it, choice: first?.choice ?? null, asked, vetoedSince: readVetoedSince(it, proposals, asked) };
  });
  const first = chooseFirst(weighed);
  if (first === null) {
    const revert = proposeRevert(cases, listHeldBack(weighed));
    const decisions = weighed.map(toDecision);
    return {
      decisions: revert === null ? decisions : [...decisions, toRevertDecision(revert)],
      request: revert,
      weighed,
    };
  }
  // Whoever passed as well is asked again, now that another goes first.
  const decisions = weighed.map((one) => {
    const { it, choice, asked } = one;
    const isBehind = asked?.kind === "passed" && asked.candidate !== first;
    return toDecision(isBehind && choice !== null ? { ...one, asked: ask(it, choice, first.container.name) } : one);
  });
  return { decisions, request: toRequest(first), weighed };
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
