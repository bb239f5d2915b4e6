/** What the daemon keeps of autoscalers, workloads and nodes; `read_*.ts` beside this file parse them. */
import type { Autoscaler, WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { Capacity } from "../../core/decision.ts";
import type { Problem } from "../../units/problem.ts";
import type { Selector } from "../../units/selector.ts";
import type { StatusAddress } from "../../usage/watch_usage.ts";

/** A PodResourceAutoscaler, parsed. */
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

/** A Deployment, StatefulSet or DaemonSet, as far as autoscalers need it. */
export interface WorkloadFacts {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** `null` when it cannot be read: then `problems` says why. */
  readonly selector: Selector | null;
  readonly problems: readonly Problem[];
}

/** A node, as far as its usage is concerned. */
export interface NodeFacts {
  readonly name: string;
  /** Where its kubelet is asked, by its own word. */
  readonly addresses: readonly StatusAddress[];
  readonly port: number;
  /** `null` when it does not say. */
  readonly maxPods: number | null;
  readonly capacity: Capacity;
  /** What of it pods may ask for. */
  readonly allocatable: Capacity;
  /** `v1.36.3`; `null` when it does not say. */
  readonly kubeletVersion: string | null;
  /** Its condition MemoryPressure is True. */
  readonly memoryPressure: boolean;
}

/** As kubectl and people name a namespaced object: `namespace/name`. */
export function formatName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
