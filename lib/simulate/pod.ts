/**
 * When is a simulated pod polled and decided about?
 *
 * The daemon's own code decides, and its requests take effect a moment later. The pod is changed in place, for speed.
 */
import type { Autoscaler } from "../model/autoscaler.ts";
import type { NodeCapacity, Observation, SizeInput, SizeOutcome } from "../model/decision.ts";
import type { PodFacts } from "../model/pod.ts";
import type { ResizeRequest } from "../model/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../model/state.ts";
import { decideSize } from "../vertical/decide.ts";
import type { SimContainer } from "./container.ts";
import { drawBetween } from "./model/random.ts";
import { NodePod, type NodePodOptions } from "./node_pod.ts";

/** What a pod of a run is made of. */
export interface SimPodOptions extends NodePodOptions {
  /** Those that contend for its containers, a container each. */
  readonly autoscalers: readonly Autoscaler[];
  /** What else of its surroundings a decision looks at; `null` = nothing. */
  readonly getContext: (now: number) => Partial<SizeInput> | null;
  readonly onEvaluation: (evaluation: PodEvaluation) => void;
}

/** One call of the fold. */
export interface PodEvaluation {
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
}

const SECOND_MS = 1000;

/** The latest first poll, in ms. */
const MAX_PHASE_MS = 60_000;

/** The capacity of a node that no pod fills. */
const CAPACITY: NodeCapacity = { cpuMillicores: null, memoryBytes: null };

/** Owns what podfit remembers of the pod. */
export class SimPod {
  readonly #options: SimPodOptions;
  readonly #pod: NodePod;
  readonly #pollMs: number;
  #state: PodState = NEW_POD_STATE;
  #pollAt: number;

  constructor(options: SimPodOptions) {
    const { name, autoscalers, seed, startedAt } = options;
    this.#options = options;
    this.#pod = new NodePod(options);
    this.#pollMs = Math.min(...autoscalers.map(({ pollIntervalMs }) => pollIntervalMs));
    this.#pollAt = startedAt + drawBetween([1, Math.min(this.#pollMs, MAX_PHASE_MS)], [seed, name, "poll"]);
  }

  get containers(): readonly SimContainer[] {
    return this.#pod.containers;
  }

  get facts(): PodFacts {
    return this.#pod.facts;
  }

  get state(): PodState {
    return this.#state;
  }

  /** Moves on by the second that begins at `from`, epoch ms. `share`: its part of the CPU load. */
  passSecond(from: number, second: number, share: number): void {
    const pod = this.#pod;
    pod.beginSecond(second, share);
    const to = from + SECOND_MS;
    let at = from;
    for (let next = this.#nextAt; next <= to; next = this.#nextAt) {
      pod.use(next - at);
      at = next;
      if (pod.nextAt <= at && pod.happen(at)) this.#evaluate(at, { kind: "changed" });
      if (this.#pollAt <= at) this.#poll(at);
    }
    pod.use(to - at);
    if (pod.killOverLimit(to)) this.#evaluate(to, { kind: "changed" });
  }

  get #nextAt(): number {
    return Math.min(this.#pod.nextAt, this.#pollAt);
  }

  #poll(now: number): void {
    this.#pollAt += this.#pollMs;
    this.#evaluate(now, { kind: "usage", usage: this.#pod.getUsage(now), clockOffsetMs: 0, capacity: CAPACITY });
  }

  #evaluate(now: number, observation: Observation): void {
    const { autoscalers, getContext, onEvaluation } = this.#options;
    const plain: SizeInput = {
      now,
      pod: this.#pod.facts,
      contenders: autoscalers,
      observation,
      siblings: null,
      room: null,
      limits: null,
      lowersMemoryLimits: true,
      inFlight: false,
      dryRun: false,
    };
    const surroundings = getContext(now);
    const input = surroundings === null ? plain : { ...plain, ...surroundings };
    const before = this.#state;
    const outcome = decideSize(before, input);
    this.#state = outcome.state;
    onEvaluation({ before, input, outcome });
    if (outcome.request !== null) this.#send(outcome.request, now);
  }

  /** The API server takes it at once. */
  #send(request: ResizeRequest, now: number): void {
    const generation = (this.#pod.facts.generation ?? 1) + 1;
    this.#evaluate(now, { kind: "answered", request, answer: { kind: "accepted", generation } });
    this.#pod.accept(request, now);
  }
}
