/**
 * What does a scenario do with the cluster? It gets a namespace of its own, applies manifests, tells the load what to
 * use, reads objects back and waits, always bounded, for what must become true.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { kubectl, kubectlJson, kubectlRaw, tryKubectl } from "./kubectl.ts";
import type { AutoscalerJson, EventJson, Limits, List, NodeJson, PodJson, PodMetricsJson } from "./objects.ts";

export interface TestNamespace extends AsyncDisposable {
  readonly name: string;
}

/** A pod of the load image; `port` tells its containers apart. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
}

export interface Load {
  readonly cpuMillicores?: number;
  readonly memoryMiB?: number;
}

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** Thrown by a probe: what is waited for can no longer happen. */
export class Hopeless extends Error {
  override readonly name = "Hopeless";
}

/** Returns the probe's first value that is not null, undefined or false; the last error it threw is told on failure. */
export async function waitFor<T>(
  description: string,
  probe: () => Promise<T | null | undefined | false>,
  { timeoutMs = 60_000, everyMs = 250 }: WaitOptions = {},
): Promise<T> {
  const start = systemClock.monotonic();
  for (let tries = 1;; tries++) {
    let last = "it was not so yet";
    let cause: unknown;
    try {
      const value = await probe();
      if (value !== null && value !== undefined && value !== false) return value;
    } catch (error) {
      if (error instanceof Hopeless) {
        throw new Error(`Waited in vain for ${description}: ${error.message}`, { cause: error });
      }
      cause = error;
      last = error instanceof Error ? error.message : String(error);
    }
    const waitedMs = systemClock.monotonic() - start;
    if (waitedMs + everyMs > timeoutMs) {
      const spent = `${(waitedMs / 1000).toFixed(1)} s and ${tries} tries`;
      throw new Error(`Waited in vain for ${description}: after ${spent}, ${last}`, { cause });
    }
    await systemClock.sleep(everyMs);
  }
}

/** A fresh namespace, ready for pods; its deletion is begun, and not awaited, when it is disposed of. */
export async function createNamespace(purpose: string): Promise<TestNamespace> {
  const slug = purpose.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-/, "").slice(0, 40).replace(/-$/, "");
  const name = `e2e-${slug}-${crypto.randomUUID().slice(0, 6)}`;
  await kubectl(["create", "namespace", name]);
  const namespace = {
    name,
    async [Symbol.asyncDispose]() {
      await kubectl(["delete", "namespace", name, "--wait=false", "--ignore-not-found"]);
    },
  };
  await waitFor(`the service account of namespace "${name}"`, async () => {
    return await kubectl(["get", "serviceaccount", "default", "-n", name, "-o", "name"]);
  }, { timeoutMs: 20_000, everyMs: 100 });
  return namespace;
}

/** `manifests`: YAML or JSON text, or objects; those without a namespace get this one. */
export async function applyManifests(namespace: string, manifests: string | readonly object[]): Promise<void> {
  await kubectl(["apply", "-n", namespace, "-f", "-"], { input: toText(manifests) });
}

/** The server's words when it refuses the manifests, `null` when it takes them. */
export async function applyRefused(namespace: string, manifests: string | readonly object[]): Promise<string | null> {
  // Without kubectl's own check, so that it is the server that refuses.
  const answer = await tryKubectl(["apply", "-n", namespace, "--validate=false", "-f", "-"], {
    input: toText(manifests),
  });
  return answer.code === 0 ? null : answer.stderr;
}

/** Begins the deletion, e.g. of `pod/web-0`, without waiting for its end. */
export async function deleteObject(namespace: string, object: string): Promise<void> {
  await kubectl(["delete", "-n", namespace, object, "--wait=false"]);
}

/** Waits until exactly `count` pods with these labels exist, all Ready and none on its way out, in order of name. */
export function waitForPods(
  namespace: string,
  labels: string,
  { count = 1, timeoutMs = 60_000 }: { readonly count?: number; readonly timeoutMs?: number } = {},
): Promise<readonly PodJson[]> {
  return waitFor(`${count} ready pods with ${labels} in "${namespace}"`, async () => {
    const { items } = await kubectlJson<List<PodJson>>(["get", "pods", "-n", namespace, "-l", labels]);
    if (items.length === count && items.every(isReady)) return items;
    throw new Error(`seen: ${items.map(describePod).join(", ") || "no pod"}`);
  }, { timeoutMs });
}

