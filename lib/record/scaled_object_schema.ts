/**
 * The shape of a ScaledObject in a record, as a schema. JSON has neither bigint nor Set nor function: amounts in thousandths are strings of
 * digits, a schedule is its text, and a formula is its text and the names in it, both parsed again.
 */
import * as v from "valibot";
import type { Behavior } from "../scaled_object/behavior.ts";
import type { Formula } from "../scaled_object/formula.ts";
import {
  type Annotations,
  FALLBACK_BEHAVIORS,
  type ScaledObject,
  type ScaledObjectFacts,
} from "../scaled_object/scaled_object.ts";
import { EXTERNAL_TYPES, type Source, type Trigger } from "../scaled_object/trigger.ts";
import { type CronSchedule, parseCron } from "../units/cron.ts";
import { compileExpr } from "../units/expr/compile.ts";
import { double, flag, integer, number, numberOrNull, selector, text, textOrNull } from "./schemas.ts";

const schedule: v.GenericSchema<unknown, CronSchedule> = v.pipe(
  text,
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const parsed = parseCron(value);
    if (parsed.ok) return parsed.schedule;
    addIssue({ message: parsed.message });
    return NEVER;
  }),
);

const metricType = v.picklist(["AverageValue", "Value"]);

const formula: v.GenericSchema<unknown, Formula> = v.pipe(
  v.strictObject({
    text,
    program: v.strictObject({ names: v.array(text) }),
    target: double,
    targetMilli: integer,
    activationTarget: double,
    metricType,
  }),
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const compiled = compileExpr(value.text, value.program);
    if (compiled.ok) return { ...value, program: compiled.program };
    addIssue({ message: compiled.message });
    return NEVER;
  }),
);

const http = {
  authModes: v.nullable(v.array(v.picklist(["apiKey", "basic", "bearer", "custom"]))),
  isTlsUnverified: flag,
  timeoutMs: number,
};
const pairs = v.array(v.tuple([text, text]));

const source: v.GenericSchema<unknown, Source> = v.variant("kind", [
  v.strictObject({
    kind: v.literal("cron"),
    timezone: text,
    start: schedule,
    end: schedule,
    desiredReplicas: number,
  }),
  v.strictObject({ kind: v.literal("kubernetes-workload"), selector, isByNode: flag }),
  v.strictObject({
    kind: v.literal("metrics-api"),
    url: text,
    valueLocation: text,
    format: v.picklist(["json", "prometheus", "yaml"]),
    method: v.nullable(v.picklist(["header", "query"])),
    keyParamName: textOrNull,
    apiKey: textOrNull,
    ...http,
  }),
  v.strictObject({
    kind: v.literal("prometheus"),
    serverAddress: text,
    query: text,
    namespace: textOrNull,
    queryParameters: pairs,
    customHeaders: pairs,
    ignoresNullValues: flag,
    ...http,
  }),
]);

const common = { index: number, name: textOrNull };

const trigger: v.GenericSchema<unknown, Trigger> = v.variant("kind", [
  v.strictObject({
    ...common,
    kind: v.literal("resource"),
    type: v.picklist(["cpu", "memory"]),
    container: textOrNull,
    target: v.variant("kind", [
      v.strictObject({ kind: v.literal("Utilization"), percent: number }),
      v.strictObject({ kind: v.literal("AverageValue"), milli: integer }),
    ]),
    baseline: v.nullable(v.variant("kind", [
      v.strictObject({ kind: v.literal("amount"), milli: integer }),
      v.strictObject({ kind: v.picklist(["born", "live"]) }),
    ])),
  }),
  v.strictObject({
    ...common,
    kind: v.literal("external"),
    type: v.picklist(EXTERNAL_TYPES),
    metricName: text,
    metricType,
    targetMilli: v.nullable(integer),
    activation: double,
    isCached: flag,
    source,
    authentication: v.nullable(v.strictObject({
      kind: v.picklist(["TriggerAuthentication", "ClusterTriggerAuthentication"]),
      name: text,
    })),
  }),
]);

const rules = v.strictObject({
  windowMs: number,
  select: v.picklist(["Max", "Min", "Disabled"]),
  policies: v.array(v.strictObject({ type: v.picklist(["Pods", "Percent"]), value: number, periodMs: number })),
  tolerance: v.nullable(double),
});
const behavior: v.GenericSchema<unknown, Behavior> = v.strictObject({ scaleUp: rules, scaleDown: rules });

const annotations: v.GenericSchema<unknown, Annotations> = v.strictObject({
  isPaused: flag,
  pausedReplicas: numberOrNull,
  isScaleInPaused: flag,
  isScaleOutPaused: flag,
  isForcedActive: flag,
  transfersHpa: flag,
  ignoresHpas: flag,
});

const scaledObject: v.GenericSchema<unknown, ScaledObject> = v.strictObject({
  uid: text,
  namespace: text,
  name: text,
  generation: number,
  createdAt: number,
  target: v.strictObject({ apiVersion: text, kind: text, name: text, envContainer: textOrNull }),
  pollIntervalMs: number,
  cooldownMs: number,
  initialCooldownMs: number,
  minReplicas: number,
  maxReplicas: number,
  idleReplicas: numberOrNull,
  fallback: v.nullable(v.strictObject({
    failureThreshold: number,
    replicas: number,
    behavior: v.picklist(FALLBACK_BEHAVIORS),
  })),
  restoresReplicas: flag,
  hpaName: textOrNull,
  behavior: v.nullable(behavior),
  formula: v.nullable(formula),
  triggers: v.array(trigger),
  annotations,
});

const problems = v.array(v.strictObject({ path: text, message: text }));

/** Accepts a ScaledObject as it was seen, and nothing else. */
export const scaledObjectFactsSchema: v.GenericSchema<unknown, ScaledObjectFacts> = v.strictObject({
  uid: text,
  namespace: text,
  name: text,
  resourceVersion: text,
  generation: number,
  createdAt: number,
  isDeleting: flag,
  finalizers: v.array(text),
  scaledObject: v.nullable(scaledObject),
  restoring: v.nullable(scaledObject),
  problems,
  warnings: problems,
  limited: v.exactOptional(v.array(text)),
  isPaused: flag,
  // An object that has none yet has no key here either.
  status: v.optional(v.unknown()),
}) as v.GenericSchema<unknown, ScaledObjectFacts>;
