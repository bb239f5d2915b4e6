/**
 * One kubelet of the embedded cluster with its API server, in process under a virtual clock: pods are bound to it by
 * their manifests, and what it told is read back from the API.
 */
import { createKubelet, type Kubelet, type KubeletOptions } from "../../lib/embedded/kubelet/kubelet.ts";
import type { NodeConfig } from "../../lib/embedded/model/state.ts";
import type { Json } from "./api_objects.ts";
import type { FullApiServerOptions } from "./embedded/full_cluster.ts";
import { createLoadServer, type LoadServer } from "./embedded/load_server.ts";
import { RESOURCE_METRICS } from "./embedded/resource_metrics.ts";
import { expectOk, ORIGIN, SimServer } from "./sim_server.ts";

export const GI = 2 ** 30;

export const NODE: NodeConfig = {
  name: "node1",
  hostIP: "198.51.100.10",
  cpuMillicores: 2000,
  memoryBytes: 8 * GI,
  pods: 110,
  system: { cpuMillicores: 50, memoryBytes: 200 * 2 ** 20 },
  seed: "test",
  stepMs: 250,
  hasCadvisor: true,
  hasPsi: true,
};

export interface KubeletRunOptions extends Partial<Omit<KubeletOptions, "server">> {
  readonly server?: Partial<FullApiServerOptions>;
}

export class KubeletRun implements AsyncDisposable {
  readonly server: SimServer;
  readonly kubelet: Kubelet;
  readonly loads: LoadServer;
  readonly errors: unknown[] = [];
  #ending = new AbortController();
  #ended: Promise<void>;

  constructor({ server = {}, ...options }: KubeletRunOptions = {}) {
    this.server = new SimServer(server);
    this.kubelet = createKubelet({
      server: { origin: ORIGIN, transport: this.server.api.handle },
      node: { config: NODE, port: 10250 },
      clock: this.server.clock,
      random: () => 0.5,
      answers: RESOURCE_METRICS,
      onError: (error) => this.errors.push(error),
      ...options,
    });
    this.loads = createLoadServer(this.kubelet);
    this.#ended = this.kubelet.run(this.#ending.signal);
  }

  async advance(seconds: number): Promise<void> {
    await this.server.clock.advance(seconds * 1000);
  }

  /** A pod of the load image bound to the node, unless the spec says otherwise. */
  async create(name: string, spec: Json = {}, metadata: Json = {}): Promise<void> {
    await this.server.create(PODS, {
      metadata: { name, ...metadata },
      spec: { nodeName: NODE.name, terminationGracePeriodSeconds: 1, containers: [load()], ...spec },
    });
  }

  async pod(name: string): Promise<Json> {
    return await this.server.get(`${PODS}/${name}`);
  }

  async resize(name: string, resources: Json): Promise<void> {
    const patch = { spec: { containers: [{ name: "main", resources }] } };
    expectOk(await this.server.patch(`${PODS}/${name}/resize`, patch));
  }

  /** `reason message`, of one pod. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.server.get("/api/v1/namespaces/default/events");
    return items.filter(({ involvedObject }: Json) => involvedObject.name === name)
      .map(({ reason, message }: Json) => `${reason} ${message}`);
  }

  async summary(): Promise<Json> {
    return await (await this.ask("/stats/summary")).json();
  }

  ask(path: string, init: RequestInit = {}): Promise<Response> {
    return this.kubelet.handle(new Request(`https://${NODE.hostIP}:10250${path}`, init));
  }

  /** The machine is gone: nobody says goodbye. */
  async lose(): Promise<void> {
    this.#ending.abort();
    await this.#ended;
  }

  comeBack(): void {
    this.#ending = new AbortController();
    this.#ended = this.kubelet.run(this.#ending.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lose();
    const { pending } = this.server.clock;
    if (pending > 0) throw new Error(`Cannot end: ${pending} sleeps and timeouts were left behind`);
  }
}

export const PODS = "/api/v1/namespaces/default/pods";

export interface LoadOptions {
  readonly name?: string;
  readonly cpu?: number;
  readonly memory?: number;
  readonly port?: number;
  readonly resources?: Json;
}

/** A container of the load image. */
export function load({ name = "main", cpu = 0, memory = 0, port = 8080, resources = {} }: LoadOptions = {}): Json {
  const env = Object.entries({ CPU: cpu, MEM: memory, PORT: port });
  return {
    name,
    image: "localhost/load:1",
    resources,
    env: env.map(([name, value]) => ({ name, value: String(value) })),
  };
}
