/**
 * Stabilization (R41, R42): replicas follow the needs of a whole window, not the last one. As the HPA controller's stabilizeRecommendation and
 * stabilizeRecommendationWithBehaviors.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 */
import type { Behavior } from "../../../scaled_object/behavior.ts";
import { type History, recordNeed } from "./history.ts";

export interface WindowsInput {
  readonly now: number;
  readonly replicas: number;
  readonly need: number;
  /** `null` = none at all, which is not the same as its defaults. */
  readonly behavior: Behavior | null;
}

/** What the windows make of a need. */
export interface Stabilized {
  readonly stabilized: number;
  /** With the need, as it was found, recorded. */
  readonly history: History;
}

/** --horizontal-pod-autoscaler-downscale-stabilization. */
const DOWN_WINDOW_MS = 300_000;

export function stabilize(history: History, input: WindowsInput): Stabilized {
  const { behavior } = input;
  return behavior === null ? stabilizePlain(history, input) : stabilizeBoth(history, { ...input, behavior });
}

/** A need of exactly 300 s still counts. */
function stabilizePlain(history: History, { now, need }: WindowsInput): Stabilized {
  const isOld = ({ at }: { readonly at: number }) => at < now - DOWN_WINDOW_MS;
  const counted = history.needs.filter((one) => !isOld(one)).map(({ replicas }) => replicas);
  return { stabilized: Math.max(need, ...counted), history: recordNeed(history, { replicas: need, at: now }, isOld) };
}

/** Both windows count whatever the direction. A need of exactly the window's age does not. */
function stabilizeBoth(
  history: History,
  { now, replicas, need, behavior: { scaleUp, scaleDown } }: WindowsInput & { readonly behavior: Behavior },
): Stabilized {
  const [upCutoff, downCutoff] = [now - scaleUp.windowMs, now - scaleDown.windowMs];
  const since = (cutoff: number) => history.needs.filter(({ at }) => at > cutoff).map((one) => one.replicas);
  const least = Math.min(need, ...since(upCutoff));
  const most = Math.max(need, ...since(downCutoff));
  return {
    stabilized: Math.min(Math.max(replicas, least), most),
    history: recordNeed(history, { replicas: need, at: now }, ({ at }) => at < upCutoff && at < downCutoff),
  };
}
