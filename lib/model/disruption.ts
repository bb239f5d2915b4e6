/**
 * A resize may restart a container: how many pods of a workload may be unavailable for that at one time?
 *
 * Kubernetes asks the same of a rollout (`maxUnavailable`) and of an eviction (PodDisruptionBudget).
 */
import { RESOURCE_FIELDS, type ResourceField, resourceOf } from "../units/resources.ts";
import type { MaxUnavailable } from "./autoscaler.ts";
import type { ContainerFacts, PodFacts } from "./pod.ts";

/** For an autoscaler without a value, if the operator gives none either. */
export const DEFAULT_MAX_UNAVAILABLE: MaxUnavailable = { kind: "percent", percent: 25 };

/** What a restart of one more container would take from the workload of its pod; plain JSON. */
export interface Disruption {
  /** The pods of the workload, this one included; `null` = podfit sees only a part of them. */
  readonly pods: number | null;
  /** Other pods of the workload that are not Ready, or that a resize is about to restart. */
  readonly unavailable: number;
  /** The name of one of them; `null` = there is none. */
  readonly example: string | null;
  /** The PodDisruptionBudgets that select the pod; `null` = podfit may not list them. */
  readonly budgets: readonly DisruptionBudget[] | null;
}

/** A PodDisruptionBudget. */
export interface DisruptionBudget {
  readonly name: string;
  /** How many more pods may become unavailable now. */
  readonly allowed: number;
}

/**
 * Returns how many of so many pods may be unavailable. A percentage is rounded down as in a rollout, and allows at least
 * one pod unless it is 0.
 */
export function computeMaxUnavailable(max: MaxUnavailable, pods: number): number {
  if (max.kind === "pods") return max.pods;
  return max.percent === 0 ? 0 : Math.max(1, Math.floor(pods * max.percent / 100));
}

/** Returns the text as a manifest has it: `2` or `25%`. */
export function formatMaxUnavailable(max: MaxUnavailable): string {
  return max.kind === "pods" ? String(max.pods) : `${max.percent}%`;
}

/** Returns the fields whose change restarts the container: its resizePolicy counts for request and limit. Clauses: C43. */
export function listRestartingFields(
  { restartsOn }: Pick<ContainerFacts, "restartsOn">,
  fields: readonly ResourceField[],
): readonly ResourceField[] {
  return restartsOn.cpu || restartsOn.memory ? fields.filter((key) => restartsOn[resourceOf(key)]) : NO_FIELDS;
}

/** Returns whether a resize can restart a container of the pod. */
export function canResizeRestart({ containers }: Pick<PodFacts, "containers">): boolean {
  for (const { restartsOn } of containers) if (restartsOn.cpu || restartsOn.memory) return true;
  return false;
}

/** Returns whether the pod counts as healthy, as the controller of PodDisruptionBudgets counts. */
export function isHealthy({ ready, deleting, finished }: Pick<PodFacts, "ready" | "deleting" | "finished">): boolean {
  return ready?.status === "True" && !deleting && !finished;
}

/** Returns whether the pod is not healthy, or the kubelet has yet to apply a size that restarts a container. */
export function isUnavailable(pod: PodFacts): boolean {
  if (!isHealthy(pod)) return true;
  for (const container of pod.containers) {
    const { spec, reported, kind } = container;
    if (kind === "init" || reported === null || spec === reported) continue;
    if (listRestartingFields(container, RESOURCE_FIELDS).some((key) => spec[key] !== reported[key])) return true;
  }
  return false;
}

const NO_FIELDS: readonly ResourceField[] = [];
