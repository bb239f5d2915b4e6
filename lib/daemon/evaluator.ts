/**
 * Drives the fold: for each tracked pod it gathers the arguments, decides, sends the request and folds the answer in
 * when it comes. A pod is on one node, a node's evaluations come one after the other, and each fold is done in one go: so each
 * state has one writer, and no answer that is late holds up a reading (C23).
 */
import { decide } from "../core/decide.ts";
import type { Input, Observation, Outcome } from "../core/decision.ts";
import { isWaitingForRoom } from "../core/notify/held.ts";
import type { PodFacts } from "../core/pod/pod_facts.ts";
import { readTaken } from "../core/pod/room.ts";
import type { Siblings } from "../core/pod/siblings.ts";
import { wantsSiblings } from "../core/propose/inherit.ts";
import type { Answer, ResizeRequest } from "../core/resize_request.ts";
import type { Standing } from "../core/standing.ts";
import { NEW_POD_STATE, type PodState } from "../core/state.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Actuate } from "./act/actuator.ts";
import type { TakeTurn } from "./act/turns.ts";
import type { Tracked } from "./inventory/tracked.ts";
import type { Surroundings } from "./observer.ts";
import type { Sink } from "./report/sink.ts";
import { States } from "./states.ts";

/** How a pod is resized, and who hears of its evaluations. */
export interface EvaluatorOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Before each request: one whose turn comes late is decided anew. */
  readonly takeTurn: TakeTurn;
  readonly actuate: Actuate;
  /** Takes every evaluation, and the one that folds in an answer. */
  readonly report: Sink;
  /** What the pod may inherit (L40): asked for new pods only. */
  readonly readSiblings: (tracked: Tracked, now: number) => Siblings | null;
  /** What the pod's own object does not tell; absent where nothing is to be said. */
  readonly readSigns: (pod: PodFacts, now: number) => Signs;
  readonly dryRun: boolean;
  /** False while not everybody is known who may contend for the namespace's pods: then they are not evaluated. */
  readonly canDecide: (namespace: string) => boolean;
  /** What else a decision looks at. */
  readonly surroundings: Surroundings;
  /** A pod that cannot be decided is left alone until its next evaluation; the other pods go on. */
  readonly onError: (tracked: Tracked, error: unknown) => void;
}

type Signs = Pick<Input, "killFloors" | "memoryPressure" | "isSidecar" | "ledSince" | "scaleInPending" | "scaledInAt">;

/** A request, and the pod that it was decided on. */
export interface Sending {
  readonly tracked: Tracked;
  readonly request: ResizeRequest;
}

