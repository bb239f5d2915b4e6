/**
 * What KEDA's webhook accepts and refuses, by its unit tests: apis/keda/v1alpha1/scaledobject_webhook_test.go of KEDA
 * 2.21.0 (Apache-2.0). These are its inputs and outcomes, in podfit's own words.
 *
 * KEDA's test sets no metricType for cpu and memory, which its webhook does not look at and its scaler refuses. So it is set
 * here. Its Deployments without a request have `cpu: 0`; here the request is absent. A Deployment that its test does not need
 * exists here, so that `Ready` depends on the object alone.
 */
import { applyEdits, type Manifest } from "../support/manifests.ts";
import type { Difference } from "./differences.ts";
import {
  BOTH,
  CONFIG,
  CPU,
  CRON,
  CRON_AND_PODS,
  hpa,
  LIMITS,
  MEMORY,
  named,
  NO_IDLE,
  ONE_AND_TWO,
  OTHER_LABELS,
  OWN_HPA,
  POD_LEVEL,
  PODS,
  STATEFUL,
  TO_STATEFUL,
  toFormulaObject,
  toObject,
  toZeroObject,
  TRANSFER,
  WITH_RESOURCES,
  workload,
} from "./webhook_objects.ts";

export interface WebhookCase {
  /** The title of KEDA's test. */
  readonly test: string;
  /** What KEDA's webhook does. */
  readonly isAccepted: boolean;
  readonly object: Manifest;
  /** In the same namespace, made before it. */
  readonly others: readonly Manifest[];
  /** What lint finds: `rule path`. "no-effect" is a warning of KEDA's webhook too, and no refusal. */
  readonly findings: readonly string[];
  readonly differs?: Difference;
  /** Lint reads this file alone, and no cluster. */
  readonly isFile?: true;
}

const OWNED = "replicas-owned spec.scaleTargetRef";
const MODIFIERS = "spec.advanced.scalingModifiers";
const [NO_CPU, NO_MEMORY] = ["request-missing spec.triggers[1]", "request-missing spec.triggers[2]"];
const AMOUNT = { ...CPU, metricType: "AverageValue" };
const FALLBACK = { failureThreshold: 3, replicas: 6 };

type Rest = Partial<Omit<WebhookCase, "test" | "isAccepted" | "object">>;

function accepts(test: string, object: Manifest, rest: Rest = {}): WebhookCase {
  return { test, isAccepted: true, object, others: [workload()], findings: [], ...rest };
}

function refuses(test: string, object: Manifest, findings: readonly string[], rest: Rest = {}): WebhookCase {
  return { test, isAccepted: false, object, others: [workload()], findings, ...rest };
}

/** The name of an object has so many letters. */
function withLongName(length: number, hpaName?: string): Manifest {
  return toObject({
    "metadata.name": "a".repeat(length),
    ...(hpaName !== undefined && { [CONFIG]: { name: hpaName } }),
  });
}

const OTHER_WORKLOAD = workload(BOTH, { "metadata.name": "other-workload", ...OTHER_LABELS });

