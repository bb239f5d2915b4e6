/**
 * Which values can the chart be given? Each flip is one value that differs from the chart's own, out of the schema: each
 * boolean, each member of an enum, each example of what has no closed list.
 */
import { parse } from "../../lib/runtime/yaml.ts";
import { CHART, type Values } from "../../tools/helm.ts";

/** What the schema says of a value. */
export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly description?: string;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** A value by its path, e.g. `image.tag`. */
export interface Leaf {
  readonly path: string;
  readonly schema: ValueSchema;
  /** `undefined` where the chart has none. */
  readonly fallback: unknown;
}

export interface Flip {
  /** e.g. `log.level=debug` */
  readonly name: string;
  readonly path: string;
  readonly value: unknown;
  /** What has to be given beside it, as it means nothing by itself or contradicts the chart's own values. */
  readonly beside: Values;
  readonly values: Values;
}

/** By path, or by path and value: what a flip is given with. */
const BESIDE: Readonly<Record<string, Values>> = {
  "statsSource=cgroup": { mode: "node-local", statsSource: "kubelet" },
  "statsSource=kubelet": { mode: "node-local" },
  "leaderElection.enabled": { replicas: 1 },
  "kubelet.ca.configMap.key": { kubelet: { ca: { configMap: { name: "ca" } } } },
  "kubelet.ca.secret.key": { kubelet: { ca: { secret: { name: "ca" } } } },
  "agent.features.podResourceAutoscalersEnabled=true": { enabled: false },
  "global.features.podResourceAutoscalersEnabled=true": { enabled: false },
  "agent.features.praRequiresAnnotatedPods=false": { requireAnnotation: true },
  "global.features.praRequiresAnnotatedPods=false": { requireAnnotation: true },
  "updateStrategy.maxUnavailable": { mode: "node-local" },
  "networkPolicy.metricsFrom": { networkPolicy: { enabled: true } },
  "networkPolicy.recordsFrom": { networkPolicy: { enabled: true } },
  "networkPolicy.apiServerCidrs": { networkPolicy: { enabled: true } },
  "networkPolicy.apiServerPorts": { networkPolicy: { enabled: true } },
  "networkPolicy.kubeletCidrs": { networkPolicy: { enabled: true } },
  "networkPolicy.kubeletPorts": { networkPolicy: { enabled: true } },
  "serviceMonitor.interval": { serviceMonitor: { enabled: true } },
  "serviceMonitor.scrapeTimeout": { serviceMonitor: { enabled: true } },
  "serviceMonitor.labels": { serviceMonitor: { enabled: true } },
  "serviceMonitor.tlsConfig": { serviceMonitor: { enabled: true }, metrics: { tls: { secretName: "tls" } } },
  "podMonitor.interval": { podMonitor: { enabled: true } },
  "podMonitor.scrapeTimeout": { podMonitor: { enabled: true } },
  "podMonitor.labels": { podMonitor: { enabled: true } },
  "podMonitor.tlsConfig": { podMonitor: { enabled: true }, metrics: { tls: { secretName: "tls" } } },
  "podMonitor.tokenSecret.name": {
    podMonitor: { enabled: true, tokenSecret: { name: "other" } },
    metrics: { auth: true },
  },
  "podMonitor.tokenSecret.key": {
    podMonitor: { enabled: true, tokenSecret: { name: "token" } },
    metrics: { auth: true },
  },
  "networkPolicy.triggerEgress": { networkPolicy: { enabled: true } },
  "scaledObjects.mode=off": { scaledObjects: { enabled: true } },
  "scaledObjects.installDefinitions": { scaledObjects: { enabled: true }, crds: { install: true } },
  "scaledObjects.secretNamespaces": { scaledObjects: { enabled: true } },
  "scaledObjects.clusterObjectNamespace": { scaledObjects: { enabled: true } },
  "scaledObjects.maxTriggerAnswer": { scaledObjects: { enabled: true } },
  "scaledObjects.kedaDeactivation": { scaledObjects: { enabled: true } },
  "scaledObjects.maxDeactivationsPerMinute": { scaledObjects: { enabled: true } },
  "scaledObjects.clusterCredentialsAnywhere": { scaledObjects: { enabled: true } },
  "scaledObjects.plainHttpCredentials": { scaledObjects: { enabled: true } },
  "scaledObjects.requireSecretLabel": { scaledObjects: { enabled: true } },
  "metricsApis.enabled": { scaledObjects: { enabled: true } },
  "scaledObjects.triggerAllow": { scaledObjects: { enabled: true } },
  "scaledObjects.triggerDeny": { scaledObjects: { enabled: true } },
  "scaledObjects.transferHpas": { scaledObjects: { enabled: true } },
  "scaledObjects.serviceEndpoints": { scaledObjects: { enabled: true } },
  "serviceAccount.create": { serviceAccount: { name: "resizer" } },
  "crds.install": { crds: { install: true } },
  "crds.keep": { crds: { install: true } },
  "prometheusRule.labels": { prometheusRule: { enabled: true } },
  "sidecar.serviceAccounts": { mode: "sidecar" },
  "namespace.labels": { namespace: { create: true } },
};

/** The values that the chart has and what they may be. */
export async function readLeaves(): Promise<readonly Leaf[]> {
  const schema: ValueSchema = JSON.parse(await Deno.readTextFile(`${CHART}/values.schema.json`));
  return listLeaves(schema, { path: "", fallback: parse(await Deno.readTextFile(`${CHART}/values.yaml`)) });
}

function listLeaves(schema: ValueSchema, at: Pick<Leaf, "path" | "fallback">): readonly Leaf[] {
  if (schema.properties === undefined) return [{ ...at, schema }];
  return Object.entries(schema.properties).flatMap(([name, inside]) => {
    const fallback = isObject(at.fallback) ? at.fallback[name] : undefined;
    return listLeaves(inside, { path: at.path === "" ? name : `${at.path}.${name}`, fallback });
  });
}

/** Every value that a leaf may have, as far as they can be counted, but for the chart's own. */
export function listFlips(leaves: readonly Leaf[]): readonly Flip[] {
  return leaves.flatMap(({ path, schema, fallback }) => {
    const all = schema.type === "boolean" ? [true, false] : schema.enum ?? schema.examples ?? [];
    const others = all.filter((value) => JSON.stringify(value) !== JSON.stringify(fallback));
    return others.map((value) => toFlip(path, value));
  });
}

function toFlip(path: string, value: unknown): Flip {
  const name = `${path}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  const beside = BESIDE[name] ?? BESIDE[path] ?? {};
  return { name, path, value, beside, values: merge(beside, nest(path, value)) };
}

function nest(path: string, value: unknown): Values {
  return path.split(".").reduceRight<unknown>((inside, name) => ({ [name]: inside }), value) as Values;
}

/** Values with others over them, as Helm merges files of values. */
export function merge(under: Values, over: Values): Values {
  const both = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const before = both[name];
    both[name] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return both;
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
