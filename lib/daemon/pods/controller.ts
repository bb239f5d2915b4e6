/**
 * The pod controller: it builds the input of `decideSize`, sends the request, and folds the answer into the pod's
 * state. It alone writes the state of pods. An evaluation never waits for an answer. As long as the last verdict about a
 * pod holds, its evaluations are quiet: numbers are written, and nothing is decided. Sinks receive each evaluation: log,
 * metrics, events, status and the flight recorder.
 */
import type { UsageRows } from "../../api/usage.ts";
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { NodeCapacity, Observation, SizeInput, SizeOutcome } from "../../model/decision.ts";
import { type FlatState, flattenState, toPodState } from "../../model/flat_state.ts";
import type { PodFacts, Siblings } from "../../model/pod.ts";
import { computeAddedRequests } from "../../model/pod_amounts.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../../model/state.ts";
import { type Clock, computeWallAheadMs } from "../../runtime/clock.ts";
import { decideSize } from "../../vertical/decide.ts";
import { isWaitingForNodeCapacity } from "../../vertical/notices/notices.ts";
import { wantsSiblings } from "../../vertical/proposals.ts";
import type { QuietInput, Step } from "../../vertical/quiet/step.ts";
import { findVerdict, type HeldVerdict } from "../../vertical/quiet/verdict.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import type { Surroundings } from "../cluster/observer.ts";
import type { AcquirePermit } from "../permits.ts";
import type { SendResize } from "./actuator.ts";

interface PodControllerOptions {
  readonly clock: Pick<Clock, "now" | "steady" | "monotonic">;
  /** Written by this controller alone. */
  readonly states: PodStates;
  /** Called before each request. A request whose permit comes late is decided again. */
  readonly acquirePermit: AcquirePermit;
  readonly actuate: SendResize;
  /** Receives every evaluation, also the one that folds in an answer. */
  readonly report: EvaluationSink;
  /** Returns the sizes that the pod may inherit. It is called for new pods only. */
  readonly findSiblings: (tracked: TrackedPod, input: Pick<SizeInput, "now" | "wallAheadMs">) => Siblings | null;
  /** Returns the input that the pod's own object does not contain; absent fields have nothing to report. */
  readonly getContext: (pod: PodFacts, now: number) => EvaluationContext;
  /** Returns the part of it that a quiet evaluation needs, for less; `getContext` by default. */
  readonly getScaleIn?: (pod: PodFacts, now: number) => Pick<EvaluationContext, "scaleInPending" | "scaledInAt">;
  readonly dryRun: boolean;
  /** False while the namespace's autoscalers may not all be known. Its pods are not evaluated then. */
  readonly canDecide: (namespace: string) => boolean;
  /** Returns the pod with the autoscalers that it has now; `null` = it is not tracked. */
  readonly findCurrent: (tracked: TrackedPod) => TrackedPod | null;
  /** Headroom, limits and versions. */
  readonly surroundings: Surroundings;
  /** An evaluation threw. The pod is not changed before its next evaluation; the other pods continue. */
  readonly onError: (tracked: TrackedPod, error: unknown) => void;
}

type EvaluationContext = Pick<
  SizeInput,
  "killFloors" | "memoryPressure" | "isSidecar" | "ledSince" | "scaleInPending" | "scaledInAt"
>;

/** A reading of a node in rows, which hold until its pods are evaluated. */
export interface ReadingNumbers {
  readonly rows: UsageRows;
  readonly clockOffsetMs: number;
  readonly capacity: NodeCapacity;
}

/** A request, and the pod that it was decided for. */
export interface PendingResize {
  readonly tracked: TrackedPod;
  readonly request: ResizeRequest;
}

/**
 * Owns the state of every tracked pod. A pod is on one node and a node's evaluations run one after the other, so each
 * state has one writer. Disposal sends nothing more and waits for the answers to what was sent. Clauses: C23.
 */