const WRITERS: readonly WebhookCase[] = [
  accepts("should validate the so creation when there isn't any hpa", toObject()),
  accepts("should validate the so creation when there are other SO for other workloads", toObject(), {
    others: [
      workload(),
      OTHER_WORKLOAD,
      toObject({ "metadata.name": "other-so-name", "spec.scaleTargetRef.name": "other-workload" }),
    ],
  }),
  accepts(
    "should validate the so creation when another SO targets the same name with a different Kind",
    toObject({ "metadata.name": "so-for-statefulset", ...TO_STATEFUL }),
    {
      others: [
        workload(),
        workload(BOTH, { ...STATEFUL, ...OTHER_LABELS }),
        toObject({ "metadata.name": "so-for-deployment" }),
      ],
    },
  ),
  accepts("should validate the so creation when there are other HPA for other workloads", toObject(), {
    others: [workload(), OTHER_WORKLOAD, hpa("other-hpa-name", { "spec.scaleTargetRef.name": "other-workload" })],
  }),
  accepts("should validate the so creation when it's own hpa is already generated", toObject(), {
    others: [workload(), OWN_HPA],
    findings: [OWNED],
    differs: "own-hpa",
  }),
  accepts(
    "should validate the so update when it's own hpa is already generated",
    toObject({ "spec.maxReplicaCount": 7 }),
    { others: [workload(), OWN_HPA], findings: [OWNED], differs: "own-hpa" },
  ),
  refuses("shouldn't validate the so creation when there is another unmanaged hpa", toObject(), [OWNED], {
    others: [workload(), hpa("test-unmanaged-hpa")],
  }),
  accepts(
    "should validate the so creation when there is another unmanaged hpa and so has transfer-hpa-ownership activated and the name is specified",
    toObject({ ...TRANSFER, [CONFIG]: { name: "unmanaged" } }),
    { others: [workload(), hpa("unmanaged")] },
  ),
  refuses(
    "shouldn't validate the so creation when there is another unmanaged hpa and so has transfer-hpa-ownership activated but no name specified",
    toObject(TRANSFER),
    [OWNED],
    { others: [workload(), hpa("unmanaged")] },
  ),
  // Its title says "shouldn't", and it expects that the object is accepted.
  accepts(
    "shouldn't validate the so creation when hpa has shared-ownership unactivated",
    toObject({
      "metadata.annotations": { "scaledobject.keda.sh/transfer-hpa-ownership": "false" },
      [CONFIG]: { name: "unmanaged" },
    }),
    {
      others: [
        workload(),
        hpa("unmanaged", { "metadata.annotations": { "validations.keda.sh/hpa-ownership": "false" } }),
      ],
    },
  ),
  refuses("shouldn't validate the so creation when there is another so", toObject(), [OWNED], {
    others: [
      workload(),
      toObject({ "metadata.name": "test-so2", "metadata.creationTimestamp": "2026-11-20T09:00:00Z" }),
    ],
  }),
  refuses(
    "shouldn't validate the so creation when there is another hpa with custom apis",
    toObject({ "spec.scaleTargetRef.apiVersion": "custom-api/v1", "spec.scaleTargetRef.kind": "custom-kind" }),
    [OWNED],
    {
      others: [
        hpa("test-custom-hpa", {
          "spec.scaleTargetRef.apiVersion": "custom-api/v1",
          "spec.scaleTargetRef.kind": "custom-kind",
        }),
      ],
    },
  ),
];

