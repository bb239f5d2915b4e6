/**
 * ScaledObjects as people have them. SAMPLES are what KEDA's documentation shows for the triggers and for each feature; the
 * rest lies just inside a bound.
 */
import type { Edits, Manifest } from "./manifests.ts";
import {
  CPU,
  CRON,
  DOWN,
  MEMORY,
  METADATA,
  METRICS_API,
  MODIFIERS,
  named,
  OBJECT,
  PROMETHEUS,
  toScaledObject,
  TRIGGER,
  trigger,
  UP,
  WORKLOAD,
} from "./scaled_objects.ts";

export interface GoodScaledObject {
  readonly sentence: string;
  readonly manifest: Manifest;
}

/** The triggers of the two examples with formulas. */
const ONE_AND_TWO = [
  { type: "kubernetes-workload", name: "trig_one", metadata: { podSelector: "pod=workload-test" } },
  {
    type: "metrics-api",
    name: "trig_two",
    metadata: { url: "https://mockbin.org/bin/336a8d99-9e09-4f1f-979d-851a6d1b1423", valueLocation: "tasks" },
  },
];
const THREE = [...ONE_AND_TWO, named(PROMETHEUS, "trig_three")];

const GOOD: readonly (readonly [sentence: string, edits: Edits])[] = [
  ["a pause by annotation, at a number of replicas", {
    "metadata.annotations": { "autoscaling.keda.sh/paused-replicas": "0", "autoscaling.keda.sh/paused": "true" },
  }],
  ["a formula that composes an average", {
    ...formula("(trig_one + trig_two)/2"),
    [`${MODIFIERS}.activationTarget`]: "2",
    [`${MODIFIERS}.metricType`]: "AverageValue",
  }],
  ["a formula with a condition", formula("trig_one > 2 ? trig_one + trig_two : 1")],
  ["a formula that counts", {
    ...formula("count([trig_one,trig_two,trig_three],{#>1}) > 1 ? 5 : 0"),
    "spec.triggers": THREE,
  }],
  ["a formula with nested conditions", formula("trig_one < 2 ? trig_one+trig_two >= 2 ? 5 : 10 : 0")],
  ["the transfer of an HPA", {
    "metadata.annotations": { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
    "spec.advanced": { horizontalPodAutoscalerConfig: { name: "web-hpa" } },
  }],
  ["validation of HPAs switched off", { "metadata.annotations": { "validations.keda.sh/hpa-ownership": "true" } }],
  ["an activation threshold", trigger(PROMETHEUS, { activationThreshold: "50" })],
  ["everything that a ScaledObject may have", {
    "spec.scaleTargetRef": { apiVersion: "apps/v1", kind: "Deployment", name: "web", envSourceContainerName: "app" },
    "spec.pollingInterval": 30,
    "spec.cooldownPeriod": 300,
    "spec.initialCooldownPeriod": 0,
    "spec.idleReplicaCount": 0,
    "spec.minReplicaCount": 1,
    "spec.maxReplicaCount": 100,
    "spec.fallback": { failureThreshold: 3, replicas: 6, behavior: "static" },
    "spec.advanced": {
      restoreToOriginalReplicaCount: false,
      horizontalPodAutoscalerConfig: {
        name: "keda-hpa-web",
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 300,
            policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
          },
        },
      },
    },
  }],
  ["cpu by utilization", trigger(CPU)],
  ["cpu of one container", trigger(CPU, { containerName: "app" })],
  ["cpu by average", trigger({ ...CPU, metricType: "AverageValue" }, { value: "250m" })],
  ["cpu with a baseline", trigger(CPU, { baseline: "initial" })],
  ["cpu with a baseline by its earlier word", trigger(CPU, { baseline: "born" })],
  ["cpu with an amount for baseline", trigger(CPU, { baseline: "500m" })],
  ["a utilization as strconv.ParseInt takes it", trigger(CPU, { value: " +060 " })],
  ["memory", trigger(MEMORY)],
  ["memory by utilization above the request", trigger({ ...MEMORY, metricType: "Utilization" }, { value: "150" })],
  ["cpu and cron, so that there may be none", { "spec.minReplicaCount": 0, "spec.triggers": [CPU, CRON] }],
  ["cpu alone with min 0 on another kind", {
    ...trigger(CPU),
    "spec.minReplicaCount": 0,
    "spec.scaleTargetRef": { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "web" },
  }],
  ["a kind and a version with hyphens, which a CRD may have", {
    "spec.scaleTargetRef": { apiVersion: "example.com/v1-beta", kind: "Web-App", name: "web" },
  }],
  ["cron", trigger(CRON, { timezone: "Asia/Kolkata", start: "30 * * * *", end: "45 * * * *" })],
  ["cron by Value", trigger({ ...CRON, metricType: "" })],
  [
    "kubernetes-workload",
    trigger(WORKLOAD, { podSelector: "app=backend, deploy notin (critical, monolith)", value: "0.5" }),
  ],
  ["kubernetes-resource", trigger(OBJECT)],
  [
    "kubernetes-resource in JSON of a Secret",
    trigger(OBJECT, { resourceKind: "Secret", format: "json", valueLocation: "a.b", valueType: "quantity" }),
  ],
  ["kubernetes-workload by node", trigger(WORKLOAD, { groupByNode: "true", activationValue: "3.1" })],
  ["metrics-api", trigger(METRICS_API, { activationTargetValue: "3.8", valueLocation: "components.worker.tasks" })],
  [
    "metrics-api with prometheus",
    trigger(METRICS_API, { format: "prometheus", valueLocation: 'http_requests_total{method="post",code="400"}' }),
  ],
  ["metrics-api with yaml", trigger(METRICS_API, { format: "yaml", valueLocation: "items.0.count" })],
  [
    "metrics-api with a key of a secret",
    trigger({ ...METRICS_API, authenticationRef: { name: "queue" } }, {
      authMode: "apiKey",
      method: "query",
      keyParamName: "token",
    }),
  ],
  ["metrics-api with a key of its own", trigger(METRICS_API, { authMode: "apiKey", apiKey: "k" })],
  [
    "metrics-api that asks all endpoints of a Service",
    trigger(METRICS_API, {
      url: "http://queue.shop.svc.cluster.local:8080/stats",
      aggregateFromKubeServiceEndpoints: "true",
      aggregationType: "sum",
    }),
  ],
  [
    "prometheus with OAuth",
    trigger({ ...PROMETHEUS, authenticationRef: { name: "oauth" } }, { authModes: "oauth,custom" }),
  ],
  ["metrics-api that aggregates nothing", trigger(METRICS_API, { aggregateFromKubeServiceEndpoints: "false" })],
  [
    "prometheus as documented",
    trigger({ ...PROMETHEUS, authenticationRef: { name: "prom", kind: "ClusterTriggerAuthentication" } }, {
      query: 'sum(rate(http_requests_total{deployment="my-deployment"}[2m]))',
      threshold: "100.50",
      activationThreshold: "5.5",
      namespace: "example-namespace",
      customHeaders: "X-Client-Id=cid,X-Tenant-Id=tid,X-Organization-Id=oid",
      ignoreNullValues: "false",
      queryParameters: "key-1=value-1,key-2=value-2",
      unsafeSsl: "false",
      timeout: "1000",
      authModes: "bearer",
    }),
  ],
  ["prometheus by Value, cached", { [`${TRIGGER}.metricType`]: "Value", [`${TRIGGER}.useCachedMetrics`]: true }],
  ["the least threshold", trigger(PROMETHEUS, { threshold: "0.0005" })],
  ["a threshold of a formula that could not stand alone", {
    ...formula("a"),
    "spec.triggers": [named({ ...PROMETHEUS, metadata: { ...PROMETHEUS.metadata, threshold: "0" } }, "a")],
  }],
  ["the least target of a formula", { ...formula("trig_one"), [`${MODIFIERS}.target`]: "0.001" }],
  ["empty scalingModifiers, which are none", { [MODIFIERS]: { formula: "" } }],
  ["a formula and cpu, with a fallback", {
    ...formula("trig_one ?? 3"),
    "spec.triggers": [...ONE_AND_TWO, CPU],
    "spec.fallback": { failureThreshold: 0, replicas: 0, behavior: "scalingModifiers" },
  }],
  ["the widest windows and policies", {
    [UP]: { stabilizationWindowSeconds: 3600, selectPolicy: "Disabled", tolerance: 0 },
    [DOWN]: { policies: [{ type: "Pods", value: 1, periodSeconds: 1800 }], selectPolicy: "Min", tolerance: "0.0005" },
  }],
  ["min equal to max", { "spec.minReplicaCount": 100, "spec.maxReplicaCount": 100 }],
  ["idle below an explicit min 0, which counts as 1", { "spec.minReplicaCount": 0, "spec.idleReplicaCount": 0 }],
  ["null for what is not set", { "spec.pollingInterval": null, "spec.advanced": null, "spec.fallback": null }],
  ["empty texts for what is not set", {
    "spec.scaleTargetRef": { name: "web", apiVersion: "", kind: "", envSourceContainerName: "" },
    [`${TRIGGER}.name`]: "",
    [`${METADATA}.namespace`]: "",
  }],
  ["a field that a newer KEDA may have", { "spec.paused": true, [`${TRIGGER}.weight`]: 2 }],
];

export const GOOD_SCALED_OBJECTS: readonly GoodScaledObject[] = GOOD.map(([sentence, edits]) => ({
  sentence,
  manifest: toScaledObject(edits),
}));

function formula(text: string): Edits {
  return { [MODIFIERS]: { formula: text, target: "2" }, "spec.triggers": ONE_AND_TWO };
}
