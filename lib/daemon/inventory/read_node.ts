/** From the API's Node to NodeFacts, at the edge: where its kubelet is dialed, and how large it is. */
import type { Node } from "../../api/kubernetes.ts";
import type { Capacity } from "../../core/decision.ts";
import { parseAmount } from "../../units/quantity.ts";
import type { NodeFacts } from "./facts.ts";

/** Reached from inside the cluster as from a node of it, hence the order (metrics-server's manifest has the same). */
const ADDRESS_TYPES = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"];
const KUBELET_PORT = 10250;

/** Never throws: what cannot be read is `null`. */
export function readNode({ metadata, status }: Node): NodeFacts {
  const addresses = status?.addresses ?? [];
  const host = ADDRESS_TYPES.map((type) => addresses.find((one) => one.type === type)?.address)
    .find((address) => address !== undefined);
  return {
    name: metadata?.name ?? "",
    host: host ?? null,
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT,
    capacity: readCapacity(status?.capacity),
    allocatable: readCapacity(status?.allocatable),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? null,
    memoryPressure: status?.conditions?.some((one) => one.type === "MemoryPressure" && one.status === "True") ?? false,
  };
}

function readCapacity(amounts: Readonly<Record<string, unknown>> = {}): Capacity {
  return { cpuMillicores: readAmount(amounts["cpu"], "cpu"), memoryBytes: readAmount(amounts["memory"], "memory") };
}

function readAmount(quantity: unknown, resource: "cpu" | "memory"): number | null {
  const parsed = parseAmount(quantity, resource);
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}
