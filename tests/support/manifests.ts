/**
 * What the lists of good and bad manifests are made of: a base PodResourceAutoscaler, edits by path, and the
 * manifests of the documentation. The parser's tests and the table against an API server read the same lists.
 */

export type Manifest = Readonly<Record<string, unknown>>;
/** By path: `spec.policy.cpu.requests.scaleUpThreshold`. */
export type Edits = Readonly<Record<string, unknown>>;

/** The base, edited; `undefined` removes a field. */
export function toManifest(edits: Edits): Manifest {
  return applyEdits(BASE, edits);
}

/** A copy of any object, edited. */
export function applyEdits(base: Manifest, edits: Edits): Manifest {
  const manifest = structuredClone(base) as Record<string, unknown>;
  for (const [path, value] of Object.entries(edits)) edit(manifest, { keys: path.split("."), value });
  return manifest;
}

function edit(object: Record<string, unknown>, { keys, value }: { keys: readonly string[]; value: unknown }): void {
  const [key = "", ...rest] = keys;
  if (rest.length === 0) {
    if (value === undefined) delete object[key];
    else object[key] = structuredClone(value);
    return;
  }
  const inner = object[key] ?? {};
  object[key] = inner;
  edit(inner as Record<string, unknown>, { keys: rest, value });
}

/** Letter for letter what users of the resource have copied out of its documentation. */
export const EXAMPLE = `
apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata:
  name: load-generator
spec:
  target:
    kind: deployment
    name: load-generator
  containerName: load-generator

  policy:
    pollInterval: 5s
    consecutiveSamples: 3
    cooldown: 2m
    after: containerReady
    delay: 10s

    cpu:
      requests:
        scaleUpThreshold: 75
        scaleDownThreshold: 60
        targetUtilization: 70
      limits:
        scaleUpThreshold: 85
        scaleDownThreshold: 70
        targetUtilization: 75
    memory:
      requests:
        scaleUpThreshold: 75
        scaleDownThreshold: 60
        targetUtilization: 70
      limits:
        scaleUpThreshold: 85
        scaleDownThreshold: 70
        targetUtilization: 75

  bounds:
    cpu:
      requests:
        min: 100m
        max: "2"
        step: 100m
        stepPercent: 25
      limits:
        min: 100m
        max: "3"
        step: 100m
        stepPercent: 25
    memory:
      requests:
        min: 96Mi
        max: 2Gi
        step: 64Mi
        stepPercent: 25
      limits:
        min: 300Mi
        max: 3Gi
        step: 64Mi
        stepPercent: 25
`;

export const QUICK_START = `
apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata:
  name: my-app-pra
spec:
  target:
    kind: deployment
    name: my-app
  containerName: my-app
  policy:
    pollInterval: 5s
    consecutiveSamples: 2
    cooldown: 30s
    cpu:
      requests:
        scaleUpThreshold: 1
        scaleDownThreshold: 0
        targetUtilization: 50
  bounds:
    cpu:
      requests:
        min: 100m
        max: "2"
        step: 100m
`;

const BASE: Manifest = {
  apiVersion: "keda.kedify.io/v1alpha1",
  kind: "PodResourceAutoscaler",
  metadata: { name: "web" },
  spec: {
    target: { kind: "deployment", name: "web" },
    containerName: "app",
    policy: {
      pollInterval: "10s",
      consecutiveSamples: 3,
      cooldown: "2m",
      cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 50, targetUtilization: 70 } },
    },
    bounds: { cpu: { requests: { min: "100m", max: "2", step: "100m", stepPercent: 25 } } },
  },
};

export const UP = "spec.policy.cpu.requests.scaleUpThreshold";
export const DOWN = "spec.policy.cpu.requests.scaleDownThreshold";
export const TARGET = "spec.policy.cpu.requests.targetUtilization";
export const MIN = "spec.bounds.cpu.requests.min";
export const MAX = "spec.bounds.cpu.requests.max";
export const STEP = "spec.bounds.cpu.requests.step";
export const STEP_PERCENT = "spec.bounds.cpu.requests.stepPercent";
export const LABELS = "spec.selector.matchLabels";
export const EXPRESSIONS = "spec.selector.matchExpressions";
/** The base has a target; a selector takes its place. */
export const NO_TARGET: Edits = { "spec.target": undefined };
export const SIDE = { scaleUpThreshold: 85, scaleDownThreshold: 60, targetUtilization: 75 };
