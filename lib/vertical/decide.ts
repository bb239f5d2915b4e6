/**
 * `decideSize(state, input)`: the next state of one pod, a decision for each container, at most one request, and the
 * events.
 *
 * Pure. The daemon, `simulate`, `replay`, the demo and the tests call the same function. Its steps are the files of
 * this folder, in the order in which they are called here. `pod_facts.ts` already asks `oom.ts` for new kills and
 * `streaks.ts` which streaks go on.
 */
import type { SizeInput, SizeOutcome } from "../model/decision.ts";
import { computeResizeStatus } from "../model/resize_status.ts";
import type { PodState } from "../model/state.ts";
import { settlePod } from "./answers.ts";
import { askChoices } from "./gates/ask.ts";
import { reportAnswerOutcome, reportEvaluation } from "./notices/notices.ts";
import { nextEndingsFromSamples } from "./oom.ts";
import { type CaseResult, toOutcome } from "./outcome.ts";
import { nextAfterPodChange } from "./pod_facts.ts";
import { isDecisionDue, listCases, listChoices, proposeSizes } from "./proposals.ts";
import {
  applyRecommended,
  type DecisionInput,
  mergeRecommended,
  type Recommendation,
  splitByMode,
  toAcceptedInput,
  toRecommendedInput,
} from "./recommend.ts";
import { addSampledKills, sampleUsage } from "./streaks.ts";

/**
 * Returns the outcome of one evaluation of a pod. Autoscalers of mode recommend decide about a copy of the pod. Never
 * throws.
 */
export function decideSize(before: PodState, input: SizeInput): SizeOutcome {
  const { applying, recommending } = splitByMode(before, input);
  const outcome = decideOnPod(applying);
  return recommending === null ? outcome : addRecommended(outcome, recommending);
}

function decideOnPod({ state: before, input }: DecisionInput): SizeOutcome {
  const { now, pod } = input;
  // 1. What has happened: to the pod, and to the requests that were sent for it.
  const settled = settlePod(nextAfterPodChange(before, input), input);
  const { scaled, enacted } = settled;
  if (input.observation.kind === "answered") {
    const { state, notices } = reportAnswerOutcome(settled, pod.name);
    return { state: { ...state, at: now }, decisions: [], notices, request: null, scaled, enacted, implausible: 0 };
  }
  // 2. What the containers use. Samples and streaks advance whether or not a resize is possible. The views in `used` are
  // the old ones: the new ones are in `sampled` until `toOutcome` joins them.
  const { state: used, sampled: taken, implausible } = sampleUsage(settled.state, input);
  const known = nextEndingsFromSamples(used, taken, input);
  const sampled = addSampledKills(taken, { before: used, after: known });
  // 3. What is wanted of each container, in which size, and whether it may be.
  const cases = listCases(sampled, { input, state: known, status: computeResizeStatus(pod, known, now) });
  const results = cases.filter(isDecisionDue).map((it): CaseResult => {
    const proposals = proposeSizes(it);
    return { it, proposals, ...askChoices(it, listChoices(proposals, it.autoscaler)) };
  });
  // 4. At most one request for the pod, and what is reported.
  const { request, decisions, views } = toOutcome({ input, sampled, cases, results });
  const decided: PodState = { ...known, at: now, views };
  const { state, notices } = reportEvaluation({
    input,
    state: decided,
    settled,
    sampled,
    cases,
    results,
    decisions,
    request,
  });
  return { state, decisions, notices, request, scaled, enacted, implausible };
}

/**
 * Returns the outcome with the decisions of mode recommend. Each recommended request counts as accepted and in force at
 * once, and may lead to the next: at most one for each autoscaler.
 */
function addRecommended(outcome: SizeOutcome, first: Recommendation): SizeOutcome {
  const recommended = decideOnPod(toRecommendedInput(first));
  const { input } = first;
  let shadow = { ...first.shadow, state: recommended.state };
  let { request, notices } = recommended;
  for (let left = input.contenders.length; request !== null && left > 0; left--) {
    const answered = decideOnPod(toAcceptedInput({ input, shadow }, request));
    const applied = applyRecommended({ input, shadow }, request, answered.state);
    const enacted = decideOnPod(toRecommendedInput(applied, { kind: "changed" }));
    shadow = { ...applied.shadow, state: enacted.state };
    request = enacted.request;
    // The state remembers what was reported. Those of the answer say that something was resized.
    notices = [...notices, ...enacted.notices];
  }
  return mergeRecommended(outcome, { ...recommended, notices }, shadow);
}