export class PodController implements AsyncDisposable {
  readonly #options: PodControllerOptions;
  readonly #states: PodStates;
  readonly #waitingForHeadroom = new Set<string>();
  /** By uid, the pods with a request under way; each with the change that waits for the answer, or `null`. */
  readonly #inFlight = new Map<string, TrackedPod | null>();
  readonly #pending = new Set<Promise<void>>();
  /** By uid, the requests that wait for a permit, the oldest first; monotonic ms. */
  readonly #queued = new Map<string, PendingResize & { readonly sinceMs: number }>();
  readonly #closing = new AbortController();
  /** Room for quiet evaluations, which run one after the other. */
  readonly #steps: Step[] = [];
  readonly #findRoom = (pod: PodFacts) => this.#options.surroundings.headroom.find(pod);

  constructor(options: PodControllerOptions) {
    this.#options = options;
    this.#states = options.states;
  }

  /** UIDs of the pods that wait for headroom on their node. Clauses: L30. */
  get waitingForHeadroom(): ReadonlySet<string> {
    return this.#waitingForHeadroom;
  }

  /** Yields the requests that have waited for a permit for at least `forMs`. */
  *listQueued(forMs: number): Generator<PendingResize> {
    const untilMs = this.#options.clock.monotonic() - forMs;
    for (const queued of this.#queued.values()) {
      if (queued.sinceMs > untilMs) return;
      yield queued;
    }
  }

  /** The pod is no longer tracked. Its state is forgotten. Clauses: C11. */
  drop(uid: string): void {
    this.#states.delete(uid);
    this.#waitingForHeadroom.delete(uid);
    this.#options.surroundings.headroom.release(uid);
    if (this.#inFlight.has(uid)) this.#inFlight.set(uid, null);
  }

  /**
   * Decides for each pod and sends the requests, at most one per pod at a time. It does not wait for answers and never
   * throws. `numbers`: the same usage, so that quiet evaluations need no observation.
   */
  evaluate(
    pods: Iterable<TrackedPod>,
    observe: (tracked: TrackedPod) => Observation,
    numbers: ReadingNumbers | null = null,
  ): void {
    if (this.#closing.signal.aborted) return;
    // Asked once per namespace, because the answer visits all its autoscalers.
    const verdicts = new Map<string, boolean>();
    const { clock } = this.#options;
    const round: Round = { observe, numbers, ...readTimes(clock), endedMs: clock.monotonic() };
    for (const tracked of pods) {
      const { namespace } = tracked.pod;
      const canDecide = verdicts.get(namespace) ?? this.#options.canDecide(namespace);
      verdicts.set(namespace, canDecide);
      // Thousands of pods are matched in slices, and this one may not be yet.
      const current = canDecide ? this.#options.findCurrent(tracked) : null;
      if (current !== null) this.#evaluateOne(current, round);
    }
  }

  /** Resolves when every request that was sent is answered and folded in; never rejects. */
  async answered(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Nothing is evaluated after this call, and requests that wait for a permit are not sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.answered();
  }

  #evaluateOne(tracked: TrackedPod, round: Round): void {
    const { observe, numbers } = round;
    try {
      if (numbers !== null && this.#advanceByRows(tracked, numbers, round)) return;
      const observation = observe(tracked);
      const { uid } = tracked.pod;
      if (observation.kind === "changed" && this.#inFlight.has(uid)) {
        // Often the request itself caused the change, so the answer must be known first.
        this.#inFlight.set(uid, tracked);
        return;
      }
      if (numbers === null && observation.kind === "usage" && this.#advance(tracked, observation, round)) return;
      const request = this.#decide(tracked, observation);
      if (request !== null) this.#send(tracked, request);
      round.endedMs = this.#options.clock.monotonic();
    } catch (error) {
      this.#states.endVerdict(tracked.pod.uid);
      this.#options.onError(tracked, error);
    }
  }

  #advanceByRows(tracked: TrackedPod, { rows, clockOffsetMs, capacity }: ReadingNumbers, round: Round): boolean {
    const row = rows.findPod(tracked.pod.uid);
    return row >= 0 && this.#advance(tracked, { usage: { rows, row }, clockOffsetMs, capacity }, round);
  }

  /** Makes a quiet evaluation if the last verdict about the pod holds for the reading. */
  #advance(
    { pod, autoscalers }: TrackedPod,
    { usage, clockOffsetMs, capacity }: Pick<QuietInput, "usage" | "clockOffsetMs" | "capacity">,
    round: Round,
  ): boolean {
    const verdict = this.#states.findVerdict(pod.uid);
    if (verdict === null || this.#inFlight.has(pod.uid)) return false;
    const { clock, getContext, getScaleIn = getContext, report, surroundings } = this.#options;
    const { now, wallAheadMs } = round;
    const { scaleInPending, scaledInAt } = getScaleIn(pod, now);
    const isQuiet = verdict.advance({
      now,
      wallAheadMs,
      pod,
      contenders: autoscalers,
      limits: surroundings.findLimits(pod.namespace),
      findRoom: this.#findRoom,
      scaleInPending,
      scaledInAt,
      usage,
      clockOffsetMs,
      capacity,
      steps: this.#steps,
    });
    if (!isQuiet) return false;
    // The clock is read once for each pod, so the time has the report of the pod before in it.
    const endedMs = clock.monotonic();
    const tookMs = endedMs - round.endedMs;
    round.endedMs = endedMs;
    report.onQuiet?.({ verdict, tookMs });
    return true;
  }

  #decide(tracked: TrackedPod, observation: Observation): ResizeRequest | null {
    const { clock, report } = this.#options;
    const startedMs = clock.monotonic();
    const known = this.#states.find(tracked.pod.uid);
    const before = known ?? NEW_POD_STATE;
    const input = this.#toInput(tracked, observation);
    const outcome = decideSize(before, input);
    const flat = this.#states.put(tracked.pod.uid, outcome.state);
    this.#states.hold(
      tracked.pod.uid,
      findVerdict({ before, input, outcome }, flat, { canReplay: report.replays === true }),
    );
    this.#reserve(tracked.pod, outcome);
    report({ before, input, outcome, tookMs: clock.monotonic() - startedMs });
    return outcome.request;
  }

