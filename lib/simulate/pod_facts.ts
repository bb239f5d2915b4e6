/** What would the API server show of a simulated pod? Each function gives the facts after one event. */
import { type ContainerFacts, NO_TERMINATIONS, type PodFacts, type Termination } from "../model/pod.ts";
import type { ResizeRequest } from "../model/resize_request.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import {
  computeQosClass,
  NO_RESOURCES,
  type Resource,
  RESOURCE_FIELDS,
  resourceOf,
  type Resources,
} from "../units/resources.ts";

/** The pod of a manifest, as it runs since `at`, epoch ms. */
export function toRunning(pod: PodFacts, { name, at }: { readonly name: string; readonly at: number }): PodFacts {
  const second = toSecond(at);
  return {
    ...pod,
    uid: name,
    name,
    nodeName: "node",
    resourceVersion: "1",
    generation: 1,
    observedGeneration: 1,
    deleting: false,
    finished: false,
    qosClass: computeQosClass({ podResources: pod.podResources, containers: pod.containers.map(({ spec }) => spec) }),
    pending: null,
    inProgress: null,
    phase: "Running",
    startAt: second,
    ready: { status: "True", at: second },
    readyAt: second,
    containersReadyAt: second,
    containers: pod.containers.map((one) => toRunningContainer(one, { pod: name, at: second })),
    resizes: [],
  };
}

/** A resize was accepted: the spec has it, and the kubelet has seen it. */
export function toAccepted(pod: PodFacts, request: ResizeRequest, at: number): PodFacts {
  const { container, to, changes } = request;
  const manager = `podfit.${container}`;
  const before = pod.resizes.find((one) => one.manager === manager)?.owned ?? [];
  const owned = new Set([...listOwnedFields(before, container), ...changes]);
  const entry = {
    manager,
    at: toSecond(at),
    owned: [{ container, sides: RESOURCE_FIELDS.filter((key) => owned.has(key)) }],
  };
  const generation = (pod.generation ?? 1) + 1;
  return {
    ...toNext(pod),
    generation,
    observedGeneration: generation,
    containers: mapContainer(pod, container, (one) => ({ ...one, spec: to, allocated: toRequests(to) })),
    inProgress: null,
    resizes: [...pod.resizes.filter((one) => one.manager !== manager), entry],
  };
}

/** Every container has the size of its spec. */
export function toInForce(pod: PodFacts): PodFacts {
  const containers = pod.containers.map((one) => one.reported === one.spec ? one : { ...one, reported: one.spec });
  return { ...toNext(pod), containers, inProgress: null };
}

/** The kubelet cannot lower a memory limit below what is used, and tries again. */
export function toRefused(pod: PodFacts, at: number): PodFacts {
  if (pod.inProgress !== null) return pod;
  const message = "cannot decrease memory limits: attempting to set memory limit below current usage";
  return { ...toNext(pod), inProgress: { reason: "Error", message, since: toSecond(at) } };
}

/** A container has ended, and is not started yet. */
export function toEnded(pod: PodFacts, container: string, ended: Omit<Termination, "id">): PodFacts {
  return toUnready({
    ...toNext(pod),
    containers: mapContainer(pod, container, (one) => ({
      ...one,
      runningAt: null,
      ready: false,
      terminations: [...one.terminations, { ...ended, id: one.instance ?? "" }].slice(-2),
    })),
  });
}

/** Another instance of a container runs since `at`. */
export function toStarted(pod: PodFacts, container: string, { at, instances }: Start): PodFacts {
  const second = toSecond(at);
  const containers = mapContainer(pod, container, (one) => ({
    ...one,
    reported: one.spec,
    runningAt: second,
    ready: true,
    instance: toInstance(pod.name, container, instances),
    terminations: one.terminations.slice(-1),
  }));
  const next = { ...toNext(pod), containers };
  if (containers.some(({ kind, ready }) => kind !== "init" && !ready)) return next;
  return { ...next, ready: { status: "True", at: second }, readyAt: second, containersReadyAt: second };
}

interface Start {
  readonly at: number;
  /** How many instances there have been, this one included. */
  readonly instances: number;
}

/** Whether a container whose resizePolicy restarts on those resources does so for another size. */
export function restarts(
  restartsOn: Readonly<Record<Resource, boolean>>,
  { from, to }: { readonly from: Resources | null; readonly to: Resources },
): boolean {
  return from !== null && RESOURCE_FIELDS.some((key) => restartsOn[resourceOf(key)] && from[key] !== to[key]);
}

function toRunningContainer(
  container: ContainerFacts,
  { pod, at }: { readonly pod: string; readonly at: number },
): ContainerFacts {
  if (container.kind === "init") return container;
  return {
    ...container,
    reported: container.spec,
    allocated: toRequests(container.spec),
    runningAt: at,
    ready: true,
    instance: toInstance(pod, container.name, 1),
    terminations: NO_TERMINATIONS,
  };
}

function toUnready(pod: PodFacts): PodFacts {
  return { ...pod, ready: { status: "False", at: pod.readyAt ?? 0 }, readyAt: null, containersReadyAt: null };
}

function mapContainer(
  pod: PodFacts,
  name: string,
  map: (container: ContainerFacts) => ContainerFacts,
): readonly ContainerFacts[] {
  return pod.containers.map((one) => one.name === name ? map(one) : one);
}

function toNext(pod: PodFacts): PodFacts {
  return { ...pod, resourceVersion: String(Number(pod.resourceVersion) + 1) };
}

function toRequests(size: Resources): Resources {
  const { "cpu.requests": cpu, "memory.requests": memory } = size;
  return { ...NO_RESOURCES, "cpu.requests": cpu, "memory.requests": memory };
}

function toInstance(pod: string, container: string, instances: number): string {
  return `sim://${pod}/${container}/${instances}`;
}

/** Kubernetes writes whole seconds, cut off. */
function toSecond(at: number): number {
  return at - at % 1000;
}
