/** What does the cluster of KUBECONFIG have that scenarios may need? */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { VERSION } from "../../../lib/cli/command/process.ts";
import { hasKeda } from "./keda.ts";
import { hasPrometheusAdapter } from "./prometheus_adapter.ts";
import { hasProgram, kubectlJson, kubectlRaw, tryKubectl } from "./kubectl.ts";
import { hasAuditLog } from "./rights.ts";
import type { List, Metadata, NodeJson, PodJson } from "./objects.ts";
import { isOfCgroup2, readFreeMillicores } from "./room.ts";
import { waitUntil } from "./wait.ts";
import { loadImage, ON_CGROUP2 } from "./workloads.ts";

/** Does a kubelet's serving certificate verify against the cluster's CA, or is it of its own making? */
export type KubeletCertificate = "signed" | "self-signed";

/** A node that takes only pods that name it: see `tests/cluster/up`. */
export interface SpareNode {
  readonly name: string;
  readonly kubelet: KubeletCertificate | "unreachable";
}

/** What the cluster has; it is about nodes that take any pod, unless it says otherwise. */
export interface Facts {
  readonly hasLoadImage: boolean;
  /** The image of this version, and helm to install it with. */
  readonly hasPodfitImage: boolean;
  readonly kubelet: KubeletCertificate | "unreachable";
  readonly spare?: SpareNode;
  /** The name of a node with cgroup version 2 that takes only pods that name it: see `tests/cluster/guest/node`. */
  readonly cgroup2?: string;
  /** Whether its kubelet has the feature gate MemoryQoS. */
  readonly hasMemoryQos?: boolean;
  readonly nodes: number;
  readonly freePods: number;
  readonly freeMillicores: number;
  readonly hasMetricsServer: boolean;
  /** KEDA's own programs can be started next to it. */
  readonly hasKeda: boolean;
  /** So can Prometheus and prometheus-adapter. */
  readonly hasPrometheusAdapter: boolean;
  /** What accounts ask the API server for can be read: see `tests/cluster/up`. */
  readonly hasAuditLog: boolean;
  /** This is the machine of a node, whose cgroups may be mounted once more. */
  readonly hasCgroups: boolean;
  /** The API server's. */
  readonly minorVersion: string;
  /** The lowest of the API server and the kubelets. */
  readonly oldestMinor: string;
}

/** As `tests/cluster/build podfit` names it. */
export const PODFIT_IMAGE = `localhost/podfit:${VERSION}`;
const SPARE = "podfit.dev/spare";

export async function fetchFacts(): Promise<Facts> {
  const [{ items: nodes }, pods, metrics, version] = await Promise.all([
    kubectlJson<List<NodeJson>>(["get", "nodes"]),
    listLastingPods(),
    tryKubectl(["get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes"]),
    kubectlRaw("/version"),
  ]);
  const { major, minor } = JSON.parse(version);
  const usable = nodes.filter(({ status }) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
  );
  const ready = usable.filter((node) => ON_CGROUP2 ? isOfCgroup2(node) : node.spec.taints === undefined);
  const spare = ON_CGROUP2 ? undefined : usable.find(({ spec }) => spec.taints?.some(({ key }) => key === SPARE));
  const cgroup2 = usable.find(isOfCgroup2);
  const names = ready.flatMap(({ status }) => status.images ?? []).flatMap(({ names }) => names ?? []);
  const free = ready.map((node) => readFreeMillicores(node, pods));
  return {
    // An image that is named can be pulled, or else fails where one sees it.
    hasLoadImage: Deno.env.has("E2E_LOAD_IMAGE") || names.includes(loadImage()),
    hasPodfitImage: !ON_CGROUP2 && names.includes(PODFIT_IMAGE) && await hasProgram("helm"),
    kubelet: await fetchKubeletCertificate(ready[0]),
    ...(spare === undefined
      ? {}
      : { spare: { name: spare.metadata.name, kubelet: await fetchKubeletCertificate(spare) } }),
    ...(cgroup2 === undefined ? {} : {
      cgroup2: cgroup2.metadata.name,
      hasMemoryQos: await hasMemoryQos(cgroup2.metadata.name),
    }),
    nodes: ready.length,
    freePods: ready.reduce((sum, { status }) => sum + Number(status.allocatable.pods), 0) - pods.length,
    freeMillicores: Math.max(0, ...free),
    hasMetricsServer: metrics.code === 0,
    hasKeda: await hasKeda(),
    hasPrometheusAdapter: await hasPrometheusAdapter(),
    hasAuditLog: await hasAuditLog(),
    hasCgroups: !ON_CGROUP2 && await findCgroups(),
    minorVersion: `${major}.${minor}`,
    oldestMinor: `${major}.${
      Math.min(Number(minor), ...ready.map(({ status }) => toMinor(status.nodeInfo.kubeletVersion)))
    }`,
  };
}