const COUNTS: readonly WebhookCase[] = [
  refuses(
    "shouldn't validate the so creation when the replica counts are wrong",
    toObject({ "spec.minReplicaCount": 10, "spec.maxReplicaCount": 5 }),
    ["invalid spec.minReplicaCount"],
  ),
  refuses(
    "shouldn't validate the so creation when the fallback is wrong",
    toObject({ "spec.fallback": { failureThreshold: -1, replicas: -3 } }),
    ["invalid spec.fallback.failureThreshold", "invalid spec.fallback.replicas"],
  ),
  // Its object has a cron trigger too, so the webhook accepts it. The test sees the error of a second create.
  accepts(
    "shouldn't validate the so creation when the fallback is configured and only cpu/memory triggers are used.",
    toObject({
      "spec.triggers": [CRON, AMOUNT, { ...MEMORY, metricType: "AverageValue" }],
      "spec.fallback": FALLBACK,
    }),
  ),
  accepts(
    "should validate the so creation when the fallback is configured, and at least one trigger (besides cpu/memory) is configured.",
    toObject({
      "spec.triggers": [
        ...[CRON, CPU, MEMORY],
        { ...PODS, name: "workload_trig_1", metricType: "Value" },
        { ...PODS, name: "workload_trig_2", metricType: "AverageValue" },
      ],
      "spec.fallback": FALLBACK,
    }),
  ),
  // It expects an error, which is again that of a second create.
  accepts(
    "should validate the so creation when the fallback is configured, and so uses ScalingModifiers.",
    toObject({
      "spec.triggers": [
        ...[CRON, CPU, MEMORY],
        { ...PODS, name: "workload_trig_1", metricType: "Value" },
        { ...PODS, name: "workload_trig_2", metricType: "Value" },
      ],
      "spec.fallback": FALLBACK,
      [MODIFIERS]: { target: "2", formula: "workload_trig_1 + workload_trig_2", metricType: "Value" },
    }),
  ),
  accepts(
    "should validate so creation when all requirements are met for scaling to zero with cpu scaler",
    toZeroObject(0, [CPU, PODS]),
    { others: [workload({ cpu: "100m" })] },
  ),
  refuses(
    "shouldn't validate so creation with cpu scaler requirements not being met for scaling to 0",
    toZeroObject(0, [CPU]),
    ["invalid spec.minReplicaCount"],
    { others: [workload({ cpu: "100m" })] },
  ),
  accepts(
    "should validate so creation when min replicas is > 0 with only cpu scaler given",
    toZeroObject(1, [CPU]),
    { others: [workload({ cpu: "100m" })], findings: ["no-effect spec.cooldownPeriod"] },
  ),
  // The webhook accepts it, and the API server refuses its HPA. The test sees the error of a second create.
  refuses(
    "shouldn't create so when stabilizationWindowSeconds exceeds 3600",
    toObject({ [CONFIG]: { behavior: { scaleDown: { stabilizationWindowSeconds: 3700 } } } }),
    [`invalid ${CONFIG}.behavior.scaleDown.stabilizationWindowSeconds`],
  ),
  refuses("should validate empty triggers in ScaledObject", toObject({ "spec.triggers": [] }), [
    "invalid spec.triggers",
  ]),
];

const NAMES: readonly WebhookCase[] = [
  refuses(
    "shouldn't validate the so creation when the name exceeds the label value limit",
    withLongName(64, "short-hpa"),
    [],
    { differs: "name-length" },
  ),
  accepts(
    "should validate the so creation when the name is at the label value limit and a custom HPA name is set",
    withLongName(63, "short-hpa"),
  ),
  refuses(
    "shouldn't validate the so creation when no custom HPA name is set and the generated HPA name would exceed the label value limit",
    withLongName(55),
    [],
    { differs: "name-length" },
  ),
  accepts(
    "should validate the so creation when no custom HPA name is set and the generated HPA name fits within the label value limit",
    withLongName(54),
  ),
  refuses(
    "shouldn't validate the so update when removing the custom HPA name would make the generated HPA name exceed the label value limit",
    withLongName(60),
    [],
    { differs: "name-length" },
  ),
];

