/**
 * Mode recommend (L51): such contenders decide on a shadow of the pod, in which their resizes are accepted and enacted at once,
 * so that one recommendation leads on to the next. Nothing of it is sent. The contenders in mode apply decide about the pod
 * itself, as if the others were not there.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { describeChange, listChanges } from "../changes.ts";
import type { ContainerDecision, Input, Outcome } from "../decision.ts";
import type { PodState, Shadow, View } from "../state.ts";
import { isOfSidecar } from "../pod/sidecar.ts";
import { NEW_SHADOW, toShadowPod } from "./shadow.ts";

/** The fold for one pod: of `decide`, without shadows. */
export type Fold = (before: PodState, input: Input) => Outcome;

/** Some contender recommends, or did. Nobody else pays for it. */
export function hasShadow({ shadow }: PodState, { contenders }: Input): boolean {
  if (shadow !== null) return true;
  for (const { mode } of contenders) if (mode === "recommend") return true;
  return false;
}

/** Both folds, and one outcome of them. */
export function decideWithShadow(before: PodState, input: Input, fold: Fold): Outcome {
  const applying = input.contenders.filter(({ mode }) => mode === "apply");
  const recommending = input.contenders.filter(({ mode }) => mode === "recommend");
  const known = adoptViews(before, before.shadow?.state ?? null, applying);
  const real = fold(known, { ...input, contenders: applying });
  // The answer to a request is about the pod itself.
  if (input.observation.kind === "answered") return real;
  if (recommending.length === 0) return { ...real, state: { ...real.state, shadow: null } };
  const shadow = before.shadow ?? NEW_SHADOW;
  const seen = { ...shadow, state: adoptViews(shadow.state, before, recommending) };
  const own = {
    ...input,
    contenders: recommending,
    siblings: null,
    inFlight: false,
    dryRun: false,
    // What resizes nothing may be said by whoever sees the pod.
    isSidecar: isOfSidecar(input.pod),
  };
  return combine(real, evaluate(seen, own, fold));
}

interface Shadowed {
  readonly shadow: Shadow;
  readonly outcome: Outcome;
}

/** The fold on the shadow, and every resize that it asks for: at most one for each contender. */
function evaluate(before: Shadow, input: Input, fold: Fold): Shadowed {
  const outcome = fold(before.state, { ...input, pod: toShadowPod(input.pod, before) });
  let shadow: Shadow = { ...before, state: outcome.state };
  let { request } = outcome;
  for (let left = input.contenders.length; request !== null && left > 0; left--) {
    const generation: number = shadow.generation + 1;
    const answer = { kind: "accepted", generation } as const;
    const pod = toShadowPod(input.pod, shadow);
    const answered: Outcome = fold(shadow.state, { ...input, pod, observation: { kind: "answered", request, answer } });
    const sizes: Shadow["sizes"] = { ...shadow.sizes, [request.container]: request.to };
    shadow = { sizes, generation, state: answered.state };
    const enacted = fold(shadow.state, {
      ...input,
      pod: toShadowPod(input.pod, shadow),
      observation: { kind: "changed" },
    });
    shadow = { ...shadow, state: enacted.state };
    request = enacted.request;
  }
  return { shadow, outcome };
}

function combine(real: Outcome, { shadow, outcome }: Shadowed): Outcome {
  // Nothing restarts. What the accepted requests would be published as is left behind in `evaluate`.
  const notices = outcome.notices.filter(({ name }) => name !== "ResizeMayRestart");
  return {
    ...real,
    state: { ...real.state, shadow },
    decisions: [...real.decisions, ...outcome.decisions.map(toRecommended)],
    notices: [...real.notices, ...notices],
    implausible: real.implausible + outcome.implausible,
  };
}

/** What would be resized is blocked by the mode, as by --dry-run. */
function toRecommended(decided: ContainerDecision): ContainerDecision {
  const { decision } = decided;
  if (decision.kind !== "resize") return decided;
  const { action, from, to } = decision;
  const message = `would resize: ${describeChange(from, to, listChanges(from, to))} (mode: recommend)`;
  return { ...decided, decision: { kind: "blocked", action, reason: "DryRun", message } };
}

/** A contender whose mode has changed keeps what it saw: windows outlive it, streaks end with the changed spec (L54). */
function adoptViews(state: PodState, from: PodState | null, contenders: readonly Autoscaler[]): PodState {
  let views: Record<string, View> | null = null;
  for (const { key } of contenders) {
    const view = from?.views[key];
    if (view !== undefined && state.views[key] === undefined) (views ??= { ...state.views })[key] = view;
  }
  return views === null ? state : { ...state, views };
}
