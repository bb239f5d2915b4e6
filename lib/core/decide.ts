/**
 * The fold that the daemon is: decide(state, input) -> outcome, for one pod. usage -> assess each side -> choose the
 * direction -> size -> first objection of the gates -> decision. Sampling and streaks always advance. Pure: the live
 * daemon, simulations, replays and tests drive this same function.
 */
import { nextAnswered, nextArrived } from "./settle/answers.ts";
import { type Case, decideContainer, type Decided } from "./decide_container.ts";
import { describeChange } from "./gate/gates.ts";
import type { ContainerDecision, Input, Outcome, ResizeRequest } from "./decision.ts";
import { judgeUnconfirmed } from "./settle/unconfirmed.ts";
import { nextCommand, nextFacts } from "./observe/next_facts.ts";
import { chooseOwner, type OwnershipContext } from "./ownership.ts";
import { type ContainerFacts, findContainer, type PodFacts } from "./pod/pod_facts.ts";
import { BLOCK_NOTICE, type BlockReason, type HoldReason, type Notice } from "./reasons.ts";
import { readResizeStatus, type ResizeStatus } from "./pod/resize_status.ts";
import { resourceOf } from "../units/resources.ts";
import { isWaiting } from "./settle/refusals.ts";
import { revertStuck, STUCK } from "./propose/revert.ts";
import { type Sampled, sampleViews } from "./observe/take_samples.ts";
import type { PodState, View } from "./state.ts";
import { tell } from "./notify/edge.ts";

export function decide(before: PodState, input: Input): Outcome {
  if (input.observation.kind === "answered") return nextAnswered(before, input, input.observation);
  const late = settleLost(nextFacts(before, input), input);
  const { state, enacted } = nextCommand(late.state, input);
  const { turns, notices, absurd } = sampleViews(state, input);
  notices.unshift(...late.notices);
  const views: Record<string, View> = {};
  for (const { policy, view } of turns) views[policy.uid] = view;
  const status = readResizeStatus(input.pod, state, input.now);
  const cases = listCases(turns, { input, state, status });
  const decided = cases.filter(isAsked).map((it) => decideContainer(it));
  const order = chooseOrder(cases, decided) ?? revertStuck(cases, status);
  const decisions = decided.map((one) => yieldTo(order, one));
  if (cases.length < turns.length) decisions.push(...listLosers(turns, cases));
  if (order?.action === "return") decisions.push(returnDecision(order));
  for (const it of cases) views[it.policy.uid] = tellStuck(it, { status, notices });
  for (const decision of decisions) {
    const view = views[decision.policy.uid];
    if (view !== undefined) views[decision.policy.uid] = tellBlock(decision, view, { pod: input.pod, state, notices });
  }
  if (order !== null) {
    const view = views[order.policy.uid];
    if (view !== undefined) views[order.policy.uid] = tellRestart(order, view, { now: input.now, cases, notices });
  }
  return {
    state: { ...state, at: input.now, views },
    decisions,
    notices,
    request: order,
    scaled: late.scaled,
    enacted,
    implausible: absurd,
  };
}

/** An order whose answer was lost, and which the pod now shows to have arrived, is told like any other. */
function settleLost(state: PodState, input: Input): Pick<Outcome, "state" | "notices" | "scaled"> {
  const { unconfirmed: lost } = state;
  if (lost.length === 0) return { state, notices: [], scaled: null };
  const { arrived, unknown } = judgeUnconfirmed(lost, input);
  if (arrived !== null) return nextArrived(state, input, arrived);
  return {
    state: unknown.length === lost.length ? state : { ...state, unconfirmed: unknown },
    notices: [],
    scaled: null,
  };
}

/** One case per container: its owner's. */
function listCases(
  turns: readonly Sampled[],
  context: { input: Input; state: PodState; status: ResizeStatus },
): Case[] {
  const { input, state, status } = context;
  const { now, pod } = input;
  const cases: Case[] = [];
  for (const name in state.containers) {
    const container = findContainer(pod, name);
    const containerState = state.containers[name];
    if (container === null || containerState === undefined) continue;
    const own = turns.filter(({ policy }) => policy.containerName === name);
    const turn = own.length <= 1 ? own[0] : findOwn(own, { now, pod, container, containerState });
    if (turn === undefined) continue;
    const { policy, view, isDue, isNewSample } = turn;
    cases.push({ input, state, status, policy, view, isDue, isNewSample, container, containerState });
  }
  return cases;
}

function findOwn(turns: readonly Sampled[], context: OwnershipContext): Sampled | undefined {
  const owner = chooseOwner(turns.map(({ policy }) => policy), context);
  return turns.find(({ policy }) => policy === owner);
}

/** At its turn, and whenever something changed while a wish stands (C22, C40). */
function isAsked(it: Case): boolean {
  return it.isDue || (it.input.observation.kind === "changed" && it.view.wantedSince !== null);
}

