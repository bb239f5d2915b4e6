/**
 * The schema of a ScaledObject's record: the object, its state, the input of `decideReplicas`, and its outcome. The
 * compiler checks each schema against its type.
 *
 * JSON has no bigint, Map or function. Amounts in thousandths are strings of digits. A schedule and a formula are
 * texts, which are parsed again.
 */
import * as v from "valibot";
import { compileExpr } from "../formula/formula.ts";
import {
  CHECK_REASONS,
  REPLICAS_NOTICES,
  REPLICAS_REASONS,
  type ReplicasNoticeName,
  TARGET_FAULTS,
} from "../model/replicas_decision.ts";
import { CONDITION_TYPES, REPLICAS_STATE_VERSION } from "../model/replicas_state.ts";
import { AGGREGATIONS, FALLBACK_BEHAVIORS, type ScaledObject, type ScaledObjectFacts } from "../model/scaled_object.ts";
import { parseCron } from "../units/cron.ts";
import { REPLICAS_RECORD_VERSION, type ReplicasRecord } from "./record.ts";
import {
  dictionary,
  double,
  flag,
  integer,
  number,
  numberOrNull,
  readyCondition,
  schemaOf,
  selector,
  text,
  textOrNull,
} from "./schemas.ts";

const schedule = v.pipe(
  text,
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const parsed = parseCron(value);
    if (parsed.ok) return parsed.schedule;
    addIssue({ message: parsed.message });
    return NEVER;
  }),
);

const metricType = v.picklist(["AverageValue", "Value"]);

const formula = v.pipe(
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
  authModes: v.nullable(v.array(v.picklist(["apiKey", "basic", "bearer", "custom", "oauth"]))),
  isTlsUnverified: flag,
  timeoutMs: number,
};

const pairs = v.array(v.tuple([text, text]));

const source = v.variant("kind", [
  v.strictObject({
    kind: v.literal("cron"),
    timezone: text,
    start: schedule,
    end: schedule,
    desiredReplicas: number,
  }),
  v.strictObject({ kind: v.literal("kubernetes-workload"), selector, isByNode: flag }),
  v.strictObject({
    kind: v.literal("kubernetes-resource"),
    objectKind: v.picklist(["ConfigMap", "Secret"]),
    name: text,
    key: text,
    format: v.picklist(["number", "json", "yaml"]),
    valueLocation: text,
    valueType: v.picklist(["float64", "int64", "quantity"]),
  }),
  v.strictObject({
    kind: v.literal("metrics-api"),
    url: text,
    valueLocation: text,
    format: v.picklist(["json", "prometheus", "yaml"]),
    method: v.nullable(v.picklist(["header", "query"])),
    keyParamName: textOrNull,
    apiKey: textOrNull,
    aggregation: v.exactOptional(v.nullable(v.picklist(AGGREGATIONS)), null),
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
    hasNullRule: v.exactOptional(flag, false),
    ...http,
  }),
  v.strictObject({ kind: v.literal("keda"), object: text, problem: textOrNull }),
  v.strictObject({ kind: v.literal("invalid"), problem: text }),
  v.strictObject({
    kind: v.literal("metric"),
    metric: text,
    selector: text,
    of: v.variant("kind", [
      v.strictObject({ kind: v.picklist(["external", "pods"]) }),
      v.strictObject({ kind: v.literal("object"), apiVersion: text, objectKind: text, name: text }),
    ]),
  }),
]);

const common = { index: number, name: textOrNull };

