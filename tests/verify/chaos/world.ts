/**
 * A small embedded cluster under virtual time, with podfits that have their wires, and a witness of what they do. Loads
 * move between three levels whose sizes fit none of the other two: whether podfit works is asked by moving them.
 */
import type { NodeSpec } from "../../../lib/embedded/node.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { Pausable } from "../../support/pausable.ts";
import { BOUNDS, COOLDOWN_S, describeApp, LEVELS, readRequest, SIDE, toResource } from "./apps.ts";
import { Podfit } from "./podfit.ts";
import type { Stage } from "./stage.ts";
import { type FetchSummary, readSummaryText, type SummaryAnswer } from "./summaries.ts";
import { type Sent, Wire } from "./wire.ts";
import { Witness } from "./witness.ts";

/** What a world is made of. */
export interface WorldOptions {
  readonly deployments?: number;
  readonly replicas?: number;
  readonly nodes?: readonly NodeSpec[];
  /** No podfit is started with it. */
  readonly isEmpty?: boolean;
  /** Between two resizes of one container, seconds. */
  readonly cooldownS?: number;
}

/** What a podfit of a world may be started with. */
export interface StartOptions {
  readonly name?: string;
  /** In place of the kubelets' answers. */
  readonly answer?: FetchSummary;
  /** It acts only while it holds the Lease "podfit", and may be stopped. */
  readonly isElected?: boolean;
}

/** A podfit and its wire. */
export interface Subject {
  readonly podfit: Podfit;
  readonly wire: Wire;
  readonly process: Pausable;
}

/** A fault that a world goes through. */
export interface WorldFault {
  readonly name: string;
  /** Begins it, and gives how to end it. */
  readonly begin: () => (() => void | Promise<void>) | Promise<() => void | Promise<void>>;
  readonly lastsS: number;
  /** Loads stand still while it lasts. */
  readonly isQuiet?: boolean;
  /** From its end until pods fit again and podfit says that it is well. */
  readonly withinS: number;
  /** Looked at when it has ended: what is wrong, empty where nothing is. */
  readonly check?: () => string | Promise<string>;
}

/** A cluster, its podfits and what is seen of them. */
export class World implements AsyncDisposable {
  readonly run: ClusterRun;
  readonly witness: Witness;
  /** Those that are meant to run. */
  readonly subjects: Subject[] = [];
  /** Those that nobody hears of any more, and which have to come to their end all the same. */
  readonly ending: Podfit[] = [];
  readonly #stage: Stage;
  readonly #stopWatching: () => void;
  /** By podfit and uid of the pod, when the newest usage that it was told of was measured. */
  readonly #sampledAt = new Map<string, number>();
  /** By uid, the level that a pod was told to use. */
  readonly #told = new Map<string, number>();
  /** By method and resource. */
  readonly #sent = new Map<string, number>();
  #level = 0;

  private constructor(stage: Stage, run: ClusterRun, cooldownMs: number) {
    this.#stage = stage;
    this.run = run;
    this.witness = new Witness({ stage, clock: run.clock, bounds: BOUNDS, cooldownMs });
    this.#stopWatching = this.witness.watch(run.cluster.api);
  }

  /** Its pods run, and podfit has sized them once. */
  static async open(stage: Stage, options: WorldOptions = {}): Promise<World> {
    const { deployments = 2, replicas = 2, nodes = [{ cpuMillicores: 8000 }], cooldownS = COOLDOWN_S } = options;
    const run = await ClusterRun.start({ seed: `${stage.seed} ${stage.scenario}`, nodes });
    const world = new World(stage, run, cooldownS * 1000);
    for (let index = 0; index < deployments; index++) {
      await run.create(...describeApp(`app-${index}`, { replicas, cooldownS }));
    }
    await run.advance(15);
    if (options.isEmpty === true) return world;
    world.start();
    await world.shift();
    const why = await world.settle(120);
    if (why !== "") throw new Error(`Cannot begin: ${why}`);
    return world;
  }

