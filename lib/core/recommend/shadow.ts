/**
 * A pod as it would be had every recommended resize been applied (L51): the pod that is there, with the sizes of its shadow in
 * spec and status, and no resize under way.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { type Resources, SIDE_KEYS, sideOf } from "../../units/resources.ts";
import { type ContainerFacts, type PodFacts, readActual } from "../pod/pod_facts.ts";
import type { Standing, StandingView } from "../standing.ts";
import { NEW_POD_STATE, type PodState, type Shadow } from "../state.ts";

/** A shadow in which nothing was resized yet. */
export const NEW_SHADOW: Shadow = { sizes: {}, generation: 1, state: NEW_POD_STATE };

/** What the recommending contenders decide about. */
export function toShadowPod(pod: PodFacts, { sizes, generation }: Shadow): PodFacts {
  return {
    ...pod,
    // Another size is another pod.
    resourceVersion: `${pod.resourceVersion}+${generation}`,
    generation,
    observedGeneration: generation,
    pending: null,
    inProgress: null,
    containers: pod.containers.map((container) =>
      container.kind === "init" ? container : resize(container, findSize(sizes, container.name) ?? container.spec)
    ),
    resizes: [],
    // Of the pod that is there.
    memoryLimitBytes: null,
  };
}

/** The size that a container was given; `null` when it has none of its own. Own properties only. */
export function findSize(sizes: Shadow["sizes"], container: string): Resources | null {
  return Object.hasOwn(sizes, container) ? sizes[container] ?? null : null;
}

/** What is remembered for an autoscaler: of mode recommend it stands in the shadow. */
export function readStateFor({ mode }: Pick<Autoscaler, "mode">, state: PodState): PodState;
export function readStateFor({ mode }: Pick<Autoscaler, "mode">, state: Standing): Standing;
export function readStateFor({ mode }: Pick<Autoscaler, "mode">, state: Standing): Standing {
  return mode === "recommend" ? state.shadow?.state ?? NEW_POD_STATE : state;
}

/** The pod that an autoscaler decides about. */
export function readPodFor({ mode }: Pick<Autoscaler, "mode">, pod: PodFacts, state: PodState): PodFacts {
  return mode === "recommend" ? toShadowPod(pod, state.shadow ?? NEW_SHADOW) : pod;
}

/** The views of all containers that an autoscaler stands for; most have one. `state`: as `readStateFor` gives it. */
export function listViews<V extends StandingView>(
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

function resize(container: ContainerFacts, size: Resources): ContainerFacts {
  const [real, wouldBe] = [readActual(container)["memory.limits"], size["memory.limits"]];
  // The kernel goes by the limit that is there: above it the kill would not have been.
  const isSpared = real !== null && (wouldBe === null || wouldBe > real);
  const terminations = isSpared
    ? container.terminations.filter(({ reason }) => reason !== "OOMKilled")
    : container.terminations;
  return { ...container, spec: size, reported: size, allocated: toRequests(size), terminations };
}

function toRequests(size: Resources): Resources {
  const requests: Record<string, number | null> = {};
  for (const key of SIDE_KEYS) requests[key] = sideOf(key) === "requests" ? size[key] : null;
  return requests as Resources;
}
