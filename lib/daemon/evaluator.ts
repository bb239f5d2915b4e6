/**
 * Drives the fold: for each tracked pod of a turn it gathers the arguments, decides, performs the order and folds the
 * answer in. A pod is on one node and a node's turns come one after the other, so each state has one writer.
 */
import { decide } from "../core/decide.ts";
import type { Answer, Observation, Outcome, ResizeRequest } from "../core/decision.ts";
import { NEW_POD_STATE, type PodState } from "../core/state.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Actuate } from "./act/actuator.ts";
import type { Tracked } from "./inventory/tracked.ts";
import type { Report } from "./report/report.ts";

export interface EvaluatorOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly actuate: Actuate;
  readonly report: Report;
  readonly dryRun: boolean;
  /** False while not everybody is known who may contend for the namespace's pods: they have no turn. */
  readonly canDecide: (namespace: string) => boolean;
  /** A pod that cannot be decided is left alone until its next turn; the others of the turn go on. */
  readonly onError: (tracked: Tracked, error: unknown) => void;
}

export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #states = new Map<string, PodState>();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
  }

  readState(uid: string): PodState | null {
    return this.#states.get(uid) ?? null;
  }

  /** The pod is no longer tracked: when it comes back, its streaks are fresh (C11). */
  drop(uid: string): void {
    this.#states.delete(uid);
  }

  /** Decides for each pod, then sends what is to be sent, all at once; returns when every answer is folded in. */
  async evaluate(pods: Iterable<Tracked>, observe: (tracked: Tracked) => Observation): Promise<void> {
    const sent: Promise<void>[] = [];
    // Asked once per turn: the answer costs a look at all autoscalers of the namespace.
    const verdicts = new Map<string, boolean>();
    for (const tracked of pods) {
      const { namespace } = tracked.pod;
      const canDecide = verdicts.get(namespace) ?? this.#options.canDecide(namespace);
      verdicts.set(namespace, canDecide);
      if (canDecide) sent.push(this.#takeTurn(tracked, observe));
    }
    await Promise.all(sent);
  }

  async #takeTurn(tracked: Tracked, observe: (tracked: Tracked) => Observation): Promise<void> {
    try {
      const { request: order } = this.#decide(tracked, observe(tracked));
      if (order !== null) await this.#perform(tracked, order);
    } catch (error) {
      this.#options.onError(tracked, error);
    }
  }

  #decide(tracked: Tracked, observation: Observation): Outcome {
    const { clock, dryRun, report } = this.#options;
    const { pod, contenders } = tracked;
    const startedMs = clock.monotonic();
    const before = this.#states.get(pod.uid) ?? NEW_POD_STATE;
    const outcome = decide(before, { now: clock.now(), pod, contenders, observation, dryRun });
    this.#states.set(pod.uid, outcome.state);
    report(outcome, tracked, clock.monotonic() - startedMs);
    return outcome;
  }

  async #perform(tracked: Tracked, order: ResizeRequest): Promise<void> {
    const { actuate, clock, dryRun, report } = this.#options;
    const { pod, contenders } = tracked;
    const answer: Answer = await actuate(order, tracked);
    // Dropped meanwhile: what was accepted is still told, but no state comes back to life.
    const before = this.#states.get(pod.uid);
    const observation: Observation = { kind: "answered", order, answer };
    const outcome = decide(before ?? NEW_POD_STATE, { now: clock.now(), pod, contenders, observation, dryRun });
    if (before !== undefined) this.#states.set(pod.uid, outcome.state);
    report(outcome, tracked, 0);
  }
}
