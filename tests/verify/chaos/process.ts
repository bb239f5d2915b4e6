/**
 * podfit's real process against an embedded API server that listens, and kubelets of which each byte can be chosen: for
 * what only sockets, certificates and signals show. On the real clock, so everything here is quick and bounded.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { type Authority, createAuthority } from "../../support/embedded/certificates.ts";
import type { User } from "../../support/embedded/access.ts";
import { serve, type Served } from "../../support/embedded/serve.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import { type Limited, startLimited } from "./limited.ts";
import { PlainCluster } from "./plain_cluster.ts";
import { RawKubelet } from "./raw_kubelet.ts";
import type { Stage } from "./stage.ts";
import { Witness } from "./witness.ts";

/** What a process world is made of. */
export interface ProcessWorldOptions {
  readonly stage: Stage;
  /** A node for each, with one pod of an app of its own. */
  readonly nodes: readonly string[];
  /** Bearer tokens that the API server takes, and who they are; without them it asks for none. */
  readonly tokens?: ReadonlyMap<string, User>;
  /** In place of the API server's own answer; `null` lets it answer. */
  readonly intercept?: (request: Request) => Response | Promise<Response> | null;
}

const BOUNDS = { min: 20, max: 900 };
const COOLDOWN_MS = 3000;
const LEVELS = [60, 240, 130] as const;
const TICK_MS = 250;

/** An API server and kubelets that listen on 127.0.0.1. */
export class ProcessWorld implements AsyncDisposable {
  readonly cluster: PlainCluster;
  readonly kubelets: ReadonlyMap<string, RawKubelet>;
  readonly directory: string;
  readonly #stage: Stage;
  readonly #stack: AsyncDisposableStack;
  readonly #load: { level: number };
  served: Served;
  authority: Authority;

  private constructor(fields: {
    readonly cluster: PlainCluster;
    readonly kubelets: ReadonlyMap<string, RawKubelet>;
    readonly directory: string;
    readonly stage: Stage;
    readonly stack: AsyncDisposableStack;
    readonly load: { level: number };
    readonly served: Served;
    readonly authority: Authority;
  }) {
    this.cluster = fields.cluster;
    this.kubelets = fields.kubelets;
    this.directory = fields.directory;
    this.#stage = fields.stage;
    this.#stack = fields.stack;
    this.#load = fields.load;
    this.served = fields.served;
    this.authority = fields.authority;
  }

  static async open({ stage, nodes, tokens, intercept = () => null }: ProcessWorldOptions): Promise<ProcessWorld> {
    const stack = new AsyncDisposableStack();
    const load = { level: 0 };
    const directory = await Deno.makeTempDir({ prefix: "podfit-chaos-" });
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const cluster = await PlainCluster.open({
      clock: systemClock,
      random: stage.random,
      load: () => LEVELS[load.level] ?? 0,
      ...(tokens === undefined ? {} : { tokens }),
    });
    const witness = new Witness({ stage, clock: systemClock, bounds: BOUNDS, cooldownMs: COOLDOWN_MS });
    stack.defer(witness.watch(cluster.api));
    const authority = await createAuthority("chaos");
    const kubelets = new Map<string, RawKubelet>();
    for (const name of nodes) {
      const kubelet = await RawKubelet.listen(authority, () => cluster.readSummary(name));
      kubelets.set(name, stack.use(kubelet));
      addPart(cluster, name, kubelet.port);
    }
    const handle: Transport = async (request) => await intercept(request) ?? await cluster.api.handle(request);
    const served = await serve(handle, { authority });
    const enacting = setInterval(() => cluster.enact(), TICK_MS);
    stack.defer(() => clearInterval(enacting));
    const world = new ProcessWorld({ cluster, kubelets, directory, stage, stack, load, served, authority });
    stack.defer(() => world.served[Symbol.asyncDispose]());
    await Deno.writeTextFile(`${directory}/ca.crt`, authority.caCert);
    await Deno.writeTextFile(`${directory}/kubelet-ca.crt`, authority.caCert);
    await Deno.writeTextFile(`${directory}/token`, tokens?.keys().next().value ?? "none");
    await world.writeKubeconfig(served.origin);
    return world;
  }

