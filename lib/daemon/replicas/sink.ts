/** Who hears of ScaledObjects: each pass through the fold, each question to a trigger, and objects that come and go. */
import type { ReplicasInput, ReplicasOutcome } from "../../core/replicas/input.ts";
import type { ReplicasState } from "../../core/replicas/state.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { ExternalTrigger } from "../../scaled_object/trigger.ts";

/** One pass of one object through the fold. */
export interface ReplicasPass {
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly outcome: ReplicasOutcome;
  readonly tookMs: number;
  /** How late the half began: when it did, minus when it was due. */
  readonly lateMs: number;
}

/** An external trigger was asked; not told of cached readings. */
export interface AskedTrigger {
  readonly object: ScaledObjectFacts;
  readonly trigger: ExternalTrigger;
  readonly seconds: number;
  /** The answer had no value. */
  readonly isEmpty: boolean;
}

/** Takes what happens. It may throw: then the others are called all the same. */
export interface ReplicasSink {
  onPass?(pass: ReplicasPass): void;
  onAsked?(asked: AskedTrigger): void;
  /** The object appeared or its spec changed, valid or not. */
  onObject?(facts: ScaledObjectFacts): void;
  /** The object is gone: nothing is to be kept of it. */
  onGone?(facts: ScaledObjectFacts): void;
}

/** What is so of an object now; `state` is `null` before its first pass. */
export interface SeenObject {
  readonly facts: ScaledObjectFacts;
  readonly state: ReplicasState | null;
}

/** One of all; a sink that throws is reported, and the others are called all the same. */
export function combineReplicasSinks(
  sinks: readonly ReplicasSink[],
  onError: (error: unknown) => void,
): Required<ReplicasSink> {
  const toEach = (tell: (sink: ReplicasSink) => void) => {
    for (const sink of sinks) {
      try {
        tell(sink);
      } catch (error) {
        onError(error);
      }
    }
  };
  return {
    onPass: (pass) => toEach((sink) => sink.onPass?.(pass)),
    onAsked: (asked) => toEach((sink) => sink.onAsked?.(asked)),
    onObject: (facts) => toEach((sink) => sink.onObject?.(facts)),
    onGone: (facts) => toEach((sink) => sink.onGone?.(facts)),
  };
}
