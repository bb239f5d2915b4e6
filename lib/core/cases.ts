/** Which containers of a pod are decided about, and for whom: one case per container, its owner's (C12). */
import type { Case } from "./case.ts";
import type { ContainerDecision, Input } from "./decision.ts";
import type { Sampled } from "./observe/sample.ts";
import { chooseOwner, type OwnershipContext } from "./ownership.ts";
import { findContainer } from "./pod/pod_facts.ts";
import type { ResizeStatus } from "./pod/resize_status.ts";
import { explainForeign } from "./pod/sidecar.ts";
import { judgeKill } from "./propose/oom.ts";
import { findContainerState, type PodState } from "./state.ts";

interface Context {
  readonly input: Input;
  readonly state: PodState;
  readonly status: ResizeStatus;
}

/** One case per container that some contender targets and the pod has; none in a pod that another podfit resizes. */
export function listCases(sampled: readonly Sampled[], { input, state, status }: Context): readonly Case[] {
  const { now, pod } = input;
  if (explainForeign(input) !== null) return NONE;
  const cases: Case[] = [];
  for (const name in state.containers) {
    const container = findContainer(pod, name);
    const containerState = findContainerState(state, name);
    if (container === null || containerState === undefined) continue;
    const own = findOwn(sampled, { now, pod, container, containerState });
    if (own === null) continue;
    const { autoscaler, view, isDue, isNewSample } = own;
    cases.push({ input, state, status, autoscaler, view, isDue, isNewSample, container, containerState });
  }
  return cases;
}

/** A case is decided when it is due, and whenever something changed while proposals stand (C22, C40) or a kill does (L10). */
export function isAsked(it: Case): boolean {
  const { isDue, input: { observation }, view } = it;
  if (isDue) return true;
  return observation.kind === "changed" && (view.wantedSince !== null || judgeKill(it)?.kind === "raise");
}

const NONE: readonly Case[] = [];

/** The decisions for contenders that do not own their container. */
export function listOthers(
  sampled: readonly Sampled[],
  { cases, input }: { readonly cases: readonly Case[]; readonly input: Input },
): readonly ContainerDecision[] {
  if (cases.length === sampled.length) return [];
  const foreign = explainForeign(input);
  const others = sampled.filter(({ autoscaler, isDue }) => isDue && !cases.some((it) => it.autoscaler === autoscaler));
  return others.map(({ autoscaler: { uid, containerName }, isNewSample }) => {
    const owner = cases.find((it) => it.container.name === containerName)?.autoscaler.name;
    const message = foreign ?? `autoscaler "${owner}" goes first for this container`;
    return {
      autoscaler: uid,
      container: containerName,
      decision: { kind: "hold", reason: "NotOwner", message },
      candidates: [],
      isNewSample,
    };
  });
}

/** Most containers have one contender, and most pods one container. */
function findOwn(sampled: readonly Sampled[], context: OwnershipContext): Sampled | null {
  const { name } = context.container;
  const only = sampled[0];
  if (only !== undefined && sampled.length === 1) return only.autoscaler.containerName === name ? only : null;
  const contenders = sampled.filter(({ autoscaler }) => autoscaler.containerName === name);
  const owner = chooseOwner(contenders.map(({ autoscaler }) => autoscaler), context);
  return contenders.find(({ autoscaler }) => autoscaler === owner) ?? null;
}
