/**
 * Which events does an evaluation publish?
 *
 * An event is published when a matter begins and when it ends, not at each evaluation. Decisions do not depend on what
 * was published.
 */
import { findBaseline } from "../../model/autoscaler.ts";
import {
  type Ending,
  isKill,
  isProcessKillOf,
  KILL_MS,
  NO_REFUSALS,
  type Refusals,
} from "../../model/container_history.ts";
import type { ContainerCase, ContainerDecision, SizeInput } from "../../model/decision.ts";
import { listRestartingFields } from "../../model/disruption.ts";
import { findContainer, getActualSize } from "../../model/pod.ts";
import { BLOCK_NOTICE, type BlockReason, type Notice, PASSING_REASONS } from "../../model/reasons.ts";
import type { ResizeRequest } from "../../model/resize_request.ts";
import { isStuck, STUCK_REASONS } from "../../model/resize_status.ts";
import {
  type AutoscalerView,
  findContainerState,
  NOTHING_REPORTED,
  type NoticeTopic,
  type PodState,
  type Reported,
  toViewKey,
} from "../../model/state.ts";
import { RESOURCE_FIELDS, type ResourceField } from "../../units/resources.ts";
import { type AnswerOutcome, hasRefusalFor } from "../answers.ts";
import type { Objection } from "../gates/gates.ts";
import { findOomVerdict } from "../oom.ts";
import type { CaseResult } from "../outcome.ts";
import type { Sampled } from "../streaks.ts";
import {
  baselineAvailable,
  baselineUnavailable,
  blocked,
  metricsRecovered,
  metricsUnavailable,
  type NoticeSubject,
  oomKilled,
  resized,
  resizeMayRestart,
  resizeRefused,
  resizeStuck,
} from "./texts.ts";

/** Returns the notices of an evaluation, and the state that remembers them. */
export function reportEvaluation(evaluation: EvaluationResult): ReportedState {
  const { state, input: { pod }, settled, sampled, cases, results, decisions } = evaluation;
  const draft = new NoticeDraft(state);
  reportAnswer(settled, pod.name, draft);
  for (const one of sampled) reportUsage(one, evaluation, draft);
  for (const it of cases) {
    reportStuck(it, draft);
    reportOomKill(it, draft);
  }
  for (const one of results) reportHeldFields(one, decisions, draft);
  for (const decision of decisions) reportBlock(decision, evaluation, draft);
  reportRestart(evaluation, draft);
  return draft.finish();
}

/** Returns the notices for the answer to a request, and the state that remembers them. */
export function reportAnswerOutcome(settled: AnswerOutcome, pod: string): ReportedState {
  const draft = new NoticeDraft(settled.state);
  reportAnswer(settled, pod, draft);
  return draft.finish();
}

/** Returns whether some field of the pod waits for headroom on the node. Clauses: L30, L30 to L33. */
export function isWaitingForNodeCapacity({ views }: PodState): boolean {
  for (const key in views) {
    const notified = views[key]?.notified ?? NOTHING_REPORTED;
    if (isFieldHeldReported(notified, "NodeCapacity")) return true;
  }
  return false;
}

/** Returns the reports with `value` for the topic, `null` = ended. The same object if nothing changed. */
export function nextReported(notified: Reported, topic: NoticeTopic, value: string | null): Reported {
  if ((notified[topic] ?? null) === value) return notified;
  if (value !== null) return { ...notified, [topic]: value };
  const { [topic]: _, ...rest } = notified;
  return Object.keys(rest).length === 0 ? NOTHING_REPORTED : rest;
}

/** One evaluation before it is reported. */
interface EvaluationResult {
  readonly input: SizeInput;
  readonly state: PodState;
  /** What a request without an answer turned out to be. */
  readonly settled: AnswerOutcome;
  readonly sampled: readonly Sampled[];
  readonly cases: readonly ContainerCase[];
  /** The cases that were asked about, and the gates' answers. */
  readonly results: readonly CaseResult[];
  readonly decisions: readonly ContainerDecision[];
  readonly request: ResizeRequest | null;
}