const REQUESTS: readonly WebhookCase[] = [
  accepts(
    "should validate the so creation with cpu and memory when deployment has requests",
    toObject(WITH_RESOURCES),
  ),
  refuses(
    "shouldn't validate the creation with cpu and memory when deployment is missing",
    toObject(WITH_RESOURCES),
    ["target-missing spec.scaleTargetRef.name"],
    { others: [] },
  ),
  accepts(
    "should validate the creation with cpu and memory when deployment is missing and dry-run is true",
    toObject(WITH_RESOURCES),
    { others: [], isFile: true },
  ),
  refuses(
    "shouldn't validate the so creation with cpu and memory when deployment hasn't got memory request",
    toObject(WITH_RESOURCES),
    [NO_MEMORY],
    { others: [workload({ cpu: "100m" })] },
  ),
  refuses(
    "shouldn't validate the SO creation with CPU and memory when deployment doesn't have CPU and memory",
    toObject(WITH_RESOURCES),
    [NO_CPU, NO_MEMORY],
    { others: [workload({})] },
  ),
  accepts(
    "should validate the SO creation with CPU and memory when deployment doesn't have CPU and memory, but LimitRange has the limits specified",
    toObject(WITH_RESOURCES),
    {
      others: [
        {
          apiVersion: "v1",
          kind: "LimitRange",
          metadata: { name: "test-limit-range" },
          spec: { limits: [{ type: "Container", default: BOTH }] },
        },
        workload({}),
      ],
    },
  ),
  refuses(
    "shouldn't validate the so creation with cpu and memory when deployment hasn't got cpu request",
    toObject(WITH_RESOURCES),
    [NO_CPU],
    { others: [workload({ memory: "64Mi" })] },
  ),
  accepts(
    "should validate the so creation with cpu and memory when statefulset has requests",
    toObject({ ...WITH_RESOURCES, ...TO_STATEFUL }),
    { others: [workload(BOTH, STATEFUL)] },
  ),
  refuses(
    "shouldn't validate the so creation with cpu and memory when statefulset hasn't got memory request",
    toObject({ ...WITH_RESOURCES, ...TO_STATEFUL }),
    [NO_MEMORY],
    { others: [workload({ cpu: "100m" }, STATEFUL)] },
  ),
  refuses(
    "shouldn't validate the so creation with cpu and memory when statefulset hasn't got cpu request",
    toObject({ ...WITH_RESOURCES, ...TO_STATEFUL }),
    [NO_CPU],
    { others: [workload({ memory: "64Mi" }, STATEFUL)] },
  ),
  accepts(
    "should validate the so creation with cpu and memory when deployment has pod-level requests",
    toObject(WITH_RESOURCES),
    { others: [workload({}, { [POD_LEVEL]: { requests: BOTH } })] },
  ),
  refuses(
    "shouldn't validate the so creation with cpu when the trigger sets containerName and only pod-level requests are declared",
    toObject({ "spec.triggers": [{ ...CPU, metadata: { value: "10", containerName: "test" } }] }),
    ["request-missing spec.triggers[0]"],
    { others: [workload({}, { [POD_LEVEL]: { requests: { cpu: "100m" } } })] },
  ),
  accepts(
    "should validate the so creation with cpu when the trigger sets containerName and that container declares requests",
    toObject({ "spec.triggers": [{ ...CPU, metadata: { value: "10", containerName: "test" } }] }),
  ),
  refuses(
    "shouldn't validate the so creation with cpu and memory when deployment has pod-level cpu request only",
    toObject(WITH_RESOURCES),
    [NO_MEMORY],
    { others: [workload({}, { [POD_LEVEL]: { requests: { cpu: "100m" } } })] },
  ),
  accepts(
    "should validate the so creation with cpu and memory when deployment has container requests and empty pod-level resources",
    toObject(WITH_RESOURCES),
    { others: [workload(BOTH, { [POD_LEVEL]: {} })] },
  ),
  accepts(
    "should validate the so creation with cpu and memory when statefulset has pod-level requests",
    toObject({ ...WITH_RESOURCES, ...TO_STATEFUL }),
    { others: [workload({}, { ...STATEFUL, [POD_LEVEL]: { requests: BOTH } })] },
  ),
  accepts(
    "should validate the so creation without cpu and memory when custom resources",
    toObject({ ...WITH_RESOURCES, ...TO_STATEFUL, "spec.scaleTargetRef.apiVersion": "custom-api" }),
    { others: [] },
  ),
  // The API server sets a request that is absent to its limit. The titles of these two say "should not validate".
  accepts(
    "should not validate ScaledObject creation when deployment only provides cpu resource limits",
    toObject({ "spec.triggers": [CPU] }),
    { others: [workload({}, { [LIMITS]: { cpu: "100m" } })] },
  ),
  accepts(
    "should not validate ScaledObject creation when deployment only provides memory resource limits",
    toObject({ "spec.triggers": [{ ...MEMORY, metricType: "AverageValue", metadata: { value: "512Mi" } }] }),
    { others: [workload({}, { [LIMITS]: { memory: "64Mi" } })] },
  ),
  accepts(
    "should validate the so update if it's removing the finalizer even if it's invalid",
    toObject(WITH_RESOURCES),
    { others: [workload({})], findings: [NO_CPU, NO_MEMORY], differs: "no-webhook" },
  ),
];

