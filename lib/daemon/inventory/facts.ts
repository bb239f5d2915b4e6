/** What the daemon keeps of autoscalers, workloads and nodes, parsed at the edge from the API's objects. */
import { parseAutoscaler } from "../../autoscaler/parse_autoscaler.ts";
import type { Autoscaler, WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { Problem } from "../../units/problem.ts";
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { Deployment, Node } from "../../api/kubernetes.ts";
import { parseAmount } from "../../units/quantity.ts";
import { parseSelector } from "../../units/parse_selector.ts";
import type { Selector } from "../../units/selector.ts";
import type { Capacity } from "../../core/decision.ts";

export interface AutoscalerFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** `null` when the spec is invalid: then `problems` says why. */
  readonly autoscaler: Autoscaler | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** As the API server has it: of any shape. */
  readonly status: unknown;
}

export function readAutoscaler(object: PodResourceAutoscaler): AutoscalerFacts {
  const { uid = "", namespace = "", name = "", resourceVersion = "", generation = 0 } = object.metadata ?? {};
  const parsed = parseAutoscaler(object);
  return {
    uid,
    namespace,
    name,
    resourceVersion,
    generation,
    autoscaler: parsed.ok ? parsed.autoscaler : null,
    problems: parsed.ok ? [] : parsed.problems,
    warnings: parsed.ok ? parsed.warnings : [],
    status: object.status ?? {},
  };
}

export interface WorkloadFacts {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** `null` when it cannot be read: then `problems` says why. */
  readonly selector: Selector | null;
  readonly problems: readonly Problem[];
}

/** All three kinds have what is read here in the same place. */
export function readWorkload({ metadata, spec }: Deployment, kind: WorkloadKind): WorkloadFacts {
  const { namespace = "", name = "" } = metadata ?? {};
  const parsed = parseSelector(spec?.selector, "spec.selector");
  return {
    kind,
    namespace,
    name,
    selector: parsed.ok ? parsed.selector : null,
    problems: parsed.ok ? [] : parsed.problems,
  };
}

export interface NodeFacts {
  readonly name: string;
  /** How its kubelet is dialed; `null` when status has no address. */
  readonly host: string | null;
  readonly port: number;
  readonly capacity: Capacity;
}

/** Reached from inside the cluster as from a node of it, hence the order (metrics-server's manifest has the same). */
const ADDRESS_TYPES = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"];
const KUBELET_PORT = 10250;

export function readNode({ metadata, status }: Node): NodeFacts {
  const addresses = status?.addresses ?? [];
  const host = ADDRESS_TYPES.map((type) => addresses.find((one) => one.type === type)?.address)
    .find((address) => address !== undefined);
  return {
    name: metadata?.name ?? "",
    host: host ?? null,
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT,
    capacity: {
      cpuMillicores: readAmount(status?.capacity?.["cpu"], "cpu"),
      memoryBytes: readAmount(status?.capacity?.["memory"], "memory"),
    },
  };
}

/** As kubectl and people name a namespaced object: `namespace/name`. */
export function formatName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

function readAmount(quantity: unknown, resource: "cpu" | "memory"): number | null {
  const parsed = parseAmount(quantity, resource);
  return parsed.ok && parsed.amount > 0 ? parsed.amount : null;
}