const trigger = v.variant("kind", [
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
      v.strictObject({ kind: v.picklist(["initial", "live"]) }),
      // Records of earlier versions have this word.
      v.pipe(v.strictObject({ kind: v.literal("born") }), v.transform(() => ({ kind: "initial" as const }))),
    ])),
  }),
  v.strictObject({
    ...common,
    kind: v.literal("external"),
    type: text,
    metricName: text,
    metricType,
    targetMilli: v.nullable(integer),
    activation: double,
    isCached: flag,
    isServedByKeda: v.exactOptional(flag, false),
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

const behavior = v.strictObject({ scaleUp: rules, scaleDown: rules });

const annotations = v.strictObject({
  isPaused: flag,
  pausedReplicas: numberOrNull,
  isScaleInPaused: flag,
  isScaleOutPaused: flag,
  isForcedActive: flag,
  transfersHpa: flag,
  ignoresHpas: flag,
});

const scaledObject = schemaOf<ScaledObject>()(v.strictObject({
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
}));

const problems = v.array(v.strictObject({
  path: text,
  message: text,
  reason: v.exactOptional(v.picklist(["NamespaceExcluded", "TooLarge", "TooMany", "OverBudget"])),
}));

const adoption = v.strictObject({
  isKedaPaused: flag,
  triggersHash: text,
  record: v.nullable(v.strictObject({
    triggers: text,
    metrics: v.array(v.strictObject({ index: numberOrNull, name: text, metricType, targetMilli: integer })),
  })),
  problem: textOrNull,
  lacksRecord: flag,
  isStale: flag,
});

/** Accepts a ScaledObject as it was seen, and nothing else. */
const scaledObjectFactsSchema = schemaOf<ScaledObjectFacts>()(v.strictObject({
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
  adoption: v.exactOptional(v.nullable(adoption), null),
  // An object that has none yet has no key here either.
  status: v.exactOptional(v.unknown(), null),
}));

const reason = v.picklist(REPLICAS_REASONS);

const condition = v.strictObject({ status: v.picklist(["True", "False", "Unknown"]), reason: text, message: text });

const conditions = v.strictObject(
  v.entriesFromList(CONDITION_TYPES, v.exactOptional(condition)),
);

const scaleEvents = v.array(v.strictObject({ change: number, at: number, isOutdated: flag }));

const state = v.strictObject({
  version: v.literal(REPLICAS_STATE_VERSION),
  history: v.nullable(v.strictObject({
    needs: v.array(v.strictObject({ replicas: number, at: number })),
    ups: scaleEvents,
    downs: scaleEvents,
  })),
  failures: dictionary(number),
  // Records of earlier versions have neither.
  answers: v.exactOptional(dictionary(v.strictObject({ hadValue: flag, emptySince: numberOrNull })), {}),
  answeredChecks: v.exactOptional(number, 2),
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

const scale = v.strictObject({
  replicas: number,
  statusReplicas: number,
  resourceVersion: text,
  uid: text,
  resource: v.exactOptional(text),
});

const podReading = v.strictObject({
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

const reading = v.variant("kind", [
  v.strictObject({
    kind: v.literal("value"),
    value: double,
    isCounted: flag,
    isEmpty: v.exactOptional(flag),
    milli: v.exactOptional(integer),
    byPod: v.exactOptional(v.strictObject({ pods: v.array(podReading), others: v.array(integer) })),
  }),
  v.strictObject({ kind: v.literal("failed"), message: text, isCounted: flag }),
  v.strictObject({ kind: v.literal("pods"), pods: v.array(podReading), isCoupled: flag }),
]);

/** A Map is the list of its entries in JSON. */
const triggers = v.pipe(
  v.array(v.tuple([number, reading])),
  v.transform((entries) => new Map(entries)),
);

const write = v.strictObject({
  from: scale,
  replicas: number,
  half: v.picklist(["poll", "tick", "paused", "restore"]),
  at: number,
  reason,
  message: text,
});

const answer = v.variant("kind", [
  v.strictObject({ kind: v.literal("accepted"), replicas: number }),
  v.strictObject({ kind: v.literal("dropped") }),
  v.strictObject({ kind: v.literal("held"), message: text }),
  v.strictObject({ kind: v.literal("refused"), code: number, message: text }),
  v.strictObject({ kind: v.literal("unanswered"), message: text }),
]);

const obstacle = v.variant("kind", [
  v.strictObject({ kind: v.literal("invalid") }),
  v.strictObject({
    kind: v.literal("check"),
    reason: v.picklist(CHECK_REASONS),
    message: text,
    fault: v.exactOptional(v.picklist(TARGET_FAULTS)),
  }),
  v.strictObject({
    kind: v.literal("selector"),
    reason: v.picklist(["AmbiguousSelector", "InvalidSelector"]),
    message: text,
  }),
  v.strictObject({ kind: v.literal("scale"), message: text }),
]);

const observation = v.variant("kind", [
  v.strictObject({ kind: v.literal("changed"), scale }),
  v.strictObject({ kind: v.literal("obstructed"), obstacle }),
  v.strictObject({ kind: v.literal("poll"), scale, triggers, readyPods: number }),
  v.strictObject({ kind: v.literal("tick"), scale, triggers, readyPods: numberOrNull }),
  v.strictObject({ kind: v.literal("answered"), write, answer }),
  v.strictObject({ kind: v.literal("deleted"), scale: v.nullable(scale) }),
]);

const input = v.strictObject({
  now: number,
  object: scaledObjectFactsSchema,
  observation,
  dryRun: flag,
  kedaDeactivation: v.exactOptional(flag),
  wallAheadMs: v.exactOptional(number),
  warnings: v.exactOptional(v.array(text)),
  lack: v.exactOptional(text),
});

const report = v.strictObject({
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

const outcome = v.strictObject({
  state,
  write: v.nullable(write),
  notices: v.array(v.strictObject({
    name: v.picklist(Object.keys(REPLICAS_NOTICES) as ReplicasNoticeName[]),
    message: text,
  })),
  report: v.nullable(report),
});

/** Accepts a record of the present version, and nothing else. */
export const replicasRecordSchema = schemaOf<ReplicasRecord>()(v.strictObject({
  version: v.literal(REPLICAS_RECORD_VERSION),
  before: state,
  input,
  outcome,
}));
