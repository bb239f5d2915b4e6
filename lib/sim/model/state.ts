/**
 * What a node remembers between two steps: plain JSON, so that a run can be shown, kept and taken up again. Times are
 * epoch ms of the node's clock; nothing in it is changed in place.
 */
import type { Pod } from "../../api/kubernetes.ts";
import type { Resources } from "../../units/resources.ts";
import type { BoundPod } from "./bound_pod.ts";

/** The status of a pod as the API has it. */
export type PodStatus = NonNullable<Pod["status"]>;

/** What a node is and has. It does not change. */
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
  /** False for the kubelets of some runtimes, whose containers are always read fresh. */
  readonly hasCadvisor: boolean;
  /** False for a node of cgroup v1, whose kernel measures no CPU pressure of a container (PSI). */
  readonly hasPsi: boolean;
}

/** A node at one moment. */
export interface NodeState {
  readonly version: 1;
  readonly config: NodeConfig;
  readonly startedAt: number;
  readonly at: number;
  /** The pods in the order in which they came. */
  readonly pods: readonly PodState[];
  /** It measures all that runs on the node, since the node started. */
  readonly meter: Meter;
  /** When deferred resizes are looked at again; `null` while there are none. */
  readonly retryAt: number | null;
}

/** A pod on a node at one moment. */
export interface PodState {
  readonly spec: BoundPod;
  readonly life: PodLife;
  /** It measures the pod's cgroup and goes on when containers restart. */
  readonly meter: Meter;
  /** The meters of instances with a process, by container name. */
  readonly meters: Readonly<Record<string, Meter>>;
  /** The status that was last reported. */
  readonly status: PodStatus | null;
}

/** A container's use since it started, and what cAdvisor last read of it. */
export interface Meter {
  readonly startedAt: number;
  readonly cpuNs: number;
  /** The part of the demand that the limit or the node held back. */
  readonly unmetNs: number;
  /** What `cpu.stat` calls throttled: held back by the limit alone, summed over the CPUs that ran it. */
  readonly throttledNs: number;
  /** What the CPU that ran most of it has run of it (`cpuacct.usage_percpu`). */
  readonly largestCpuNs: number;
  readonly psi: CpuPressure;
  /** The usage in the last step. */
  readonly millicores: number;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
  /** `null`: cAdvisor has not taken over yet. */
  readonly sample: Sample | null;
  readonly nextSampleAt: number;
  readonly samples: number;
}

/** PSI `cpu.full`: the time in which threads wanted to run and none did. The means are percent, as the kernel's. */
export interface CpuPressure {
  readonly fullNs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** What was last measured, which summaries show. */
export interface Sample {
  readonly at: number;
  readonly cpuNs: number;
  /** The mean since the sample before. */
  readonly nanoCores: number;
  readonly psi: CpuPressure;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
}

/** How far a pod has come from its start to its end. */
export interface PodLife {
  /** When the kubelet first saw it: status.startTime. */
  readonly seenAt: number;
  readonly observedGeneration: number;
  /** The spec has changed and is looked at then. */
  readonly observeAt: number | null;
  readonly rejected: { readonly reason: string; readonly message: string } | null;
  /** Sandbox and network of the pod. */
  readonly sandbox: { readonly kind: "starting" | "ready" | "gone"; readonly dueAt: number | null };
  /** The sizes that the kubelet has admitted, by container name. */
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

/** A resize that has not been admitted yet. */
export interface Pending {
  readonly since: number;
  readonly probeAt: number;
  readonly generation: number;
  readonly message: string;
}

/** How far a resize has come. */
export interface Resize {
  readonly generation: number;
  readonly since: number;
  readonly probeAt: number;
  /** The error that the condition shows. */
  readonly shown: string | null;
  /** The error of the last try, which is shown at the next. */
  readonly error: string | null;
  readonly tries: number;
  readonly tryAt: number;
  /** Containers are being restarted for it. */
  readonly restartsUntil: number | null;
}

/** A container at one moment. */
export interface ContainerState {
  readonly name: string;
  readonly run: Run;
  readonly last: Ended | null;
  readonly restarts: number;
  /** Instances so far; keys the chance of each. */
  readonly instances: number;
  /** The sizes that its cgroup has. */
  readonly actual: Resources;
  /** The wait before the next restart but one: 0, 10 s, 20 s ... 300 s. */
  readonly backOffMs: number;
}

/** What an instance of a container does. */
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

/** How an instance of a container ended. */
export interface Ended {
  readonly id: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly code: number;
  readonly reason: "Completed" | "Error" | "OOMKilled";
}
