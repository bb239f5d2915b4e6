/**
 * How much CPU request does a node have left? Scenarios fill it up, so that a resize finds no room: the number has to be
 * the kubelet's own, which counts a pod until it is gone.
 */
import { parseAmount } from "../../../lib/units/quantity.ts";
import { find, waitFor } from "./cluster.ts";
import type { List, NodeJson, PodJson } from "./objects.ts";
import { toResources } from "./patches.ts";
import { CGROUP2, ON_CGROUP2 } from "./workloads.ts";

/** The node with the most room for CPU requests, among those that scenarios run on. */
export async function findRoomyNode(): Promise<string> {
  const [nodes, pods] = await Promise.all([readNodes(), readActivePods()]);
  const candidates = nodes.filter((node) => isOfCgroup2(node) === ON_CGROUP2);
  const [roomiest] = candidates.toSorted((a, b) => readFreeMillicores(b, pods) - readFreeMillicores(a, pods));
  if (roomiest === undefined) throw new Error("Cannot find a node: there is none");
  return roomiest.metadata.name;
}

/** Whether it is one that `tests/cluster/guest/node` has started. */
export function isOfCgroup2({ spec }: NodeJson): boolean {
  return spec.taints?.some(({ key }) => key === CGROUP2) ?? false;
}

/** Waits until no pod is or will be on its way out, which would make room later; then the CPU request that a node has left. */
export function waitForRoom(nodeName: string): Promise<number> {
  return waitFor(`the pods of node "${nodeName}" to be at rest`, async () => {
    const [ending, pods] = await Promise.all([readEndingNamespaces(), readActivePods()]);
    const leaving = pods.filter(({ metadata, spec }) => {
      return spec.nodeName === nodeName &&
        (metadata.deletionTimestamp !== undefined || ending.has(metadata.namespace ?? ""));
    });
    if (leaving.length > 0) throw new Error(`leaving: ${leaving.map(({ metadata }) => metadata.name).join(", ")}`);
    const node = (await readNodes()).find(({ metadata }) => metadata.name === nodeName);
    if (node === undefined) throw new Error("there is no such node");
    return readFreeMillicores(node, pods);
  }, { timeoutMs: 60_000, everyMs: 1000 });
}

export function readFreeMillicores({ metadata, status }: NodeJson, pods: readonly PodJson[]): number {
  const parsed = parseAmount(status.allocatable.cpu, "cpu");
  const containers = pods.filter(({ spec }) => spec.nodeName === metadata.name).flatMap(({ spec }) => spec.containers);
  const used = containers.reduce((sum, { resources }) => sum + (toResources(resources)["cpu.requests"] ?? 0), 0);
  return (parsed.ok ? parsed.amount : 0) - used;
}

/** The pods of all namespaces but for finished ones, which take no room. */
async function readActivePods(): Promise<readonly PodJson[]> {
  const unfinished = "status.phase!=Succeeded,status.phase!=Failed";
  return (await find<List<PodJson>>(`/api/v1/pods?fieldSelector=${encodeURIComponent(unfinished)}`))?.items ?? [];
}

/** Their pods are told to go a moment later. */
async function readEndingNamespaces(): Promise<ReadonlySet<string>> {
  const namespaces = await find<List<{ readonly metadata: PodJson["metadata"] }>>("/api/v1/namespaces");
  const ending = namespaces?.items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined) ?? [];
  return new Set(ending.map(({ metadata }) => metadata.name));
}

async function readNodes(): Promise<readonly NodeJson[]> {
  return (await find<List<NodeJson>>("/api/v1/nodes"))?.items ?? [];
}
