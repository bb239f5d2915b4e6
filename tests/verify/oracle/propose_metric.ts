/** What a metric of an HPA asks for, as the trigger that it would be in a ScaledObject. */
import type { PodFacts } from "../../../lib/model/pod.ts";
import type { PodReading, PodRequests } from "../../../lib/model/replicas_decision.ts";
import {
  computePodRequest,
  proposeByValue,
  type ReplicasProposal,
  toMilliAmount,
  toTolerance,
} from "../../../lib/horizontal/replica_calculator.ts";
import { proposeByPods } from "../../../lib/horizontal/joint/proposal.ts";
import type { Behavior, ResourceTarget, ResourceTrigger } from "../../../lib/model/scaled_object.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import { proposeAsked } from "./ask_metric.ts";
import { askedOf, type CourseTick, EPOCH, type HpaMetric, type HpaTarget } from "./course.ts";

export interface MetricInput {
  /** Of the metric, in the HPA's list. */
  readonly index: number;
  readonly one: CourseTick;
  readonly pods: readonly PodFacts[];
  readonly now: number;
  readonly behavior: Behavior | null;
  readonly replicas: number;
  readonly statusReplicas: number;
  readonly readyPods: number | null;
}

export async function proposeMetric(metric: HpaMetric, input: MetricInput): Promise<ReplicasProposal> {
  const { replicas, statusReplicas, readyPods, one, now, behavior } = input;
  const tolerance = toTolerance(behavior);
  if (metric.type === "Pods" || metric.type === "Object") return await proposeAsked(metric, input);
  if (metric.type === "External") {
    if (askedOf(metric) !== null) return await proposeAsked(metric, input);
    const values = one.external[metric.external.metric.name];
    if (values === undefined) return { kind: "failed", reason: "FailedGetExternalMetric", message: "no metrics" };
    const valueMilli = values.reduce((sum, value) => sum + BigInt(value), 0n);
    const { target } = metric.external;
    const metricType = target.type === "Value" ? "Value" : "AverageValue";
    const targetMilli = toTargetMilli(target);
    return proposeByValue({ valueMilli, targetMilli, metricType, replicas, statusReplicas, readyPods, tolerance });
  }
  const trigger = toTrigger(metric, input.index);
  return proposeByPods(trigger, { pods: readPods(trigger, input), replicas, now, tolerance });
}

type PodsMetric = Extract<HpaMetric, { type: "Resource" | "ContainerResource" }>;

function toTrigger(metric: PodsMetric, index: number): ResourceTrigger {
  const { name: type, target } = metric.type === "Resource" ? metric.resource : metric.containerResource;
  const container = metric.type === "Resource" ? null : metric.containerResource.container;
  return { index, name: null, kind: "resource", type, container, target: toTarget(target), baseline: null };
}

function toTarget(target: HpaTarget): ResourceTarget {
  if (target.type === "Utilization") return { kind: "Utilization", percent: target.averageUtilization };
  return { kind: "AverageValue", milli: toTargetMilli(target) };
}

function readPods({ type, container }: ResourceTrigger, { pods, one }: MetricInput): readonly PodReading[] {
  const samples = one.usage[container === null ? type : `${type}/${container}`] ?? {};
  return pods.map((pod) => {
    const request = computePodRequest(pod, {
      resource: type,
      container,
      requestOf: (name) => readSpec(pod, name, type),
    });
    const sample = samples[pod.name];
    const { name, phase, deleting: isDeleting, startAt, ready } = pod;
    return {
      ...{ name, phase, isDeleting, startAt, ready },
      metric: sample === undefined
        ? null
        : { milli: BigInt(sample.value), at: EPOCH + sample.at, windowMs: sample.window },
      requests: typeof request === "number" ? toRequests(toMilliAmount(request, type)) : { problem: request },
      isClipped: false,
    };
  });
}

function toRequests(milli: bigint): PodRequests {
  return { born: milli, full: milli };
}

function readSpec({ containers }: PodFacts, name: string, resource: "cpu" | "memory"): number | null {
  return containers.find((one) => one.name === name)?.spec[`${resource}.requests`] ?? null;
}

/** Any quantity in thousandths is what a cpu's is in millicores. */
function toTargetMilli(target: HpaTarget): bigint {
  if (target.type === "Utilization") throw new RangeError("Cannot give a value of a Utilization target");
  const text = target.type === "Value" ? target.value : target.averageValue;
  const parsed = parseAmount(text, "cpu");
  if (!parsed.ok) throw new RangeError(parsed.message);
  return BigInt(parsed.amount);
}
