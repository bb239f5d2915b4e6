/** What the lists of good and bad ScaledObjects are made of: a base, edits by path, and a trigger of each type. */
import { applyEdits, type Edits, type Manifest } from "./manifests.ts";

/** The base, edited; `undefined` removes a field. A path goes into lists by index: `spec.triggers.0.metadata.query`. */
export function toScaledObject(edits: Edits): Manifest {
  return applyEdits(BASE, edits);
}

const BASE: Manifest = {
  apiVersion: "keda.sh/v1alpha1",
  kind: "ScaledObject",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    scaleTargetRef: { name: "web" },
    triggers: [{
      type: "prometheus",
      metadata: { serverAddress: "http://prometheus:9090", query: "up", threshold: "10" },
    }],
  },
};

export const TRIGGER = "spec.triggers.0";
export const METADATA = "spec.triggers.0.metadata";
export const UP = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp";
export const DOWN = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown";
export const MODIFIERS = "spec.advanced.scalingModifiers";

export const CPU = { type: "cpu", metricType: "Utilization", metadata: { value: "60" } };
export const MEMORY = { type: "memory", metricType: "AverageValue", metadata: { value: "512Mi" } };
export const CRON = {
  type: "cron",
  metadata: { timezone: "Europe/Berlin", start: "0 8 * * 1-5", end: "0 18 * * 1-5", desiredReplicas: "10" },
};
export const OBJECT = {
  type: "kubernetes-resource",
  metadata: { resourceKind: "ConfigMap", resourceName: "queue", key: "length", targetValue: "5" },
};
export const WORKLOAD = { type: "kubernetes-workload", metadata: { podSelector: "app=worker", value: "2" } };
export const METRICS_API = {
  type: "metrics-api",
  metadata: { url: "http://queue/stats", valueLocation: "queue.length", targetValue: "5" },
};
export const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "http://prometheus:9090", query: "up", threshold: "10" },
};

/** Edits that put one trigger in place of the base's, with changes of its metadata. */
export function trigger(base: Readonly<Record<string, unknown>>, changes: Edits = {}): Edits {
  const metadata = { ...(base["metadata"] as Edits), ...changes };
  const isSet = ([, value]: readonly [string, unknown]) => value !== undefined;
  return {
    // Two kinds alone need a floor of their own.
    ...(base["metricType"] === undefined ? {} : { "spec.minReplicaCount": 1 }),
    "spec.triggers": [{ ...base, metadata: Object.fromEntries(Object.entries(metadata).filter(isSet)) }],
  };
}

/** A trigger that a formula may name. */
export function named(base: Readonly<Record<string, unknown>>, name: string): unknown {
  return { ...base, name };
}
