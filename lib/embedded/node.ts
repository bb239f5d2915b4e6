/**
 * What is a node of the embedded cluster? Its kubelet, its address, and the API server's proxy to it.
 * A lost node keeps its containers, as a machine without a network does.
 */
import type { Transport } from "../kube/transport.ts";
import { abortable } from "../runtime/tasks.ts";
import { createKubelet, type Kubelet, type KubeletOptions } from "./kubelet/kubelet.ts";
import type { LoadRef } from "./kubelet/machine.ts";
import type { Taint } from "./kubelet/register.ts";
import type { NodeConfig } from "./model/state.ts";
import type { Proxy } from "./server/http/handler.ts";

/** The wanted properties of a node. The defaults are those of a small machine. */
export interface NodeSpec extends Partial<Omit<NodeConfig, "hostIP" | "seed">> {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** How far its clock is ahead of the cluster's, in ms. */
  readonly skewMs?: number;
}

/** The address at which a kubelet is asked. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** A node of a running cluster. Disposing of it ends its kubelet. */
export interface ClusterNode extends AsyncDisposable {
  readonly name: string;
  readonly place: NodeAddress;
  readonly kubelet: Kubelet;
  /** A request to its address; hangs while it is lost. */
  readonly handle: Transport;
  readonly lose: () => Promise<void>;
  readonly comeBack: () => void;
}

/** Starts a node, whose kubelet registers itself and runs the pods that are bound to it. */
export function startNode({ name, spec, place, seed, intercept, ...options }: ClusterNodeOptions): ClusterNode {
  const { labels = {}, taints = [], skewMs = 0, ...config } = spec;
  const kubelet = createKubelet({
    ...options,
    skewMs,
    node: { config: { ...DEFAULTS, ...config, name, hostIP: place.host, seed }, port: place.port, labels, taints },
  });
  const answer = intercept(kubelet.handle, name);
  let life = startLife(kubelet);
  return {
    name,
    place,
    kubelet,
    async handle(request) {
      if (life.ending.signal.aborted) await abortable(new Promise<never>(() => {}), request.signal);
      return await answer(request);
    },
    lose: () => endLife(life),
    comeBack() {
      if (life.ending.signal.aborted) life = startLife(kubelet, life.ended);
    },
    [Symbol.asyncDispose]: () => endLife(life),
  };
}

/**
 * `token` is the API server's own for kubelets, which do not see the caller of the proxy; `null` where they need none.
 */
export function createProxy(
  nodes: ReadonlyMap<string, ClusterNode>,
  { token, proxyToPod }: { readonly token: string | null; readonly proxyToPod: ProxyToPod },
): Proxy {
  return async ({ plural, namespace, name, path }, request) => {
    const { search } = new URL(request.url);
    if (plural === "nodes") {
      const node = nodes.get(name.split(":")[0] ?? "");
      if (node === undefined) return refuseProxy(`no such host "${name}"`);
      const { host, port } = node.place;
      const { method, signal } = request;
      const headers = new Headers(request.headers);
      headers.delete("authorization");
      if (token !== null) headers.set("authorization", `Bearer ${token}`);
      return await node.handle(new Request(`https://${host}:${port}/${path}${search}`, { method, headers, signal }));
    }
    const [pod = "", port = "80"] = name.split(":");
    const container = { namespace: namespace ?? "", name: pod, port: Number(port) };
    try {
      const answer = proxyToPod([...nodes.values()].map(({ kubelet }) => kubelet), container, `/${path}${search}`);
      if (answer !== null) return answer;
    } catch (error) {
      return refuseProxy(error instanceof Error ? error.message : String(error));
    }
    return refuseProxy(`dial tcp ${pod}:${port}: connect: connection refused`);
  };
}

/** Answers a request to a pod; `null` when no container listens there. Throws for a container that ends meanwhile. */
export type ProxyToPod = (kubelets: readonly Kubelet[], container: LoadRef, pathAndQuery: string) => Response | null;

/** What a node is started with, in addition to the options of its kubelet. */
interface ClusterNodeOptions extends Omit<KubeletOptions, "node" | "skewMs"> {
  readonly name: string;
  readonly spec: NodeSpec;
  readonly place: NodeAddress;
  readonly seed: string;
  readonly intercept: InterceptKubelet;
}

/** Makes the handler of a node's kubelet another one, which may disturb its answers. */
export type InterceptKubelet = (handle: Transport, node: string) => Transport;

const DEFAULTS: Omit<NodeConfig, "name" | "hostIP" | "seed"> = {
  cpuMillicores: 4000,
  memoryBytes: 16 * 2 ** 30,
  pods: 110,
  system: { cpuMillicores: 60, memoryBytes: 500 * 2 ** 20 },
  // Samples and statuses have whole seconds, so a finer step would not be seen.
  stepMs: 1000,
  hasCadvisor: true,
  hasPsi: true,
};

interface KubeletRun {
  readonly ending: AbortController;
  readonly ended: Promise<void>;
}

/** One after the other: two runs of one kubelet would write over each other. */
function startLife(kubelet: Kubelet, before: Promise<void> = Promise.resolve()): KubeletRun {
  const ending = new AbortController();
  return { ending, ended: before.then(() => kubelet.run(ending.signal)) };
}

async function endLife({ ending, ended }: KubeletRun): Promise<void> {
  ending.abort();
  await ended;
}

function refuseProxy(why: string): Response {
  const message = `error trying to reach service: ${why}`;
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "ServiceUnavailable" };
  return Response.json({ ...status, message, code: 503 }, { status: 503 });
}
