/**
 * Drives the fold: for each tracked pod it gathers the arguments, decides, sends the request and folds the answer in.
 * A pod is on one node and a node's evaluations come one after the other, so each state has one writer.
 */
import { decide } from "../core/decide.ts";
import type { Input, Observation, Outcome } from "../core/decision.ts";
import { isWaitingForRoom } from "../core/notify/held.ts";
import type { PodFacts } from "../core/pod/pod_facts.ts";
import { readGrowth } from "../core/pod/room.ts";
import type { ResizeRequest } from "../core/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../core/state.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Actuate } from "./act/actuator.ts";
import type { Tracked } from "./inventory/tracked.ts";
import type { Surroundings } from "./observer.ts";
import type { Sink } from "./report/sink.ts";

/** How a pod is resized, and who hears of its evaluations. */
export interface EvaluatorOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly actuate: Actuate;
  /** Takes every evaluation, and the one that folds in an answer. */
  readonly report: Sink;
  readonly dryRun: boolean;
  /** False while not everybody is known who may contend for the namespace's pods: then they are not evaluated. */
  readonly canDecide: (namespace: string) => boolean;
  /** What else a decision looks at. */
  readonly surroundings: Surroundings;
  /** A pod that cannot be decided is left alone until its next evaluation; the other pods go on. */
  readonly onError: (tracked: Tracked, error: unknown) => void;
}

/** Owns the state of every tracked pod. */
export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #states = new Map<string, PodState>();
  readonly #waiting = new Set<string>();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
  }

  /** What is remembered of the pod; `null` before its first evaluation. */
  readState(uid: string): PodState | null {
    return this.#states.get(uid) ?? null;
  }

  /** UIDs of pods that wait for room on their node (L30). */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** The pod is no longer tracked: when it comes back, its streaks are fresh (C11). */
  drop(uid: string): void {
    this.#states.delete(uid);
    this.#waiting.delete(uid);
    this.#options.surroundings.rooms.release(uid);
  }

  /** Decides for each pod, then sends all requests at once; resolves when every answer is folded in, never rejects. */
  async evaluate(pods: Iterable<Tracked>, observe: (tracked: Tracked) => Observation): Promise<void> {
    const sent: Promise<void>[] = [];
    // Asked once for all pods of a namespace: the answer costs a look at all its autoscalers.
    const verdicts = new Map<string, boolean>();
    for (const tracked of pods) {
      const { namespace } = tracked.pod;
      const canDecide = verdicts.get(namespace) ?? this.#options.canDecide(namespace);
      verdicts.set(namespace, canDecide);
      if (canDecide) sent.push(this.#evaluateOne(tracked, observe));
    }
    await Promise.all(sent);
  }

  async #evaluateOne(tracked: Tracked, observe: (tracked: Tracked) => Observation): Promise<void> {
    try {
      const request = this.#decide(tracked, observe(tracked));
      if (request !== null) await this.#perform(tracked, request);
    } catch (error) {
      this.#options.onError(tracked, error);
    }
  }

  #decide(tracked: Tracked, observation: Observation): ResizeRequest | null {
    const { clock, report } = this.#options;
    const startedMs = clock.monotonic();
    const before = this.#states.get(tracked.pod.uid) ?? NEW_POD_STATE;
    const input = this.#toInput(tracked, observation);
    const outcome = decide(before, input);
    this.#states.set(tracked.pod.uid, outcome.state);
    this.#noteRoom(tracked.pod, outcome);
    report({ before, input, outcome, tookMs: clock.monotonic() - startedMs });
    return outcome.request;
  }

  async #perform(tracked: Tracked, request: ResizeRequest): Promise<void> {
    const { actuate, report } = this.#options;
    const { pod } = tracked;
    const answer = await actuate(request, tracked);
    const { rooms } = this.#options.surroundings;
    if (answer.kind === "accepted") rooms.accept(pod, answer.generation);
    else if (answer.kind !== "unconfirmed") rooms.release(pod.uid);
    // Dropped meanwhile: what was accepted is still reported, but no state comes back to life.
    const before = this.#states.get(pod.uid);
    const input = this.#toInput(tracked, { kind: "answered", request, answer });
    const outcome: Outcome = decide(before ?? NEW_POD_STATE, input);
    if (before !== undefined) this.#states.set(pod.uid, outcome.state);
    report({ before: before ?? NEW_POD_STATE, input, outcome, tookMs: 0 });
  }

  /** What is commanded takes its room at once, or two pods of a round would both be fitted into it. */
  #noteRoom(pod: PodFacts, { request, state }: Outcome): void {
    const { rooms } = this.#options.surroundings;
    if (isWaitingForRoom(state)) this.#waiting.add(pod.uid);
    else this.#waiting.delete(pod.uid);
    if (request !== null) rooms.command(pod, readGrowth(pod, request.container, request.to));
    else if (state.command === null && state.unconfirmed.length === 0) rooms.release(pod.uid);
  }

  #toInput({ pod, contenders }: Tracked, observation: Observation): Input {
    const { clock, dryRun, surroundings } = this.#options;
    return {
      now: clock.now(),
      pod,
      contenders,
      observation,
      room: surroundings.rooms.read(pod),
      limits: surroundings.readLimits(pod.namespace),
      lowersMemoryLimits: surroundings.lowersMemoryLimits(pod.nodeName),
      dryRun,
    };
  }
}
