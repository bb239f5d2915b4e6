/** The object or podfit appeared, the spec or an annotation changed, or an obstacle is gone (R6, R55, R57). No trigger is asked. */
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import { READY_MESSAGE, toFallback, toReady } from "./condition_words.ts";
import type { Condition } from "./conditions.ts";
import { hasFallenBack, keepFailures } from "./fallback.ts";
import type { ReplicasInput, ReplicasOutcome, Scale } from "./input.ts";
import { forgetTriggers } from "./notify/failed_triggers.ts";
import { noteStarted } from "./notify/watching.ts";
import { pause } from "./pause.ts";
import type { ReplicasState } from "./state.ts";
import { nameResource } from "./status_target.ts";

/** Unless it is paused, both halves run from now on. */
export function change(
  before: ReplicasState,
  scale: Scale,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const state = see(before, scale, object);
  if (input.object.isPaused) return pause(state, scale, input);
  const started = noteStarted(state.notified);
  const { Ready } = state.conditions;
  const conditions = { ...state.conditions, Ready: isOfPolls(Ready) ? Ready : toReady(READY_MESSAGE, input.warnings) };
  const next: ReplicasState = { ...state, pausedReplicas: null, conditions, notified: started.notified };
  return { state: next, write: null, notices: started.notices, report: null };
}

/** What the status holds of the target from first sight on, and of the triggers only those that there are. */
function see(before: ReplicasState, { replicas, resource }: Scale, object: ScaledObject): ReplicasState {
  const failures = keepFailures(before.failures, object);
  return {
    ...before,
    failures,
    originalReplicas: before.originalReplicas ?? replicas,
    targetResource: resource ?? nameResource(object.target),
    conditions: { ...before.conditions, Fallback: toFallback(hasFallenBack(failures, object)) },
    notified: forgetTriggers(before.notified, object),
  };
}

/** The next poll is due at once, and says whether its triggers work. */
function isOfPolls(ready: Condition | undefined): ready is Condition {
  return ready?.reason === "TriggerError" || ready?.reason === "PartialTriggerError";
}