/** One resize in flight per pod: the wish that has stood longest goes first (C12). */
function chooseOrder(cases: readonly Case[], decided: readonly Decided[]): ResizeRequest | null {
  let [first, firstSince]: [ResizeRequest | null, number] = [null, Infinity];
  for (const { order } of decided) {
    if (order === null) continue;
    const since = cases.find((it) => it.policy === order.policy)?.view.wantedSince ?? Infinity;
    if (first === null || since < firstSince) [first, firstSince] = [order, since];
  }
  return first;
}

function yieldTo(order: ResizeRequest | null, { decision, order: own }: Decided): ContainerDecision {
  if (own === null || own === order || decision.decision.kind !== "resize") return decision;
  const { action } = decision.decision;
  const message = `container "${order?.container}" of the same pod is resized first`;
  return { ...decision, decision: { kind: "blocked", action, reason: "ResizeInProgress", message } };
}

function listLosers(turns: readonly Sampled[], cases: readonly Case[]): ContainerDecision[] {
  return turns.filter(({ policy, isDue }) => isDue && !cases.some((it) => it.policy === policy)).map((turn) => {
    const owner = cases.find((it) => it.policy.containerName === turn.policy.containerName)?.policy.name;
    return {
      policy: turn.policy,
      decision: { kind: "hold", reason: "NotOwner", message: `autoscaler "${owner}" goes first for this container` },
      candidates: [],
      isNewSample: turn.isNewSample,
    };
  });
}

function returnDecision({ policy, from, to, stuck }: ResizeRequest): ContainerDecision {
  const decision = { kind: "return", reason: stuck ?? "ResizeError", from, to } as const;
  return { policy, decision, candidates: [], isNewSample: false };
}

/** A stuck resize is told whether or not anything is wanted. */
function tellStuck(it: Case, { status, notices }: { status: ResizeStatus; notices: Notice[] }): View {
  const reason = status.kind === "idle" || status.kind === "inProgress" ? null : STUCK[status.kind];
  if (status.kind === "inProgress") return it.view;
  const told = tell(it.view.told, "resize", reason, () => {
    if (status.kind === "idle" || reason === null) return;
    const message = `Resize of pod "${it.input.pod.name}" is stuck (${reason}): ${status.message}`;
    notices.push({ autoscaler: it.policy.uid, name: "ResizePending", message });
  });
  return told === it.view.told ? it.view : { ...it.view, told };
}

/** What passes by itself, e.g. after another resource has moved, and does not end a refusal told before. */
const PASSING: ReadonlySet<HoldReason | BlockReason> = new Set(
  ["Warmup", "StreakShort", "MetricsUnavailable", "NotRunning", "Cooldown", "Delay", "NotReady"] as const,
);

function tellBlock(
  { policy, decision }: ContainerDecision,
  view: View,
  { pod, state, notices }: { pod: PodFacts; state: PodState; notices: Notice[] },
): View {
  if (decision.kind === "resize" || decision.kind === "return") return view;
  const { refusals = {} } = state.containers[policy.containerName] ?? {};
  if (PASSING.has(decision.reason) && isWaiting(refusals, view.told["block"])) return view;
  const reason = decision.kind === "blocked" ? decision.reason : null;
  const isTold = reason !== null && view.told["resize"] === reason;
  const told = tell(view.told, "block", reason, () => {
    const name = reason === null ? undefined : BLOCK_NOTICE[reason];
    if (name === undefined || isTold || decision.kind !== "blocked") return;
    const what = `${decision.action} of container "${policy.containerName}" of pod "${pod.name}"`;
    notices.push({ autoscaler: policy.uid, name, message: `${what} is blocked (${reason}): ${decision.message}` });
  });
  return told === view.told ? view : { ...view, told };
}

/**
 * resizePolicy RestartContainer restarts for a changed request too, not only for a limit (C43). Once per action: an
 * order that met a conflict or a refusal and is given again for the same wish is not told again.
 */
function tellRestart(
  order: ResizeRequest,
  view: View,
  { now, cases, notices }: { now: number; cases: readonly Case[]; notices: Notice[] },
): View {
  const it = cases.find(({ policy }) => policy === order.policy);
  const restarting = order.changes.filter((key) => it !== undefined && restarts(it.container, key));
  if (restarting.length === 0) return view;
  const told = tell(view.told, "restart", toActionKey(order, view.wantedSince ?? now), () => {
    const change = describeChange(order.from, order.to, restarting);
    const message = `Resizing container "${order.container}" of pod "${it?.input.pod.name}" may restart it ` +
      `(resizePolicy RestartContainer): ${change}`;
    notices.push({ autoscaler: order.policy.uid, name: "ResizeMayRestart", message });
  });
  return { ...view, told };
}

/** A return has no wish; it is the same one as long as the pod is. */
function toActionKey({ action, generation }: ResizeRequest, wishSince: number): string {
  return `${action} ${action === "return" ? generation : wishSince}`;
}

function restarts(container: ContainerFacts, key: ResizeRequest["changes"][number]): boolean {
  return container.restartsOn[resourceOf(key)];
}