function reportAnswer({ state, accepted, refused }: AnswerOutcome, pod: string, draft: NoticeDraft): void {
  if (accepted !== null) {
    const { request } = accepted;
    const key = draft.toViewKey(request);
    const refusals = findContainerState(state, request.container)?.refusals ?? NO_REFUSALS;
    if (!isStillBlocked(refusals, draft.findReported(key)?.block)) draft.report(key, "block", null);
    draft.publish(resized(request, pod));
  }
  // A busy server is asked again soon, so this is not reported.
  if (refused !== null && refused.answer.reason !== "RetryLater") {
    const { request, answer } = refused;
    draft.report(draft.toViewKey(request), "block", answer.reason, () => resizeRefused(request, pod, answer));
  }
}

function reportUsage(
  { autoscaler, view, isNewSample, isDue }: Sampled,
  { input }: EvaluationResult,
  draft: NoticeDraft,
): void {
  if (!isDue) return;
  const { uid, key: viewKey, sides, containerName } = autoscaler;
  const subject = { autoscaler: uid, container: containerName, pod: input.pod.name };
  if (view.silentSince !== null) {
    const silentMs = input.now - view.silentSince;
    draft.report(viewKey, "metrics", "MetricsUnavailable", () => metricsUnavailable(subject, silentMs));
  }
  const container = isNewSample ? findContainer(input.pod, containerName) : null;
  if (container === null) return;
  const actual = getActualSize(container);
  for (const rule of sides) {
    const { key, isOptional } = rule;
    // A profile manages only the fields that exist.
    if (isOptional) draft.report(viewKey, `baseline ${key}`, null);
    else if (findBaseline(rule, actual) === null) {
      draft.report(viewKey, `baseline ${key}`, "BaselineUnavailable", () => baselineUnavailable(subject, key));
    } else if (draft.findReported(viewKey) !== NOTHING_REPORTED) {
      draft.report(viewKey, `baseline ${key}`, null, () => baselineAvailable(subject, key));
    }
  }
  if (draft.findReported(viewKey) !== NOTHING_REPORTED) {
    draft.report(viewKey, "metrics", null, () => metricsRecovered(subject));
  }
}

/** A stuck resize is reported whether or not a change is wanted. */
function reportStuck({ status, autoscaler, container, input: { pod } }: ContainerCase, draft: NoticeDraft): void {
  if (status.kind === "inProgress") return;
  if (!isStuck(status)) return draft.report(autoscaler.key, "stuck", null);
  const reason = STUCK_REASONS[status.kind];
  const subject = { autoscaler: autoscaler.uid, container: container.name, pod: pod.name };
  draft.report(autoscaler.key, "stuck", reason, () => resizeStuck(subject, { reason, why: status.message }));
}

/** Blocks that the size of the pod or its usage makes: other resources may move meanwhile, and usage may be late. */
const LASTING_BLOCKS: ReadonlySet<string> = new Set<BlockReason>(["QoSInvariantBlocked", "MemoryInUse"]);

/** They hold the whole pod for a moment, and change nothing about a block that lasts. */
const SHORT_WAITS: ReadonlySet<string> = new Set<BlockReason>(["ResizeInProgress", "RetryLater"]);

/** Returns whether what was published lasts after a reason that passes. */
function isStillBlocked(refusals: Refusals, block: string | undefined): boolean {
  return block !== undefined && (LASTING_BLOCKS.has(block) || hasRefusalFor(refusals, block));
}

