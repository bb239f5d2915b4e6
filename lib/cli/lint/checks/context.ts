/** What the checks of several objects share: which objects exist, and which pods belong to which autoscaler. */
import type { Autoscaler, WorkloadKind } from "../../../model/autoscaler.ts";
import type { PodFacts } from "../../../model/pod.ts";
import type { ScaledObject } from "../../../model/scaled_object.ts";
import type { Resource, ResourceField, Resources } from "../../../units/resources.ts";
import { matches } from "../../../units/selector.ts";
import type { Statement, Subject } from "../findings.ts";
import type { KnownObjects, WorkloadTemplate } from "../known_objects.ts";

/** One of the checks: all its findings, about any object. */
export interface CheckContext {
  readonly known: KnownObjects;
  /** Whether this object is a subject: others are there only for comparison. */
  readonly isSubject: (subject: Subject) => boolean;
}

/** Valid and not paused: a paused one does nothing. */
export function listAutoscalers({ podresourceautoscalers }: KnownObjects): readonly Autoscaler[] {
  return podresourceautoscalers.flatMap(({ autoscaler }) =>
    autoscaler === null || autoscaler.paused ? [] : [autoscaler]
  );
}

/** Valid and not paused. */
export function listScaledObjects({ scaledobjects }: KnownObjects): readonly ScaledObject[] {
  return scaledobjects.flatMap(({ scaledObject, isPaused }) => scaledObject === null || isPaused ? [] : [scaledObject]);
}

export const PLURALS = { deployment: "deployments", statefulset: "statefulsets", daemonset: "daemonsets" } as const;

/** A workload by its name. */
export interface WorkloadRef {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
}

/** `missing`: all of its kind are listed, and it is not among them. `unknown`: its kind was not listed. */
export function findWorkload(
  known: KnownObjects,
  { kind, namespace, name }: WorkloadRef,
): WorkloadTemplate | "missing" | "unknown" {
  const plural = PLURALS[kind];
  const found = known[plural].find((one) => one.namespace === namespace && one.name === name);
  return found ?? (known.listed.has(plural) ? "missing" : "unknown");
}

/** The workload of a ScaledObject or an HPA; `null` for a kind that podfit does not support. */
export function toWorkloadKind(kind: string): WorkloadKind | null {
  const lower = kind.toLowerCase();
  return lower === "deployment" || lower === "statefulset" || lower === "daemonset" ? lower : null;
}

/** Pods of an autoscaler: those that run, and where none runs, those that templates would make. */
export function findPods(autoscaler: Autoscaler, known: KnownObjects): readonly PodFacts[] {
  const { namespace, target, selector } = autoscaler;
  const workload = target === null ? null : findWorkload(known, { ...target, namespace });
  const found = workload === null || typeof workload === "string" ? null : workload;
  const wanted = selector ?? found?.selector ?? null;
  if (wanted === null) return found === null ? [] : [found.pod];
  const isOwn = (pod: PodFacts) => pod.namespace === namespace && matches(wanted, pod.labels);
  const live = known.pods.filter((pod) => isOwn(pod) && !pod.finished && !pod.deleting);
  if (live.length > 0) return live;
  return found === null ? listTemplates(known).map(({ pod }) => pod).filter(isOwn) : [found.pod];
}

/**
 * Returns the pod with the sizes that it has once it is made, millicores or bytes: a LimitRange fills in both, and a
 * limit the request. A request of 0 counts as none. Clauses: R25.
 */
export function fillSizes(pod: PodFacts, type: Resource, { limitranges }: KnownObjects): PodFacts {
  const fill = (sizes: Resources, others: readonly Resources[]): Resources => {
    const find = (...keys: readonly ResourceField[]) =>
      [sizes, ...others].flatMap((one) => keys.map((key) => one[key])).find((amount) => amount !== null);
    const [request, limit] = [`${type}.requests`, `${type}.limits`] as const;
    return { ...sizes, [request]: find(request, limit) || null, [limit]: find(limit) ?? null };
  };
  const defaults = limitranges.filter(({ namespace }) => namespace === pod.namespace)
    .flatMap(({ ranges }) => ranges.map((rule) => rule.defaults));
  return {
    ...pod,
    podResources: pod.podResources && fill(pod.podResources, []),
    containers: pod.containers.map((one) => ({ ...one, spec: fill(one.spec, defaults) })),
  };
}

/** Every workload of any kind. */
function listTemplates({ deployments, statefulsets, daemonsets }: KnownObjects): readonly WorkloadTemplate[] {
  return [...deployments, ...statefulsets, ...daemonsets];
}

/** The name in findings. */
export function toAutoscalerSubject({ namespace, name }: Pick<Autoscaler, "namespace" | "name">): Subject {
  return { kind: "PodResourceAutoscaler", namespace, name };
}

/** The name in findings. */
export function toScaledSubject({ namespace, name }: Pick<ScaledObject, "namespace" | "name">): Subject {
  return { kind: "ScaledObject", namespace, name };
}

/** `deployment "web"`, or the text of the selector. */
export function describeTarget({ target }: Pick<Autoscaler, "target">): string {
  return target === null ? "the selector" : `${target.kind} "${target.name}"`;
}

/** A statement before its object is known. */
export type UnratedStatement = Omit<Statement, "level">;
