/** ScaledObjects, workloads and HPAs as KEDA's webhook tests make them. */
import { applyEdits, type Edits, type Manifest } from "../support/manifests.ts";

const WORKLOAD = "deployment-name";

export const CRON = {
  type: "cron",
  metadata: { timezone: "UTC", start: "0 * * * *", end: "1 * * * *", desiredReplicas: "1" },
};
export const CPU = { type: "cpu", metricType: "Utilization", metadata: { value: "10" } };
export const MEMORY = { type: "memory", metricType: "Utilization", metadata: { value: "10" } };
export const PODS = { type: "kubernetes-workload", metadata: { podSelector: "pod=workload-test", value: "1" } };
export const WITH_RESOURCES = { "spec.triggers": [CRON, CPU, MEMORY] };

const BASE: Manifest = {
  apiVersion: "keda.sh/v1alpha1",
  kind: "ScaledObject",
  metadata: { name: "test-so", creationTimestamp: "2026-11-20T10:00:00Z" },
  spec: {
    scaleTargetRef: { name: WORKLOAD, apiVersion: "apps/v1", kind: "Deployment" },
    idleReplicaCount: 1,
    minReplicaCount: 5,
    maxReplicaCount: 10,
    triggers: [CRON],
  },
};

export function toObject(edits: Edits = {}): Manifest {
  return applyEdits(BASE, edits);
}

export const CONFIG = "spec.advanced.horizontalPodAutoscalerConfig";
export const NO_IDLE = { "spec.idleReplicaCount": undefined };

/** From 0 to 5 replicas without an idle count. */
export function toZeroObject(minReplicaCount: number, triggers: readonly unknown[]): Manifest {
  return toObject({
    ...NO_IDLE,
    "spec.minReplicaCount": minReplicaCount,
    "spec.maxReplicaCount": 5,
    "spec.cooldownPeriod": 1,
    "spec.triggers": triggers,
  });
}

/** With the triggers of the formula's names. */
export function toFormulaObject(scalingModifiers: Edits, triggers: readonly unknown[]): Manifest {
  return applyEdits(toZeroObject(0, triggers), { "spec.maxReplicaCount": 10, "spec.advanced": { scalingModifiers } });
}

export function named(trigger: object, name: string): unknown {
  return { ...trigger, name };
}

export const CRON_AND_PODS = [named(CRON, "cron_trig"), named(PODS, "workload_trig")];
export const ONE_AND_TWO = [named(CRON, "trig_one"), named(PODS, "trig_two")];

type Requests = Readonly<Partial<Record<"cpu" | "memory", string>>>;

export const BOTH: Requests = { cpu: "100m", memory: "64Mi" };

/** The workload of the object. */
export function workload(requests: Requests = BOTH, edits: Edits = {}): Manifest {
  const labels = { test: "test" };
  const spec = { containers: [{ name: "test", image: "test", resources: { requests } }] };
  return applyEdits({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: WORKLOAD },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }, edits);
}

export const STATEFUL = { kind: "StatefulSet" };
export const TO_STATEFUL = { "spec.scaleTargetRef.kind": "StatefulSet" };
export const POD_LEVEL = "spec.template.spec.resources";
export const LIMITS = "spec.template.spec.containers.0.resources.limits";
export const OTHER_LABELS = {
  "spec.selector.matchLabels.test": "other",
  "spec.template.metadata.labels.test": "other",
};

export function hpa(name: string, edits: Edits = {}): Manifest {
  return applyEdits({
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: {
      scaleTargetRef: { name: WORKLOAD, apiVersion: "apps/v1", kind: "Deployment" },
      minReplicas: 5,
      maxReplicas: 10,
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "30" } } }],
    },
  }, edits);
}

export const OWN_HPA = hpa("test-so-hpa", {
  "metadata.ownerReferences": [{
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    name: "test-so",
    uid: "test-so",
  }],
});
export const TRANSFER = { "metadata.annotations": { "scaledobject.keda.sh/transfer-hpa-ownership": "true" } };
