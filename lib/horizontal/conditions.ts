/**
 * The conditions of a ScaledObject, in the words of KEDA and of the HPA controller.
 *
 * First the conditions that KEDA sets, then the three that mirror the HPA controller.
 */
import type { ScaledObjectConditionReason } from "../model/meanings/conditions.ts";
import type { ReplicasInput, ScaleWrite } from "../model/replicas_decision.ts";
import type { Condition, Conditions } from "../model/replicas_state.ts";
import { FINALIZER, listMistakes, type ScaledObjectFacts } from "../model/scaled_object.ts";
import type { ScalingLimit } from "./behavior.ts";

/** A condition that podfit sets. Conditions that others have set have any reason. */
export interface OwnCondition extends Condition {
  readonly reason: ScaledObjectConditionReason;
}

export const READY_MESSAGE = "ScaledObject is defined correctly and is ready for scaling";

export const PAUSED_MESSAGE = "ScaledObject is paused";

/**
 * `warnings` are those of skipped checks.
 * https://github.com/kedacore/keda/blob/v2.21.0/apis/keda/v1alpha1/condition_types.go
 * Clauses: R3, R30, R52, R53, R55, R72, R77, R91.
 */
export function toReady(message: string, warnings: readonly string[] = []): OwnCondition {
  const text = [message, ...warnings.map((warning) => `warning: ${warning}`)].join("; ");
  return { status: "True", reason: "ScaledObjectReady", message: cutMessage(text) };
}

/** Ready of an object that is scaled. What the target lacks for a trigger makes it False, and the others go on. Clauses: R25. */
export function toReadyNow(
  { lack, warnings = [], object: { scaledObject } }: Pick<ReplicasInput, "lack" | "warnings" | "object">,
): OwnCondition {
  const mistakes = scaledObject === null ? [] : listMistakes(scaledObject);
  return lack === undefined ? toReady(READY_MESSAGE, [...warnings, ...mistakes]) : toCheckFailed(lack);
}

/** A longer message helps no reader; problems and answers of other systems may be long. */
const MAX_MESSAGE_LENGTH = 2048;

/** Ready for an invalid or blocked object; the message is cut to its maximum length. */
export function toCheckFailed(message: string): OwnCondition {
  return {
    status: "False",
    reason: "ScaledObjectCheckFailed",
    message: cutMessage(message),
  };
}

function cutMessage(message: string): string {
  return message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
}

/** Returns the condition with what is wrong with single triggers. Clauses: R4. */
export function addMistakes(condition: OwnCondition, mistakes: readonly string[]): OwnCondition {
  return { ...condition, message: cutMessage([condition.message, ...mistakes].join("; ")) };
}

/** A condition of which nothing is known, and why. */
function toUnknown(message: string): OwnCondition {
  return { status: "Unknown", reason: "UnknownState", message };
}

export const CHECK_FAILED_MESSAGE = "ScaledObject check failed";

/** Ready, Active and HPAActive while a list is stale. The text does not depend on how long. Clauses: C51, R91. */
export function toStale(resource: string): OwnCondition {
  return toUnknown(
    `nothing was heard of ${resource} from the API server for minutes, and replicas are left as they are until ` +
      "something is: podfit's log says why",
  );
}

/** Ready of a deleted object, if its end has been tried. */
export function isEnding(ready: Condition | undefined): boolean {
  return ready?.reason === ENDING.reason && ready.message.startsWith(ENDING_MESSAGE);
}

export const ENDING_MESSAGE = "ScaledObject is being deleted";

/** Ready while the end of an object lasts. */
export const ENDING: OwnCondition = toUnknown(ENDING_MESSAGE);

/**
 * Ready of a deleted object that stays, because a dry run removes no finalizer. It may be the last status that podfit writes.
 * So it has to stay true when other finalizers come and go, and when another podfit runs. Clauses: R57, R91.
 */
export function toKept({ namespace, name }: ScaledObjectFacts): OwnCondition {
  return toUnknown(
    `${ENDING_MESSAGE}, and stays while metadata.finalizers has an entry. With --dry-run, podfit does not remove the entry ` +
      `${FINALIZER}: if it is there, run podfit without --dry-run (chart value dryRun=false), or remove the entry, which ` +
      `restores no replicas: kubectl edit scaledobject ${name} -n ${namespace}`,
  );
}

