/**
 * The status of a ScaledObject: written from the state, and parsed into the state when podfit starts.
 *
 * It has KEDA's fields only. The whole status is computed each time, and written if it differs.
 */
import {
  type Condition,
  CONDITION_TYPES,
  type ConditionType,
  NEW_REPLICAS_STATE,
  OWN_CONDITION_TYPES,
  type OwnConditionType,
  type ReplicasState,
} from "../model/replicas_state.ts";
import {
  type Adoption,
  COMPOSITE_METRIC_NAME,
  formatTargetKind,
  listExternalTriggers,
  listResourceTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
  splitApiVersion,
  type Target,
} from "../model/scaled_object.ts";
import { formatTime, parseTime } from "../units/time.ts";
import { isRecord } from "../units/untrusted.ts";
import { toWholeSeconds } from "./activation.ts";
import { type OwnCondition, PARTIAL_TRIGGER_ERROR, READY_MESSAGE, TRIGGER_ERROR } from "./conditions.ts";
import { findFailureCount } from "./fallback.ts";

/** As the API has it; an absent field is not set. */
export interface ScaledObjectStatus {
  /** `apps/v1.Deployment`. */
  readonly scaleTargetKind?: string;
  readonly scaleTargetGVKR?: TargetGvkr;
  readonly originalReplicaCount?: number;
  /** RFC 3339. */
  readonly lastActiveTime?: string;
  readonly externalMetricNames?: readonly string[];
  readonly resourceMetricNames?: readonly string[];
  readonly compositeScalerName?: string;
  readonly conditions: readonly StatusCondition[];
  /** By metric name, with fallback only. */
  readonly health?: Readonly<Record<string, Health>>;
  /** By metric name. */
  readonly triggersActivity?: Readonly<Record<string, { readonly isActive: boolean }>>;
  readonly pausedReplicaCount?: number;
  /** Joined by commas. */
  readonly triggersTypes?: string;
  readonly authenticationsTypes?: string;
}

interface StatusCondition {
  readonly type: ConditionType | OwnConditionType;
  readonly status: Condition["status"];
  readonly reason?: string;
  readonly message?: string;
}

interface Health {
  readonly numberOfFailures: number;
  readonly status: "Happy" | "Failing";
}

/** Returns whether one entry of status.conditions is podfit's own. */
export function isOwnCondition(value: unknown): boolean {
  return isRecord(value) && OWN_CONDITION_TYPES.some((type) => type === value["type"]);
}

/** Returns the entries of status.conditions, each of any shape. */
export function listConditions(status: unknown): readonly unknown[] {
  return isRecord(status) && Array.isArray(status["conditions"]) ? status["conditions"] : [];
}

/**
 * An invalid object keeps what is known of it, except its triggers. Where KEDA runs, it is podfit's own conditions alone.
 * https://github.com/kedacore/keda/blob/v2.21.0/apis/keda/v1alpha1/scaledobject_types.go
 * Clauses: R90, M7.
 */
export function toScaledObjectStatus(
  facts: ScaledObjectFacts,
  state: ReplicasState,
  wallAheadMs = 0,
): ScaledObjectStatus {
  const { scaledObject, adoption } = facts;
  if (adoption !== null) return { conditions: listOwnConditions(facts, adoption, state) };
  const { originalReplicas, lastActiveAt, pausedReplicas } = state;
  return {
    ...(scaledObject === null
      ? {}
      : { ...toTargetStatus(scaledObject, state), ...toTriggersStatus(scaledObject, state) }),
    ...(originalReplicas === null ? {} : { originalReplicaCount: originalReplicas }),
    ...(lastActiveAt === null ? {} : { lastActiveTime: formatTime(lastActiveAt + wallAheadMs) }),
    conditions: toStatusConditions(state),
    ...(pausedReplicas === null ? {} : { pausedReplicaCount: pausedReplicas }),
  };
}

/** Empty until the target was seen. */
function toTargetStatus({ target }: ScaledObject, { targetResource }: ReplicasState): Partial<ScaledObjectStatus> {
  if (targetResource === null) return {};
  return { scaleTargetKind: formatTargetKind(target), scaleTargetGVKR: toTargetGvkr(target, targetResource) };
}