/** Owns the state of every tracked pod. Disposal waits for the answers to what was sent, and sends nothing more. */
export class Evaluator implements AsyncDisposable {
  readonly #options: EvaluatorOptions;
  readonly #states: States;
  readonly #waiting = new Set<string>();
  /** By uid, the pods with a request on its way; each with the change that waits for the answer, if there was one. */
  readonly #inFlight = new Map<string, Tracked | null>();
  readonly #sending = new Set<Promise<void>>();
  /** By uid, the requests that wait for their turn, the oldest first; monotonic ms. */
  readonly #queued = new Map<string, Sending & { readonly sinceMs: number }>();
  readonly #closing = new AbortController();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.#states = new States(options.clock);
  }

  /** What is remembered of the pod; `null` before its first evaluation. */
  readState(uid: string): PodState | null {
    return this.#states.read(uid);
  }

  /** The same as far as others ask, at no cost. */
  readStanding(uid: string): Standing | null {
    return this.#states.readStanding(uid);
  }

  /** UIDs of pods that wait for room on their node (L30). */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Requests that have waited for their turn for at least so long. */
  *listQueued(forMs: number): Generator<Sending> {
    const untilMs = this.#options.clock.monotonic() - forMs;
    for (const queued of this.#queued.values()) {
      if (queued.sinceMs > untilMs) return;
      yield queued;
    }
  }

  /** The pod is no longer tracked: when it comes back, its streaks are fresh (C11). */
  drop(uid: string): void {
    this.#states.delete(uid);
    this.#waiting.delete(uid);
    this.#options.surroundings.rooms.release(uid);
    if (this.#inFlight.has(uid)) this.#inFlight.set(uid, null);
  }

  /** Decides for each pod and sends the requests, at most one per pod at a time. Waits for no answer, and never throws. */
  evaluate(pods: Iterable<Tracked>, observe: (tracked: Tracked) => Observation): void {
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
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  /** Nothing is evaluated from now on, and what waits for its turn is not sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.answered();
  }

  #evaluateOne(tracked: Tracked, observe: (tracked: Tracked) => Observation): void {
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

  #send(tracked: Tracked, request: ResizeRequest): void {
    this.#inFlight.set(tracked.pod.uid, null);
    const sending = this.#perform(tracked, request)
      .catch((error) => this.#options.onError(tracked, error))
      .then(() => this.#land(tracked.pod.uid))
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** What has changed meanwhile is decided about now. */
  #land(uid: string): void {
    const changed = this.#inFlight.get(uid) ?? null;
    this.#inFlight.delete(uid);
    if (changed !== null) this.evaluate([changed], () => ({ kind: "changed" }));
  }

  #decide(tracked: Tracked, observation: Observation): ResizeRequest | null {
    const { clock, report } = this.#options;
    const startedMs = clock.monotonic();
    const known = this.#states.read(tracked.pod.uid);
    const before = known ?? NEW_POD_STATE;
    const input = this.#toInput(tracked, observation);
    const outcome = decide(before, input);
    if (outcome.state !== known) this.#states.put(tracked.pod.uid, outcome.state);
    this.#noteRoom(tracked.pod, outcome);
    report({ before, input, outcome, tookMs: clock.monotonic() - startedMs });
    return outcome.request;
  }

  async #perform(tracked: Tracked, request: ResizeRequest): Promise<void> {
    const { takeTurn, actuate, clock } = this.#options;
    this.#queued.set(tracked.pod.uid, { tracked, request, sinceMs: clock.monotonic() });
    // A container that was OOM-killed is killed again until its limit is larger (L11).
    using turn = await takeTurn(this.#closing.signal, { isUrgent: request.reflex !== null });
    this.#queued.delete(tracked.pod.uid);
    const decided = { tracked, request };
    const sending = turn?.isLate === true ? this.#decideAnew(decided) : decided;
    const answer: Answer = turn === null || sending === null
      ? { kind: "withdrawn" }
      : await actuate(sending.request, sending.tracked, turn);
    if (answer.kind === "withdrawn") turn?.giveBack();
    this.#fold(sending ?? decided, answer);
  }

  /** What the pod needs now that its turn has come; `null` = nothing any more, or too little is known. */
  #decideAnew(decided: Sending): Sending | null {
    const { uid, namespace } = decided.tracked.pod;
    const tracked = this.#inFlight.get(uid) ?? decided.tracked;
    if (this.#states.readStanding(uid) === null || !this.#options.canDecide(namespace)) return null;
    // It rests on siblings, not on samples: those of the meantime say nothing about it.
    if (decided.request.reason === "Inherited" && tracked === decided.tracked) return decided;
    // Nothing was sent, so nothing is in flight.
    this.#inFlight.delete(uid);
    const request = this.#decide(tracked, { kind: "changed" });
    this.#inFlight.set(uid, null);
    return request === null ? null : { tracked, request };
  }

  #fold({ tracked, request }: Sending, answer: Answer): void {
    const { report, surroundings: { rooms } } = this.#options;
    const { pod } = tracked;
    if (answer.kind === "accepted") rooms.accept(pod, answer.generation);
    else if (answer.kind !== "unconfirmed") rooms.release(pod.uid);
    // Dropped meanwhile: what was accepted is still reported, but no state comes back to life.
    const before = this.#states.read(pod.uid);
    const input = this.#toInput(tracked, { kind: "answered", request, answer });
    const outcome: Outcome = decide(before ?? NEW_POD_STATE, input);
    if (before !== null) this.#states.put(pod.uid, outcome.state);
    report({ before: before ?? NEW_POD_STATE, input, outcome, tookMs: 0 });
  }

  /** What is commanded takes its room at once, or two pods of a round would both be fitted into it. */
  #noteRoom(pod: PodFacts, { request, state }: Outcome): void {
    const { rooms } = this.#options.surroundings;
    if (isWaitingForRoom(state)) this.#waiting.add(pod.uid);
    else this.#waiting.delete(pod.uid);
    if (request !== null) rooms.command(pod, readTaken(pod, request.container, request.to));
    else if (!this.#inFlight.has(pod.uid) && state.command === null && state.unconfirmed.length === 0) {
      rooms.release(pod.uid);
    }
  }

  #toInput(tracked: Tracked, observation: Observation): Input {
    const { clock, readSiblings, readSigns, dryRun, surroundings } = this.#options;
    const { pod, contenders } = tracked;
    const now = clock.now();
    return {
      now,
      pod,
      contenders,
      observation,
      siblings: wantsSiblings(pod, contenders, now) ? readSiblings(tracked, now) : null,
      room: surroundings.rooms.read(pod),
      limits: surroundings.readLimits(pod.namespace),
      lowersMemoryLimits: surroundings.lowersMemoryLimits(pod.nodeName),
      inFlight: this.#inFlight.has(pod.uid),
      dryRun,
      ...readSigns(pod, now),
    };
  }
}
