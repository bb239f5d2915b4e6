/**
 * Who hears of an evaluation: sinks, each of which does one thing with it (log, metrics, events, status, and whatever
 * a caller of the daemon adds). A sink must be cheap where there is nothing to say, as 30,000 pods may be evaluated in
 * every poll interval, and it must not keep what it is given.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Input, Outcome } from "../../core/decision.ts";
import type { PodState } from "../../core/state.ts";

/** One pass of one pod through the fold: what `decide` was given and what it returned. */
export interface Evaluation {
  readonly before: PodState;
  readonly input: Input;
  readonly outcome: Outcome;
  /** How long `decide` took, in ms; 0 when it folded in the answer to a request. */
  readonly tookMs: number;
}

/** Takes one evaluation. It may throw: then the others are called all the same. */
export type Sink = (evaluation: Evaluation) => void;

/** What belongs to an autoscaler. */
export interface Owned {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly container?: string;
}

/** One sink out of several, called in their order. Never throws as long as `onError` does not. */
export function combineSinks(
  sinks: readonly Sink[],
  onError: (evaluation: Evaluation, error: unknown) => void,
): Sink {
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
export function findOwner({ input: { contenders } }: Evaluation, { autoscaler, container }: Owned): Autoscaler | null {
  let owner: Autoscaler | null = null;
  for (const contender of contenders) {
    if (contender.uid !== autoscaler) continue;
    if (contender.containerName === container) return contender;
    owner ??= contender;
  }
  return owner;
}