function toTriggersStatus(object: ScaledObject, state: ReplicasState): Partial<ScaledObjectStatus> {
  const { triggers, formula } = object;
  const external = listExternalTriggers(object);
  // KEDA lists no metric of a single container here.
  const resource = listResourceTriggers(object).filter(({ container }) => container === null);
  const health = external.flatMap(({ metricName }) => toHealthEntry(metricName, state));
  const activity = Object.entries(state.activity).map(([name, isActive]) => [name, { isActive }] as const);
  return {
    ...(external.length === 0 ? {} : { externalMetricNames: external.map(({ metricName }) => metricName) }),
    ...(resource.length === 0 ? {} : { resourceMetricNames: resource.map(({ type }) => type) }),
    ...(formula === null ? {} : { compositeScalerName: COMPOSITE_METRIC_NAME }),
    ...(health.length === 0 ? {} : { health: Object.fromEntries(health) }),
    ...(activity.length === 0 ? {} : { triggersActivity: Object.fromEntries(activity) }),
    triggersTypes: joinDistinct(triggers.map(({ type }) => type)),
    authenticationsTypes: joinDistinct(external.flatMap(({ authentication }) => authentication?.name ?? [])),
  };
}

function toHealthEntry(metricName: string, { failures }: ReplicasState): readonly (readonly [string, Health])[] {
  const numberOfFailures = findFailureCount(failures, metricName);
  if (numberOfFailures === null) return [];
  return [[metricName, { numberOfFailures, status: numberOfFailures === 0 ? "Happy" : "Failing" }]];
}

/** Each once, in the order of the manifest. */
function joinDistinct(names: readonly string[]): string {
  return [...new Set(names)].join(",");
}

/** KEDA's first four conditions exist from the start. */
function toStatusConditions({ conditions }: ReplicasState): readonly StatusCondition[] {
  return CONDITION_TYPES.flatMap((type): readonly StatusCondition[] => {
    const condition = conditions[type] ?? INITIAL_CONDITIONS[type];
    return condition === undefined ? [] : [toStatusCondition(type, condition)];
  });
}

function toStatusCondition(type: StatusCondition["type"], { status, reason, message }: Condition): StatusCondition {
  return { type, status, ...(reason !== "" && { reason }), ...(message !== "" && { message }) };
}

/** PodfitFallback repeats KEDA's condition: KEDA applies the fallback. Clauses: M5, M7, M13. */
function listOwnConditions(
  { status }: ScaledObjectFacts,
  adoption: Adoption,
  { conditions: { Ready = UNKNOWN_CONDITION, Active = UNKNOWN_CONDITION, Fallback = UNKNOWN_CONDITION } }:
    ReplicasState,
): readonly StatusCondition[] {
  const kedas = parseConditions(status, CONDITION_TYPES).Fallback;
  const own: Readonly<Record<OwnConditionType, Condition>> = {
    PodfitScaling: toScaling(Ready, adoption),
    PodfitActive: Active,
    PodfitFallback: kedas?.status === "True" ? kedas : Fallback,
  };
  return OWN_CONDITION_TYPES.map((type) => toStatusCondition(type, own[type]));
}

function toScaling(ready: Condition, { isStale }: Adoption): Condition {
  // The record that does not fit is why its triggers fail.
  const isTriggers = ready.reason === TRIGGER_ERROR.reason || ready.reason === PARTIAL_TRIGGER_ERROR.reason;
  if (isStale && (ready.status === "True" || isTriggers)) return RECORD_STALE;
  if (ready.status !== "True") return ready;
  const scaling: OwnCondition = {
    ...ready,
    reason: "Scaling",
    message: ready.message.replace(READY_MESSAGE, SCALING_MESSAGE),
  };
  return scaling;
}

const SCALING_MESSAGE = "podfit sets the replicas of this object, and KEDA measures what podfit does not";

const RECORD_STALE: OwnCondition = {
  status: "False",
  reason: "RecordStale",
  message:
    "The triggers have changed since the object was adopted. Those that KEDA measures count as failed: replicas " +
    'may grow and not fall. Run "podfit adopt" again',
};

const UNKNOWN_CONDITION: Condition = { status: "Unknown", reason: "", message: "" };

const INITIAL_CONDITIONS: Readonly<Partial<Record<ConditionType, Condition>>> = {
  Ready: UNKNOWN_CONDITION,
  Active: UNKNOWN_CONDITION,
  Fallback: UNKNOWN_CONDITION,
  Paused: { status: "False", reason: "", message: "" },
};

