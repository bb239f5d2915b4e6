/** Plain values for tests of simulations: a pod of one container "main", its autoscaler, loads. */
import { parseAutoscaler } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { Load, Wanted } from "../../lib/simulate/load.ts";
import { simulate, type SimulateOptions, type Simulation } from "../../lib/simulate/simulate.ts";
import { container, MI, pod, resources } from "../support/builders.ts";

export const HOUR = 3600;

/** What `at` says, for ever. */
export function loadOf(at: (second: number) => Partial<Wanted>): Load {
  return { seconds: 0, at: (second) => ({ cpuMillicores: 100, workingSetBytes: 100 * MI, ...at(second) }) };
}

/** An autoscaler of that spec, for every container or the named one. */
export function autoscalerOf(spec: Readonly<Record<string, unknown>>, containerName = "main"): Autoscaler {
  const parsed = parseAutoscaler({
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web", namespace: "shop", uid: "uid-of-web" },
    spec: { selector: { matchLabels: { app: "web" } }, containerName, ...spec },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.autoscaler;
}

/** 200m of 400m CPU, 256Mi of 512Mi of memory. */
export const WEB = pod({
  containers: [container({
    spec: resources({
      "cpu.requests": 200,
      "cpu.limits": 400,
      "memory.requests": 256 * MI,
      "memory.limits": 512 * MI,
    }),
  })],
});

/** Under the profile `balanced`, for an hour, unless said otherwise. */
export function run(load: Load, options: Partial<SimulateOptions> = {}): Simulation {
  const autoscalers = [autoscalerOf({ profile: "balanced" })];
  return simulate({ autoscalers, pod: WEB, loads: { main: load }, seed: "1", seconds: HOUR, ...options });
}