  #send(tracked: TrackedPod, request: ResizeRequest): void {
    this.#inFlight.set(tracked.pod.uid, null);
    const sending = this.#sendWithPermit(tracked, request)
      .catch((error) => this.#options.onError(tracked, error))
      .then(() => this.#finish(tracked.pod.uid))
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
  }

  async #sendWithPermit(tracked: TrackedPod, request: ResizeRequest): Promise<void> {
    const { acquirePermit, actuate, clock } = this.#options;
    this.#queued.set(tracked.pod.uid, { tracked, request, sinceMs: clock.monotonic() });
    // An OOM-killed container is killed again until its limit is larger.
    const { namespace } = tracked.pod;
    using permit = await acquirePermit(this.#closing.signal, { namespace, isUrgent: request.reflex !== null });
    this.#queued.delete(tracked.pod.uid);
    const decided = { tracked, request };
    const sending = permit?.isLate === true ? this.#decideAgain(decided) : decided;
    const answer: Answer = permit === null || sending === null
      ? { kind: "withdrawn" }
      : await actuate(sending.request, sending.tracked, permit);
    if (answer.kind === "withdrawn") permit?.refund();
    this.#foldAnswer(sending ?? decided, answer);
  }

  /** Returns what the pod needs now that the permit has come; `null` = nothing, or too little is known. */
  #decideAgain(decided: PendingResize): PendingResize | null {
    const { uid, namespace } = decided.tracked.pod;
    const tracked = this.#inFlight.get(uid) ?? decided.tracked;
    if (this.#states.peek(uid) === null || !this.#options.canDecide(namespace)) return null;
    // It depends on siblings, not on samples, so newer samples do not change it.
    if (decided.request.reason === "Inherited" && tracked === decided.tracked) return decided;
    // Nothing was sent yet, so nothing is under way.
    this.#inFlight.delete(uid);
    this.#options.surroundings.disruptions.settle(decided.tracked.pod, decided.request, { kind: "withdrawn" });
    const request = this.#decide(tracked, { kind: "changed" });
    this.#inFlight.set(uid, null);
    return request === null ? null : { tracked, request };
  }

  #foldAnswer({ tracked, request }: PendingResize, answer: Answer): void {
    const { report, surroundings: { headroom, disruptions } } = this.#options;
    const { pod } = tracked;
    disruptions.settle(pod, request, answer);
    if (answer.kind === "accepted") headroom.confirm(pod, answer.generation);
    else if (answer.kind !== "unconfirmed") headroom.release(pod.uid);
    // If the pod was dropped meanwhile, the answer is still reported, but no state is stored.
    const before = this.#states.find(pod.uid);
    const input = this.#toInput(tracked, { kind: "answered", request, answer });
    const outcome: SizeOutcome = decideSize(before ?? NEW_POD_STATE, input);
    if (before !== null) this.#states.put(pod.uid, outcome.state);
    report({ before: before ?? NEW_POD_STATE, input, outcome, tookMs: 0 });
  }

