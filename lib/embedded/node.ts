/**
 * What is a node of the embedded cluster? Its kubelet, its address, and the API server's proxy to it.
 * A lost node keeps its containers, as a machine without a network does.
 */
import type { Transport } from "../kube/transport.ts";
import { abortable } from "../runtime/tasks.ts";
import { createKubelet, type Kubelet, type KubeletOptions } from "./kubelet/kubelet.ts";
import type { Taint } from "./kubelet/register.ts";
import type { NodeConfig } from "./model/state.ts";

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
