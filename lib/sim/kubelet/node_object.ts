/** The Node that a kubelet registers, as a real one of 1.36 writes it: what it has, where it is, and that it is ready. */
import { formatAmount } from "../../units/quantity.ts";
import { formatTime } from "../../units/time.ts";
import type { NodeConfig } from "../model/state.ts";
import type { JsonObject } from "../json.ts";
import { LOAD_IMAGE } from "./load_image.ts";

/** A taint as a node's spec has it. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** What a Node object says about its machine. */
export interface NodeOptions {
  readonly config: NodeConfig;
  /** The port at which its own server listens. */
  readonly port: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

/** The Node object that a kubelet registers. */
export function toNode({ config, labels = {}, taints = [] }: NodeOptions): JsonObject {
  const own = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": config.name,
    "kubernetes.io/os": "linux",
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: config.name, labels: { ...own, ...labels } },
    spec: taints.length === 0 ? {} : { taints: taints.map((taint) => ({ ...taint })) },
  };
}

/** `since`: when it turned ready. */
export function toNodeStatus(
  { config, port }: NodeOptions,
  { now, since }: { now: number; since: number },
): JsonObject {
  const resources = {
    cpu: formatAmount(config.cpuMillicores, "cpu"),
    memory: formatAmount(config.memoryBytes, "memory"),
    pods: String(config.pods),
  };
  const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: formatTime(now),
    lastTransitionTime: formatTime(since),
  });
  return {
    capacity: resources,
    allocatable: resources,
    addresses: [{ type: "InternalIP", address: config.hostIP }, { type: "Hostname", address: config.name }],
    conditions: [
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    // An API server of 1.36 asks a node for these before it takes some resizes.
    declaredFeatures: [
      "InPlacePodLevelResourcesVerticalScaling",
      "InPlacePodVerticalScalingInitContainers",
      "RestartAllContainersOnContainerExits",
    ],
    images: [{ names: [LOAD_IMAGE], sizeBytes: 4_000_000 }],
    nodeInfo: {
      architecture: "amd64",
      operatingSystem: "linux",
      osImage: "podfit embedded node",
      kernelVersion: "0",
      containerRuntimeVersion: "podfit://model",
      kubeletVersion: "v1.36.3",
      kubeProxyVersion: "",
      machineID: config.name,
      systemUUID: config.name,
      bootID: config.seed,
    },
  };
}