  /** Evaluates a change that arrived while the request was under way. */
  #finish(uid: string): void {
    const changed = this.#inFlight.get(uid) ?? null;
    this.#inFlight.delete(uid);
    if (changed !== null) this.evaluate([changed], () => ({ kind: "changed" }));
  }

  /** A request reserves its headroom and its restart at once. Otherwise two pods of a round could both take them. */
  #reserve(pod: PodFacts, { request, state }: SizeOutcome): void {
    const { headroom, disruptions } = this.#options.surroundings;
    if (request !== null) disruptions.reserve(pod, request);
    if (isWaitingForNodeCapacity(state)) this.#waitingForHeadroom.add(pod.uid);
    else this.#waitingForHeadroom.delete(pod.uid);
    if (request !== null) headroom.reserve(pod, computeAddedRequests(pod, request.container, request.to));
    else if (!this.#inFlight.has(pod.uid) && state.command === null && state.unconfirmed.length === 0) {
      headroom.release(pod.uid);
    }
  }

  #toInput(tracked: TrackedPod, observation: Observation): SizeInput {
    const { clock, findSiblings, getContext, dryRun, surroundings } = this.#options;
    const { pod, autoscalers } = tracked;
    const { now, wallAheadMs } = readTimes(clock);
    const disruption = surroundings.disruptions.find(pod);
    return {
      now,
      ...(wallAheadMs !== 0 && { wallAheadMs }),
      pod,
      contenders: autoscalers,
      observation,
      siblings: wantsSiblings(pod, autoscalers, now + wallAheadMs) ? findSiblings(tracked, { now, wallAheadMs }) : null,
      room: surroundings.headroom.find(pod),
      limits: surroundings.findLimits(pod.namespace),
      lowersMemoryLimits: surroundings.lowersMemoryLimits(pod.nodeName),
      inFlight: this.#inFlight.has(pod.uid),
      dryRun,
      ...(disruption !== undefined && { disruption }),
      ...getContext(pod, now),
    };
  }
}

/** The times of an evaluation. All quiet ones of a round share them, so that each does not read the clocks. */
interface Times {
  /** Steady epoch ms. */
  readonly now: number;
  readonly wallAheadMs: number;
}

interface Round extends Times {
  readonly observe: (tracked: TrackedPod) => Observation;
  readonly numbers: ReadingNumbers | null;
  /** When the evaluation before ended, or the round began; monotonic ms. */
  endedMs: number;
}

function readTimes(clock: Pick<Clock, "now" | "steady">): Times {
  const now = clock.steady();
  return { now, wallAheadMs: computeWallAheadMs(clock, now) };
}

/** One evaluation of one pod: the input and the outcome of `decideSize`. */
export interface Evaluation {
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
  /** How long `decideSize` took, in ms; 0 if it folded in an answer. */
  readonly tookMs: number;
}

/** One evaluation that came to the verdict of the one before it. It is the same object until the verdict ends. */
export interface QuietEvaluation {
  readonly verdict: HeldVerdict;
  /** How long it took, and the report of the one before, in ms. */
  readonly tookMs: number;
}

/**
 * Receives one evaluation. It must be cheap if there is nothing to report, because 30,000 pods may be evaluated in
 * every poll interval. It must not keep the evaluation. It may throw: the other sinks still run.
 */
