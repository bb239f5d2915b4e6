/**
 * Mode recommend: the pod as it would be if each recommended resize had been accepted and enacted at once.
 *
 * Nothing of it is sent. Autoscalers in mode apply decide on the pod itself.
 */
import { type Autoscaler, toViewKey } from "../model/autoscaler.ts";
import type { ContainerDecision, Observation, SizeInput, SizeOutcome } from "../model/decision.ts";
import { isOfSidecar } from "../model/ownership.ts";
import { type ContainerFacts, findContainer, getActualSize, listContainers, type PodFacts } from "../model/pod.ts";
import { sumPod } from "../model/pod_amounts.ts";
import { describeChange, listChangedFields, type ResizeRequest } from "../model/resize_request.ts";
import {
  findContainerState,
  NEW_POD_STATE,
  type PodState,
  type ReadableState,
  type ReadableView,
  type RecommendedState,
} from "../model/state.ts";
import { RESOURCE_FIELDS, type ResourceField, type Resources } from "../units/resources.ts";
import { adoptContainer } from "./pod_facts.ts";

/** A decision to be made. */
export interface DecisionInput {
  readonly state: PodState;
  readonly input: SizeInput;
}

/** The recommended state, and the input of the pod that is there, with the autoscalers that recommend. */
export interface Recommendation {
  readonly shadow: RecommendedState;
  readonly input: SizeInput;
}

/** Returns what to decide on the real pod, and on the recommended one; `null` without one. Clauses: L51. */
export function splitByMode(
  before: PodState,
  input: SizeInput,
): { readonly applying: DecisionInput; readonly recommending: Recommendation | null } {
  if (!hasRecommendedState(before, input)) return { applying: { state: before, input }, recommending: null };
  const [applies, recommends] = [listOfMode(input, "apply"), listOfMode(input, "recommend")];
  const own = { ...input, contenders: applies };
  const known = adoptViews(before, own, { from: before.shadow?.state ?? null, toPod: (pod) => pod });
  // The answer to a request is about the pod itself.
  if (input.observation.kind === "answered") return { applying: { state: known, input: own }, recommending: null };
  if (recommends.length === 0) {
    return { applying: { state: { ...known, shadow: null }, input: own }, recommending: null };
  }
  const shadow = before.shadow ?? NEW_RECOMMENDED_STATE;
  const recommended: SizeInput = {
    ...input,
    contenders: recommends,
    siblings: null,
    inFlight: false,
    dryRun: false,
    // Nothing is resized, so any podfit that sees the pod may recommend.
    isSidecar: isOfSidecar(input.pod),
  };
  const adopted = adoptViews(shadow.state, recommended, {
    from: before,
    toPod: (pod) => toRecommendedPod(pod, shadow),
  });
  const recommending = { shadow: { ...shadow, state: adopted }, input: recommended };
  return { applying: { state: known, input: own }, recommending };
}

/** Returns the decision on the recommended pod. */
export function toRecommendedInput(
  { shadow, input }: Recommendation,
  observation: Observation = input.observation,
): DecisionInput {
  // Nothing restarts, so nothing waits for its turn.
  const { disruption: _, ...rest } = input;
  const pod = toRecommendedPod(input.pod, shadow);
  return { state: shadow.state, input: { ...rest, ...takeGrowth(input, pod), pod, observation } };
}

/** Returns what node and quota have left for the recommended pod, which already uses a part of what the real one leaves. */
function takeGrowth(
  { pod, room, limits }: Pick<SizeInput, "pod" | "room" | "limits">,
  recommended: PodFacts,
): Pick<SizeInput, "room" | "limits"> {
  if (room === null && limits === null) return { room, limits };
  const leave = (key: ResourceField, amount: number) => amount - (sumPod(recommended, key) - sumPod(pod, key));
  const quota: Partial<Record<ResourceField, number | null>> = {};
  for (const key of RESOURCE_FIELDS) {
    const left = limits?.quota[key] ?? null;
    quota[key] = left === null ? null : leave(key, left);
  }
  return {
    room: room === null ? null : {
      ...room,
      cpuMillicores: leave("cpu.requests", room.cpuMillicores),
      memoryBytes: leave("memory.requests", room.memoryBytes),
    },
    limits: limits === null ? null : { ...limits, quota: quota as Resources },
  };
}

/** Returns the same with the request accepted by the API server. */
export function toAcceptedInput(recommendation: Recommendation, request: ResizeRequest): DecisionInput {
  const answer = { kind: "accepted", generation: recommendation.shadow.generation + 1 } as const;
  return toRecommendedInput(recommendation, { kind: "answered", request, answer });
}

/** Returns the recommended pod in the size of an accepted request; `state` is the one after its answer. */
export function applyRecommended(
  { shadow, input }: Recommendation,
  { container, to }: ResizeRequest,
  state: PodState,
): Recommendation {
  return { shadow: { sizes: { ...shadow.sizes, [container]: to }, generation: shadow.generation + 1, state }, input };
}

