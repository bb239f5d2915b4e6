/**
 * A scenario declares what it needs of the cluster. Where the cluster lacks it, the scenario shows up as ignored, with
 * what is missing in its name, and never as passed. Without KUBECONFIG all are ignored; a cluster that does not answer
 * is an error.
 */
import { createNamespace, describeNamespace, readNodes } from "./cluster.ts";
import { kubectl, kubectlJson, tryKubectl } from "./kubectl.ts";
import type { List, NodeJson, PodJson } from "./objects.ts";
import { toResources } from "./patches.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import { loadImage } from "./workloads.ts";

/** Does a kubelet's serving certificate verify against the cluster's CA, or is it of its own making? */
export type KubeletCertificate = "signed" | "self-signed";

export interface Needs {
  readonly images?: "load";
  readonly kubelet?: KubeletCertificate;
  readonly nodes?: number;
  /** Room for so many more pods. */
  readonly pods?: number;
  /** Room for so much more CPU request on one node. */
  readonly freeMillicores?: number;
  readonly metricsServer?: true;
}

export interface ScenarioContext {
  /** Fresh, and deleted at the end. */
  readonly namespace: string;
}

export interface Scenario {
  readonly needs?: Needs;
  readonly run: (context: ScenarioContext) => Promise<void>;
}

/** A test in a namespace of its own, with the CRD installed; a failure shows where things stood. */
export function scenario(name: string, { needs = {}, run }: Scenario): void {
  const lack = findLack(needs);
  Deno.test({
    name: lack === null ? name : `${name} [needs ${lack}]`,
    ignore: lack !== null,
    fn: () => runInNamespace(name, run).catch((error: unknown) => Promise.reject(unfold(error))),
  });
}

async function runInNamespace(name: string, run: Scenario["run"]): Promise<void> {
  await kubectl(["apply", "-f", CRDS]);
  await kubectl(["wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS]);
  await using namespace = await createNamespace(name);
  try {
    await run({ namespace: namespace.name });
  } catch (error) {
    const { message } = unfold(error);
    const standing = await describeNamespace(namespace.name);
    throw new Error(`${message}\n--- namespace ${namespace.name} ---\n${standing}`, { cause: error });
  }
}

/** A failure that another followed while things were put away: its own message names neither. */
function unfold(error: unknown): Error {
  if (error instanceof SuppressedError) {
    const [first, then] = [unfold(error.suppressed), unfold(error.error)];
    return new Error(`${first.message}\n--- and then, while ending ---\n${then.message}`, { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

const CRDS = new URL("../../../crds/", import.meta.url).pathname;
const KUBELET_PORT = 10250;

interface Facts {
  readonly hasLoadImage: boolean;
  readonly kubelet: KubeletCertificate | "unreachable";
  readonly nodes: number;
  readonly freePods: number;
  readonly freeMillicores: number;
  readonly hasMetricsServer: boolean;
}

/** Gathered once for each test file, before its tests are declared. */
const facts: Facts | null = (Deno.env.get("KUBECONFIG") ?? "") === "" ? null : await fetchFacts();

/** What the cluster lacks, in words; `null` = nothing. */
function findLack(needs: Needs): string | null {
  if (facts === null) return "a cluster: KUBECONFIG is not set";
  if (needs.images === "load" && !facts.hasLoadImage) return `image "${loadImage()}" on a node, or E2E_LOAD_IMAGE`;
  if (needs.kubelet !== undefined && needs.kubelet !== facts.kubelet) {
    return `a kubelet with a ${needs.kubelet} certificate, here: ${facts.kubelet}`;
  }
  const amounts = [
    ["nodes", needs.nodes, facts.nodes],
    ["free pods", needs.pods, facts.freePods],
    ["free millicores", needs.freeMillicores, facts.freeMillicores],
  ] as const;
  for (const [what, wanted = 0, has] of amounts) {
    if (wanted > has) return `${wanted} ${what}, here: ${has}`;
  }
  return needs.metricsServer === true && !facts.hasMetricsServer ? "metrics.k8s.io" : null;
}

async function fetchFacts(): Promise<Facts> {
  const [nodes, pods, metrics] = await Promise.all([
    readNodes(),
    kubectlJson<List<PodJson>>([
      "get",
      "pods",
      "-A",
      "--field-selector",
      "status.phase!=Succeeded,status.phase!=Failed",
    ]),
    tryKubectl(["get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes"]),
  ]);
  const ready = nodes.filter(({ status }) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
  );
  const names = ready.flatMap(({ status }) => status.images ?? []).flatMap(({ names }) => names ?? []);
  const free = ready.map((node) => freeMillicores(node, pods.items));
  return {
    // An image that is named can be pulled, or else fails where one sees it.
    hasLoadImage: Deno.env.has("E2E_LOAD_IMAGE") || names.includes(loadImage()),
    kubelet: await fetchKubeletCertificate(ready),
    nodes: ready.length,
    freePods: ready.reduce((sum, { status }) => sum + Number(status.allocatable.pods), 0) - pods.items.length,
    freeMillicores: Math.max(0, ...free),
    hasMetricsServer: metrics.code === 0,
  };
}

function freeMillicores({ metadata, status }: NodeJson, pods: readonly PodJson[]): number {
  const parsed = parseAmount(status.allocatable.cpu, "cpu");
  const containers = pods.filter(({ spec }) => spec.nodeName === metadata.name).flatMap(({ spec }) => spec.containers);
  const used = containers.reduce((sum, { resources }) => sum + (toResources(resources)["cpu.requests"] ?? 0), 0);
  return (parsed.ok ? parsed.amount : 0) - used;
}

async function fetchKubeletCertificate(nodes: readonly NodeJson[]): Promise<Facts["kubelet"]> {
  const addresses = nodes.flatMap(({ status }) => status.addresses ?? []);
  const hostname = addresses.find(({ type }) => type === "InternalIP")?.address;
  if (hostname === undefined) return "unreachable";
  try {
    using connection = await Deno.connectTls({ hostname, port: KUBELET_PORT, caCerts: await readClusterCa() });
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