/** A load that grows beyond its memory limit is killed before it answers: then this throws. */
export async function setLoad(pod: PodRef, load: Load): Promise<void> {
  const query = new URLSearchParams();
  if (load.cpuMillicores !== undefined) query.set("cpu", String(load.cpuMillicores));
  if (load.memoryMiB !== undefined) query.set("mem", String(load.memoryMiB));
  await callLoad(pod, `set?${query}`);
}

export async function readLimits(pod: PodRef): Promise<Limits> {
  return JSON.parse(await callLoad(pod, "limits")) as Limits;
}

export function readPod({ namespace, name }: PodRef): Promise<PodJson> {
  // Without managedFields it would be shorter, but they tell who resized.
  return kubectlJson<PodJson>(["get", "pod", name, "-n", namespace, "--show-managed-fields"]);
}

export function readAutoscaler(namespace: string, name: string): Promise<AutoscalerJson> {
  return kubectlJson<AutoscalerJson>(["get", "podresourceautoscalers.keda.kedify.io", name, "-n", namespace]);
}

export interface EventFilter {
  readonly reason?: string;
  /** Name of the object that the event is about. */
  readonly about?: string;
}

/** Oldest first. */
export async function readEvents(namespace: string, filter: EventFilter = {}): Promise<readonly EventJson[]> {
  const selector = [
    filter.reason === undefined ? "" : `reason=${filter.reason}`,
    filter.about === undefined ? "" : `involvedObject.name=${filter.about}`,
  ].filter((part) => part !== "").join(",");
  const args = ["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"];
  if (selector !== "") args.push("--field-selector", selector);
  return (await kubectlJson<List<EventJson>>(args)).items;
}

/** From metrics.k8s.io. */
export async function readPodMetrics({ namespace, name }: PodRef): Promise<PodMetricsJson> {
  return JSON.parse(await kubectlRaw(`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${name}`));
}

export async function readNodes(): Promise<readonly NodeJson[]> {
  return (await kubectlJson<List<NodeJson>>(["get", "nodes"])).items;
}

/** Where things stand in a namespace, for the message of a failed scenario; never throws. */
export async function describeNamespace(namespace: string): Promise<string> {
  const [objects, events] = await Promise.all([
    tryKubectl(["get", "pods,deployments,statefulsets,daemonsets", "-n", namespace, "-o", "wide"]),
    tryKubectl(["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"]),
  ]);
  const autoscalers = await tryKubectl(["get", "podresourceautoscalers.keda.kedify.io", "-n", namespace, "-o", "yaml"]);
  const sections = [objects.stdout, autoscalers.stdout.slice(0, 6000), events.stdout.slice(-6000)];
  return sections.map((section) => section.trim()).filter((section) => section !== "").join("\n---\n");
}

/** Through the API server. A container that has just started may not listen yet: only that is tried again. */
async function callLoad({ namespace, name, port = 8080 }: PodRef, path: string): Promise<string> {
  const address = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/${path}`;
  const answer = await waitFor(`the load at "${address}" to listen`, async () => {
    const answer = await tryKubectl(["get", "--raw", address]);
    if (/connection refused/.test(answer.stderr)) throw new Error(answer.stderr.trim());
    return answer;
  }, { timeoutMs: 10_000, everyMs: 100 });
  if (answer.code !== 0) throw new Error(`Cannot call the load at "${address}": ${answer.stderr.trim()}`);
  return answer.stdout;
}

function toText(manifests: string | readonly object[]): string {
  if (typeof manifests === "string") return manifests;
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
}

function isReady({ metadata, status }: PodJson): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function describePod({ metadata, status }: PodJson): string {
  const reasons = (status.containerStatuses ?? []).map(({ state }) => Object.keys(state ?? {}).join());
  const leaving = metadata.deletionTimestamp === undefined ? "" : " terminating";
  return `${metadata.name} ${status.phase ?? "?"}${leaving} [${reasons.join(" ")}]`;
}