/** Returns the outcome of the real pod with the first outcome of the recommended one. */
export function mergeRecommended(real: SizeOutcome, outcome: SizeOutcome, shadow: RecommendedState): SizeOutcome {
  // Nothing restarts.
  const notices = outcome.notices.filter(({ name }) => name !== "ResizeMayRestart");
  return {
    ...real,
    state: { ...real.state, shadow },
    decisions: [...real.decisions, ...outcome.decisions.map(toRecommendedDecision)],
    notices: [...real.notices, ...notices],
    // Both were given the same points.
    implausible: Math.max(real.implausible, outcome.implausible),
  };
}

/** Returns the recommended size of a container; `null` if it has none. Only own properties count. Clauses: L51. */
export function findRecommendedSize(sizes: RecommendedState["sizes"], container: string): Resources | null {
  return Object.hasOwn(sizes, container) ? sizes[container] ?? null : null;
}

/** Returns the state for an autoscaler: the recommended one in mode recommend. */
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: PodState): PodState;
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: ReadableState): ReadableState;
export function getStateFor({ mode }: Pick<Autoscaler, "mode">, state: ReadableState): ReadableState {
  return mode === "recommend" ? state.shadow?.state ?? NEW_POD_STATE : state;
}

/** Returns the pod for an autoscaler: the recommended one in mode recommend. */
export function getPodFor({ mode }: Pick<Autoscaler, "mode">, pod: PodFacts, state: PodState): PodFacts {
  return mode === "recommend" ? toRecommendedPod(pod, state.shadow ?? NEW_RECOMMENDED_STATE) : pod;
}

/** Returns the views of the pod's containers that the autoscaler names. `state`: as `getStateFor` returns it. */
export function listViewsOf<V extends ReadableView>(
  autoscaler: Autoscaler,
  pod: PodFacts,
  { views }: { readonly views: Readonly<Record<string, V>> },
): readonly V[] {
  const own: V[] = [];
  // A pod may have 160 views, and the status of each of its autoscalers asks.
  for (const name of listContainers(autoscaler, pod)) {
    const view = views[toViewKey(autoscaler, name)];
    if (view !== undefined) own.push(view);
  }
  return own;
}

/** Returns whether some autoscaler recommends, or did. Other pods skip the work. */
function hasRecommendedState({ shadow }: PodState, { contenders }: SizeInput): boolean {
  if (shadow !== null) return true;
  for (const { mode } of contenders) if (mode === "recommend") return true;
  return false;
}

function listOfMode({ contenders }: SizeInput, mode: Autoscaler["mode"]): readonly Autoscaler[] {
  return contenders.filter((one) => one.mode === mode);
}

/** Returns the decision; a resize is blocked by the mode, as by --dry-run. */
function toRecommendedDecision(decided: ContainerDecision): ContainerDecision {
  const { decision } = decided;
  if (decision.kind !== "resize") return decided;
  const { action, from, to } = decision;
  const message = `would resize: ${describeChange(from, to, listChangedFields(from, to))} (mode: recommend)`;
  return { ...decided, decision: { kind: "blocked", action, reason: "DryRun", message } };
}

/**
 * Returns the state with the views of autoscalers whose mode has changed, and the kills of their containers: windows and
 * floors stay, and streaks end with the changed spec. Clauses: L54.
 */
function adoptViews(
  state: PodState,
  input: SizeInput,
  { from, toPod }: { readonly from: PodState | null; readonly toPod: (pod: PodFacts) => PodFacts },
): PodState {
  if (from === null) return state;
  let next = state;
  for (const { key, containerName, mode } of input.contenders) {
    const view = from.views[key];
    if (view === undefined || state.views[key] !== undefined) continue;
    next = { ...next, views: { ...next.views, [key]: view } };
    const past = findContainerState(from, containerName);
    if (past === undefined || findContainerState(next, containerName) !== undefined) continue;
    const pod = toPod(input.pod);
    const container = findContainer(pod, containerName);
    if (container === null) continue;
    // An answer that was only recommended has not been sent.
    const ends = mode === "apply" ? { ...past, reflex: null } : past;
    const adopted = adoptContainer(state, container, { input: { ...input, pod }, past: ends });
    next = { ...next, containers: { ...next.containers, [containerName]: adopted } };
  }
  return next;
}

/** A recommended state without a resize. */
const NEW_RECOMMENDED_STATE: RecommendedState = { sizes: {}, generation: 1, state: NEW_POD_STATE };

/** Returns the pod that the recommending autoscalers decide on. */
function toRecommendedPod(pod: PodFacts, { sizes, generation }: RecommendedState): PodFacts {
  return {
    ...pod,
    // Another size is another version of the pod.
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
    realResizes: pod.resizes,
    // It belongs to the cgroup of the real pod.
    memoryLimitBytes: null,
  };
}

function toResized(container: ContainerFacts, size: Resources): ContainerFacts {
  return { ...container, spec: size, reported: size, allocated: null, real: getActualSize(container) };
}
