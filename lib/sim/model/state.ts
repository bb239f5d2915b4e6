/**
 * What a node remembers between two steps: plain JSON, so that a run can be shown, kept and taken up again. Times are
 * epoch ms of the node's clock; nothing in it is changed in place.
 */
import type { Pod } from "../../api/kubernetes.ts";
import type { Resources } from "../../units/resources.ts";
import type { BoundPod } from "./bound_pod.ts";

export type PodStatus = NonNullable<Pod["status"]>;

export interface NodeConfig {
  readonly name: string;
  readonly hostIP: string;
  /** Allocatable, and what there is to share. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly pods: number;
  /** Used by what is no pod; seen in the node's own numbers only. */
  readonly system: { readonly cpuMillicores: number; readonly memoryBytes: number };
  /** Runs with the same seed are the same run. */
  readonly seed: string;
  /** How long a load is taken to stand still. */
  readonly stepMs: number;
  /** Without it (the kubelet of some runtimes sees none) containers are read fresh for ever. */
  readonly hasCadvisor: boolean;
}

export interface NodeState {
  readonly version: 1;
  readonly config: NodeConfig;
  readonly startedAt: number;
  readonly at: number;
  /** In the order they came. */
  readonly pods: readonly PodState[];
  /** Of all that runs on it, since it started. */
  readonly meter: Meter;
  /** When deferred resizes are looked at again; `null` while there are none. */
  readonly retryAt: number | null;
}

export interface PodState {
  readonly spec: BoundPod;
  readonly life: PodLife;
  /** Of the pod's cgroup: goes on over restarts. */
  readonly meter: Meter;
  /** By container name: of the instances whose process lives. */
  readonly meters: Readonly<Record<string, Meter>>;
  /** As told last. */
  readonly status: PodStatus | null;
}

/** A container's use since it started, and what cAdvisor last read of it. */
export interface Meter {
  readonly startedAt: number;
  readonly cpuNs: number;
  /** What the limit, or the node, held back. */
  readonly throttledNs: number;
  /** In the last step. */
  readonly millicores: number;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
  /** `null`: cAdvisor has not taken over yet. */
  readonly sample: Sample | null;
  readonly nextSampleAt: number;
  readonly samples: number;
}

export interface Sample {
  readonly at: number;
  readonly cpuNs: number;
  /** Since the sample before. */
  readonly nanoCores: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
}

export interface PodLife {
  /** When the kubelet first saw it: status.startTime. */
  readonly seenAt: number;
  readonly observedGeneration: number;
  /** The spec has changed and is looked at then. */
  readonly observeAt: number | null;
  readonly rejected: { readonly reason: string; readonly message: string } | null;
  /** Sandbox and network of the pod. */
  readonly sandbox: { readonly kind: "starting" | "ready" | "gone"; readonly dueAt: number | null };
  /** By container name: what the kubelet has admitted. */
  readonly allocated: Readonly<Record<string, Resources>>;
  readonly cgroup: PodCgroup;
  readonly pending: Pending | null;
  readonly resize: Resize | null;
  readonly containers: readonly ContainerState[];
  /** It is being deleted since then, and killed when its grace ends. */
  readonly stopping: { readonly at: number; readonly killAt: number; readonly goneAt: number | null } | null;
  /** All has ended, and the phase says so from then on. */
  readonly endsAt: number | null;
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed";
}

/** Written through at a resize; requests of memory have no place in cgroup v1 and stay as at the start (measured). */
export interface PodCgroup {
  readonly cpuRequest: number;
  readonly cpuLimit: number | null;
  readonly memoryRequest: number;
  readonly memoryLimit: number | null;
}

export interface Pending {
  readonly since: number;
  readonly probeAt: number;
  readonly generation: number;
  readonly message: string;
}

export interface Resize {
  readonly generation: number;
  readonly since: number;
  readonly probeAt: number;
  /** As the condition shows it. */
  readonly shown: string | null;
  /** Of the last try: shown at the next. */
  readonly error: string | null;
  readonly tries: number;
  readonly tryAt: number;
  /** Containers are being restarted for it. */
  readonly restartsUntil: number | null;
}

export interface ContainerState {
  readonly name: string;
  readonly run: Run;
  readonly last: Ended | null;
  readonly restarts: number;
  /** Instances so far; keys the chance of each. */
  readonly instances: number;
  /** What its cgroup has. */
  readonly actual: Resources;
  /** Of the next restart but one: 0, 10 s, 20 s ... 300 s. */
  readonly backOffMs: number;
}

export type Run =
  | { readonly kind: "waiting" }
  | { readonly kind: "starting"; readonly dueAt: number }
  | { readonly kind: "running"; readonly startedAt: number; readonly id: string; readonly stop: Stop | null }
  /** The process is gone and the kubelet has not looked yet. `isRestart`: killed to be restarted by a resize. */
  | { readonly kind: "exited"; readonly ended: Ended; readonly seenAt: number; readonly isRestart: boolean }
  /** `restartAt`: `null` when it stays so. */
  | { readonly kind: "terminated"; readonly ended: Ended; readonly restartAt: number | null; readonly waitMs: number }
  /** Shows for a moment before the restart only. */
  | { readonly kind: "backOff"; readonly ended: Ended; readonly restartAt: number; readonly waitMs: number };

/** It was sent SIGTERM and ends then. */
export interface Stop {
  readonly at: number;
  readonly code: number;
}

export interface Ended {
  readonly id: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly code: number;
  readonly reason: "Completed" | "Error" | "OOMKilled";
}
