/**
 * Mode recommend: the pod as it would be if each recommended resize had been accepted and enacted at once.
 *
 * Nothing of it is sent. Autoscalers in mode apply decide on the pod itself.
 */
import type { Autoscaler } from "../model/autoscaler.ts";
import type { ContainerDecision, Observation, SizeInput, SizeOutcome } from "../model/decision.ts";
import { isOfSidecar } from "../model/ownership.ts";
import { type ContainerFacts, getActualSize, type PodFacts } from "../model/pod.ts";
import { describeChange, listChangedFields, type ResizeRequest } from "../model/resize_request.ts";
import {
  type AutoscalerView,
  NEW_POD_STATE,
  type PodState,
  type ReadableState,
  type ReadableView,
  type RecommendedState,
} from "../model/state.ts";
import { requestOrLimitOf, RESOURCE_FIELDS, type Resources } from "../units/resources.ts";

// Mode recommend (L51): such contenders decide on a shadow of the pod, in which their resizes are accepted and enacted
// at once, so that one recommendation leads on to the next. Nothing of it is sent. The contenders in mode apply decide
// about the pod itself, as if the others were not there.

/** A decision to be made. */
interface DecisionInput {
  readonly state: PodState;
  readonly input: SizeInput;
}

/** The recommended state, and the input of the pod that is there, with the contenders that recommend. */
export interface Recommendation {
  readonly shadow: RecommendedState;
  readonly input: SizeInput;
}

/** What is decided about the pod that is there, and what about the recommended one; `null` where there is none. */
export function splitByMode(
  before: PodState,
  input: SizeInput,
): { readonly applying: DecisionInput; readonly recommending: Recommendation | null } {
  if (!hasRecommendedState(before, input)) return { applying: { state: before, input }, recommending: null };
  const [applies, recommends] = [listOfMode(input, "apply"), listOfMode(input, "recommend")];
  const known = adoptViews(before, before.shadow?.state ?? null, applies);
  const own = { ...input, contenders: applies };
  // The answer to a request is about the pod itself.
  if (input.observation.kind === "answered") return { applying: { state: known, input: own }, recommending: null };
  if (recommends.length === 0) {
    return { applying: { state: { ...known, shadow: null }, input: own }, recommending: null };
  }
  const shadow = before.shadow ?? NEW_RECOMMENDED_STATE;
  const recommending: Recommendation = {
    shadow: { ...shadow, state: adoptViews(shadow.state, before, recommends) },
    input: {
      ...input,
      contenders: recommends,
      siblings: null,
      inFlight: false,
      dryRun: false,
      // What resizes nothing may be said by whoever sees the pod.
      isSidecar: isOfSidecar(input.pod),
    },
  };
  return { applying: { state: known, input: own }, recommending };
}

/** The decision about the recommended pod. */
export function toRecommendedInput(
  { shadow, input }: Recommendation,
  observation: Observation = input.observation,
): DecisionInput {
  return { state: shadow.state, input: { ...input, pod: toRecommendedPod(input.pod, shadow), observation } };
}

/** As if the API server had accepted the request. */
export function toAcceptedInput(recommendation: Recommendation, request: ResizeRequest): DecisionInput {
  const answer = { kind: "accepted", generation: recommendation.shadow.generation + 1 } as const;
  return toRecommendedInput(recommendation, { kind: "answered", request, answer });
}

/** The recommended pod in the size of an accepted request; `state` is that after its answer. */
export function applyRecommended(
  { shadow, input }: Recommendation,
  { container, to }: ResizeRequest,
  state: PodState,
): Recommendation {
  return { shadow: { sizes: { ...shadow.sizes, [container]: to }, generation: shadow.generation + 1, state }, input };
}

/** One outcome: of the pod that is there, and of what was decided first about the recommended one. */
export function mergeRecommended(real: SizeOutcome, outcome: SizeOutcome, shadow: RecommendedState): SizeOutcome {
  // Nothing restarts. What the accepted requests would be published as is not in the first outcome.
  const notices = outcome.notices.filter(({ name }) => name !== "ResizeMayRestart");
  return {
    ...real,
    state: { ...real.state, shadow },
    decisions: [...real.decisions, ...outcome.decisions.map(toRecommendedDecision)],
    notices: [...real.notices, ...notices],
    implausible: real.implausible + outcome.implausible,
  };
}

// A pod as it would be had every recommended resize been applied (L51): the pod that is there, with the sizes of its
// shadow in spec and status, and no resize under way.

