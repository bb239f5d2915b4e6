/** The target's pods as one cpu or memory trigger sees them: usage, yardsticks, and what the vertical half says of them (sections 3 and 10). */
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import { createReadBorn } from "./births.ts";
import { isCoupled } from "./coupling.ts";
import { readMetric } from "./meter.ts";
import type { PodReading } from "./pod_reading.ts";
import type { WorkloadPod } from "./workload_pod.ts";
import { readYardsticks, type YardstickContext } from "./yardsticks.ts";

/** What asking a cpu or memory trigger gives: `isCoupled` (R80). */
export interface PodReadings {
  readonly pods: readonly PodReading[];
  readonly isCoupled: boolean;
}

/** In the order of `pods`, which are all that the selector lists, deleting and finished ones too. `now` in epoch ms. */
export function readPods(trigger: ResourceTrigger, pods: readonly WorkloadPod[], now: number): PodReadings {
  const context: YardstickContext = {
    trigger,
    isCoupled: isCoupled(trigger, pods, now),
    readBorn: createReadBorn(pods, trigger.type),
    now,
  };
  return { pods: pods.map((of) => readPod(of, context)), isCoupled: context.isCoupled };
}

function readPod(of: WorkloadPod, context: YardstickContext): PodReading {
  const { pod, rates } = of;
  const { trigger: { type, container }, now } = context;
  const { requests, isClipped } = readYardsticks(of, context);
  return {
    name: pod.name,
    phase: pod.phase,
    isDeleting: pod.deleting,
    startAt: pod.startAt,
    ready: pod.ready,
    metric: readMetric(rates, { pod, type, container, now }),
    requests,
    isClipped,
  };
}
