/** States are dated by the wall clock; what they measure is the time that passes. */
import type { PodRates } from "../../core/replicas/rates.ts";
import type { ReplicasState } from "../../core/replicas/state.ts";

/** The same state once the clock was set by `stepMs`. */
export function stepReplicasState(state: ReplicasState, stepMs: number): ReplicasState {
  const { history, lastActiveAt, scaledInAt } = state;
  const stepAll = <T extends { readonly at: number }>(all: readonly T[]) =>
    all.map((one) => ({ ...one, at: one.at + stepMs }));
  return {
    ...state,
    // In whole seconds, as it is stored.
    lastActiveAt: lastActiveAt === null ? null : lastActiveAt + Math.round(stepMs / 1000) * 1000,
    scaledInAt: scaledInAt === null ? null : scaledInAt + stepMs,
    history: history && { needs: stepAll(history.needs), ups: stepAll(history.ups), downs: stepAll(history.downs) },
  };
}

/** Of a sample only `seenAt` is ours: its own time is the node's. */
export function stepPodRates({ containers }: PodRates, stepMs: number): PodRates {
  return {
    containers: Object.fromEntries(
      Object.entries(containers).map(([name, one]) => [name, { ...one, seenAt: one.seenAt + stepMs }]),
    ),
  };
}