const FORMULAS: readonly WebhookCase[] = [
  accepts(
    "should validate the so creation with ScalingModifiers.Formula",
    toFormulaObject({ target: "2", formula: "workload_trig + cron_trig" }, CRON_AND_PODS),
  ),
  refuses(
    "shouldnt validate the so creation with scalingModifiers.Formula but no target",
    toFormulaObject({ formula: "workload_trig + cron_trig" }, CRON_AND_PODS),
    [`invalid ${MODIFIERS}.target`],
  ),
  refuses(
    "shouldnt validate the so creation with ScalingModifiers when triggers dont have names",
    toFormulaObject({ formula: "workload_trig + cron_trig" }, [CRON, PODS]),
    [`invalid ${MODIFIERS}.formula`, `invalid ${MODIFIERS}.target`],
  ),
  accepts(
    "should validate the so creation with ScalingModifiers when formula triggers do have names but not all triggers",
    toFormulaObject({ target: "2", formula: "workload_trig + 1" }, [CRON, named(PODS, "workload_trig")]),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers when formula casts to float already",
    toFormulaObject({ target: "2", formula: "float(workload_trig + 1)" }, [named(PODS, "workload_trig")]),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers.Formula - casting float from ternary operator",
    toFormulaObject(
      { target: "2", formula: "float(workload_trig < 5 ? cron_trig + workload_trig : 5)" },
      CRON_AND_PODS,
    ),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers.Formula - ternary operator without casting float",
    toFormulaObject({ target: "2", formula: "workload_trig < 5 ? cron_trig + workload_trig : 5" }, CRON_AND_PODS),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers.Formula - count operator",
    toFormulaObject({ target: "2", formula: "count([trig_one,trig_two],{#>1}) > 1 ? 5 : 0" }, ONE_AND_TWO),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers.Formula - complex ternary",
    toFormulaObject(
      { target: "2", formula: "float(trig_one < 2 ? trig_one+trig_two >= 2 ? 5 : 10 : 0)" },
      ONE_AND_TWO,
    ),
  ),
  accepts(
    "should validate the so creation with ScalingModifiers.Formula - double float cast",
    toFormulaObject({ target: "2", formula: "float(float(trig_two < 5 ? trig_one + trig_two : 5))" }, ONE_AND_TWO),
  ),
  accepts(
    "should validate the so creation with scalingModifiers fallback behavior",
    applyEdits(toFormulaObject({ target: "2", formula: "trig_one ?? trig_two ?? 5" }, ONE_AND_TWO), {
      "spec.fallback": { failureThreshold: 3, replicas: 5, behavior: "scalingModifiers" },
    }),
  ),
  refuses(
    "shouldn't validate the so creation with scalingModifiers fallback without formula",
    toObject({ "spec.fallback": { failureThreshold: 3, replicas: 5, behavior: "scalingModifiers" } }),
    ["invalid spec.fallback.behavior"],
  ),
];

const [POLLING, COOLDOWN] = [{ "spec.pollingInterval": 30 }, { "spec.cooldownPeriod": 300 }];
const [NO_POLLING, NO_COOLDOWN] = ["no-effect spec.pollingInterval", "no-effect spec.cooldownPeriod"];
const WITH_IDLE = { "spec.minReplicaCount": 2, "spec.idleReplicaCount": 1 };
const IDLE_ZERO = { "spec.minReplicaCount": 2, "spec.idleReplicaCount": 0 };

