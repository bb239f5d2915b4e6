/** The pods of a target with all that is known of each: usage, births, and how its autoscalers stand (R82, R88). */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { needsTemplate } from "../../core/replicas/births.ts";
import type { WorkloadPod } from "../../core/replicas/workload_pod.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Standing } from "../../core/standing.ts";
import type { Tracked } from "../inventory/tracked.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { TargetPlace } from "./scale_requests.ts";
import type { Templates } from "./templates.ts";

/** Who knows what of pods. */
export interface WorkloadPodsOptions {
  readonly metered: Pick<MeteredPods, "read">;
  readonly templates: Templates;
  readonly tracked: ReadonlyMap<string, Tracked>;
  readonly readStanding: (uid: string) => Standing | null;
}

/** Gives what is known by now of one pod of the target. */
export type ReadWorkloadPod = (place: TargetPlace, pod: PodFacts) => WorkloadPod;

export function createReadWorkloadPod(options: WorkloadPodsOptions): ReadWorkloadPod {
  const { metered, templates } = options;
  return (place, pod) => {
    const { rates, recorded } = metered.read(pod.uid);
    const known = needsTemplate(pod, recorded) ? templates.read(place, pod) : NO_TEMPLATE;
    return { pod, rates, births: { recorded, ...known }, vertical: readVertical(pod, options) };
  };
}

const NO_TEMPLATE = { revision: null, template: null };

/** `null` where no autoscaler tracks the pod, or it was not evaluated yet. */
function readVertical(
  { uid }: PodFacts,
  { tracked, readStanding }: WorkloadPodsOptions,
): { readonly state: Standing; readonly contenders: readonly Autoscaler[] } | null {
  const contenders = tracked.get(uid)?.contenders;
  const state = contenders === undefined ? null : readStanding(uid);
  return contenders === undefined || state === null ? null : { state, contenders };
}
