/** Evaluations by their few facts: what sinks are given, without running the fold. */
import type { Surroundings } from "../../lib/daemon/cluster/observer.ts";
import type { SizeInput, SizeOutcome } from "../../lib/model/decision.ts";
import { NEW_POD_STATE } from "../../lib/model/state.ts";
import type { Evaluation } from "../../lib/daemon/pods/controller.ts";
import { input } from "./builders.ts";

export interface EvaluationFacts {
  readonly input?: Partial<SizeInput>;
  readonly outcome?: Partial<SizeOutcome>;
  readonly tookMs?: number;
}

/** A tick of a pod with one contender, in which nothing was decided, unless the facts say otherwise. */
export function evaluation({ input: facts = {}, outcome = {}, tookMs = 0 }: EvaluationFacts): Evaluation {
  return {
    before: NEW_POD_STATE,
    input: input(facts),
    outcome: {
      state: NEW_POD_STATE,
      decisions: [],
      notices: [],
      request: null,
      scaled: null,
      enacted: null,
      implausible: 0,
      ...outcome,
    },
    tookMs,
  };
}

/** Of a controller of pods: nothing is known of nodes and namespaces, and nothing is in the way. */
export const NO_SURROUNDINGS: Surroundings = {
  headroom: { find: () => null, reserve() {}, confirm() {}, release() {} },
  disruptions: { find: () => undefined, reserve() {}, settle() {} },
  findLimits: () => null,
  lowersMemoryLimits: () => true,
};
