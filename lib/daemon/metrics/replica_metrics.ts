/** What /metrics shows of ScaledObjects, recorded in the words of the domain (R93). The families stand in `replica_families.ts`. */
import type { ReplicasReason } from "../../core/replicas/reasons.ts";
import type { Family } from "./family.ts";
import type { REPLICA_FAMILIES } from "./replica_families.ts";

/** The ScaledObject that a figure belongs to. */
export interface ScaledObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** One trigger of it. */
export interface TriggerName extends ScaledObjectName {
  /** `s0-prometheus`, `cpu`. */
  readonly metric: string;
  /** The trigger's own name, else KEDA's word for its type. */
  readonly scaler: string;
  readonly index: number;
}

/** A query that was answered without a value. */
export interface EmptyAnswer extends ScaledObjectName {
  readonly triggerName: string;
  readonly metric: string;
  readonly ignoresNullValues: boolean;
}

/** No method throws. */
export interface ReplicaMetrics {
  /** What is `null` is left as it was. */
  setTrigger(trigger: TriggerName, seen: { readonly value: number | null; readonly isActive: boolean | null }): void;
  /** An evaluation of the trigger: failed, or not. */
  triggerEvaluated(trigger: TriggerName, isFailed: boolean): void;
  asked(trigger: TriggerName, seconds: number): void;
  answeredEmpty(answer: EmptyAnswer): void;
  /** An error of the object beside those of its triggers. */
  failed(object: ScaledObjectName): void;
  setPaused(object: ScaledObjectName, isPaused: boolean): void;
  /** Takes all there are: one that is missing disappears. */
  setRegistered(registered: {
    readonly triggers: ReadonlyMap<string, number>;
    readonly objects: ReadonlyMap<string, number>;
  }): void;
  began(object: ScaledObjectName, lateSeconds: number): void;
  /** `need` is `null` where no metric was computed: that of before stands. */
  setReplicas(
    object: ScaledObjectName,
    replicas: { readonly current: number; readonly desired: number; readonly need: number | null },
  ): void;
  wrote(object: ScaledObjectName, what: { readonly direction: "up" | "down"; readonly half: string }): void;
  held(object: ScaledObjectName, reason: ReplicasReason): void;
  evaluated(object: ScaledObjectName, seconds: number): void;
  /** Its triggers are others: what was said of the old ones disappears. */
  forgetTriggers(object: ScaledObjectName): void;
  /** Call it after the last pass of a deleted object. */
  forget(object: ScaledObjectName): void;
  /** Whoever leads shows them. */
  standBy(): void;
}

/** The families of `REPLICA_FAMILIES`. */
export type ReplicaFamilies = {
  readonly [K in keyof typeof REPLICA_FAMILIES]: Family<(typeof REPLICA_FAMILIES)[K]["labels"][number]>;
};

const TYPE = "scaledobject";

/** Records into the families. */
export function createReplicaMetrics(families: ReplicaFamilies): ReplicaMetrics {
  const { scalerActive, scalerValue, scalerLatency, scalerErrors, objectErrors } = families;
  return {
    setTrigger(trigger, { value, isActive }) {
      if (value !== null) scalerValue.record(toLabels(trigger), value);
      if (isActive !== null) scalerActive.record(toLabels(trigger), isActive ? 1 : 0);
    },
    triggerEvaluated(trigger, isFailed) {
      scalerErrors.record(toLabels(trigger), isFailed ? 1 : 0);
      objectErrors.record(toObject(trigger), isFailed ? 1 : 0);
    },
    asked: (trigger, seconds) => scalerLatency.record(toLabels(trigger), seconds),
    answeredEmpty({ namespace, name, triggerName, metric, ignoresNullValues }) {
      const of = { namespace, scaledResource: name, triggerName, metricName: metric, resourceType: TYPE };
      families.emptyResponses.record({ ...of, ignoreNullValues: String(ignoresNullValues) }, 1);
    },
    failed: (object) => objectErrors.record(toObject(object), 1),
    setPaused: (object, isPaused) => families.paused.record(toObject(object), isPaused ? 1 : 0),
    setRegistered({ triggers, objects }) {
      const { triggersRegistered, resourcesRegistered } = families;
      triggersRegistered.keep([]);
      for (const [type, count] of triggers) triggersRegistered.record({ type }, count);
      resourcesRegistered.keep([]);
      for (const [namespace, count] of objects) resourcesRegistered.record({ type: "scaled_object", namespace }, count);
    },
    began({ namespace, name }, lateSeconds) {
      families.loopLatency.record({ namespace, type: TYPE, resource: name }, lateSeconds);
    },
    setReplicas({ namespace, name }, { current, desired, need }) {
      families.current.record({ namespace, name }, current);
      families.desired.record({ namespace, name }, desired);
      if (need !== null) families.need.record({ namespace, name }, need);
    },
    wrote: ({ namespace, name }, what) => families.writes.record({ namespace, name, ...what }, 1),
    held: ({ namespace, name }, reason) => families.holds.record({ namespace, name, reason }, 1),
    evaluated: ({ namespace, name }, seconds) => families.evaluation.record({ namespace, name }, seconds),
    forgetTriggers(object) {
      for (const family of [scalerActive, scalerValue, scalerLatency, scalerErrors]) family.forget(object);
    },
    forget(object) {
      for (const family of Object.values(families)) if (family.hasOwner) family.forget(object);
    },
    standBy() {
      for (const family of Object.values(families)) family.keep([]);
    },
  };
}

function toObject({ namespace, name }: ScaledObjectName): { namespace: string; scaledObject: string } {
  return { namespace, scaledObject: name };
}

function toLabels({ metric, scaler, index, ...object }: TriggerName) {
  return { ...toObject(object), metric, scaler, triggerIndex: String(index), type: TYPE };
}
