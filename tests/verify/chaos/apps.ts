/** The apps of a world: what their pods use, which sizes they may have, and whether a size fits what is used. */
import { parseAmount } from "../../../lib/units/quantity.ts";
import { autoscaler, deployment, type Manifest } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";

/** Millicores of a container. At a target of 60 % each level has a request that the other two are far from. */
export const LEVELS = [120, 480, 260] as const;
/** Of the cpu request, millicores. */
export const BOUNDS = { min: 50, max: 900 };
/** Between two resizes of one container. */
export const COOLDOWN_S = 20;
/** When it is resized, percent. */
export const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };

/** What an app's pods are, and how they are sized. */
export interface App {
  readonly replicas: number;
  readonly cooldownS: number;
  readonly requests?: { readonly cpu: string; readonly memory: string };
  readonly cpuLimit?: string;
  readonly cpuMillicores?: number;
  /** Of the cpu request, millicores. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /** Of the template of its pods. */
  readonly podFields?: Readonly<Record<string, unknown>> | undefined;
}

/** A deployment and its autoscaler. */
export function describeApp(name: string, app: App): readonly Manifest[] {
  const { replicas, cooldownS, cpuLimit = "1500m", cpuMillicores = LEVELS[0], podFields = {} } = app;
  const { requests = { cpu: "200m", memory: "64Mi" }, bounds: { min, max } = BOUNDS } = app;
  const containers = [{ requests, limits: { cpu: cpuLimit }, cpuMillicores }];
  const policy = {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: `${cooldownS}s`,
    after: "running",
    delay: "0s",
    cpu: { requests: SIDE },
  };
  const bounds = { cpu: { requests: { min: `${min}m`, max: `${max}m` } } };
  const target = { kind: "deployment", name };
  return [
    deployment(name, { replicas, containers, fields: podFields }),
    autoscaler(name, { target, containerName: "main", policy, bounds }),
  ];
}

/** `/api/v1/namespaces/shop/pods/web-1/resize` -> `pods/resize` */
export function toResource(path: string): string {
  const [resource = "", , subresource] = path.replace(/^\/apis?\/([^/]+\/)?v[^/]+\/(namespaces\/[^/]+\/)?/, "").split(
    "/",
  );
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

/** Millicores that a pod asks for; NaN where it asks for none. */
export function readRequest({ spec }: Json): number {
  const parsed = parseAmount(spec.containers[0].resources.requests.cpu, "cpu");
  return parsed.ok ? parsed.amount : NaN;
}
