/**
 * What people are notified of, computed once at the end of an evaluation from what was before, what is after and what
 * was decided. Every event is published on the edge, and only here; no decision reads what was published.
 */
import { resourceOf } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { ContainerDecision, Input } from "../decision.ts";
import type { Sampled } from "../observe/sample.ts";
import { isKill, KILL_MS } from "../observe/ending.ts";
import { readBaseline } from "../observe/streaks.ts";
import { findContainer, readActual } from "../pod/pod_facts.ts";
import { isStuck, STUCK_REASONS } from "../pod/resize_status.ts";
import { judgeKill } from "../propose/oom.ts";
import { BLOCK_NOTICE, type BlockReason } from "../reasons.ts";
import type { ResizeRequest } from "../resize_request.ts";
import type { Settled } from "../settle/accepted.ts";
import { NO_REFUSALS, type Refusals } from "../settle/refusal.ts";
import type { Weighed } from "../settle/requests.ts";
import { isWaiting } from "../settle/refusals.ts";
import { findContainerState, type PodState } from "../state.ts";
import { Draft, type Notified } from "./draft.ts";
import { NOTHING_NOTIFIED } from "./edge.ts";
import { isHeld, notifyOfHeld } from "./held.ts";
import { PASSING } from "./passing.ts";
import * as words from "./words.ts";

/** One evaluation, before anybody was notified of it. */
export interface Evaluation {
  readonly input: Input;
  readonly state: PodState;
  /** What a request without an answer turned out to be. */
  readonly late: Settled;
  readonly sampled: readonly Sampled[];
  readonly cases: readonly Case[];
  /** The cases that were asked about, and what gates said of them. */
  readonly asked: readonly Weighed[];
  readonly decisions: readonly ContainerDecision[];
  readonly request: ResizeRequest | null;
}

/** The notices of an evaluation, and the state that remembers them. */
export function notifyOfEvaluation(evaluation: Evaluation): Notified {
  const { state, input: { pod }, late, sampled, cases, asked, decisions } = evaluation;
  const draft = new Draft(state);
  notifyOfAnswer(late, pod.name, draft);
  for (const one of sampled) notifyOfUsage(one, evaluation, draft);
  for (const it of cases) {
    notifyOfStuck(it, draft);
    notifyOfKill(it, draft);
  }
  for (const one of asked) notifyOfHeld(one, decisions, draft);
  for (const decision of decisions) notifyOfBlock(decision, evaluation, draft);
  notifyOfRestart(evaluation, draft);
  return draft.end();
}

/** The notices of an answer to the request of a pod of that name, and the state that remembers them. */
export function notifyOfSettled(settled: Settled, pod: string): Notified {
  const draft = new Draft(settled.state);
  notifyOfAnswer(settled, pod, draft);
  return draft.end();
}

function notifyOfAnswer({ state, accepted, refused }: Settled, pod: string, draft: Draft): void {
  if (accepted !== null) {
    const { request } = accepted;
    const key = draft.readKey(request);
    const refusals = findContainerState(state, request.container)?.refusals ?? NO_REFUSALS;
    if (!isStanding(refusals, draft.read(key)?.block)) draft.note(key, "block", null);
    draft.publish(words.resized(request, pod));
  }
  // A server that is busy is asked again soon: nobody need know.
  if (refused !== null && refused.answer.reason !== "RetryLater") {
    const { request, answer } = refused;
    draft.note(draft.readKey(request), "block", answer.reason, () => words.resizeRefused(request, pod, answer));
  }
}

function notifyOfUsage({ autoscaler, view, isNewSample, isDue }: Sampled, { input }: Evaluation, draft: Draft): void {
  if (!isDue) return;
  const { uid, key: viewKey, sides, containerName } = autoscaler;
  const subject = { autoscaler: uid, container: containerName, pod: input.pod.name };
  if (view.silentSince !== null) {
    const silentMs = input.now - view.silentSince;
    draft.note(viewKey, "metrics", "MetricsUnavailable", () => words.metricsUnavailable(subject, silentMs));
  }
  const container = isNewSample ? findContainer(input.pod, containerName) : null;
  if (container === null) return;
  const actual = readActual(container);
  for (const rule of sides) {
    const { key, isOptional } = rule;
    // Nothing is missing where a profile manages what there is (L50).
    if (isOptional) draft.note(viewKey, `baseline ${key}`, null);
    else if (readBaseline(rule, actual) === null) {
      draft.note(viewKey, `baseline ${key}`, "BaselineUnavailable", () => words.baselineUnavailable(subject, key));
    } else if (draft.read(viewKey) !== NOTHING_NOTIFIED) {
      draft.note(viewKey, `baseline ${key}`, null, () => words.baselineAvailable(subject, key));
    }
  }
  if (draft.read(viewKey) !== NOTHING_NOTIFIED) {
    draft.note(viewKey, "metrics", null, () => words.metricsRecovered(subject));
  }
}

