/**
 * The pod controller: it builds the input of `decideSize`, sends the request, and folds the answer into the pod's
 * state. It alone writes the state of pods. An evaluation never waits for an answer. Sinks receive each evaluation:
 * log, metrics, events, status and the flight recorder.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { Observation, SizeInput, SizeOutcome } from "../../model/decision.ts";
import { type PackedState, packState, unpackState } from "../../model/packed_state.ts";
import type { PodFacts, Siblings } from "../../model/pod.ts";
import { computeAddedRequests } from "../../model/pod_amounts.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../../model/state.ts";
import { type Clock, computeWallAheadMs } from "../../runtime/clock.ts";
import { decideSize } from "../../vertical/decide.ts";
import { isWaitingForNodeCapacity } from "../../vertical/notices/notices.ts";
import { wantsSiblings } from "../../vertical/proposals.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import type { Surroundings } from "../cluster/observer.ts";
import type { AcquirePermit } from "../permits.ts";
import type { SendResize } from "./actuator.ts";

// Drives the fold: for each tracked pod it gathers the arguments, decides, sends the request and folds the answer in
// when it comes. A pod is on one node, a node's evaluations come one after the other, and each fold is done in one go:
// so each state has one writer, and no answer that is late holds up a reading (C23).

/** How a pod is resized, and who hears of its evaluations. */
interface PodControllerOptions {
  readonly clock: Pick<Clock, "now" | "steady" | "monotonic">;
  /** Written by this controller alone. */
  readonly states: PodStates;
  /** Before each request: one whose turn comes late is decided anew. */
  readonly acquirePermit: AcquirePermit;
  readonly actuate: SendResize;
  /** Takes every evaluation, and the one that folds in an answer. */
  readonly report: EvaluationSink;
  /** What the pod may inherit (L40): asked for new pods only. */
  readonly findSiblings: (tracked: TrackedPod, input: Pick<SizeInput, "now" | "wallAheadMs">) => Siblings | null;
  /** What the pod's own object does not tell; absent where nothing is to be said. */
  readonly getContext: (pod: PodFacts, now: number) => EvaluationContext;
  readonly dryRun: boolean;
  /** False while not everybody is known who may contend for the namespace's pods: then they are not evaluated. */
  readonly canDecide: (namespace: string) => boolean;
  /** What else a decision looks at. */
  readonly surroundings: Surroundings;
  /** A pod that cannot be decided is left alone until its next evaluation; the other pods go on. */
  readonly onError: (tracked: TrackedPod, error: unknown) => void;
}

type EvaluationContext = Pick<
  SizeInput,
  "killFloors" | "memoryPressure" | "isSidecar" | "ledSince" | "scaleInPending" | "scaledInAt"
>;

/** A request, and the pod that it was decided on. */
export interface PendingResize {
  readonly tracked: TrackedPod;
  readonly request: ResizeRequest;
}

/** Owns the state of every tracked pod. Disposal waits for the answers to what was sent, and sends nothing more. */
export class PodController implements AsyncDisposable {
  readonly #options: PodControllerOptions;
  readonly #states: PodStates;
  readonly #waitingForHeadroom = new Set<string>();
  /** By uid, the pods with a request on its way; each with the change that waits for the answer, if there was one. */
  readonly #inFlight = new Map<string, TrackedPod | null>();
  readonly #pending = new Set<Promise<void>>();
  /** By uid, the requests that wait for their turn, the oldest first; monotonic ms. */
  readonly #queued = new Map<string, PendingResize & { readonly sinceMs: number }>();
  readonly #closing = new AbortController();

  constructor(options: PodControllerOptions) {
    this.#options = options;
    this.#states = options.states;
  }

  /** UIDs of pods that wait for room on their node (L30). */
  get waitingForHeadroom(): ReadonlySet<string> {
    return this.#waitingForHeadroom;
  }

  /** Requests that have waited for their turn for at least so long. */
  *listQueued(forMs: number): Generator<PendingResize> {
    const untilMs = this.#options.clock.monotonic() - forMs;
    for (const queued of this.#queued.values()) {
      if (queued.sinceMs > untilMs) return;
      yield queued;
    }
  }

