/** The shape of a record of a ScaledObject, as a schema: the compiler holds it against the type. */
import * as v from "valibot";
import { CONDITION_TYPES, type Conditions } from "../core/replicas/conditions.ts";
import type { Obstacle, ReplicasInput, ReplicasObservation, ReplicasOutcome } from "../core/replicas/input.ts";
import type { Scale, ScaleAnswer, ScaleWrite, TriggerReading, TriggerReadings } from "../core/replicas/input.ts";
import { REPLICAS_NOTICES, type ReplicasNoticeName } from "../core/replicas/notices.ts";
import type { PodReading } from "../core/replicas/pod_reading.ts";
import { CHECK_REASONS, REPLICAS_REASONS } from "../core/replicas/reasons.ts";
import type { ReplicasReport } from "../core/replicas/report.ts";
import { REPLICAS_STATE_VERSION, type ReplicasState } from "../core/replicas/state.ts";
import { REPLICAS_RECORD_VERSION, type ReplicasRecord } from "./replicas_record.ts";
import { scaledObjectFactsSchema } from "./scaled_object_schema.ts";
import {
  dictionary,
  double,
  flag,
  integer,
  number,
  numberOrNull,
  readyCondition,
  text,
  textOrNull,
} from "./schemas.ts";

const reason = v.picklist(REPLICAS_REASONS);

const condition = v.strictObject({ status: v.picklist(["True", "False", "Unknown"]), reason: text, message: text });
const conditions: v.GenericSchema<unknown, Conditions> = v.strictObject(
  v.entriesFromList(CONDITION_TYPES, v.exactOptional(condition)),
);

const scaleEvents = v.array(v.strictObject({ change: number, at: number, isOutdated: flag }));

const state: v.GenericSchema<unknown, ReplicasState> = v.strictObject({
  version: v.literal(REPLICAS_STATE_VERSION),
  history: v.nullable(v.strictObject({
    needs: v.array(v.strictObject({ replicas: number, at: number })),
    ups: scaleEvents,
    downs: scaleEvents,
  })),
  failures: dictionary(number),
  activity: dictionary(flag),
  lastActiveAt: numberOrNull,
  isActive: v.nullable(flag),
  originalReplicas: numberOrNull,
  targetResource: textOrNull,
  pausedReplicas: numberOrNull,
  conditions,
  isScaleInPending: flag,
  scaledInAt: numberOrNull,
  notified: dictionary(text),
});

const scale: v.GenericSchema<unknown, Scale> = v.strictObject({
  replicas: number,
  statusReplicas: number,
  resourceVersion: text,
  uid: text,
  resource: v.exactOptional(text),
});

const podReading: v.GenericSchema<unknown, PodReading> = v.strictObject({
  name: text,
  phase: text,
  isDeleting: flag,
  startAt: numberOrNull,
  ready: v.nullable(readyCondition),
  metric: v.nullable(v.strictObject({ milli: integer, at: number, windowMs: number })),
  requests: v.union([
    v.strictObject({ born: integer, full: integer }),
    v.strictObject({
      problem: v.strictObject({
        reason: v.picklist(["NoRequest", "NoContainer", "BaselineUnavailable"]),
        message: text,
      }),
    }),
  ]),
  isClipped: flag,
});

const reading: v.GenericSchema<unknown, TriggerReading> = v.variant("kind", [
  v.strictObject({ kind: v.literal("value"), value: double, isCounted: flag }),
  v.strictObject({ kind: v.literal("failed"), message: text, isCounted: flag }),
  v.strictObject({ kind: v.literal("pods"), pods: v.array(podReading), isCoupled: flag }),
]);

/** A Map is the list of its entries in JSON. */
const triggers: v.GenericSchema<unknown, TriggerReadings> = v.pipe(
  v.array(v.tuple([number, reading])),
  v.transform((entries) => new Map(entries)),
);

const write: v.GenericSchema<unknown, ScaleWrite> = v.strictObject({
  from: scale,
  replicas: number,
  half: v.picklist(["poll", "tick", "paused", "restore"]),
  at: number,
  reason,
  message: text,
});

const answer: v.GenericSchema<unknown, ScaleAnswer> = v.variant("kind", [
  v.strictObject({ kind: v.literal("accepted"), replicas: number }),
  v.strictObject({ kind: v.literal("dropped") }),
  v.strictObject({ kind: v.literal("refused"), code: number, message: text }),
  v.strictObject({ kind: v.literal("unanswered"), message: text }),
]);

const obstacle: v.GenericSchema<unknown, Obstacle> = v.variant("kind", [
  v.strictObject({ kind: v.literal("invalid") }),
  v.strictObject({ kind: v.literal("check"), reason: v.picklist(CHECK_REASONS), message: text }),
  v.strictObject({
    kind: v.literal("selector"),
    reason: v.picklist(["AmbiguousSelector", "InvalidSelector"]),
    message: text,
  }),
  v.strictObject({ kind: v.literal("scale"), message: text }),
]);

const observation: v.GenericSchema<unknown, ReplicasObservation> = v.variant("kind", [
  v.strictObject({ kind: v.literal("changed"), scale }),
  v.strictObject({ kind: v.literal("obstructed"), obstacle }),
  v.strictObject({ kind: v.literal("poll"), scale, triggers, readyPods: number }),
  v.strictObject({ kind: v.literal("tick"), scale, triggers, readyPods: numberOrNull }),
  v.strictObject({ kind: v.literal("answered"), write, answer }),
  v.strictObject({ kind: v.literal("deleted"), scale: v.nullable(scale) }),
]);

const input: v.GenericSchema<unknown, ReplicasInput> = v.strictObject({
  now: number,
  object: scaledObjectFactsSchema,
  observation,
  dryRun: flag,
  warnings: v.exactOptional(v.array(text)),
});

const report: v.GenericSchema<unknown, ReplicasReport> = v.strictObject({
  half: v.picklist(["poll", "tick"]),
  replicas: number,
  desired: number,
  reason: v.nullable(reason),
  message: text,
  triggers: v.array(v.strictObject({
    index: number,
    type: text,
    metricName: text,
    value: v.nullable(double),
    error: textOrNull,
    isActive: v.nullable(flag),
    proposal: v.nullable(v.strictObject({
      replicas: number,
      lo: number,
      hi: number,
      ratio: v.nullable(double),
      ready: number,
      unready: number,
      missing: number,
    })),
  })),
  need: numberOrNull,
  stabilized: numberOrNull,
});

const outcome: v.GenericSchema<unknown, ReplicasOutcome> = v.strictObject({
  state,
  write: v.nullable(write),
  notices: v.array(v.strictObject({
    name: v.picklist(Object.keys(REPLICAS_NOTICES) as ReplicasNoticeName[]),
    message: text,
  })),
  report: v.nullable(report),
});

/** Accepts a record of the present version, and nothing else. */
export const replicasRecordSchema: v.GenericSchema<unknown, ReplicasRecord> = v.strictObject({
  version: v.literal(REPLICAS_RECORD_VERSION),
  before: state,
  input,
  outcome,
});
