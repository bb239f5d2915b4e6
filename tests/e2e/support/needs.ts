/**
 * A scenario declares what it needs of the cluster. Where the cluster lacks it, the scenario shows up as ignored, with
 * what is missing in its name, and never as passed. Without KUBECONFIG all are ignored; a cluster that does not answer
 * is an error.
 */
import { BACKEND, withBackend } from "./backend.ts";
import { claimShare } from "./claims.ts";
import { createNamespace } from "./cluster.ts";
import { EMBEDDED_FACTS, openEmbeddedCluster } from "./embedded_cluster.ts";
import { type Facts, fetchFacts, type KubeletCertificate, toMinor } from "./facts.ts";
import { openRealCluster } from "./real_cluster.ts";
import { loadImage, ON_CGROUP2 } from "./workloads.ts";
import { waitForRoom } from "./room.ts";

export interface Needs {
  /** No other scenario may run beside it, e.g. because it changes what all of them use. */
  readonly alone?: true;
  /** Only those with a node for themselves may run beside it, because it measures what it uses or how long it takes. */
  readonly calm?: true;
  readonly images?: "load";
  /** The image of `deno task image`, and helm. */
  readonly podfitImage?: true;
  /**
   * `own`: no other scenario may use the node, because it is full or differs: the spare one, or else it runs alone.
   * `cgroup2`: one with cgroup version 2, for itself.
   */
  readonly node?: "own" | "cgroup2";
  /** The kubelet of that node has the feature gate MemoryQoS. */
  readonly memoryQos?: true;
  /** The certificate that the kubelets of its pods have to serve with. */
  readonly kubelet?: KubeletCertificate;
  readonly nodes?: number;
  /** Room for so many more pods. */
  readonly pods?: number;
  /** Room for so much more CPU request on one node; it is the scenario's own for as long as that runs. */
  readonly freeMillicores?: number;
  readonly metricsServer?: true;
  /** KEDA's operator and metrics adapter, and helm. */
  readonly keda?: true;
  /** Prometheus and prometheus-adapter. */
  readonly prometheusAdapter?: true;
  /** What podfit asks the API server for is compared with its rights. */
  readonly auditLog?: true;
  /** podfit runs on the node of its pods, and the test may mount there. */
  readonly cgroups?: true;
  /** The API server's, e.g. `1.36`. */
  readonly minorVersion?: string;
  /** Of the API server and of each kubelet, this or a later one: what the scenario is about came with it. */
  readonly sinceMinor?: string;
}

export interface ScenarioContext {
  /** Fresh, and deleted at the end. */
  readonly namespace: string;
  /** The node that the scenario has for itself, where there is one: its pods have to name it. */
  readonly nodeName: string | null;
}

export interface Scenario {
  readonly needs?: Needs;
  /** Why the embedded cluster cannot run it. */
  readonly realOnly?: string;
  readonly run: (context: ScenarioContext) => Promise<void>;
}

/** A test in a namespace of its own, with the CRD installed; a failure shows where things stood. */
export function scenario(name: string, { needs = {}, realOnly, run }: Scenario): void {
  const lack = BACKEND === "embedded" && realOnly !== undefined ? `real only: ${realOnly}` : describeLack(needs, facts);
  Deno.test({
    name: lack === null ? name : `${name} [${lack}]`,
    ignore: lack !== null,
    fn: () => runWithShare(name, { needs, run }).catch((error: unknown) => Promise.reject(unfold(error))),
  });
}

async function runWithShare(name: string, { needs = {}, run }: Pick<Scenario, "needs" | "run">): Promise<void> {
  const { alone = false, calm = false, freeMillicores: millicores = 0, node } = needs;
  const nodeName = node === undefined ? null : (node === "own" ? facts?.spare?.name : facts?.cgroup2) ?? null;
  const own = node === "own" ? "spare" : ON_CGROUP2 ? "alone" : "cgroup2";
  const place = nodeName !== null ? own : alone || node === "own" ? "alone" : calm ? "calm" : "shared";
  await using _share = await claimShare({ name, place, millicores });
  await runInNamespace(name, { nodeName, run });
}