function reportBlock(
  { autoscaler, container, decision }: ContainerDecision,
  { state, input: { pod, inFlight } }: EvaluationResult,
  draft: NoticeDraft,
): void {
  // The answer to the request in flight will say more.
  if (decision.kind === "resize" || decision.kind === "revert" || inFlight) return;
  const key = draft.toViewKey({ autoscaler, container });
  const before = draft.findReported(key);
  if (before === undefined) return;
  if (decision.kind === "hold" && before === NOTHING_REPORTED) return;
  const refusals = findContainerState(state, container)?.refusals ?? NO_REFUSALS;
  if (PASSING_REASONS.has(decision.reason) && isStillBlocked(refusals, before.block)) return;
  if (SHORT_WAITS.has(decision.reason) && LASTING_BLOCKS.has(before.block ?? "")) return;
  if (decision.kind === "hold") return draft.report(key, "block", null);
  const { action, reason, message: why } = decision;
  const name = BLOCK_NOTICE[reason];
  if (reason === "RestartRequired") {
    return reportRestartRequired({ autoscaler, container, pod: pod.name, why }, draft);
  }
  // One that is already reported as stuck or held is not reported again.
  const isSilent = name === undefined || before.stuck === reason || isFieldHeldReported(before, reason);
  const subject = { autoscaler, container, pod: pod.name };
  draft.report(
    key,
    "block",
    reason,
    isSilent ? null : () => blocked(subject, { name, action, reason, why }),
  );
}

/** It lasts as long as the pod and the policy: one event is enough. Clauses: L6. */
function reportRestartRequired(
  { why, ...subject }: NoticeSubject & { readonly why: string },
  draft: NoticeDraft,
): void {
  const key = draft.toViewKey(subject);
  draft.report(key, "block", "RestartRequired");
  const notice = { name: "ResizeMayRestart", action: "scaleDown", reason: "RestartRequired", why } as const;
  draft.report(key, "shrink", "RestartRequired", () => blocked(subject, notice));
}

/** Reports a kill that is not answered: one event in ten minutes, with the count of those since. Clauses: L13. */
function reportOomKill(it: ContainerCase, draft: NoticeDraft): void {
  const { autoscaler, container, containerState: { endings, reflex }, input: { now, pod } } = it;
  if (endings.length === 0) return;
  const [reportedAt, reportedId = ""] = draft.findReported(autoscaler.key)?.kill?.split(" ") ?? [];
  if (reportedAt !== undefined && Math.abs(now - Number(reportedAt)) < KILL_MS) return;
  // A kill that a sample showed first has got the id of the container's termination since.
  const isRenamed = !endings.some(({ id }) => id === reportedId);
  const isReported = ({ id, at }: Ending) =>
    id === reportedId || (isRenamed && isProcessKillOf({ id: reportedId }, id) && at <= Number(reportedAt));
  // Kills that were not reported in between may be older by now.
  const verdict = findOomVerdict(it, reportedAt === undefined ? KILL_MS : 2 * KILL_MS);
  if (verdict?.kind !== "unanswered" || isReported(verdict.kill)) return;
  const before = endings.findLastIndex((one) => isReported(one) || one.id === reflex?.kill);
  const count = endings.slice(before + 1).filter(isKill).length;
  const subject = { autoscaler: autoscaler.uid, container: container.name, pod: pod.name };
  const killed = { why: verdict.why, limitBytes: verdict.kill.limitBytes, count };
  draft.report(autoscaler.key, "kill", `${now} ${verdict.kill.id}`, () => oomKilled(subject, killed));
}

/**
 * resizePolicy RestartContainer also restarts for a changed request. Reported once for each action: a request that is
 * sent again for the same proposals is not reported again. Clauses: C43.
 */
function reportRestart({ request, cases, input: { now, pod } }: EvaluationResult, draft: NoticeDraft): void {
  if (request === null) return;
  const it = cases.find(({ container }) => container.name === request.container);
  const restarting = it === undefined ? [] : listRestartingFields(it.container, request.changes);
  if (restarting.length === 0) return;
  // A revert depends on no proposal: it is the same one as long as the pod is.
  const stood = request.reflex?.kill ?? it?.view.wantedSince ?? now;
  const since = request.action === "revert" ? request.generation : stood;
  const key = `${request.action} ${since}`;
  draft.report(draft.toViewKey(request), "restart", key, () => resizeMayRestart(request, pod.name, restarting));
}

/** Reasons that a gate knows before a PATCH is sent and that need an administrator. */
const LASTING_REASONS: ReadonlySet<string> = new Set<BlockReason>([
  "NodeCapacity",
  "Quota",
  "LimitRange",
  "PodResources",
  "Unsupported",
]);

/** Returns whether it was reported that a field is held for that reason. */
function isFieldHeldReported(notified: Reported, reason: string): boolean {
  return notified !== NOTHING_REPORTED && RESOURCE_FIELDS.some((key) => notified[`held ${key}`] === reason);
}