/**
 * Returns the conditions while neither loop runs: no trigger is asked, no number is computed, and no fallback counts.
 * Clauses: R91.
 */
export function stopLoops(before: Conditions, why: string): Conditions {
  const unknown = toUnknown(why);
  const { AbleToScale: _able, ScalingLimited: _limited, ...kept } = before;
  return { ...kept, Active: unknown, HPAActive: unknown, Fallback: toFallback(false) };
}

/** Returns the conditions when the loops start: the scale was read, and what else has ended is absent. Clauses: R91. */
export function startLoops(before: Conditions): Conditions {
  const kept = Object.entries(before).filter(([, { reason }]) => !ENDED_BY_START.includes(reason));
  return { AbleToScale: GOT_SCALE, ...Object.fromEntries(kept) };
}

const ENDED_BY_START: readonly string[] = ["UnknownState", "InvalidSelector", "AmbiguousSelector", "FailedGetScale"];

/** Returns the conditions without those of the last scaling loop. Clauses: R91. */
export function dropScaling(before: Conditions): Conditions {
  const { HPAActive: _active, AbleToScale: _able, ScalingLimited: _limited, ...kept } = before;
  return kept;
}

export const PARTIAL_TRIGGER_ERROR: OwnCondition = {
  status: "Unknown",
  reason: "PartialTriggerError",
  message: "Some triggers defined in ScaledObject are not working correctly",
};

export const TRIGGER_ERROR: OwnCondition = {
  status: "False",
  reason: "TriggerError",
  message: "Triggers defined in ScaledObject are not working correctly",
};

/** Ready while the answers of triggers are empty that gave values before. Clauses: R58. */
export const TRIGGER_EMPTY: OwnCondition = {
  status: "False",
  reason: "TriggerEmpty",
  message: "Triggers give no value any more, so replicas do not fall; events of this object say which and what to do",
};

/** Ready while a write of the activation loop or of a pause fails; `null` = the write is another's. Clauses: R46, R52, R53. */
export function toFailedWrite({ half, reason }: ScaleWrite, cause: string): OwnCondition | null {
  if (half === "paused") return toCheckFailed(`${FAILED_PAUSE}: ${cause}`);
  if (half !== "poll") return null;
  const what = reason === "Activated"
    ? "error activating ScaleTarget"
    : reason === "Deactivated"
    ? "error deactivating ScaleTarget"
    : "error setting ScaleTarget replicas count to ScaledObject minReplicaCount";
  return { status: "False", reason: "ErrorScalingTarget", message: `${what}: ${cause}` };
}

const FAILED_PAUSE = "failed to scale target to paused replica count";

/** Returns whether the condition is one of `toFailedWrite`. */
export function isFailedWrite(ready: Condition | undefined): ready is Condition {
  return ready !== undefined && (ready.reason === "ErrorScalingTarget" || ready.message.startsWith(FAILED_PAUSE));
}

/** Ready if the target's scale could not be read. */
export function toNoReplicas(cause: string): OwnCondition {
  const message = `Error getting current replicas count for ScaleTarget: ${cause}`;
  return { status: "False", reason: "ErrorGettingCurrentReplicas", message };
}

/** Active while a trigger is active, or an annotation forces it. */
export function toScalerActive(isForced: boolean): OwnCondition {
  const cause = isForced ? "activation is being forced by annotation" : "triggers are active";
  return { status: "True", reason: "ScalerActive", message: `Scaling is performed because ${cause}` };
}

export const NOT_ACTIVE: OwnCondition = {
  status: "False",
  reason: "ScalerNotActive",
  message: "Scaling is not performed because triggers are not active",
};

export const COOLING_DOWN: OwnCondition = {
  status: "False",
  reason: "ScalerCooldown",
  message: "Scaler cooling down because triggers are not active",
};

/** Active while a deactivation waits for its turn in the cluster. Clauses: R59. */
export function toDeactivationHeld(message: string): OwnCondition {
  return { status: "False", reason: "DeactivationHeld", message };
}