async function runInNamespace(
  name: string,
  { nodeName, run }: Pick<ScenarioContext, "nodeName"> & Pick<Scenario, "run">,
): Promise<void> {
  await using cluster = BACKEND === "embedded" ? await openEmbeddedCluster() : await openRealCluster();
  await withBackend(cluster, async () => {
    await using namespace = await createNamespace(name);
    try {
      // Those of the scenario before may still be leaving.
      if (nodeName !== null) await waitForRoom(nodeName);
      await run({ namespace: namespace.name, nodeName });
    } catch (error) {
      const { message } = unfold(error);
      const standing = await cluster.describe(namespace.name);
      throw new Error(`${message}\n--- namespace ${namespace.name} ---\n${standing}`, { cause: error });
    }
  });
}

/** A failure that another followed while things were put away: its own message names neither. */
function unfold(error: unknown): Error {
  if (error instanceof SuppressedError) {
    const [first, then] = [unfold(error.suppressed), unfold(error.error)];
    return new Error(`${first.message}\n--- and then, while ending ---\n${then.message}`, { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

/** Known before the file's tests are declared; `null` without a cluster. */
const facts = BACKEND === "embedded" ? EMBEDDED_FACTS : await readFacts();

/** A run of many files gathers them once, before any of its own scenarios takes from what there is. */
async function readFacts(): Promise<Facts | null> {
  const given = Deno.env.get("E2E_FACTS") ?? "";
  if (given !== "") return JSON.parse(given);
  return (Deno.env.get("KUBECONFIG") ?? "") === "" ? null : await fetchFacts();
}

/** What the cluster of these facts lacks, in words; `null` = nothing. Without facts there is no cluster. */
export function describeLack(needs: Needs, facts: Facts | null): string | null {
  if (facts === null) return "needs a cluster: KUBECONFIG is not set";
  if (needs.node === "cgroup2" && facts.cgroup2 === undefined) {
    return "needs a node with cgroup v2: CGROUP2_NODES=1 tests/cluster/up";
  }
  if (needs.memoryQos === true && facts.hasMemoryQos !== true) {
    return "needs a node with MemoryQoS: FEATURE_GATES=MemoryQoS=true CGROUP2_NODES=1 tests/cluster/up";
  }
  if (needs.images === "load" && !facts.hasLoadImage) {
    return `needs image "${loadImage()}" on a node, or E2E_LOAD_IMAGE`;
  }
  if (needs.podfitImage === true && !facts.hasPodfitImage) {
    return "needs podfit's image on the nodes and helm: see tests/cluster/build";
  }
  const { kubelet } = needs.node === "own" ? facts.spare ?? facts : facts;
  if (needs.kubelet !== undefined && needs.kubelet !== kubelet) {
    return `needs a kubelet with a ${needs.kubelet} certificate, here: ${kubelet}`;
  }
  if (needs.minorVersion !== undefined && needs.minorVersion !== facts.minorVersion) {
    return `needs Kubernetes ${needs.minorVersion}, here: ${facts.minorVersion}`;
  }
  if (needs.sinceMinor !== undefined && toMinor(facts.oldestMinor) < toMinor(needs.sinceMinor)) {
    return `needs Kubernetes ${needs.sinceMinor} or later, here: ${facts.oldestMinor}`;
  }
  if (needs.auditLog === true && !facts.hasAuditLog) {
    return "needs the API server's log of a cluster of tests/cluster/up";
  }
  if (needs.cgroups === true && !facts.hasCgroups) return "needs root on the machine of the node";
  if (needs.keda === true && !facts.hasKeda) {
    return "needs E2E_ADAPTERS=1, and KEDA's own programs on a cluster of tests/cluster/up: see tests/cluster/build keda";
  }
  if (needs.prometheusAdapter === true && !facts.hasPrometheusAdapter) {
    return "needs E2E_ADAPTERS=1, Prometheus, and prometheus-adapter on a cluster of tests/cluster/up: see tests/cluster/build prometheus-adapter";
  }
  const amounts = [
    ["nodes", needs.nodes, facts.nodes],
    ["free pods", needs.pods, facts.freePods],
    ["free millicores", needs.freeMillicores, facts.freeMillicores],
  ] as const;
  for (const [what, wanted = 0, has] of amounts) {
    if (wanted > has) return `needs ${wanted} ${what}, here: ${has}`;
  }
  return needs.metricsServer === true && !facts.hasMetricsServer ? "needs metrics.k8s.io" : null;
}