  start({ name = `podfit-${this.subjects.length + 1}`, answer, isElected = false }: StartOptions = {}): Subject {
    const { clock, cluster } = this.run;
    const process = new Pausable(clock);
    const plain = cluster.connect();
    const wire: Wire = new Wire(plain.transport, { clock, onSend: (sent) => this.#judge(name, wire, sent) });
    const server = wire.toServer(plain);
    const source = cluster.openSource(server);
    const podfit = new Podfit({
      name,
      server: isElected ? { ...server, transport: process.wrap(server.transport) } : server,
      ...(isElected && { lease: LEASE }),
      clock: isElected ? process.clock : clock,
      random: this.#stage.random,
      source: {
        fetchSummary: async (node, signal) => this.#note(name, await (answer ?? source.fetchSummary)(node, signal)),
      },
    });
    const subject = { podfit, wire, process };
    this.subjects.push(subject);
    return subject;
  }

  async advance(seconds: number): Promise<void> {
    await this.run.advance(seconds);
  }

  /** Every pod uses what none of its last two sizes fits. */
  async shift(): Promise<void> {
    this.#level = (this.#level + 1) % LEVELS.length;
    await this.load();
  }

  /** Moves loads until podfit has something to do. */
  async unsettle(): Promise<void> {
    for (let turn = 0; turn < LEVELS.length; turn++) {
      await this.shift();
      if ((await this.listUnfit()).length > 0) return;
    }
  }

  /** Pods that have come meanwhile use what the others do. */
  async load(): Promise<void> {
    for (const { metadata: { namespace, name, uid } } of await this.#listRunning()) {
      if (this.#told.get(uid) === this.#level) continue;
      this.#told.set(uid, this.#level);
      this.run.cluster.setLoad({ namespace, name, port: 8080 }, { cpuMillicores: LEVELS[this.#level] ?? 0 });
    }
  }

  /** Advances until pods fit and podfits are well; what is still wrong after so long, empty where nothing is. */
  async settle(withinS: number): Promise<string> {
    for (let second = 0; second < withinS; second += STEP_S) {
      await this.advance(STEP_S);
      await this.load();
      if (await this.describe() === "") return "";
    }
    return await this.describe();
  }

  /** What is wrong at this moment; empty where nothing is. */
  async describe(): Promise<string> {
    const [pods, unfit] = [await this.#listRunning(), await this.listUnfit()];
    const none = pods.length === 0 ? ["no pod runs"] : [];
    const own = this.subjects.map(({ podfit }) => podfit.describe()).filter((text) => text !== "");
    return [...none, ...unfit, ...own].join("; ");
  }

  /** Requests that podfits have sent so far, such as `PATCH pods/resize`. */
  countSent(what: string): number {
    return this.#sent.get(what) ?? 0;
  }

  /** Running pods whose size is not that of what they use. */
  async listUnfit(): Promise<readonly string[]> {
    const used = LEVELS[this.#level] ?? 0;
    return (await this.#listRunning()).flatMap((pod) => {
      const request = readRequest(pod);
      const percent = 100 * used / request;
      const fits = percent > SIDE.scaleDownThreshold && percent < SIDE.scaleUpThreshold;
      return fits ? [] : [`${pod.metadata.name} uses ${used}m of ${request}m`];
    });
  }

  /** Loads move while it lasts and with its end: what podfit does is judged, and afterwards it has to act. */
  async fault({ name, begin, lastsS, isQuiet = false, withinS, check }: WorldFault): Promise<void> {
    const end = await begin();
    for (let leftS = lastsS; leftS > 0; leftS -= SHIFT_S) {
      if (!isQuiet) await this.shift();
      await this.advance(Math.min(leftS, SHIFT_S));
    }
    const failed = await check?.() ?? "";
    await end();
    await this.unsettle();
    const endedMs = this.run.clock.monotonic();
    const unwell = await this.settle(withinS);
    const why = [failed, unwell].filter((text) => text !== "").join("; ");
    this.#stage.note({ name, recoveredMs: this.run.clock.monotonic() - endedMs, withinMs: withinS * 1000, why });
  }

  /** Ends a podfit; what is wrong with its end, empty where nothing is. */
  async end(subject: Subject, withinS = 60): Promise<string> {
    const { podfit } = subject;
    this.subjects.splice(this.subjects.indexOf(subject), 1);
    podfit.end();
    for (let second = 0; second < withinS && !podfit.isOver; second++) await this.advance(1);
    return podfit.isOver ? "" : `${podfit.name} has not ended after ${withinS} s`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.subjects.map(({ podfit }) => podfit), ...this.ending];
    for (const podfit of all) podfit.end();
    for (let second = 0; second < 90 && all.some(({ isOver }) => !isOver); second++) await this.advance(1);
    this.#stopWatching();
    await this.run[Symbol.asyncDispose]();
  }

  async #listRunning(): Promise<readonly Json[]> {
    const pods = await this.run.list("pods");
    return pods.filter(({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status.phase === "Running" &&
      status.containerStatuses?.every((one: Json) => one.state?.running !== undefined)
    );
  }

  #judge(name: string, wire: Wire, sent: Sent): void {
    const { api } = this.run.cluster;
    if (sent.method !== "GET" && !sent.path.endsWith("/leases")) this.#judgeLeader(name, sent);
    const what = `${sent.method} ${toResource(sent.path)}`;
    this.#sent.set(what, this.countSent(what) + 1);
    const [, namespace = "", pod = ""] = /\/namespaces\/([^/]+)\/pods\/([^/]+)\/resize$/.exec(sent.path) ?? [];
    const entry = pod === "" ? null : api.store.collection("/pods").get(namespace, pod);
    const uid = (entry?.object as Json)?.metadata.uid ?? null;
    const sampledAt = (of: string) => this.#sampledAt.get(`${name} ${of}`) ?? null;
    this.witness.judge(sent, { name, wire, sampledAt }, uid);
  }

  /** Who writes anything is who the Lease names, or would not know yet that it is gone. */
  #judgeLeader(name: string, { method, path }: Sent): void {
    const lease = this.run.cluster.api.store.collection("coordination.k8s.io/leases").get(LEASE.namespace, LEASE.name);
    const holder = (lease?.object as Json)?.spec.holderIdentity ?? name;
    if (holder === name || path.endsWith(`/leases/${LEASE.name}`)) return;
    this.#stage.broke("stale resize", `${name} sent ${method} ${path} while ${holder || "nobody"} leads`);
  }

  #note(name: string, answer: SummaryAnswer): SummaryAnswer {
    for (const { podRef, containers = [] } of parseOr(readSummaryText(answer) ?? "")?.pods ?? []) {
      const times = containers.map((one: Json) => Date.parse(one?.cpu?.time)).filter(Number.isFinite);
      if (times.length > 0) this.#sampledAt.set(`${name} ${podRef?.uid}`, Math.max(...times));
    }
    return answer;
  }
}

const LEASE = { namespace: "default", name: "podfit" };
const STEP_S = 5;
/** How often loads move while a fault lasts. */
const SHIFT_S = 60;

/** A garbled answer tells of nothing. */
function parseOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