/** status.scaleTargetGVKR. */
interface TargetGvkr {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
}

/** Returns status.scaleTargetGVKR. Clauses: R6. */
function toTargetGvkr({ apiVersion, kind }: Target, resource: string): TargetGvkr {
  return { ...splitApiVersion(apiVersion), kind, resource };
}

/** Returns the plural for kinds that need no discovery; for others a guess, which discovery replaces. */
export function guessResource({ kind }: Target): string {
  return `${kind.toLowerCase()}s`;
}

/** Returns the state that the status of an object describes. Clauses: M7. */
export function seedState({ status, adoption }: ScaledObjectFacts, wallAheadMs: number): ReplicasState {
  return adoption === null ? seedReplicasState(status, wallAheadMs) : seedAdoptedState(status);
}

/**
 * Returns the state that a status describes. Never throws; values that make no sense are ignored.
 * Clauses: R6, R53, R58, R70, R90.
 */
export function seedReplicasState(status: unknown, wallAheadMs = 0): ReplicasState {
  if (!isRecord(status)) return NEW_REPLICAS_STATE;
  const lastActiveAt = parseTime(status["lastActiveTime"]);
  const conditions = parseConditions(status, CONDITION_TYPES);
  const gvkr = status["scaleTargetGVKR"];
  const resource = isRecord(gvkr) ? gvkr["resource"] : null;
  const activity = toEntries(status["triggersActivity"], findIsActive);
  return {
    ...NEW_REPLICAS_STATE,
    answers: toEntries(activity, (isActive) => isActive === true ? { hadValue: true, emptySince: null } : null),
    activity,
    failures: toEntries(
      status["health"],
      (health) => isRecord(health) ? toInt32(health["numberOfFailures"]) : null,
    ),
    lastActiveAt: lastActiveAt === null ? null : toWholeSeconds(lastActiveAt - wallAheadMs),
    isActive: findActive(conditions.Active),
    originalReplicas: toInt32(status["originalReplicaCount"]),
    targetResource: typeof resource === "string" && resource !== "" ? resource : null,
    pausedReplicas: toInt32(status["pausedReplicaCount"]),
    conditions,
  };
}

/**
 * Returns the state that podfit's own conditions describe. KEDA's fields say what KEDA did before the pause: with its
 * lastActiveTime, a target would go to zero at once. Clauses: M7.
 */
export function seedAdoptedState(status: unknown): ReplicasState {
  const known = parseConditions(status, OWN_CONDITION_TYPES);
  const { PodfitScaling: Ready, PodfitActive: Active, PodfitFallback: Fallback } = known;
  return {
    ...NEW_REPLICAS_STATE,
    isActive: findActive(Active),
    conditions: { ...(Ready && { Ready }), ...(Active && { Active }), ...(Fallback && { Fallback }) },
  };
}

/** A count of the API: an int32, not negative. */
function toInt32(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

function findIsActive(activity: unknown): boolean | null {
  return isRecord(activity) && typeof activity["isActive"] === "boolean" ? activity["isActive"] : null;
}

function toEntries<T>(value: unknown, convert: (entry: unknown) => T | null): Readonly<Record<string, T>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).slice(0, MAX_ENTRIES).flatMap(([name, entry]) => {
      const known = convert(entry);
      return known === null ? [] : [[name, known] as const];
    }),
  );
}

/** Far more than an object has triggers. */
const MAX_ENTRIES = 1000;

function findActive(active: Condition | undefined): boolean | null {
  return active === undefined || active.status === "Unknown" ? null : active.status === "True";
}

/** Returns the conditions of these types in a status of any shape. Of two of one type, the last one counts. */
export function parseConditions<Type extends string>(
  status: unknown,
  types: readonly Type[],
): Readonly<Partial<Record<Type, Condition>>> {
  const conditions: Partial<Record<Type, Condition>> = {};
  for (const one of listConditions(status)) {
    const type = types.find((known) => isRecord(one) && one["type"] === known);
    const condition = parseCondition(one);
    if (type !== undefined && condition !== null) conditions[type] = condition;
  }
  return conditions;
}

function parseCondition(value: unknown): Condition | null {
  if (!isRecord(value)) return null;
  const { status, reason, message } = value;
  if (status !== "True" && status !== "False" && status !== "Unknown") return null;
  return { status, reason: toText(reason), message: toText(message) };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
