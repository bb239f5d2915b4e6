/**
 * What would another policy have decided of a recorded pod? It decides as a recommendation does (L51), on the recorded usage and on sizes of
 * its own, in which each of its resizes is in force at once. It begins with the size, the windows and the cooldowns of the first record.
 */
import { type Autoscaler, EVERY_CONTAINER } from "../../autoscaler/autoscaler.ts";
import { decide } from "../../core/decide.ts";
import type { ContainerDecision, Outcome } from "../../core/decision.ts";
import type { PodState } from "../../core/state.ts";
import type { PodLine } from "../../record/line.ts";
import type { Resources } from "../../units/resources.ts";

/** What it decided of a record; the decisions name the recorded autoscalers. */
export interface OtherOutcome {
  readonly decisions: readonly ContainerDecision[];
  /** By container: the size that it would have now. */
  readonly sizes: Readonly<Record<string, Resources>>;
}

/** Takes the lines of one pod, oldest first; `null` where nothing is decided: by an answer, or for no contender of its containers. */
export type OtherPolicy = (line: PodLine) => OtherOutcome | null;

export function createOtherPolicy(policy: Autoscaler): OtherPolicy {
  let state: PodState | null = null;
  return ({ record: { before, input } }) => {
    const contenders = input.contenders.map((one) => toOther(one, policy));
    const isAsked = contenders.some((one, at) => one !== input.contenders[at]);
    if (input.observation.kind === "answered" || !isAsked) return null;
    const others = contenders.filter(({ mode }) => mode === "recommend");
    const outcome: Outcome = decide(state ?? toFirst(before, input.pod), {
      ...input,
      contenders: others,
      inFlight: false,
    });
    state = outcome.state;
    return { decisions: outcome.decisions, sizes: outcome.state.shadow?.sizes ?? {} };
  };
}

/** The policy in the place of a contender: a changed spec of the same autoscaler. */
function toOther(contender: Autoscaler, policy: Autoscaler): Autoscaler {
  const { containerName } = policy;
  if (containerName !== EVERY_CONTAINER && containerName !== contender.containerName) return contender;
  if (policy.excludeContainers.includes(contender.containerName)) return contender;
  const { namespace, name, uid, key, generation, target, selector, isWildcard } = contender;
  const identity = { namespace, name, uid, key, target, selector, isWildcard, containerName: contender.containerName };
  return { ...policy, ...identity, generation: generation + 1, mode: "recommend", paused: false };
}

type Pod = PodLine["record"]["input"]["pod"];

/** A pod with nothing under way, of the size that it has. */
function toFirst(before: PodState, pod: Pod): PodState {
  const idle: PodState = {
    ...before,
    shadow: null,
    command: null,
    unconfirmed: [],
    conflict: null,
    pendingSince: null,
    inProgressSince: null,
    differingSince: null,
  };
  const sizes = Object.fromEntries(pod.containers.map(({ name, spec }) => [name, spec]));
  return { ...idle, shadow: { sizes, generation: Math.max(before.generation, pod.generation ?? 0) + 1, state: idle } };
}
