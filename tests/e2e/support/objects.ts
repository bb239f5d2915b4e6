/**
 * The few fields of API objects that e2e scenarios look at, as kubectl prints them. Written by hand and not taken from
 * lib/api, so that a mistake in the product's types cannot hide in a scenario.
 */

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly generation?: number;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly managedFields?: readonly ManagedField[];
}

export interface ManagedField {
  readonly manager: string;
  readonly subresource?: string;
  readonly time?: string;
}

export interface List<T> {
  readonly items: readonly T[];
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** Quantities as text, by resource name. */
export interface ResourceLists {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export interface PodJson {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly ContainerJson[];
    readonly initContainers?: readonly ContainerJson[];
    readonly resources?: ResourceLists;
  };
  readonly status: {
    readonly phase?: string;
    readonly qosClass?: string;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatusJson[];
    readonly initContainerStatuses?: readonly ContainerStatusJson[];
  };
}

export interface ContainerJson {
  readonly name: string;
  readonly resources?: ResourceLists;
  readonly volumeMounts?: readonly { readonly mountPath: string }[];
}

export interface ContainerStatusJson {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly containerID?: string;
  readonly resources?: ResourceLists;
  readonly state?: Readonly<Record<string, { readonly startedAt?: string; readonly reason?: string }>>;
  readonly lastState?: Readonly<Record<string, { readonly exitCode?: number; readonly reason?: string }>>;
}

export interface AutoscalerJson {
  readonly metadata: Metadata;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly observedGeneration?: number;
    readonly effectiveSelector?: Readonly<Record<string, unknown>>;
    readonly effectivePolicy?: Readonly<Record<string, unknown>>;
    readonly lastScaleTime?: string;
    readonly lastScaleAction?: string;
    readonly lastScaleResourceChange?: string;
    readonly scaling?: boolean;
  };
}

export interface EventJson {
  readonly metadata: Metadata;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  readonly involvedObject: ObjectReference;
  readonly related?: ObjectReference;
}

export interface ObjectReference {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

export interface NodeJson {
  readonly metadata: Metadata;
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: {
    readonly daemonEndpoints: { readonly kubeletEndpoint: { readonly Port: number } };
    readonly allocatable: Readonly<Record<string, string>>;
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly conditions?: readonly Condition[];
    readonly images?: readonly { readonly names?: readonly string[] }[];
    readonly nodeInfo: { readonly kubeletVersion: string };
  };
}

/** What the load image says the kernel enforces on its container; `null` = no limit, or not in this cgroup version. */
export interface Limits {
  readonly cgroupVersion: 1 | 2;
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
  /** The CPU request, cgroup v1: max(2, floor(millicores * 1024 / 1000)). */
  readonly cpuShares: number | null;
  /** The CPU request, cgroup v2: derived from the shares by the runtime; compare it only with another weight. */
  readonly cpuWeight: number | null;
}