  /** The pod is no longer tracked: when it comes back, its streaks are fresh (C11). */
  drop(uid: string): void {
    this.#states.delete(uid);
    this.#waitingForHeadroom.delete(uid);
    this.#options.surroundings.headroom.release(uid);
    if (this.#inFlight.has(uid)) this.#inFlight.set(uid, null);
  }

  /** Decides for each pod and sends the requests, at most one per pod at a time. Waits for no answer, and never throws. */
  evaluate(pods: Iterable<TrackedPod>, observe: (tracked: TrackedPod) => Observation): void {
    if (this.#closing.signal.aborted) return;
    // Asked once for all pods of a namespace: the answer costs a look at all its autoscalers.
    const verdicts = new Map<string, boolean>();
    for (const tracked of pods) {
      const { namespace } = tracked.pod;
      const canDecide = verdicts.get(namespace) ?? this.#options.canDecide(namespace);
      verdicts.set(namespace, canDecide);
      if (canDecide) this.#evaluateOne(tracked, observe);
    }
  }

  /** Resolves when every request that was sent is answered and folded in; never rejects. */
  async answered(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Nothing is evaluated from now on, and what waits for its turn is not sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.answered();
  }

  #evaluateOne(tracked: TrackedPod, observe: (tracked: TrackedPod) => Observation): void {
    try {
      const observation = observe(tracked);
      const { uid } = tracked.pod;
      if (observation.kind === "changed" && this.#inFlight.has(uid)) {
        // Often it is what the request has done; the answer is to be known first.
        this.#inFlight.set(uid, tracked);
        return;
      }
      const request = this.#decide(tracked, observation);
      if (request !== null) this.#send(tracked, request);
    } catch (error) {
      this.#options.onError(tracked, error);
    }
  }

  #decide(tracked: TrackedPod, observation: Observation): ResizeRequest | null {
    const { clock, report } = this.#options;
    const startedMs = clock.monotonic();
    const known = this.#states.find(tracked.pod.uid);
    const before = known ?? NEW_POD_STATE;
    const input = this.#toInput(tracked, observation);
    const outcome = decideSize(before, input);
    if (outcome.state !== known) this.#states.put(tracked.pod.uid, outcome.state);
    this.#reserveHeadroom(tracked.pod, outcome);
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
    // A container that was OOM-killed is killed again until its limit is larger (L11).
    using permit = await acquirePermit(this.#closing.signal, { isUrgent: request.reflex !== null });
    this.#queued.delete(tracked.pod.uid);
    const decided = { tracked, request };
    const sending = permit?.isLate === true ? this.#decideAgain(decided) : decided;
    const answer: Answer = permit === null || sending === null
      ? { kind: "withdrawn" }
      : await actuate(sending.request, sending.tracked, permit);
    if (answer.kind === "withdrawn") permit?.refund();
    this.#foldAnswer(sending ?? decided, answer);
  }

  /** What the pod needs now that its turn has come; `null` = nothing any more, or too little is known. */
  #decideAgain(decided: PendingResize): PendingResize | null {
    const { uid, namespace } = decided.tracked.pod;
    const tracked = this.#inFlight.get(uid) ?? decided.tracked;
    if (this.#states.peek(uid) === null || !this.#options.canDecide(namespace)) return null;
    // It rests on siblings, not on samples: those of the meantime say nothing about it.
    if (decided.request.reason === "Inherited" && tracked === decided.tracked) return decided;
    // Nothing was sent, so nothing is in flight.
    this.#inFlight.delete(uid);
    const request = this.#decide(tracked, { kind: "changed" });
    this.#inFlight.set(uid, null);
    return request === null ? null : { tracked, request };
  }

  #foldAnswer({ tracked, request }: PendingResize, answer: Answer): void {
    const { report, surroundings: { headroom } } = this.#options;
    const { pod } = tracked;
    if (answer.kind === "accepted") headroom.confirm(pod, answer.generation);
    else if (answer.kind !== "unconfirmed") headroom.release(pod.uid);
    // Dropped meanwhile: what was accepted is still reported, but no state comes back to life.
    const before = this.#states.find(pod.uid);
    const input = this.#toInput(tracked, { kind: "answered", request, answer });
    const outcome: SizeOutcome = decideSize(before ?? NEW_POD_STATE, input);
    if (before !== null) this.#states.put(pod.uid, outcome.state);
    report({ before: before ?? NEW_POD_STATE, input, outcome, tookMs: 0 });
  }

  /** What has changed meanwhile is decided about now. */
  #finish(uid: string): void {
    const changed = this.#inFlight.get(uid) ?? null;
    this.#inFlight.delete(uid);
    if (changed !== null) this.evaluate([changed], () => ({ kind: "changed" }));
  }

  /** What is commanded takes its room at once, or two pods of a round would both be fitted into it. */
  #reserveHeadroom(pod: PodFacts, { request, state }: SizeOutcome): void {
    const { headroom } = this.#options.surroundings;
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
    const [now, wallAheadMs] = [clock.steady(), computeWallAheadMs(clock)];
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
      ...getContext(pod, now),
    };
  }
}

// Who hears of an evaluation: sinks, each of which does one thing with it (log, metrics, events, status, and whatever
// a caller of the daemon adds). A sink must be cheap where there is nothing to say, as 30,000 pods may be evaluated in
// every poll interval, and it must not keep what it is given.

/** One pass of one pod through the fold: what `decideSize` was given and what it returned. */
export interface Evaluation {
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
  /** How long `decideSize` took, in ms; 0 when it folded in the answer to a request. */
  readonly tookMs: number;
}

/** Takes one evaluation. It may throw: then the others are called all the same. */
export type EvaluationSink = (evaluation: Evaluation) => void;

/** What belongs to an autoscaler. */
interface AutoscalerPart {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container?: string;
}

/** One sink out of several, called in their order. Never throws as long as `onError` does not. */
export function combineSinks(
  sinks: readonly EvaluationSink[],
  onError: (evaluation: Evaluation, error: unknown) => void,
): EvaluationSink {
  return (evaluation) => {
    for (const sink of sinks) {
      try {
        sink(evaluation);
      } catch (error) {
        onError(evaluation, error);
      }
    }
  };
}

/**
 * The contender that a decision, a request or a resize belongs to; `null` when its autoscaler contends no more. One of
 * EVERY_CONTAINER has a contender per container (L50): for a container that is gone another one of them stands in.
 */
export function findAutoscaler(
  { input: { contenders } }: Evaluation,
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

// What is remembered of every tracked pod between two evaluations, by uid.

export class PodStates {
  readonly #packed = new Map<string, PackedState>();

  /** `null` before the pod's first evaluation. */
  find(uid: string): PodState | null {
    const resting = this.peek(uid);
    return resting === null ? null : unpackState(resting);
  }

  /** The same, without what only decisions need: costs nothing. It is overwritten with the next state: nobody keeps it. */
  peek(uid: string): PackedState | null {
    return this.#packed.get(uid) ?? null;
  }

  put(uid: string, state: PodState): void {
    const before = this.#packed.get(uid) ?? null;
    const resting = packState(state, before);
    if (resting !== before) this.#packed.set(uid, resting);
  }

  delete(uid: string): void {
    this.#packed.delete(uid);
  }
}