/** The condition Fallback. */
export function toFallback(isFallenBack: boolean): OwnCondition {
  return isFallenBack
    ? {
      status: "True",
      reason: "FallbackExists",
      message: "At least one trigger is falling back on this scaled object",
    }
    : { status: "False", reason: "NoFallbackFound", message: "No fallbacks are active on this scaled object" };
}

export const PAUSED: OwnCondition = { status: "True", reason: "ScaledObjectPaused", message: PAUSED_MESSAGE };

export const UNPAUSED: OwnCondition = {
  status: "False",
  reason: "ScaledObjectUnpaused",
  message: "pause annotation removed for ScaledObject",
};

/** AbleToScale if the target's scale could not be read. */
export function toFailedGetScale(cause: string): OwnCondition {
  const message = `the HPA controller was unable to get the target's current scale: ${cause}`;
  return { status: "False", reason: "FailedGetScale", message };
}

/** AbleToScale if a write was refused or got no answer. */
export function toFailedUpdateScale(cause: string): OwnCondition {
  const message = `the HPA controller was unable to update the target scale: ${cause}`;
  return { status: "False", reason: "FailedUpdateScale", message };
}

/** HPAActive while the scaling loop does nothing at idleReplicaCount. Clauses: R54. */
export const IDLE_SCALING_DISABLED: OwnCondition = {
  status: "True",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the triggers are not active and the target has its idle replicas",
};

/** Returns the conditions of the scaling loop, HPAActive in the words in which KEDA mirrors it. */
export function mirrorHpaActive(conditions: Conditions): Conditions {
  const { HPAActive } = conditions;
  if (HPAActive === undefined || HPAActive.reason === "ScalingDisabled") return conditions;
  const message = HPAActive.status === "True" ? "HPA is actively scaling" : formatInactive(HPAActive.message);
  return { ...conditions, HPAActive: { ...HPAActive, message } };
}

function formatInactive(message: string): string {
  return `HPA is not actively scaling: ${message}`;
}

/** AbleToScale if no need was found. */
export const GOT_SCALE: OwnCondition = {
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};

/** HPAActive at 0 replicas: True, as in KEDA, and not False as in an HPA. */
export const SCALING_DISABLED: OwnCondition = {
  status: "True",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the replica count of the target is zero",
};

/** AbleToScale once a write of the scaling loop is accepted. Clauses: R91. */
export function toRescaled(replicas: number): OwnCondition {
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  return { status: "True", reason: "SucceededRescale", message };
}

/** The condition HPAActive. */
export function toHpaActive(metric: string): OwnCondition {
  const message = `the HPA was able to successfully calculate a replica count from ${metric}`;
  return { status: "True", reason: "HPAActive", message };
}

export type Stabilization = "ScaleUpStabilized" | "ScaleDownStabilized";

/** The condition AbleToScale; `null` = the windows change nothing. */
export function toAbleToScale(by: Stabilization | null): OwnCondition {
  if (by === null) {
    return { status: "True", reason: "ReadyForNewScale", message: "recommended size matches current size" };
  }
  return { status: "True", reason: by, message: STABILIZED[by] };
}

const STABILIZED: Readonly<Record<Stabilization, string>> = {
  ScaleUpStabilized: "recent recommendations were lower than current one, applying the lowest recent recommendation",
  ScaleDownStabilized:
    "recent recommendations were higher than current one, applying the highest recent recommendation",
};

/** The condition ScalingLimited. */
export function toScalingLimited(limit: ScalingLimit | null): OwnCondition {
  if (limit !== null) return { status: "True", reason: limit, message: LIMITS[limit] };
  const message = "the desired count is within the acceptable range";
  return { status: "False", reason: "DesiredWithinRange", message };
}

const LIMITS: Readonly<Record<ScalingLimit, string>> = {
  TooManyReplicas: "the desired replica count is more than the maximum replica count",
  TooFewReplicas: "the desired replica count is less than the minimum replica count",
  ScaleUpLimit: "the desired replica count is increasing faster than the maximum scale rate",
  ScaleDownLimit: "the desired replica count is decreasing faster than the maximum scale rate",
};