export interface EvaluationSink {
  (evaluation: Evaluation): void;
  /** Receives quiet evaluations, in which nothing has changed. */
  readonly onQuiet?: (quiet: QuietEvaluation) => void;
  /** Whether it calls `replay` of a verdict, at once or later. That needs memory for each pod. */
  readonly replays?: boolean;
}

/** Returns a sink that also receives quiet evaluations, as `decideSize` decides them. They then cost as much. */
export function withQuiet(sink: (evaluation: Evaluation) => void): EvaluationSink {
  return Object.assign((evaluation: Evaluation) => sink(evaluation), {
    onQuiet: ({ verdict, tookMs }: QuietEvaluation) => sink({ ...verdict.replay.decideLast(), tookMs }),
    replays: true,
  });
}

/** Something that belongs to an autoscaler, such as a decision or a resize. */
interface AutoscalerPart {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container?: string;
}

/** Returns one sink that calls all of them in order. Never throws as long as `onError` does not. */
export function combineSinks(
  sinks: readonly EvaluationSink[],
  onError: (pod: PodFacts, error: unknown) => void,
): EvaluationSink {
  const listeners = sinks.filter((sink) => sink.onQuiet !== undefined);
  const onQuiet = (quiet: QuietEvaluation) => {
    for (const sink of listeners) {
      try {
        sink.onQuiet?.(quiet);
      } catch (error) {
        onError(quiet.verdict.pod, error);
      }
    }
  };
  return Object.assign((evaluation: Evaluation) => {
    for (const sink of sinks) {
      try {
        sink(evaluation);
      } catch (error) {
        onError(evaluation.input.pod, error);
      }
    }
  }, { onQuiet, replays: sinks.some(({ replays }) => replays) });
}

/** The part of an evaluation that tells the autoscalers. */
export interface EvaluatedPod {
  readonly input: Pick<SizeInput, "contenders">;
}

/**
 * Returns the autoscaler that a decision, request or resize belongs to; `null` if it no longer matches the pod. An
 * autoscaler of EVERY_CONTAINER has one entry per container. If the container no longer exists, another of its entries
 * is returned. Clauses: L50.
 */
export function findAutoscaler(
  { input: { contenders } }: EvaluatedPod,
  { autoscaler, container }: AutoscalerPart,
): Autoscaler | null {
  let owner: Autoscaler | null = null;
  for (const contender of contenders) {
    if (contender.uid !== autoscaler) continue;
    if (contender.containerName === container) return contender;
    owner ??= contender;
  }
  return owner;
}

/** The state of each tracked pod, by uid, and the verdict about it as long as that holds. */
export class PodStates {
  readonly #kept = new Map<string, { readonly flat: FlatState; verdict: HeldVerdict | null }>();

  /** `null` before the pod's first evaluation. */
  find(uid: string): PodState | null {
    const flat = this.peek(uid);
    return flat === null ? null : toPodState(flat);
  }

  /**
   * Returns the same without what only decisions need, and without a copy. The next evaluation overwrites it, so callers
   * must not keep it.
   */
  peek(uid: string): FlatState | null {
    return this.#kept.get(uid)?.flat ?? null;
  }

  /** `null` after an evaluation whose verdict may change with the next reading. */
  findVerdict(uid: string): HeldVerdict | null {
    return this.#kept.get(uid)?.verdict ?? null;
  }

  /** Ends the verdict. */
  put(uid: string, state: PodState): FlatState {
    const before = this.#kept.get(uid);
    const flat = flattenState(state, before?.flat ?? null);
    if (before === undefined) this.#kept.set(uid, { flat, verdict: null });
    else before.verdict = null;
    return flat;
  }

  /** The verdict is about the state that was put last. */
  hold(uid: string, verdict: HeldVerdict | null): void {
    const kept = this.#kept.get(uid);
    if (kept !== undefined) kept.verdict = verdict;
  }

  endVerdict(uid: string): void {
    this.hold(uid, null);
  }

  delete(uid: string): void {
    this.#kept.delete(uid);
  }
}