/** KEDA's webhook warns, and accepts the object. */
const WARNINGS: readonly WebhookCase[] = [
  accepts(
    "should emit warning when PollingInterval is set with minReplicaCount > 0 and idleReplicaCount not set",
    toObject({ ...NO_IDLE, ...POLLING, "spec.minReplicaCount": 1 }),
    { findings: [NO_POLLING] },
  ),
  accepts(
    "should NOT emit warning when PollingInterval is set with minReplicaCount > 0 and idleReplicaCount > 0",
    toObject({ ...WITH_IDLE, ...POLLING }),
  ),
  accepts(
    "should NOT emit warning when PollingInterval is set with idleReplicaCount = 0",
    toObject({ ...IDLE_ZERO, ...POLLING }),
  ),
  accepts(
    "should NOT emit warning when PollingInterval is set with useCachedMetrics enabled",
    toObject({
      ...WITH_IDLE,
      ...POLLING,
      "spec.triggers": [{ ...PODS, name: "workload_trig_1", useCachedMetrics: true, metricType: "Value" }],
    }),
  ),
  accepts(
    "should NOT emit warning when PollingInterval is set with scalingModifiers",
    toObject({
      ...NO_IDLE,
      ...POLLING,
      "spec.minReplicaCount": 2,
      "spec.triggers": [named(PODS, "workload_trig")],
      [MODIFIERS]: { target: "2", formula: "workload_trig + 1" },
    }),
  ),
  accepts("should NOT emit warning when PollingInterval is not set", toObject(WITH_IDLE)),
  accepts(
    "should emit warning when CooldownPeriod is set with minReplicaCount > 0 and idleReplicaCount not set",
    toObject({ ...NO_IDLE, ...COOLDOWN, "spec.minReplicaCount": 1 }),
    { findings: [NO_COOLDOWN] },
  ),
  accepts(
    "should NOT emit warning when CooldownPeriod is set with minReplicaCount > 0 and idleReplicaCount > 0",
    toObject({ ...WITH_IDLE, ...COOLDOWN }),
  ),
  accepts(
    "should NOT emit warning when CooldownPeriod is set with idleReplicaCount = 0",
    toObject({ ...IDLE_ZERO, ...COOLDOWN }),
  ),
  accepts("should NOT emit warning when CooldownPeriod is not set", toObject(WITH_IDLE)),
  accepts(
    "should emit both warnings when both PollingInterval and CooldownPeriod are misconfigured",
    toObject({ ...NO_IDLE, ...POLLING, ...COOLDOWN, "spec.minReplicaCount": 2 }),
    { findings: [NO_COOLDOWN, NO_POLLING] },
  ),
  accepts(
    "should emit no warnings when both are properly configured with idleReplicaCount = 0",
    toObject({ ...IDLE_ZERO, ...POLLING, ...COOLDOWN }),
  ),
];

/** One for each test of the file. */
export const WEBHOOK_CASES: readonly WebhookCase[] = [
  ...WRITERS,
  ...COUNTS,
  ...NAMES,
  ...REQUESTS,
  ...FORMULAS,
  ...WARNINGS,
];

/** What tests mean and do not reach, and what they do not look at. */
export const MEANT_CASES: readonly WebhookCase[] = [
  refuses(
    "a fallback with only cpu and memory triggers",
    toObject({ "spec.triggers": [CPU, MEMORY], "spec.fallback": FALLBACK }),
    ["invalid spec.fallback"],
  ),
  refuses("a cpu trigger with AverageValue and no request", toObject({ "spec.triggers": [CRON, AMOUNT] }), [], {
    others: [workload({})],
    differs: "average-value",
  }),
  accepts(
    "a cpu trigger without metricType",
    toObject({ "spec.triggers": [CRON, { type: "cpu", metadata: { value: "10" } }] }),
    { findings: ["invalid spec.triggers[1].metricType"], differs: "metric-type" },
  ),
];
