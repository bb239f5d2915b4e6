/**
 * What a pod asks for of one resource, as the HPA controller adds it up (R25): one container's, the pod's own with what its RuntimeClass adds, or
 * the sum over all that run together. Which request a container counts with is the caller's (R82).
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go (calculateRequests)
 */
import type { Resource } from "../../units/resources.ts";
import type { ContainerFacts, PodFacts } from "../pod/pod_facts.ts";
import type { RequestProblem } from "./pod_reading.ts";

export interface RequestOptions {
  readonly resource: Resource;
  /** The trigger's containerName; `null` = the pod as a whole. */
  readonly container: string | null;
  /** By name of a container or sidecar: thousandths of a core or byte; `null` = it asks for nothing. Not called for plain init containers. */
  readonly requestOf: (container: string) => bigint | null;
}

/** Thousandths of a core or byte. */
export function readRequest(pod: PodFacts, options: RequestOptions): bigint | RequestProblem {
  const { container } = options;
  if (container !== null) return readContainer(pod, container, options);
  return hasOwnRequests(pod) ? readOwn(pod, options) : sumContainers(pod, options);
}

/** Amounts of PodFacts in thousandths: millicores, and a thousand of them per byte. */
export function toMilliAmount(amount: number, resource: Resource): bigint {
  return resource === "cpu" ? BigInt(amount) : BigInt(amount) * 1000n;
}

function readContainer(pod: PodFacts, name: string, { resource, requestOf }: RequestOptions): bigint | RequestProblem {
  if (!pod.containers.some((one) => one.name === name && isRunning(one.kind))) {
    return { reason: "NoContainer", message: `container ${name} not found in Pod ${pod.name}` };
  }
  return requestOf(name) ?? toMissing(pod, name, resource);
}

function sumContainers(pod: PodFacts, { resource, requestOf }: RequestOptions): bigint | RequestProblem {
  let sum = 0n;
  for (const { name, kind } of pod.containers) {
    if (!isRunning(kind)) continue;
    const request = requestOf(name);
    if (request === null) return toMissing(pod, name, resource);
    sum += request;
  }
  return sum;
}

/** Containers and native sidecars; an init container that ends counts only towards what the pod as a whole needs at its start. */
function isRunning(kind: ContainerFacts["kind"]): boolean {
  return kind !== "init";
}

function toMissing(pod: PodFacts, container: string, resource: Resource): RequestProblem {
  return {
    reason: "NoRequest",
    message: `missing request for ${resource} in container ${container} of Pod ${pod.name}`,
  };
}

/** One of them is enough for both: what the pod itself does not say is then the aggregate of its containers (KEP-2837). */
function hasOwnRequests({ podResources }: PodFacts): boolean {
  return podResources !== null && (podResources["cpu.requests"] !== null || podResources["memory.requests"] !== null);
}

/** What the RuntimeClass adds is a request as well, also where nothing else is. */
function readOwn(pod: PodFacts, options: RequestOptions): bigint | RequestProblem {
  const { resource } = options;
  const own = pod.podResources?.[`${resource}.requests`] ?? null;
  const request = own === null ? aggregate(pod, options) : toMilliAmount(own, resource);
  const extra = readOverhead(pod, resource);
  if (request === null && extra === 0n) {
    return { reason: "NoRequest", message: `missing pod-level request for ${resource} in Pod ${pod.name}` };
  }
  return (request ?? 0n) + extra;
}

function readOverhead({ overhead }: PodFacts, resource: Resource): bigint {
  if (overhead === null) return 0n;
  return toMilliAmount(resource === "cpu" ? overhead.cpuMillicores : overhead.memoryBytes, resource);
}

/** All that run together, or an init container beside the sidecars before it if that is more; `null` = nobody asks for any. */
function aggregate({ containers }: PodFacts, { resource, requestOf }: RequestOptions): bigint | null {
  let [running, sidecars, peak, isAsked] = [0n, 0n, 0n, false];
  for (const { name, kind, spec } of containers) {
    const init = spec[`${resource}.requests`];
    const request = kind !== "init" ? requestOf(name) : init === null ? null : toMilliAmount(init, resource);
    if (request === null) continue;
    isAsked = true;
    if (kind === "init") peak = peak > sidecars + request ? peak : sidecars + request;
    else running += request;
    if (kind === "sidecar") sidecars += request;
  }
  if (!isAsked) return null;
  return running > peak ? running : peak;
}
