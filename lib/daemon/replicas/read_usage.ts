/**
 * What the target's pods use now, as its cpu and memory triggers see it.
 */
import type { TriggerReading } from "../../core/replicas/input.ts";
import { countReadyPods } from "../../core/replicas/ready_pods.ts";
import { readPods } from "../../core/replicas/read_pods.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Compute } from "../../runtime/compute.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import type { ReadWorkloadPod } from "./workload_pods.ts";

/** Whose pods, which triggers, and when, epoch ms. */
export interface UsageRequest {
  readonly object: ScaledObject;
  /** Of the object; none where pods are only counted. */
  readonly resources: readonly ResourceTrigger[];
  readonly pods: () => readonly PodFacts[];
  readonly at: number;
  readonly signal: AbortSignal;
}

/** What is known of the pods by now: nothing is asked for. */
export interface WorkloadUsage {
  /** By their index. */
  readonly triggers: ReadonlyMap<number, TriggerReading>;
  /** `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  /** Some trigger is coupled (R80); `null` where none was looked at. */
  readonly isCoupled: boolean | null;
}

export interface ReadUsageOptions {
  readonly compute: Compute;
  readonly readWorkloadPod: ReadWorkloadPod;
}

/** Rejects with the signal's reason only. */
export type ReadUsage = (request: UsageRequest) => Promise<WorkloadUsage>;

export function createReadUsage({ compute, readWorkloadPod }: ReadUsageOptions): ReadUsage {
  const read = ({ object, resources, pods, at, signal }: UsageRequest): WorkloadUsage => {
    signal.throwIfAborted();
    const now = pods();
    const readyPods = countReadyPods(now);
    const triggers = new Map<number, TriggerReading>();
    if (resources.length === 0) return { triggers, readyPods, isCoupled: null };
    const workload = now.map((pod) => readWorkloadPod(object, pod));
    let isCoupled = false;
    for (const trigger of resources) {
      const read = readPods(trigger, workload, at);
      triggers.set(trigger.index, { kind: "pods", ...read });
      isCoupled ||= read.isCoupled;
    }
    return { triggers, readyPods, isCoupled };
  };
  return (request) => compute(() => read(request));
}