/** `1.36` and `v1.36.3` -> 36 */
export function toMinor(version: string): number {
  return Number(version.split(".")[1]);
}

/** As root, because Deno itself lets nobody look into /sys. */
async function findCgroups(): Promise<boolean> {
  const script = '[ "$(id -u)" = 0 ] && find /sys/fs/cgroup -maxdepth 4 -type d -name "*kubepods*" | grep -q .';
  const { success } = await new Deno.Command("sh", { args: ["-c", script], stdin: "null" }).output();
  return success;
}

/** Once the namespaces of earlier scenarios, whose deletion nobody awaited, have given up their room. */
async function listLastingPods(): Promise<readonly PodJson[]> {
  const list = () =>
    Promise.all([
      kubectlJson<List<{ readonly metadata: Metadata }>>(["get", "namespaces"]),
      kubectlJson<List<PodJson>>([
        "get",
        "pods",
        "-A",
        "--field-selector",
        "status.phase!=Succeeded,status.phase!=Failed",
      ]),
    ]);
  return await waitUntil("pods of deleted namespaces to go", async () => {
    const [namespaces, pods] = await list();
    const ending = namespaces.items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name);
    const leaving = pods.items.filter(({ metadata }) => ending.includes(metadata.namespace ?? ""));
    if (leaving.length === 0) return pods.items;
    throw new Error(`there are ${leaving.length}`);
  }, { timeoutMs: 90_000, everyMs: 1_000, clock: systemClock });
}

async function fetchKubeletCertificate(node: NodeJson | undefined): Promise<Facts["kubelet"]> {
  const hostname = node?.status.addresses?.find(({ type }) => type === "InternalIP")?.address;
  const port = node?.status.daemonEndpoints.kubeletEndpoint.Port;
  if (hostname === undefined || port === undefined) return "unreachable";
  try {
    using connection = await Deno.connectTls({ hostname, port, caCerts: await readClusterCa() });
    await connection.handshake();
    return "signed";
  } catch (error) {
    return /certificate/i.test(String(error)) ? "self-signed" : "unreachable";
  }
}

interface KubeconfigJson {
  readonly clusters: readonly {
    readonly cluster: { readonly "certificate-authority"?: string; readonly "certificate-authority-data"?: string };
  }[];
}

async function readClusterCa(): Promise<string[]> {
  const { clusters } = await kubectlJson<KubeconfigJson>(["config", "view", "--minify", "--raw"]);
  const { "certificate-authority": path, "certificate-authority-data": encoded } = clusters[0]?.cluster ?? {};
  if (encoded !== undefined) return [atob(encoded)];
  return path === undefined ? [] : [await Deno.readTextFile(path)];
}

interface KubeletConfig {
  readonly kubeletconfig: { readonly featureGates?: Readonly<Record<string, boolean>> };
}

async function hasMemoryQos(node: string): Promise<boolean> {
  const config = JSON.parse(await kubectlRaw(`/api/v1/nodes/${node}/proxy/configz`)) as KubeletConfig;
  return config.kubeletconfig.featureGates?.["MemoryQoS"] === true;
}
