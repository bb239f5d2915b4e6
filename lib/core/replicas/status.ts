/**
 * The status of a ScaledObject, of KEDA's fields only (R90). Level-based: computed as a whole, and written by the shell when it differs.
 * https://github.com/kedacore/keda/blob/v2.20.2/apis/keda/v1alpha1/scaledobject_types.go
 */
import { listExternalTriggers, listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { formatTime } from "../../units/time.ts";
import { COMPOSITE_NAME } from "./composite.ts";
import { readFailures } from "./fallback.ts";
import { type Condition, CONDITION_TYPES, type ConditionType } from "./conditions.ts";
import { toTargetKind } from "./notify/words.ts";
import type { ReplicasState } from "./state.ts";
import { type TargetGvkr, toTargetGvkr } from "./status_target.ts";

/** As the API has it; what is absent is not so. */
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

export interface StatusCondition {
  readonly type: ConditionType;
  readonly status: Condition["status"];
  readonly reason?: string;
  readonly message?: string;
}

export interface Health {
  readonly numberOfFailures: number;
  readonly status: "Happy" | "Failing";
}

/** An invalid object keeps what is known of it from better times, but for its triggers. */
export function toScaledObjectStatus({ scaledObject }: ScaledObjectFacts, state: ReplicasState): ScaledObjectStatus {
  const { originalReplicas, lastActiveAt, pausedReplicas } = state;
  return {
    ...(scaledObject === null ? {} : { ...toTarget(scaledObject, state), ...toTriggers(scaledObject, state) }),
    ...(originalReplicas === null ? {} : { originalReplicaCount: originalReplicas }),
    ...(lastActiveAt === null ? {} : { lastActiveTime: formatTime(lastActiveAt) }),
    conditions: toConditions(state),
    ...(pausedReplicas === null ? {} : { pausedReplicaCount: pausedReplicas }),
  };
}

/** Once it was seen. */
function toTarget({ target }: ScaledObject, { targetResource }: ReplicasState): Partial<ScaledObjectStatus> {
  if (targetResource === null) return {};
  return { scaleTargetKind: toTargetKind(target), scaleTargetGVKR: toTargetGvkr(target, targetResource) };
}

function toTriggers(object: ScaledObject, state: ReplicasState): Partial<ScaledObjectStatus> {
  const { triggers, formula } = object;
  const external = listExternalTriggers(object);
  // KEDA lists no metric of a single container here.
  const resource = listResourceTriggers(object).filter(({ container }) => container === null);
  const health = external.flatMap(({ metricName }) => toHealth(metricName, state));
  const activity = Object.entries(state.activity).map(([name, isActive]) => [name, { isActive }] as const);
  return {
    ...(external.length === 0 ? {} : { externalMetricNames: external.map(({ metricName }) => metricName) }),
    ...(resource.length === 0 ? {} : { resourceMetricNames: resource.map(({ type }) => type) }),
    ...(formula === null ? {} : { compositeScalerName: COMPOSITE_NAME }),
    ...(health.length === 0 ? {} : { health: Object.fromEntries(health) }),
    ...(activity.length === 0 ? {} : { triggersActivity: Object.fromEntries(activity) }),
    triggersTypes: join(triggers.map(({ type }) => type)),
    authenticationsTypes: join(external.flatMap(({ authentication }) => authentication?.name ?? [])),
  };
}

function toHealth(metricName: string, { failures }: ReplicasState): readonly (readonly [string, Health])[] {
  const numberOfFailures = readFailures(failures, metricName);
  if (numberOfFailures === null) return [];
  return [[metricName, { numberOfFailures, status: numberOfFailures === 0 ? "Happy" : "Failing" }]];
}

/** Each once, in the order of the manifest. */
function join(names: readonly string[]): string {
  return [...new Set(names)].join(",");
}

/** KEDA's first four are there from the start. */
function toConditions({ conditions }: ReplicasState): readonly StatusCondition[] {
  return CONDITION_TYPES.flatMap((type): readonly StatusCondition[] => {
    const condition = conditions[type] ?? INITIAL[type];
    if (condition === undefined) return [];
    const { status, reason, message } = condition;
    return [{ type, status, ...(reason === "" ? {} : { reason }), ...(message === "" ? {} : { message }) }];
  });
}

const UNKNOWN: Condition = { status: "Unknown", reason: "", message: "" };
const INITIAL: Readonly<Partial<Record<ConditionType, Condition>>> = {
  Ready: UNKNOWN,
  Active: UNKNOWN,
  Fallback: UNKNOWN,
  Paused: { status: "False", reason: "", message: "" },
};
