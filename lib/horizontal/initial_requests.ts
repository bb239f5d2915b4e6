/**
 * With which requests was a pod created?
 *
 * The pod's own spec has them until it is resized in place. After that podfit's own record has them, or the template
 * that the pod was made of, or its siblings.
 */
import { findContainer, type PodFacts } from "../model/pod.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import {
  isSameSize,
  NO_RESOURCES,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  type Resources,
} from "../units/resources.ts";

/** Sizes by container name; plain JSON. Own properties only: a container may be named `constructor`. */
export type ResourcesByContainer = Readonly<Record<string, Resources>>;

/** What is known of a pod's initial requests besides its spec, in order of priority. */
export interface InitialResources {
  /** podfit's own record: what `nextInitialResources` kept of it; `null` = it was never seen. */
  readonly recorded: ResourcesByContainer | null;
  /** The template of the pod's own ReplicaSet or controller revision; `null` = not known, or not needed. */
  readonly revision: ResourcesByContainer | null;
  /** The workload's spec.template; `null` likewise. */
  readonly template: ResourcesByContainer | null;
}

/** A pod and what is known of its initial requests. */
export interface PodWithInitialResources {
  readonly pod: PodFacts;
  readonly initialResources: InitialResources;
}

/**
 * Returns the record after the pod was seen. Resource fields that were never resized are as at creation. Call it
 * whenever a pod changes; it returns the same object if nothing is new. Clauses: R82.
 */
export function nextInitialResources(before: ResourcesByContainer | null, pod: PodFacts): ResourcesByContainer {
  const record: Record<string, Resources> = {};
  let isNew = before === null;
  for (const { name, kind, spec } of pod.containers) {
    if (kind === "init") continue;
    const known = findContainerResources(before, name);
    const size: Record<ResourceField, number | null> = { ...spec };
    for (const key of RESOURCE_FIELDS) if (isFieldResized(pod, name, key)) size[key] = known?.[key] ?? null;
    if (known === null || !isSameSize(known, size)) isNew = true;
    record[name] = known !== null && isSameSize(known, size) ? known : isSameSize(spec, size) ? spec : size;
  }
  return isNew || before === null ? record : before;
}

/** Returns whether the record alone lacks a request of the pod: then `revision` and `template` are worth fetching. */
export function needsTemplate(pod: PodFacts, recorded: ResourcesByContainer | null): boolean {
  // The pod was never resized. This is so for nearly every pod, and each pod is checked in each loop.
  if (pod.resizes.length === 0) return false;
  return pod.containers.some(({ name, kind }) =>
    kind !== "init" &&
    REQUEST_FIELDS.some((key) => isFieldResized(pod, name, key) && !findContainerResources(recorded, name)?.[key])
  );
}

/** Returns what a container requested when its pod was created, millicores or bytes; `null` = not known. */
export type FindInitialRequest = (of: PodWithInitialResources, container: string) => number | null;

/** Works on the pods of one workload: if nothing else is known, the median of the siblings is used. */
export function createFindInitialRequest(
  pods: readonly PodWithInitialResources[],
  resource: Resource,
): FindInitialRequest {
  const key = `${resource}.requests` as const;
  const medians = new Map<string, number | null>();
  const getMedian = (container: string): number | null => {
    const known = medians.get(container);
    if (known !== undefined) return known;
    const median = findMedian(pods.flatMap(({ pod }) => findUnresizedRequest(pod, container, key) ?? []));
    medians.set(container, median);
    return median;
  };
  return ({ pod, initialResources: { recorded, revision, template } }, container) => {
    const own = findUnresizedRequest(pod, container, key);
    if (own !== null) return own;
    for (const source of [recorded, revision, template]) {
      const amount = (findContainerResources(source, container) ?? NO_RESOURCES)[key];
      if (amount !== null) return amount;
    }
    return getMedian(container);
  };
}

const REQUEST_FIELDS = ["cpu.requests", "memory.requests"] as const satisfies readonly ResourceField[];

/** Returns the request of the spec if it was never resized. */
function findUnresizedRequest(pod: PodFacts, container: string, key: ResourceField): number | null {
  return isFieldResized(pod, container, key) ? null : findContainer(pod, container)?.spec[key] ?? null;
}

function isFieldResized({ resizes }: PodFacts, container: string, key: ResourceField): boolean {
  return resizes.some(({ owned }) => listOwnedFields(owned, container).includes(key));
}

function findContainerResources(sizes: ResourcesByContainer | null, container: string): Resources | null {
  return sizes !== null && Object.hasOwn(sizes, container) ? sizes[container] ?? null : null;
}

/** For an even number it returns the lower one. Clauses: L40. */
function findMedian(amounts: readonly number[]): number | null {
  return amounts.toSorted((a, b) => a - b)[Math.floor((amounts.length - 1) / 2)] ?? null;
}