  /** For KUBECONFIG; it names CA and token as files. */
  async writeKubeconfig(origin: string): Promise<void> {
    const name = "chaos";
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": name,
      clusters: [{ name, cluster: { server: origin, "certificate-authority": `${this.directory}/ca.crt` } }],
      users: [{ name, user: { tokenFile: `${this.directory}/token` } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
    };
    await Deno.writeTextFile(`${this.directory}/kubeconfig`, JSON.stringify(config));
  }

  /** Under the chart's limits. The kubelets' certificates are checked, unless they are not to be. */
  async start({ isInsecure = false }: { readonly isInsecure?: boolean } = {}): Promise<PodfitProcess> {
    const trust = isInsecure ? ["--kubelet-insecure-tls"] : ["--kubelet-ca", `${this.directory}/kubelet-ca.crt`];
    const args = ["--listen", "127.0.0.1:0", ...trust];
    const limited = this.#stack.use(await startLimited({ args, env: { KUBECONFIG: `${this.directory}/kubeconfig` } }));
    this.#stage.limits = limited.bound;
    return this.#stack.use(new PodfitProcess(limited.child, limited));
  }

  /** Every pod uses what none of its last two sizes fits. */
  shift(): void {
    this.#load.level = (this.#load.level + 1) % LEVELS.length;
  }

  /** Nodes whose pod has not the size of what it uses. */
  listUnfit(): readonly string[] {
    const used = LEVELS[this.#load.level] ?? 0;
    return [...this.kubelets.keys()].filter((node) => {
      const pod = this.cluster.find("pods", `pod-${node}`);
      const parsed = parseAmount(pod?.spec.containers[0].resources.requests.cpu, "cpu");
      const percent = parsed.ok ? 100 * used / parsed.amount : NaN;
      return !(percent > 40 && percent < 80);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function addPart(cluster: PlainCluster, node: string, port: number): void {
  cluster.addNode({ name: node, host: "127.0.0.1", port });
  const policy = { pollInterval: "1s", cooldown: `${COOLDOWN_MS}ms`, consecutiveSamples: 1 };
  const bounds = { cpu: { requests: { min: `${BOUNDS.min}m`, max: `${BOUNDS.max}m` } } };
  cluster.addApp(node, { policy, bounds });
  cluster.addPod({ name: `pod-${node}`, app: node, node });
}

/** podfit as a child. Disposal kills it. */
export class PodfitProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #limited: Limited | null;
  readonly #read: Promise<unknown>;
  text = "";
  /** Its exit code; `null` while it runs. */
  code: number | null = null;

  constructor(child: Deno.ChildProcess, limited: Limited | null = null) {
    this.#child = child;
    this.#limited = limited;
    this.#read = Promise.all([this.#drain(child.stderr), child.stdout.cancel()]);
    child.status.then(({ code }) => this.code = code);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Where it answers; `null` while it does not listen. */
  get origin(): string | null {
    const address = /"message":"Listening".*?"address":"([^"]+)"/.exec(this.text)?.[1];
    return address === undefined ? null : `http://${address}`;
  }

  /** The status of /healthz, /readyz and the like; 0 where there is no answer in time. */
  async ask(path: string, withinMs = 2000): Promise<number> {
    try {
      const response = await fetch(`${this.origin}${path}`, { signal: AbortSignal.timeout(withinMs) });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }

  /** The sum of a metric's series; NaN where there is no answer. */
  async readMetric(family: string): Promise<number> {
    try {
      const response = await fetch(`${this.origin}/metrics`, { signal: AbortSignal.timeout(5000) });
      const lines = (await response.text()).split("\n").filter((line) => line.startsWith(family));
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    } catch {
      return NaN;
    }
  }

  /** The most memory that it has held since its start, MiB; 0 where it has no limits, or has ended. */
  async readPeakMiB(): Promise<number> {
    return (await this.#limited?.readUsage())?.peakMiB ?? 0;
  }

  /** Asks it to end; what is wrong with its end, empty where nothing is. */
  async end(withinMs: number): Promise<string> {
    const began = performance.now();
    if (this.code === null) this.#child.kill("SIGTERM");
    const isOver = await until(() => this.code !== null, withinMs);
    if (!isOver) return `SIGTERM does not end it within ${withinMs / 1000} s`;
    if (this.code === 0) return "";
    const took = ((performance.now() - began) / 1000).toFixed(1);
    return `SIGTERM ended it after ${took} s with code ${this.code}: ${this.tail()}`;
  }

  /** The end of what it said. */
  tail(): string {
    return this.text.trimEnd().split("\n").slice(-2).join(" | ").slice(-600);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.code === null) this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#read;
  }

  async #drain(stderr: ReadableStream<Uint8Array>): Promise<void> {
    for await (const part of stderr.pipeThrough(new TextDecoderStream())) this.text += part;
  }
}

/** Waits until something is so; false when it is not so in time. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endsMs = performance.now() + withinMs;
  while (performance.now() < endsMs) {
    if (await isSo()) return true;
    await systemClock.sleep(100);
  }
  return await isSo();
}
