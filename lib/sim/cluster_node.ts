/**
 * A node of an embedded cluster: its kubelet, running or lost, and the way to it. A lost one keeps its containers, as a
 * machine does whose network is down: nobody hears of it until it is back.
 */
import { abortable } from "@std/async/abortable";
import type { Transport } from "../kube/transport.ts";
import { createKubelet, type Kubelet, type KubeletOptions } from "./kubelet/kubelet.ts";
import type { Taint } from "./kubelet/node_object.ts";
import type { NodeConfig } from "./model/state.ts";
import { Faults } from "./server/http/faults.ts";
import { Refusal } from "./server/refusal.ts";

/** A node as it is asked for. What is left out is that of a small machine. */
export interface NodeSpec extends Partial<Omit<NodeConfig, "hostIP" | "seed">> {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Its clock is ahead of the cluster's by so much. */
  readonly skewMs?: number;
}

/** The address at which a kubelet is asked. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** A node of a running cluster. Disposing of it ends its kubelet. */
export interface ClusterNode extends AsyncDisposable {
  readonly name: string;
  readonly place: Place;
  readonly kubelet: Kubelet;
  /** The faults of its kubelet's answers. */
  readonly faults: Faults;
  /** A request to its address; hangs while it is lost. */
  readonly handle: Transport;
  readonly lose: () => Promise<void>;
  readonly comeBack: () => void;
}

/** What a node is started with, beside the options of its kubelet. */
export interface ClusterNodeOptions extends Omit<KubeletOptions, "node" | "skewMs"> {
  readonly name: string;
  readonly spec: NodeSpec;
  readonly place: Place;
  readonly seed: string;
}

/** Starts a node, whose kubelet registers itself and runs the pods that are bound to it. */
export function startNode({ name, spec, place, seed, ...options }: ClusterNodeOptions): ClusterNode {
  const { labels = {}, taints = [], skewMs = 0, ...config } = spec;
  const kubelet = createKubelet({
    ...options,
    skewMs,
    node: { config: { ...DEFAULTS, ...config, name, hostIP: place.host, seed }, port: place.port, labels, taints },
  });
  const faults = new Faults(options.clock);
  let life = live(kubelet);
  return {
    name,
    place,
    kubelet,
    faults,
    async handle(request) {
      if (life.ending.signal.aborted) await abortable(new Promise<never>(() => {}), request.signal);
      return await answer(kubelet, request, faults);
    },
    lose: () => end(life),
    comeBack() {
      if (life.ending.signal.aborted) life = live(kubelet, life.ended);
    },
    [Symbol.asyncDispose]: () => end(life),
  };
}

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

/** A kubelet refuses in plain text. */
async function answer(kubelet: Kubelet, request: Request, faults: Faults): Promise<Response> {
  const { method, url, signal } = request;
  const effect = faults.next({ method, path: new URL(url).pathname, isWatch: false });
  try {
    await faults.strike(effect, signal);
    return faults.spoil(await kubelet.handle(request), effect);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return new Response(error.message, { status: error.code, headers: { "content-type": "text/plain" } });
  }
}

interface Life {
  readonly ending: AbortController;
  readonly ended: Promise<void>;
}

/** One after the other: two runs of one kubelet would write over each other. */
function live(kubelet: Kubelet, before: Promise<void> = Promise.resolve()): Life {
  const ending = new AbortController();
  return { ending, ended: before.then(() => kubelet.run(ending.signal)) };
}

async function end({ ending, ended }: Life): Promise<void> {
  ending.abort();
  await ended;
}
