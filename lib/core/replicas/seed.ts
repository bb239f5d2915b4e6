/** What a state begins with: what the object's status remembers, of any shape and by whomever it was written (R6, R53, R70, R90). */
import { parseTime } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";
import { type Condition, CONDITION_TYPES, type Conditions, type ConditionType } from "./conditions.ts";
import { NEW_REPLICAS_STATE } from "./new_state.ts";
import { toWholeSeconds } from "./poll/take_step.ts";
import type { ReplicasState } from "./state.ts";

/** Never throws; what makes no sense is not there. */
export function seedReplicasState(status: unknown): ReplicasState {
  if (!isRecord(status)) return NEW_REPLICAS_STATE;
  const lastActiveAt = parseTime(status["lastActiveTime"]);
  const conditions = readConditions(status["conditions"]);
  const gvkr = status["scaleTargetGVKR"];
  const resource = isRecord(gvkr) ? gvkr["resource"] : null;
  return {
    ...NEW_REPLICAS_STATE,
    failures: readEntries(
      status["health"],
      (health) => isRecord(health) ? readInt32(health["numberOfFailures"]) : null,
    ),
    activity: readEntries(status["triggersActivity"], readIsActive),
    lastActiveAt: lastActiveAt === null ? null : toWholeSeconds(lastActiveAt),
    isActive: readActive(conditions.Active),
    originalReplicas: readInt32(status["originalReplicaCount"]),
    targetResource: typeof resource === "string" && resource !== "" ? resource : null,
    pausedReplicas: readInt32(status["pausedReplicaCount"]),
    conditions,
  };
}

/** A count of the API: an int32, not negative. */
function readInt32(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

function readIsActive(activity: unknown): boolean | null {
  return isRecord(activity) && typeof activity["isActive"] === "boolean" ? activity["isActive"] : null;
}

function readEntries<T>(value: unknown, read: (entry: unknown) => T | null): Readonly<Record<string, T>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).slice(0, MAX_ENTRIES).flatMap(([name, entry]) => {
      const known = read(entry);
      return known === null ? [] : [[name, known] as const];
    }),
  );
}

/** Far more than an object has triggers. */
const MAX_ENTRIES = 1000;

function readActive(active: Condition | undefined): boolean | null {
  return active === undefined || active.status === "Unknown" ? null : active.status === "True";
}

function readConditions(value: unknown): Conditions {
  if (!Array.isArray(value)) return {};
  const conditions: Partial<Record<ConditionType, Condition>> = {};
  for (const one of value) {
    const type = CONDITION_TYPES.find((known) => isRecord(one) && one["type"] === known);
    const condition = readCondition(one);
    if (type !== undefined && condition !== null) conditions[type] = condition;
  }
  return conditions;
}

function readCondition(value: unknown): Condition | null {
  if (!isRecord(value)) return null;
  const { status, reason, message } = value;
  if (status !== "True" && status !== "False" && status !== "Unknown") return null;
  return { status, reason: toText(reason), message: toText(message) };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
