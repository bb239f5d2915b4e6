/** ScaledObjects of a plain cluster, and the Deployments that they scale: these are no more than a number of replicas. */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import type { Json } from "../../support/api_objects.ts";
import type { PlainCluster } from "./plain_cluster.ts";

const CRDS = ["scaledobject", "triggerauthentication", "clustertriggerauthentication"]
  .map((name) => new URL(`../../../crds/${name}.yaml`, import.meta.url));

/** From now on there are ScaledObjects and the authentications of their triggers. */
export async function defineKeda(cluster: PlainCluster): Promise<void> {
  for (const file of CRDS) {
    for (const one of parseAll(await Deno.readTextFile(file))) cluster.put("customresourcedefinitions", one);
  }
}

/** With one replica; `containers` of its template. */
export function putDeployment(
  cluster: PlainCluster,
  { name, namespace, containers = [{ name: "main", image: "app" }] }: {
    readonly name: string;
    readonly namespace: string;
    readonly containers?: readonly Json[];
  },
): void {
  cluster.put("deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, uid: `uid-${name}-deployment`, generation: 1 },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers } },
    },
    status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1 },
  });
}

/** A trigger that reads one number of a JSON page, with a target of 10. */
export function toTrigger(url: string, own: Json = {}): Json {
  const { metadata = {}, ...rest } = own;
  return { type: "metrics-api", metadata: { url, valueLocation: "value", targetValue: "10", ...metadata }, ...rest };
}

/** Of the Deployment of its name; it reads its triggers each 5 s, and goes down as soon as they do. */
export function putScaledObject(
  cluster: PlainCluster,
  { name, namespace, triggers, spec = {}, generation = 1 }: {
    readonly name: string;
    readonly namespace: string;
    readonly triggers: readonly Json[];
    readonly spec?: Json;
    readonly generation?: number;
  },
): void {
  const { advanced = {}, ...rest } = spec;
  const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
  cluster.put("scaledobjects", {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name, namespace, uid: `uid-${name}-scaled-object`, generation, creationTimestamp: CREATED },
    spec: {
      scaleTargetRef: { name },
      minReplicaCount: 1,
      maxReplicaCount: 8,
      pollingInterval: 5,
      triggers,
      advanced: { horizontalPodAutoscalerConfig: { behavior }, ...advanced },
      ...rest,
    },
  });
}

const CREATED = "2026-11-20T10:00:00Z";

/** The Deployments have as many pods as they should: none of them is more than a number. */
export function enactScales(cluster: PlainCluster): void {
  for (const deployment of cluster.list("deployments")) {
    const { metadata, spec, status } = deployment;
    if (status === undefined || spec.replicas === status.replicas) continue;
    const replicas = spec.replicas;
    const next = { observedGeneration: metadata.generation, replicas, readyReplicas: replicas };
    cluster.put("deployments", { ...deployment, status: { ...next, availableReplicas: replicas } });
  }
}