/** Reports the held fields of one container. */
function reportHeldFields(result: CaseResult, decisions: readonly ContainerDecision[], draft: NoticeDraft): void {
  const { it, asked } = result;
  const { autoscaler: { uid, key: view }, container, input: { pod } } = it;
  if (asked !== null) {
    for (const objection of asked.objections) {
      if (!isLastingObjection(objection)) continue;
      const { reason, message: why } = objection;
      const action = asked.kind === "passed" ? asked.candidate.action : toActionName(asked.decision);
      const name = BLOCK_NOTICE[reason] ?? "ScaleFailed";
      const subject = { autoscaler: uid, container: container.name, pod: pod.name };
      objection.sides.forEach((side, index) => {
        // If one reason holds several fields, it is reported once.
        const say = index > 0 ? null : () => blocked(subject, { name, action, reason, why });
        draft.report(view, `held ${side}`, reason, say);
      });
    }
  }
  const before = draft.findReported(view);
  if (before === undefined || before === NOTHING_REPORTED) return;
  for (const side of RESOURCE_FIELDS) {
    if (before[`held ${side}`] !== undefined && isHoldOver(side, result, decisions)) {
      draft.report(view, `held ${side}`, null);
    }
  }
}

type LastingObjection = Extract<Objection, { kind: "blocked" }>;

/** Returns whether the objection lasts. A refusal, which has an end, was reported when it came. */
function isLastingObjection(objection: Objection): objection is LastingObjection {
  return objection.kind === "blocked" && objection.until === undefined && LASTING_REASONS.has(objection.reason);
}

/** Returns whether the field moves, or another lasting reason applies. */
function isHoldOver(side: ResourceField, { it, asked }: CaseResult, decisions: readonly ContainerDecision[]): boolean {
  if (asked === null) {
    const own = decisions.find((one) => one.container === it.container.name && one.autoscaler === it.autoscaler.uid);
    return own?.decision.kind === "hold" && !PASSING_REASONS.has(own.decision.reason);
  }
  const objection = asked.objections.find(({ sides }) => sides.includes(side));
  if (objection !== undefined) return !isLastingObjection(objection) && !PASSING_REASONS.has(objection.reason);
  return asked.kind === "passed" && asked.candidate.moving.includes(side);
}

function toActionName(decision: { readonly kind: string; readonly action?: string }): string {
  return decision.action ?? "scale";
}

/** A state that remembers the reports, and the notices to publish. */
interface ReportedState {
  readonly state: PodState;
  readonly notices: readonly Notice[];
}

/** Collects the reports of one evaluation; `finish` returns the result. */
class NoticeDraft {
  readonly #state: PodState;
  readonly #notices: Notice[] = [];
  /** Views that differ from the state's. */
  #views: Record<string, AutoscalerView> | null = null;

  constructor(state: PodState) {
    this.#state = state;
  }

  /** Returns the reports of the view; undefined if the autoscaler has none. */
  findReported(key: string): Reported | undefined {
    return (this.#views ?? this.#state.views)[key]?.notified;
  }

  /** The key of the view that a request or decision is about. */
  toViewKey(subject: { readonly autoscaler: string; readonly container: string }): string {
    return toViewKey(this.#state, subject);
  }

  /** Publishes if `value` is new for the topic. Without `say` it is only remembered. */
  report(key: string, topic: NoticeTopic, value: string | null, say: (() => Notice) | null = null): void {
    const view = (this.#views ?? this.#state.views)[key];
    if (view === undefined) return;
    const notified = nextReported(view.notified, topic, value);
    if (notified === view.notified) return;
    this.#views ??= { ...this.#state.views };
    this.#views[key] = { ...view, notified };
    if (say !== null) this.#notices.push(say());
  }

  /** Publishes in any case. */
  publish(notice: Notice): void {
    this.#notices.push(notice);
  }

  finish(): ReportedState {
    const state = this.#views === null ? this.#state : { ...this.#state, views: this.#views };
    return { state, notices: this.#notices };
  }
}
