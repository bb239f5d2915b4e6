/**
 * Objects as the API has them: a pod with one container "main" (100m of 1 cpu, 128Mi of 256Mi), its deployment, node and
 * autoscaler; and what a kubelet that enacts a resize makes of a pod.
 */
import { formatTime } from "../../lib/units/time.ts";
import { VIRTUAL_START_AT } from "./virtual_clock.ts";

/** An object of the API: whatever JSON it is. */
// deno-lint-ignore no-explicit-any
export type Json = any;

const HOUR_AGO = formatTime(VIRTUAL_START_AT - 3_600_000);

export function podObject(overrides: Json = {}): Json {
  const { name = "web-1", labels = { app: "web" }, node = "node1", sidecar = false, requests, limits } = overrides;
  const resources = {
    requests: { cpu: "100m", memory: "128Mi", ...requests },
    limits: { cpu: "1", memory: "256Mi", ...limits },
  };
  const container = { name: "main", image: "app", resources };
  const extra = sidecar
    ? { initContainers: [{ name: "proxy", image: "proxy", restartPolicy: "Always", resources }] }
    : {};
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
