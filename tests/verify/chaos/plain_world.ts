/** A plain cluster under virtual time with one podfit: for what takes thousands of pods. */
import { VirtualClock } from "../../support/virtual_clock.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import type { Json } from "../../support/api_objects.ts";
import { TestApiServer } from "../../support/api_server.ts";
import type { AskTrigger, HttpTriggerSource } from "../../../lib/triggers/value.ts";
import { replicasBy } from "../../support/replicas_run.ts";
import { PlainCluster } from "./plain_cluster.ts";
import { defineKeda, enactScales } from "./plain_scaled.ts";
import type { FetchSummary, SummaryAnswer } from "./summaries.ts";
import { Podfit } from "./podfit.ts";
import type { Stage } from "./stage.ts";
import { Wire, type WireListener } from "./wire.ts";
import { Witness } from "./witness.ts";

/** How large it is, and what its pods use. */
export interface PlainWorldOptions extends WireListener {
  readonly stage: Stage;
  readonly nodes: number;
  readonly apps: number;
  readonly pods: number;
  readonly load: (pod: string) => number;
  /** Of autoscalers; the cooldown is in seconds. */
  readonly pollInterval?: string;
  readonly cooldownS?: number;
  /** In place of a kubelet's answer; `null` lets it answer. */
  readonly spoil?: (node: string) => SummaryAnswer | null;
  /** Creates ScaledObjects, and answers for their triggers; without it there are none. */
  readonly scaled?: { readonly fill: (cluster: PlainCluster) => void; readonly ask: AskTrigger<HttpTriggerSource> };
}

const BOUNDS = { min: 20, max: 900 };

/** A cluster and the podfit that looks after it. */
export class PlainWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly cluster: PlainCluster;
  readonly witness: Witness;
  readonly wire: Wire;
  readonly podfit: Podfit;
  readonly #options: PlainWorldOptions;
  #serial = 0;
  #oldest = 0;

  private constructor(options: PlainWorldOptions, clock: VirtualClock, cluster: PlainCluster) {
    const { stage, cooldownS = 60 } = options;
    this.#options = options;
    this.clock = clock;
    this.cluster = cluster;
    this.witness = new Witness({ stage, clock, bounds: BOUNDS, cooldownMs: cooldownS * 1000 });
    this.witness.watch(cluster.api);
    this.wire = new Wire(cluster.api.handle, {
      clock,
      ...(options.onAnswer === undefined ? {} : { onAnswer: options.onAnswer }),
      onSend: (sent) => {
        options.onSend?.(sent);
        const pod = /\/pods\/([^/]+)\/resize$/.exec(sent.path)?.[1];
        if (pod === undefined) return;
        const knowledge = { name: "podfit", wire: this.wire, sampledAt: (uid: string) => cluster.sampledAt(uid) };
        this.witness.judge(sent, knowledge, cluster.find("pods", pod)?.metadata.uid ?? null);
      },
    });
    this.#fill();
    const server = this.wire.toServer(toServer(cluster, clock));
    const { spoil = () => null } = options;
    const source: { readonly fetchSummary: FetchSummary } = {
      fetchSummary: async (node) => spoil(node.name) ?? await cluster.fetchSummary(node),
    };
    options.scaled?.fill(cluster);
    const replicas = options.scaled === undefined ? {} : { replicas: replicasBy(options.scaled.ask) };
    this.podfit = new Podfit({ name: "podfit", server, source, clock, random: stage.random, ...replicas });
  }

  static async open(options: PlainWorldOptions): Promise<PlainWorld> {
    const clock = new VirtualClock();
    const cluster = await PlainCluster.open({ clock, random: options.stage.random, load: options.load });
    if (options.scaled !== undefined) await defineKeda(cluster);
    return new PlainWorld(options, clock, cluster);
  }

  /** In steps, at the end of each of which kubelets enact what they were asked to. */
  async advance(seconds: number, stepS = 1): Promise<void> {
    for (let second = 0; second < seconds; second += stepS) {
      await this.clock.advance(Math.min(stepS, seconds - second) * 1000);
      this.cluster.enact();
      if (this.#options.scaled !== undefined) enactScales(this.cluster);
    }
  }

  /** The oldest pods go and as many come. */
  replacePods(count: number): void {
    for (let one = 0; one < count; one++) {
      this.cluster.remove("pods", `pod-${this.#oldest++}`);
      this.addPod();
    }
  }

  /** One pod more, of an app and on a node in turn. */
  addPod(): void {
    const { apps, nodes } = this.#options;
    const index = this.#serial++;
    this.cluster.addPod({ name: `pod-${index}`, app: `app-${index % apps}`, node: `node-${index % nodes}` });
  }

  /** Pods whose size is not that of what they use. */
  countUnfit(): number {
    return this.cluster.list("pods").filter((pod) => !fits(pod, this.#options.load(pod.metadata.name))).length;
  }

  /** Advances until all pods fit and podfit is well; what is still wrong after so long, empty where nothing is. */
  async settle(withinS: number, stepS = 1): Promise<string> {
    for (let second = 0; second < withinS; second += stepS) {
      if (this.describe() === "") return "";
      await this.advance(stepS, stepS);
    }
    return this.describe();
  }

  /** What is wrong at this moment; empty where nothing is. */
  describe(): string {
    const unfit = this.countUnfit();
    const tracked = this.podfit.sum("podfit_tracked_pods");
    const pods = this.cluster.list("pods").length;
    return [
      ...(unfit === 0 ? [] : [`${unfit} of ${pods} pods have not the size of what they use`]),
      ...(tracked === pods ? [] : [`${tracked} of ${pods} pods are tracked`]),
      ...[this.podfit.describe()].filter((text) => text !== ""),
    ].join("; ");
  }

  /** Ends podfit; throws when it does not come to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.podfit.end();
    for (let second = 0; second < 120 && !this.podfit.isOver; second++) await this.advance(1);
    if (!this.podfit.isOver) throw new Error("Cannot end: podfit runs on after two minutes");
  }

  #fill(): void {
    const { nodes, apps, pods, pollInterval = "5s", cooldownS = 60 } = this.#options;
    for (let index = 0; index < nodes; index++) this.cluster.addNode({ name: `node-${index}` });
    const bounds = { cpu: { requests: { min: `${BOUNDS.min}m`, max: `${BOUNDS.max}m` } } };
    for (let index = 0; index < apps; index++) {
      const policy = { pollInterval, cooldown: `${cooldownS}s`, consecutiveSamples: 1 };
      this.cluster.addApp(`app-${index}`, { policy, bounds });
    }
    for (let index = 0; index < pods; index++) this.addPod();
  }
}

/** Strictly between the thresholds of the autoscaler that every app has. */
function fits(pod: Json, used: number): boolean {
  const parsed = parseAmount(pod.spec.containers[0].resources.requests.cpu, "cpu");
  const percent = parsed.ok ? 100 * used / parsed.amount : NaN;
  return percent > 40 && percent < 80;
}

/** The API server that tests have, but for where requests go. */
function toServer({ api }: PlainCluster, clock: VirtualClock): ApiServer {
  return { ...new TestApiServer(clock).toServer(), transport: api.handle };
}
