/**
 * A deployment of the load image on the cluster of KUBECONFIG with podfit's real process beside it, and a witness that
 * watches its pods through whatever happens.
 */
import { connect } from "../../../../lib/kube/http_transport.ts";
import { watchList } from "../../../../lib/kube/watch.ts";
import { systemClock } from "../../../../lib/runtime/clock.ts";
import { parseResizeEntries } from "../../../../lib/units/managed_fields.ts";
import type { Backend } from "../../../e2e/support/backend.ts";
import { openRealCluster } from "../../../e2e/support/real_cluster.ts";
import type { Json } from "../../../support/api_objects.ts";
import { describeApp, readRequest, SIDE } from "../apps.ts";
import type { Stage } from "../stage.ts";
import { Witness } from "../witness.ts";

const LEVELS = [60, 240, 130] as const;
const BOUNDS = { min: 30, max: 600 };
const COOLDOWN_S = 10;
/** A load is measured to a few percent: 60m of 152m is 39 % by what was told, and 41 % by what was used. */
const TOLERANCE = 3;
/** podfit may decide on usage of so long ago, and its loads are told in turns. */
const KNOWN_MS = 45_000;

/** Where the pods of a world run. */
export interface Place {
  readonly replicas: number;
  /** Of the template of the pods. */
  readonly podFields?: Readonly<Record<string, unknown>>;
}

const ANYWHERE: Place = { replicas: 2 };

/** podfit beside the pods of a namespace, however it runs. */
export interface RealPodfit extends AsyncDisposable {
  readonly start: (namespace: string) => Promise<void>;
  /** What is wrong with it at this moment; empty where nothing is. */
  readonly describe: () => Promise<string>;
}

/** What a world is made of. */
export interface RealWorldOptions {
  readonly stage: Stage;
  /** Not started yet; the world disposes of it. */
  readonly podfit: RealPodfit;
  readonly place?: Place;
}

/** What a pod was told to use. */
interface Told {
  readonly level: number;
  readonly atMs: number;
}

/** A namespace with its pods, and a podfit for it. */
export class RealWorld implements AsyncDisposable {
  readonly namespace: string;
  readonly witness: Witness;
  readonly #backend: Backend;
  readonly #stage: Stage;
  readonly #place: Place;
  readonly #pods = new Map<string, Json>();
  /** By uid and start of its container: one that starts again has forgotten what it was told. */
  readonly #told = new Map<string, Told>();
  readonly #resized = new Map<string, number>();
  #watching = new AbortController();
  readonly #podfit: RealPodfit;
  #level = 0;

  private constructor({ stage, podfit, place = ANYWHERE }: RealWorldOptions, backend: Backend, namespace: string) {
    this.namespace = namespace;
    this.#stage = stage;
    this.#place = place;
    this.#backend = backend;
    this.#podfit = podfit;
    this.witness = new Witness({ stage, clock: systemClock, bounds: BOUNDS, cooldownMs: COOLDOWN_S * 1000 });
  }

  /** Its pods run, and podfit has sized them once. */
  static async open(options: RealWorldOptions): Promise<RealWorld> {
    const backend = await openRealCluster();
    const namespace = `chaos-${crypto.randomUUID().slice(0, 6)}`;
    await backend.createNamespace(namespace);
    const world = new RealWorld(options, backend, namespace);
    const requests = { cpu: "100m", memory: "32Mi" };
    const sizes = { requests, cpuLimit: "800m", cpuMillicores: LEVELS[0], bounds: BOUNDS };
    const { replicas, podFields } = world.#place;
    await backend.apply(namespace, describeApp("web", { replicas, podFields, cooldownS: COOLDOWN_S, ...sizes }));
    world.watchAgain();
    await options.podfit.start(namespace);
    world.shift();
    const why = await world.settle(180_000);
    if (why !== "") throw new Error(`Cannot begin: ${why}`);
    return world;
  }

  /** Every pod is to use what none of its last two sizes fits. */
  shift(): void {
    this.#level = (this.#level + 1) % LEVELS.length;
  }