/** A stuck resize is news whether or not anything is wanted. */
function notifyOfStuck({ status, autoscaler, container, input: { pod } }: Case, draft: Draft): void {
  if (status.kind === "inProgress") return;
  if (!isStuck(status)) return draft.note(autoscaler.key, "stuck", null);
  const reason = STUCK_REASONS[status.kind];
  const subject = { autoscaler: autoscaler.uid, container: container.name, pod: pod.name };
  draft.note(autoscaler.key, "stuck", reason, () => words.resizeStuck(subject, { reason, why: status.message }));
}

/** Blocks that the size of the pod or its usage makes: other resources may move meanwhile, and usage may be late. */
const LASTING: ReadonlySet<string> = new Set<BlockReason>(["QoSInvariantBlocked", "MemoryInUse"]);

/** What was published has not ended with what passes. */
function isStanding(refusals: Refusals, block: string | undefined): boolean {
  return block !== undefined && (LASTING.has(block) || isWaiting(refusals, block));
}

function notifyOfBlock(
  { autoscaler, container, decision }: ContainerDecision,
  { state, input: { pod, inFlight } }: Evaluation,
  draft: Draft,
): void {
  // The answer to the request that is under way says more.
  if (decision.kind === "resize" || decision.kind === "revert" || inFlight) return;
  const key = draft.readKey({ autoscaler, container });
  const before = draft.read(key);
  if (before === undefined) return;
  if (decision.kind === "hold" && before === NOTHING_NOTIFIED) return;
  const refusals = findContainerState(state, container)?.refusals ?? NO_REFUSALS;
  if (PASSING.has(decision.reason) && isStanding(refusals, before.block)) return;
  if (decision.kind === "hold") return draft.note(key, "block", null);
  const { action, reason, message: why } = decision;
  const name = BLOCK_NOTICE[reason];
  if (reason === "RestartRequired") {
    return notifyOfRestartRequired({ autoscaler, container, pod: pod.name, why }, draft);
  }
  // One that is published as stuck or held already is no news.
  const isSilent = name === undefined || before.stuck === reason || isHeld(before, reason);
  const subject = { autoscaler, container, pod: pod.name };
  draft.note(
    key,
    "block",
    reason,
    isSilent ? null : () => words.blocked(subject, { name, action, reason, why }),
  );
}

/** Stays so as long as the pod and the policy do: one event is enough, whatever holds other resizes in between (L6). */
function notifyOfRestartRequired({ why, ...subject }: words.Subject & { readonly why: string }, draft: Draft): void {
  const key = draft.readKey(subject);
  draft.note(key, "block", "RestartRequired");
  const blocked = { name: "ResizeMayRestart", action: "scaleDown", reason: "RestartRequired", why } as const;
  draft.note(key, "shrink", "RestartRequired", () => words.blocked(subject, blocked));
}

/** A kill that nothing answers: one event in ten minutes, with the count of those since (L13). */
function notifyOfKill(it: Case, draft: Draft): void {
  const { autoscaler, container, containerState: { endings, reflex }, input: { now, pod } } = it;
  if (endings.length === 0) return;
  const [toldAt, told] = draft.read(autoscaler.key)?.kill?.split(" ") ?? [];
  if (toldAt !== undefined && Math.abs(now - Number(toldAt)) < KILL_MS) return;
  // Those that came while nobody was told may be older by now.
  const verdict = judgeKill(it, toldAt === undefined ? KILL_MS : 2 * KILL_MS);
  if (verdict?.kind !== "unanswered" || verdict.kill.id === told) return;
  const before = endings.findLastIndex(({ id }) => id === told || id === reflex?.kill);
  const count = endings.slice(before + 1).filter(isKill).length;
  const subject = { autoscaler: autoscaler.uid, container: container.name, pod: pod.name };
  const killed = { why: verdict.why, limitBytes: verdict.kill.limitBytes, count };
  draft.note(autoscaler.key, "kill", `${now} ${verdict.kill.id}`, () => words.oomKilled(subject, killed));
}

/**
 * resizePolicy RestartContainer restarts for a changed request too, not only for a limit (C43). Once per action: a
 * request that met a conflict or a refusal and is made again for the same proposals is no news.
 */
function notifyOfRestart({ request, cases, input: { now, pod } }: Evaluation, draft: Draft): void {
  if (request === null) return;
  const it = cases.find(({ container }) => container.name === request.container);
  const restarting = request.changes.filter((key) => it?.container.restartsOn[resourceOf(key)] === true);
  if (restarting.length === 0) return;
  // A revert rests on no proposal: it is the same one as long as the pod is.
  const stood = request.reflex?.kill ?? it?.view.wantedSince ?? now;
  const since = request.action === "revert" ? request.generation : stood;
  const key = `${request.action} ${since}`;
  draft.note(draft.readKey(request), "restart", key, () => words.resizeMayRestart(request, pod.name, restarting));
}
