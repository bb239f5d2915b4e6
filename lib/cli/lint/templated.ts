/** A workload with the pod that its template would make, so that lint asks both kinds of pods the same questions. */
import type { Deployment, Pod } from "../../api/kubernetes.ts";
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { WorkloadFacts } from "../../daemon/inventory/facts.ts";
import { readPod } from "../../daemon/inventory/read_pod.ts";
import { readWorkload } from "../../daemon/inventory/read_workload.ts";
import type { Resources } from "../../units/resources.ts";

/** A workload, as far as lint needs it. */
export interface Templated extends WorkloadFacts {
  /** Of its template, without a node and a status. */
  readonly pod: PodFacts;
}

/** All three kinds have what is read here in the same place. May throw for an object that no API server gives. */
export function readTemplated(object: unknown, kind: WorkloadKind): Templated {
  const { metadata = {}, spec } = object as Deployment;
  const { name = "", namespace = "default" } = metadata;
  const { metadata: { labels = {} } = {}, spec: podSpec } = spec?.template ?? {};
  const pod = readPod({ metadata: { name, namespace, labels }, ...(podSpec && { spec: podSpec }) } as Pod);
  const containers = pod.containers.map((one) => ({ ...one, spec: withDefaults(one.spec) }));
  return {
    ...readWorkload({ ...(object as Deployment), metadata: { ...metadata, name, namespace } }, kind),
    pod: { ...pod, containers },
  };
}

/** The API server sets a request that is absent to its limit. */
function withDefaults(spec: Resources): Resources {
  return {
    ...spec,
    "cpu.requests": spec["cpu.requests"] ?? spec["cpu.limits"],
    "memory.requests": spec["memory.requests"] ?? spec["memory.limits"],
  };
}