  /** Moves loads until podfit has something to do. */
  unsettle(): void {
    for (let turn = 0; turn < LEVELS.length; turn++) {
      this.shift();
      if (this.#listUnfit().length > 0) return;
    }
  }

  /** Pods are told what to use; those that could not be told are told again the next time. */
  async tellLoads(): Promise<void> {
    await Promise.all(
      this.#listRunning().map(async (running) => {
        const key = toKey(running);
        if (this.#told.get(key)?.level === this.#level) return;
        const pod = { namespace: this.namespace, name: running.metadata.name, port: 8080 };
        const level = this.#level;
        await this.#backend.setLoad(pod, { cpuMillicores: LEVELS[level] ?? 0 })
          .then(() => this.#told.set(key, { level, atMs: performance.now() }), () => {});
      }),
    );
  }

  /** Resizes so far of the pods on a node. */
  countResizes(nodeName: string): number {
    return this.#resized.get(nodeName) ?? 0;
  }

  /** Waits for the next resize, and names the node of its pod; `null` when there was none within so long. */
  async waitForResize(withinMs: number): Promise<string | null> {
    const before = new Map(this.#resized);
    const endsMs = performance.now() + withinMs;
    while (performance.now() < endsMs) {
      for (const [nodeName, count] of this.#resized) if (count > (before.get(nodeName) ?? 0)) return nodeName;
      await systemClock.sleep(50);
    }
    return null;
  }

  /** Waits until pods fit and podfit is well; what is still wrong after so long, empty where nothing is. */
  async settle(withinMs: number): Promise<string> {
    const endsMs = performance.now() + withinMs;
    let why = "it was not looked at";
    while (why !== "" && performance.now() < endsMs) {
      await this.tellLoads();
      await systemClock.sleep(1000);
      why = await this.describe();
    }
    return why;
  }

  /** What is wrong at this moment; empty where nothing is. */
  async describe(): Promise<string> {
    const unfit = this.#listUnfit();
    const running = this.#listRunning().length;
    const { replicas } = this.#place;
    const pods = running === replicas ? "" : `${running} of ${replicas} pods run`;
    return [pods, ...unfit, ...this.#listNotInForce(), await this.#podfit.describe()].filter((what) => what !== "")
      .join("; ");
  }

  /** Forgets what it saw of pods, and lists them anew: for a cluster whose state was replaced. */
  watchAgain(): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    for (const pod of this.#pods.values()) this.#drop(pod);
    void this.#watch(this.#watching.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching.abort();
    await this.#podfit[Symbol.asyncDispose]();
    await this.#backend.delete({ kind: "Namespace", namespace: "", name: this.namespace });
    await this.#backend[Symbol.asyncDispose]();
  }

  #listRunning(): readonly Json[] {
    return [...this.#pods.values()].filter(({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status.phase === "Running"
    );
  }

  #listUnfit(): readonly string[] {
    const used = LEVELS[this.#level] ?? 0;
    return this.#listRunning().flatMap(({ metadata, spec }) => {
      const percent = 100 * used / readRequest({ spec });
      return percent > SIDE.scaleDownThreshold - TOLERANCE && percent < SIDE.scaleUpThreshold + TOLERANCE
        ? []
        : [`${metadata.name} uses ${used}m of ${spec.containers[0].resources.requests.cpu}`];
    });
  }

  /** Pods whose kubelet has not taken the last size. */
  #listNotInForce(): readonly string[] {
    return this.#listRunning().flatMap(({ metadata, spec, status }) => {
      const inForce = status.containerStatuses?.[0]?.resources?.requests?.cpu;
      const wanted = spec.containers[0].resources.requests.cpu;
      return inForce === wanted ? [] : [`${metadata.name} has ${inForce} in force, and ${wanted} in its spec`];
    });
  }

  /** What was missed while nobody could be asked shows in the next list. */
  async #watch(signal: AbortSignal): Promise<void> {
    await using server = await connect({ version: "chaos", kubeconfigVariable: Deno.env.get("KUBECONFIG") ?? null });
    const events = watchList<Json>(server.transport, {
      origin: server.origin,
      path: `/api/v1/namespaces/${this.namespace}/pods`,
      clock: systemClock,
      random: Math.random,
      signal,
      project: (object) => object,
      onError: () => {},
    });
    for await (const event of events) {
      if (event.kind === "listed") {
        const seen = new Set(event.objects.map(({ metadata }) => metadata.uid));
        for (const [uid, pod] of this.#pods) if (!seen.has(uid)) this.#drop(pod);
        for (const pod of event.objects) this.#see(pod);
      } else if (event.kind === "deleted") this.#drop(event.object);
      else this.#see(event.object);
    }
  }

  /** podfit's own may be among them. */
  #see(pod: Json): void {
    if (pod.metadata.labels?.app !== "web") return;
    const before = this.#pods.get(pod.metadata.uid);
    this.#pods.set(pod.metadata.uid, pod);
    // By the API server's clock, as a watch may lag behind.
    const atMs = Math.max(0, ...parseResizeEntries(pod.metadata.managedFields).map(({ at }) => at));
    if (before === undefined) return;
    const resizes = this.witness.resizes;
    this.witness.compare(before, pod, atMs);
    if (this.witness.resizes === resizes) return;
    this.#resized.set(pod.spec.nodeName, this.countResizes(pod.spec.nodeName) + 1);
    this.#judgeUsage(pod);
  }

  /** No request below what its container has used for a while. */
  #judgeUsage(pod: Json): void {
    const told = this.#told.get(toKey(pod));
    if (told === undefined || performance.now() - told.atMs < KNOWN_MS) return;
    const used = LEVELS[told.level] ?? 0;
    const request = readRequest(pod);
    if (request >= used) return;
    this.#stage.broke("wrong size", `${pod.metadata.name} has ${request}m and has used ${used}m for a while`);
  }

  #drop(pod: Json): void {
    this.#pods.delete(pod.metadata.uid);
    this.#told.delete(toKey(pod));
    this.witness.forget(pod);
  }
}

function toKey({ metadata, status }: Json): string {
  return `${metadata.uid} ${status.containerStatuses?.[0]?.containerID ?? ""}`;
}
