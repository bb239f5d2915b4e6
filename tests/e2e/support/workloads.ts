/**
 * Manifests of the load image: what size its containers have and what they use from the start. Each maker gives a plain
 * object for `applyManifests`; pods of a workload carry the label `app: NAME`.
 */
import type { ResourceLists } from "./objects.ts";

export interface LoadContainer extends ResourceLists {
  /** `main` where a pod has one container. */
  readonly name?: string;
  readonly cpuMillicores?: number;
  readonly memoryMiB?: number;
  /** The containers of a pod share its address. */
  readonly port?: number;
  /** Anything else of a container, e.g. resizePolicy or readinessProbe. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface PodOptions {
  readonly containers?: readonly LoadContainer[];
  /** Native sidecars. */
  readonly sidecars?: readonly LoadContainer[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Anything else of a pod's spec, e.g. nodeName or resources. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface WorkloadOptions extends PodOptions {
  readonly replicas?: number;
}

export type Manifest = Readonly<Record<string, unknown>>;

export function pod(name: string, options: PodOptions = {}): Manifest {
  const { metadata, spec } = template(name, options);
  return { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name }, spec };
}

/** Its pods are replaced one after the other's end: a rollout never doubles the load. */
export function deployment(name: string, options: WorkloadOptions = {}): Manifest {
  const { replicas = 1 } = options;
  return workload("Deployment", name, { ...shape(name, options), replicas, strategy: { type: "Recreate" } });
}

export function statefulSet(name: string, options: WorkloadOptions = {}): Manifest {
  const { replicas = 1 } = options;
  const more = { replicas, serviceName: name, podManagementPolicy: "Parallel" };
  return workload("StatefulSet", name, { ...shape(name, options), ...more });
}

export function daemonSet(name: string, options: PodOptions = {}): Manifest {
  return workload("DaemonSet", name, shape(name, options));
}

/** `spec` as in the custom resource: target or selector, containerName, policy, bounds. */
export function autoscaler(name: string, spec: Readonly<Record<string, unknown>>): Manifest {
  return { apiVersion: "keda.kedify.io/v1alpha1", kind: "PodResourceAutoscaler", metadata: { name }, spec };
}

/** Taint and label of nodes with cgroup version 2: see `tests/cluster/guest/node`. */
export const CGROUP2 = "podfit.dev/cgroup2";
/** A node that one scenario makes, without a machine. */
export const HOLLOW_NODE = "hollow-1";
/** All pods go to a node with cgroup version 2, in `deno task e2e:cgroup2`. */
export const ON_CGROUP2 = Deno.env.get("E2E_CGROUP2") === "1";
const PLACE = ON_CGROUP2
  ? { nodeSelector: { [CGROUP2]: "" }, tolerations: [{ key: CGROUP2, operator: "Exists" }] }
  : {};

/** The load image as this cluster knows it. */
export function loadImage(): string {
  return Deno.env.get("E2E_LOAD_IMAGE") ?? "localhost/load:1";
}

function workload(kind: string, name: string, spec: Manifest): Manifest {
  return { apiVersion: "apps/v1", kind, metadata: { name }, spec };
}

function shape(name: string, options: PodOptions) {
  return { selector: { matchLabels: { app: name } }, template: template(name, options) };
}

function template(name: string, { containers = [{}], sidecars = [], labels, annotations, fields }: PodOptions) {
  return {
    metadata: { labels: { app: name, ...labels }, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      ...PLACE,
      containers: containers.map(container),
      ...(sidecars.length === 0 ? {} : {
        initContainers: sidecars.map((sidecar) => ({ ...container(sidecar), restartPolicy: "Always" })),
      }),
      ...fields,
    },
  };
}

/** IfNotPresent: an imported image has no registry, a published one is pulled. */
function container({ name = "main", port = 8080, requests, limits, fields, ...load }: LoadContainer) {
  const { cpuMillicores = 0, memoryMiB = 0 } = load;
  const env = { PORT: port, CPU: cpuMillicores, MEM: memoryMiB };
  return {
    name,
    image: loadImage(),
    imagePullPolicy: "IfNotPresent",
    env: Object.entries(env).map(([name, value]) => ({ name, value: String(value) })),
    resources: { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) },
    ...fields,
  };
}