/** The size that a container was given; `null` when it has none of its own. Own properties only. */
export function findRecommendedSize(sizes: RecommendedState["sizes"], container: string): Resources | null {
  return Object.hasOwn(sizes, container) ? sizes[container] ?? null : null;
}

/** What is remembered for an autoscaler: of mode recommend it stands in the shadow. */
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: PodState): PodState;
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: ReadableState): ReadableState;
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: ReadableState): ReadableState {
  return mode === "recommend" ? state.shadow?.state ?? NEW_POD_STATE : state;
}

/** The pod that an autoscaler decides about. */
export function getPodFor({ mode }: Pick<Autoscaler, "mode">, pod: PodFacts, state: PodState): PodFacts {
  return mode === "recommend" ? toRecommendedPod(pod, state.shadow ?? NEW_RECOMMENDED_STATE) : pod;
}

/** The views of all containers that an autoscaler stands for; most have one. `state`: as `getStateFor` gives it. */
export function listViewsOf<V extends ReadableView>(
  { uid }: Pick<Autoscaler, "uid">,
  { views }: { readonly views: Readonly<Record<string, V>> },
): readonly V[] {
  const own: V[] = [];
  // Each sweep asks this of each pod, so no list of pairs is made.
  for (const key in views) {
    const view = views[key];
    if (view !== undefined && (key === uid || key.startsWith(`${uid}/`))) own.push(view);
  }
  return own;
}

/** Some contender recommends, or did. Nobody else pays for it. */
function hasRecommendedState({ shadow }: PodState, { contenders }: SizeInput): boolean {
  if (shadow !== null) return true;
  for (const { mode } of contenders) if (mode === "recommend") return true;
  return false;
}

function listOfMode({ contenders }: SizeInput, mode: Autoscaler["mode"]): readonly Autoscaler[] {
  return contenders.filter((one) => one.mode === mode);
}

/** What would be resized is blocked by the mode, as by --dry-run. */
function toRecommendedDecision(decided: ContainerDecision): ContainerDecision {
  const { decision } = decided;
  if (decision.kind !== "resize") return decided;
  const { action, from, to } = decision;
  const message = `would resize: ${describeChange(from, to, listChangedFields(from, to))} (mode: recommend)`;
  return { ...decided, decision: { kind: "blocked", action, reason: "DryRun", message } };
}

/** A contender whose mode has changed keeps what it saw: windows outlive it, streaks end with the changed spec (L54). */
function adoptViews(state: PodState, from: PodState | null, contenders: readonly Autoscaler[]): PodState {
  let views: Record<string, AutoscalerView> | null = null;
  for (const { key } of contenders) {
    const view = from?.views[key];
    if (view !== undefined && state.views[key] === undefined) (views ??= { ...state.views })[key] = view;
  }
  return views === null ? state : { ...state, views };
}

/** A shadow in which nothing was resized yet. */
const NEW_RECOMMENDED_STATE: RecommendedState = { sizes: {}, generation: 1, state: NEW_POD_STATE };

/** What the recommending contenders decide about. */
function toRecommendedPod(pod: PodFacts, { sizes, generation }: RecommendedState): PodFacts {
  return {
    ...pod,
    // Another size is another pod.
    resourceVersion: `${pod.resourceVersion}+${generation}`,
    generation,
    observedGeneration: generation,
    pending: null,
    inProgress: null,
    containers: pod.containers.map((container) =>
      container.kind === "init"
        ? container
        : toResized(container, findRecommendedSize(sizes, container.name) ?? container.spec)
    ),
    resizes: [],
    // Of the pod that is there.
    memoryLimitBytes: null,
  };
}

function toResized(container: ContainerFacts, size: Resources): ContainerFacts {
  const [real, wouldBe] = [getActualSize(container)["memory.limits"], size["memory.limits"]];
  // The kernel goes by the limit that is there: above it the kill would not have been.
  const isSpared = real !== null && (wouldBe === null || wouldBe > real);
  const terminations = isSpared
    ? container.terminations.filter(({ reason }) => reason !== "OOMKilled")
    : container.terminations;
  return { ...container, spec: size, reported: size, allocated: keepRequests(size), terminations };
}

function keepRequests(size: Resources): Resources {
  const requests: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) requests[key] = requestOrLimitOf(key) === "requests" ? size[key] : null;
  return requests as Resources;
}
