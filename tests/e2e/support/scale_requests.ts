/**
 * What is asked of /scale, of HorizontalPodAutoscalers and of what a trigger reads, as requests.ts has it for the rest.
 * The workloads ask for no pod, or for one that nobody schedules.
 */
import { type ApiRequest, APPLY, get, JSON_PATCH, MERGE, patch, post, put, remove, STRATEGIC } from "./ask.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/NS/deployments";
const SETS = "/apis/apps/v1/namespaces/NS/statefulsets";
const REPLICAS = "/apis/apps/v1/namespaces/NS/replicasets";
const HPAS = "/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers";
const MAPS = "/api/v1/namespaces/NS/configmaps";
const SECRETS = "/api/v1/namespaces/NS/secrets";
const SCALE = `${DEPLOYMENTS}/scaled/scale`;

type Json = Readonly<Record<string, unknown>>;

export const SCALE_REQUESTS: readonly ApiRequest[] = [
  // The scale of a deployment: what it says, who then owns the replicas, and what is refused.
  post("a deployment to scale", DEPLOYMENTS, toWorkload("Deployment", "scaled")),
  get("its scale", SCALE),
  put("a scale of two", SCALE, toScale({ replicas: 2 })),
  get("who owns its replicas", `${DEPLOYMENTS}/scaled`),
  put("the same scale by another manager", `${SCALE}?fieldManager=other`, toScale({ replicas: 2 })),
  get("who owns them still", `${DEPLOYMENTS}/scaled`),
  put("a scale of three by another manager", `${SCALE}?fieldManager=other`, toScale({ replicas: 3 })),
  get("who owns them now", `${DEPLOYMENTS}/scaled`),
  put("a scale with its uid", SCALE, toScale({ replicas: 3 }, { uid: "uid(Deployment/scaled)" })),
  put("a scale of another uid", SCALE, toScale({ replicas: 3 }, { uid: "00000000-0000-0000-0000-000000000000" })),
  put("a scale at a stale version", SCALE, toScale({ replicas: 4 }, { resourceVersion: "1" })),
  put("a scale below zero", SCALE, toScale({ replicas: -1 })),
  put("a scale below zero at a stale version", SCALE, toScale({ replicas: -1 }, { resourceVersion: "1" })),
  put("a scale of a text", SCALE, toScale({ replicas: "2" })),
  put("a scale of a half", SCALE, toScale({ replicas: 1.5 })),
  put("a scale beyond 32 bits", SCALE, toScale({ replicas: 2 ** 31 })),
  put("a scale of another name", SCALE, toScale({ replicas: 2 }, { name: "else" })),
  put("a scale of another namespace", SCALE, toScale({ replicas: 2 }, { namespace: "default" })),
  put("a scale without a name", SCALE, { spec: { replicas: 2 } }),
  put("a scale of another kind", SCALE, { ...toScale({ replicas: 2 }), kind: "Deployment", apiVersion: "apps/v1" }),
  put("a scale of an old version", SCALE, {
    ...toScale({ replicas: 2 }),
    kind: "Scale",
    apiVersion: "extensions/v1beta1",
  }),
  put("a dry scale", `${SCALE}?dryRun=All`, toScale({ replicas: 4 })),
  put(
    "an unknown field of a scale, strictly",
    `${SCALE}?fieldValidation=Strict`,
    toScale({ replicas: 3, colour: "red" }),
  ),
  put("a scale without a spec", SCALE, { metadata: { name: "scaled" } }),
  get("who owns replicas of zero", `${DEPLOYMENTS}/scaled`),
  put("a scale of one again", `${SCALE}?fieldManager=other`, toScale({ replicas: 1 })),
  put("a scale whose status is made up", SCALE, {
    ...toScale({ replicas: 1 }),
    status: { replicas: 9, selector: "a=b" },
  }),
  put(
    "a scale of labels and annotations",
    SCALE,
    toScale({ replicas: 1 }, { labels: { a: "b" }, annotations: { c: "d" } }),
  ),
  get("what they became", `${DEPLOYMENTS}/scaled`),
  patch("a scale", MERGE, SCALE, { spec: { replicas: 2 } }),
  patch("a scale strategically", STRATEGIC, SCALE, { spec: { replicas: 3 } }),
  patch("a scale by operations", JSON_PATCH, SCALE, [{ op: "replace", path: "/spec/replicas", value: 4 }]),
  patch("a scale whose test fails", JSON_PATCH, SCALE, [
    { op: "test", path: "/spec/replicas", value: 9 },
    { op: "replace", path: "/spec/replicas", value: 4 },
  ]),
  patch("a scale to nothing", MERGE, SCALE, { spec: null }),
  patch("a scale that has no spec", JSON_PATCH, SCALE, [{ op: "add", path: "/spec/replicas", value: 1 }]),
  patch("a scale below zero", MERGE, SCALE, { spec: { replicas: -2 } }),
  patch("a scale to a text", MERGE, SCALE, { spec: { replicas: "many" } }),
  patch("a scale at a stale version", MERGE, SCALE, { metadata: { resourceVersion: "1" }, spec: { replicas: 2 } }),
  patch("a scale of metadata alone", MERGE, SCALE, { metadata: { labels: { a: "b" } } }),
  patch("a scale in an unknown format", "application/x", SCALE, { spec: { replicas: 2 } }),
  get("who owns them before an apply", `${DEPLOYMENTS}/scaled`),
  patch("an applied scale", APPLY, `${SCALE}?fieldManager=applier`, {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "scaled" },
    spec: { replicas: 5 },
  }),
  patch("an applied scale by force", APPLY, `${SCALE}?fieldManager=applier&force=true`, {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "scaled" },
    spec: { replicas: 5 },
  }),
  get("who owns applied replicas", `${DEPLOYMENTS}/scaled`),
  put("a scale against what was applied", SCALE, toScale({ replicas: 0 })),
  get("who owns none", `${DEPLOYMENTS}/scaled`),
  put("the scale of what is not there", `${DEPLOYMENTS}/none/scale`, toScale({ replicas: 1 }, { name: "none" })),
  patch("the scale of what is not there", MERGE, `${DEPLOYMENTS}/none/scale`, { spec: { replicas: 1 } }),
  post("a scale", SCALE, toScale({ replicas: 1 })),
  remove("a scale", SCALE),
  get("a list of scales", `${DEPLOYMENTS}/scale`),
  remove("a scaled deployment", `${DEPLOYMENTS}/scaled`, { propagationPolicy: "Background" }),

  // Selectors as text.
  post(
    "a selector of expressions",
    DEPLOYMENTS,
    toWorkload("Deployment", "expressed", {
      selector: {
        matchLabels: { tier: "a", app: "expressed" },
        matchExpressions: [
          { key: "zone", operator: "In", values: ["z", "y"] },
          { key: "app", operator: "NotIn", values: ["b", "a"] },
          { key: "tier", operator: "Exists" },
          { key: "old", operator: "DoesNotExist" },
          { key: "env", operator: "In", values: ["only"] },
        ],
      },
      template: {
        metadata: { labels: { tier: "a", app: "expressed", zone: "y", env: "only" } },
        spec: { containers: [toContainer()] },
      },
    }),
  ),
  get("a selector as text", `${DEPLOYMENTS}/expressed/scale`),
  remove("a deployment of expressions", `${DEPLOYMENTS}/expressed`, { propagationPolicy: "Background" }),

  // The others that have one.
  post("a stateful set to scale", SETS, toWorkload("StatefulSet", "set")),
  get("the scale of a stateful set", `${SETS}/set/scale`),
  patch("a label of a stateful set", MERGE, `${SETS}/set`, { metadata: { labels: { a: "b" } } }),
  put("the scale of a stateful set", `${SETS}/set/scale`, toScale({ replicas: 1 }, { name: "set" })),
  put("the scale of a stateful set below zero", `${SETS}/set/scale`, toScale({ replicas: -1 }, { name: "set" })),
  put(
    "the scale of a stateful set at a stale version",
    `${SETS}/set/scale`,
    toScale({ replicas: 2 }, {
      name: "set",
      resourceVersion: "1",
    }),
  ),
  get("who owns the replicas of a stateful set", `${SETS}/set`),
  remove("a stateful set", `${SETS}/set`, { propagationPolicy: "Background" }),
  post("a replica set to scale", REPLICAS, toWorkload("ReplicaSet", "bare")),
  put("the scale of a replica set", `${REPLICAS}/bare/scale`, toScale({ replicas: 1 }, { name: "bare" })),
  put(
    "the scale of a replica set of another uid",
    `${REPLICAS}/bare/scale`,
    toScale({ replicas: 1 }, {
      name: "bare",
      uid: "00000000-0000-0000-0000-000000000000",
    }),
  ),
  get("who owns the replicas of a replica set", `${REPLICAS}/bare`),
  remove("a replica set", `${REPLICAS}/bare`, { propagationPolicy: "Background" }),

  // HorizontalPodAutoscalers.
  post("an HPA of no metrics", HPAS, toHpa("plain", {})),
  post(
    "an HPA of many metrics",
    HPAS,
    toHpa("many", {
      minReplicas: 2,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
        {
          type: "ContainerResource",
          containerResource: {
            name: "memory",
            container: "main",
            target: { type: "AverageValue", averageValue: "1024Mi" },
          },
        },
        {
          type: "External",
          external: { metric: { name: "s0-prometheus" }, target: { type: "AverageValue", averageValue: "10" } },
        },
      ],
      behavior: {
        scaleUp: { policies: [{ type: "Pods", value: 3, periodSeconds: 30 }] },
        scaleDown: { stabilizationWindowSeconds: 60, tolerance: "0.05" },
      },
    }),
  ),
  post("an HPA of an empty behavior", HPAS, toHpa("behaves", { behavior: {} })),
  post("an HPA of one direction", HPAS, toHpa("down", { behavior: { scaleDown: { selectPolicy: "Disabled" } } })),
  post("an HPA that is there", HPAS, toHpa("plain", {})),
  post("an HPA of nothing", HPAS, { metadata: { name: "x" }, spec: {} }),
  post("an HPA below its minimum", HPAS, toHpa("x", { minReplicas: 5, maxReplicas: 3 })),
  post("an HPA of zero", HPAS, toHpa("x", { minReplicas: 0 })),
  post("an HPA of less than zero", HPAS, toHpa("x", { minReplicas: -1, maxReplicas: 0 })),
  post("an HPA of no target", HPAS, toHpa("x", { scaleTargetRef: { apiVersion: "apps/v1", kind: "", name: "" } })),
  post(
    "an HPA of a bad behavior",
    HPAS,
    toHpa("x", {
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: "Some", policies: [] },
        scaleDown: { policies: [{ type: "Pots", value: 0, periodSeconds: 1801 }], tolerance: "-1" },
      },
    }),
  ),
  put("an HPA without a version", `${HPAS}/plain`, toHpa("plain", { maxReplicas: 7 })),
  put("an HPA at a stale version", `${HPAS}/plain`, toHpa("plain", { maxReplicas: 7 }, { resourceVersion: "1" })),
  patch("the maximum of an HPA", MERGE, `${HPAS}/plain`, { spec: { maxReplicas: 8 } }),
  patch("an annotation of an HPA", MERGE, `${HPAS}/plain`, { metadata: { annotations: { a: "b" } } }),
  patch("the status of an HPA past its subresource", MERGE, `${HPAS}/plain`, { status: { desiredReplicas: 9 } }),
  get("an HPA", `${HPAS}/plain`),
  get("an HPA that is not there", `${HPAS}/none`),
  remove("an HPA of another uid", `${HPAS}/plain`, { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } }),
  remove("an HPA at a stale version", `${HPAS}/plain`, { preconditions: { resourceVersion: "1" } }),
  remove("an HPA of both preconditions", `${HPAS}/plain`, {
    preconditions: { uid: "uid(HorizontalPodAutoscaler/plain)", resourceVersion: "1" },
  }),
  remove("an HPA by its uid", `${HPAS}/plain`, { preconditions: { uid: "uid(HorizontalPodAutoscaler/plain)" } }),
  remove("a collection of HPAs", `${HPAS}?labelSelector=none`),

  // What credentials are read of.
  post("a secret", SECRETS, { metadata: { name: "key" }, data: { token: "YWJj" } }),
  post("a secret in plain text", SECRETS, { metadata: { name: "plain" }, stringData: { token: "äb", other: "" } }),
  post("a secret of a bad value", SECRETS, { metadata: { name: "x" }, data: { token: "?" } }),
  post("a secret of a bad key", SECRETS, { metadata: { name: "x" }, data: { "a b": "YWJj" } }),
  patch("a secret's type", MERGE, `${SECRETS}/key`, { type: "example.com/other" }),
  patch("a secret's plain text", MERGE, `${SECRETS}/key`, { stringData: { token: "new" } }),
  get("a secret", `${SECRETS}/key`),
  get("a secret that is not there", `${SECRETS}/none`),
  remove("a secret", `${SECRETS}/key`),
  post("a map of a bad key", MAPS, { metadata: { name: "x" }, data: { "a b": "1" } }),
  post("a map of bytes", MAPS, { metadata: { name: "bytes" }, binaryData: { a: "YWJj" } }),
  post("a key in both", MAPS, { metadata: { name: "x" }, data: { a: "1" }, binaryData: { a: "YWJj" } }),
  patch("a map for good", MERGE, `${MAPS}/bytes`, { immutable: true }),
  patch("a map that is so for good", MERGE, `${MAPS}/bytes`, { binaryData: { a: "YQ==" } }),
  remove("a map for good", `${MAPS}/bytes`),
];

function toScale(spec: Json, metadata: Json = {}): Json {
  return { kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "scaled", ...metadata }, spec };
}

function toHpa(name: string, spec: Json, metadata: Json = {}): Json {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "none" };
  return { metadata: { name, ...metadata }, spec: { scaleTargetRef, maxReplicas: 5, ...spec } };
}

function toContainer(): Json {
  return { name: "main", image: "x:1" };
}

function toWorkload(kind: string, name: string, spec: Json = {}): Json {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind,
    // With an annotation, or the first would be the controller's.
    metadata: { name, labels, annotations: { a: "0" } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [toContainer()], schedulerName: "nobody" } },
      ...spec,
    },
  };
}
