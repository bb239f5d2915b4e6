/**
 * Objects as the API has them, for a fake API server: a pod with one container "main" (100m of 1 cpu, 128Mi of 256Mi),
 * its deployment, node and autoscaler; and what a resize and its enactment make of a pod.
 */
import { START } from "../../lib/sim/virtual_clock.ts";

/** An object of the API: whatever JSON it is. */
// deno-lint-ignore no-explicit-any
export type Json = any;

const HOUR_AGO = toTime(START - 3_600_000);

export function podObject(overrides: Json = {}): Json {
  const { name = "web-1", labels = { app: "web" }, node = "node1", sidecar = false, requests, limits } = overrides;
  const resources = {
    requests: { cpu: "100m", memory: "128Mi", ...requests },
    limits: { cpu: "1", memory: "256Mi", ...limits },
  };
  const container = { name: "main", image: "app", resources };
  const extra = sidecar ? { initContainers: [{ name: "proxy", restartPolicy: "Always", resources }] } : {};
  const one = (of: string) => ({
    name: of,
    ready: true,
    containerID: `containerd://${name}-${of}`,
    state: { running: { startedAt: HOUR_AGO } },
    resources,
    allocatedResources: resources.requests,
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      uid: `uid-${name}`,
      labels,
      generation: 1,
      annotations: overrides.annotations,
    },
    spec: { nodeName: node, containers: [container], ...extra },
    status: {
      phase: "Running",
      qosClass: "Burstable",
      observedGeneration: 1,
      conditions: ["Ready", "ContainersReady"].map((type) => ({ type, status: "True", lastTransitionTime: HOUR_AGO })),
      containerStatuses: [one("main")],
      ...(sidecar ? { initContainerStatuses: [one("proxy")] } : {}),
    },
  };
}

/** Up from 80 %, down to 40 %, target 60 % of the cpu request; 2 samples, each 5s, cooldown 1m. */
export function autoscalerObject(overrides: Json = {}): Json {
  const { name = "web", generation = 1, policy, ...spec } = overrides;
  return {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name, namespace: "shop", uid: `uid-${name}-autoscaler`, generation },
    spec: {
      target: { kind: "deployment", name: "web" },
      containerName: "main",
      policy: {
        pollInterval: "5s",
        consecutiveSamples: 2,
        cooldown: "1m",
        after: "running",
        delay: "0s",
        cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 } },
        ...policy,
      },
      ...spec,
    },
  };
}

export function deploymentObject(name = "web"): Json {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "shop", uid: `uid-${name}-deployment`, generation: 1 },
    spec: { selector: { matchLabels: { app: name } } },
  };
}

export function nodeObject(name = "node1"): Json {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `uid-${name}` },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      capacity: { cpu: "8", memory: "32Gi" },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  };
}

/** What the API server makes of an accepted PATCH of pods/resize. */
export function resizePod(before: Json, patch: Json, { manager, at }: { manager: string; at: number }): Json {
  const pod = structuredClone(before);
  const owned: Json = {};
  for (const list of ["containers", "initContainers"]) {
    for (const { name, resources } of patch.spec[list] ?? []) {
      const container = pod.spec[list].find((one: Json) => one.name === name);
      container.resources = mergePatch(container.resources, resources);
      const fields = Object.entries<Json>(resources).map(([side, amounts]) => [`f:${side}`, toFields(amounts)]);
      owned[`f:${list}`] = { [`k:{"name":"${name}"}`]: { "f:resources": Object.fromEntries(fields) } };
    }
  }
  const { managedFields = [], generation } = pod.metadata;
  pod.metadata.generation = generation + 1;
  pod.metadata.managedFields = [
    ...managedFields.filter((one: Json) => one.manager !== manager),
    {
      manager,
      operation: "Update",
      apiVersion: "v1",
      time: toTime(at),
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": owned },
      subresource: "resize",
    },
  ];
  return pod;
}

function toFields(amounts: Json): Json {
  return Object.fromEntries(Object.keys(amounts).map((key) => [`f:${key}`, {}]));
}

/** The kubelet has done what the spec says. */
export function enact(pod: Json): void {
  pod.status.observedGeneration = pod.metadata.generation;
  for (const [list, statuses] of [["containers", "containerStatuses"], ["initContainers", "initContainerStatuses"]]) {
    for (const status of pod.status[statuses ?? ""] ?? []) {
      const { resources } = pod.spec[list ?? ""].find((one: Json) => one.name === status.name);
      Object.assign(status, { resources, allocatedResources: resources.requests });
    }
  }
}

/** RFC 7386. */
export function mergePatch(target: Json, patch: Json): Json {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged = typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

export function toTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
