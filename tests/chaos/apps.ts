/** The apps of a world: what their pods use, which sizes they may have, and whether a size fits what is used. */
import { parseAmount } from "../../lib/units/quantity.ts";
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";

/** Millicores of a container. At a target of 60 % each level has a request that the other two are far from. */
export const LEVELS = [120, 480, 260] as const;
/** Of the cpu request, millicores. */
export const BOUNDS = { min: 50, max: 900 };
/** Between two resizes of one container. */
export const COOLDOWN_S = 20;
/** When it is resized, percent. */
export const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };

/** A deployment and its autoscaler. */
export function describeApp(name: string, replicas: number, cooldownS: number): readonly Json[] {
  const containers = [{
    requests: { cpu: "200m", memory: "64Mi" },
    limits: { cpu: "1500m" },
    cpuMillicores: LEVELS[0],
  }];
  const policy = {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: `${cooldownS}s`,
    after: "running",
    delay: "0s",
    cpu: { requests: SIDE },
  };
  const bounds = { cpu: { requests: { min: `${BOUNDS.min}m`, max: `${BOUNDS.max}m` } } };
  const target = { kind: "deployment", name };
  return [
    deployment(name, { replicas, containers }),
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
