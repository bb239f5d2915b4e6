/** From the API's Node to NodeFacts, at the edge: what it says of its kubelet, and how large it is. */
import type { Node } from "../../api/kubernetes.ts";
import type { Capacity } from "../../core/decision.ts";
import { parseAmount } from "../../units/quantity.ts";
import type { NodeFacts } from "./facts.ts";

const KUBELET_PORT = 10250;

/** Never throws: what cannot be read is `null`. */
export function readNode({ metadata, status }: Node): NodeFacts {
  return {
    name: metadata?.name ?? "",
    addresses: (status?.addresses ?? []).map(({ type, address }) => ({ type, address })),
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT,
    maxPods: readCount(status?.capacity?.["pods"]),
    capacity: readCapacity(status?.capacity),
    allocatable: readCapacity(status?.allocatable),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? null,
    memoryPressure: status?.conditions?.some((one) => one.type === "MemoryPressure" && one.status === "True") ?? false,
  };
}

function readCapacity(amounts: Readonly<Record<string, unknown>> = {}): Capacity {
  return { cpuMillicores: readAmount(amounts["cpu"], "cpu"), memoryBytes: readAmount(amounts["memory"], "memory") };
}

function readCount(quantity: unknown): number | null {
  const parsed = parseAmount(quantity, "memory");
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}

function readAmount(quantity: unknown, resource: "cpu" | "memory"): number | null {
  const parsed = parseAmount(quantity, resource);
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}
