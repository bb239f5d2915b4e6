/**
 * A cluster for thousands of pods: the embedded API server, and kubelets that only answer with usage and enact resizes.
 * No scheduler, no controllers: pods are put where they are to be, and cost next to nothing.
 */
import type { User } from "../../support/embedded/access.ts";
import { setPodDefaults } from "../../../lib/embedded/server/kinds/pods.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { formatTime } from "../../../lib/units/time.ts";
import {
  autoscalerObject,
  deploymentObject,
  enact,
  type Json,
  nodeObject,
  podObject,
} from "../../support/api_objects.ts";
import { createFullApiServer, type FullApiServer } from "../../support/embedded/full_cluster.ts";
import { type SummaryAnswer, toSummaryAnswer } from "./summaries.ts";

/** What a cluster is made of. */
export interface PlainOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Millicores that a pod uses, by its name. */
  readonly load: (pod: string) => number;
  readonly tokens?: ReadonlyMap<string, User>;
}

/** A node and where its kubelet is. */
export interface PlainNode {
  readonly name: string;
  readonly host?: string;
  readonly port?: number;
}

/** A pod as it is put somewhere. */
export interface PlainPod {
  readonly name: string;
  readonly app: string;
  readonly node: string;
  readonly namespace?: string;
}

/** The spec of an autoscaler, as far as it is not that of every test. */
export interface AppOptions {
  readonly policy?: Json;
  readonly bounds?: Json;
  readonly namespace?: string;
}

const CRD = new URL("../../../crds/podresourceautoscaler.yaml", import.meta.url);
/** Kept for watches: few, so that a store that has filled is not taken for a leak. */
const HISTORY = 1000;
const MI = 2 ** 20;

const IDS = {
  pods: "/pods",
  nodes: "/nodes",
  namespaces: "/namespaces",
  events: "/events",
  deployments: "apps/deployments",
  podresourceautoscalers: "keda.kedify.io/podresourceautoscalers",
  customresourcedefinitions: "apiextensions.k8s.io/customresourcedefinitions",
  leases: "coordination.k8s.io/leases",
  scaledobjects: "keda.sh/scaledobjects",
  secrets: "/secrets",
  triggerauthentications: "keda.sh/triggerauthentications",
  clustertriggerauthentications: "keda.sh/clustertriggerauthentications",
} as const;
/** A resource that a plain cluster has. */
export type Plural = keyof typeof IDS;

interface Measured {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  counterNs: number;
  readMs: number;
}

/** Objects, usage, and resizes that are enacted when `enact` is called. */
export class PlainCluster {
  readonly api: FullApiServer;
  readonly #options: PlainOptions;
  readonly #byNode = new Map<string, Map<string, Measured>>();
  /** Names, by namespace, of pods whose resize is not enacted yet. */
  readonly #commanded = new Set<string>();
  /** By node, when it was last asked: epoch ms. */
  readonly #askedAt = new Map<string, number>();
  #serial = 0;

  private constructor(options: PlainOptions) {
    const { clock, random, tokens } = options;
    this.#options = options;
    this.api = createFullApiServer({
      clock,
      random,
      historyLimit: HISTORY,
      ...(tokens === undefined ? {} : { tokens }),
    });
    this.api.store.collection(IDS.pods).listen(({ kind, entry: { object: pod } }) => this.#see(kind, pod), null);
  }

  /** With podfit's definition and one namespace, "shop". */
  static async open(options: PlainOptions): Promise<PlainCluster> {
    const cluster = new PlainCluster(options);
    for (const one of parseAll(await Deno.readTextFile(CRD))) cluster.put("customresourcedefinitions", one);
    cluster.put("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", uid: "uid-shop" } });
    return cluster;
  }

  /** Creates or replaces. */
  put(plural: Plural, object: Json): void {
    const draft = JSON.parse(JSON.stringify(object));
    if (plural === "pods") setPodDefaults(draft);
    this.api.store.put(IDS[plural], draft);
  }

  find(plural: Plural, name: string, namespace: string | null = "shop"): Json | null {
    return this.api.store.collection(IDS[plural]).get(namespace, name)?.object ?? null;
  }

  remove(plural: Plural, name: string, namespace: string | null = "shop"): void {
    const found = this.find(plural, name, namespace);
    if (found !== null) this.api.store.remove(IDS[plural], found);
    if (plural === "nodes") this.#askedAt.delete(name);
  }

  list(plural: Plural): readonly Json[] {
    return this.api.store.collection(IDS[plural]).list().map(({ object }) => object);
  }

  addNode({ name, host = "10.0.0.1", port = 10_250 }: PlainNode): void {
    const node = nodeObject(name);
    const capacity = { cpu: "512", memory: "2048Gi", pods: "1000" };
    node.status = {
      ...node.status,
      addresses: [{ type: "InternalIP", address: host }],
      capacity,
      allocatable: capacity,
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    this.put("nodes", node);
  }

  /** A deployment and its autoscaler. */
  addApp(app: string, { policy = {}, bounds = {}, namespace = "shop" }: AppOptions = {}): void {
    const target = { kind: "deployment", name: app };
    const [deployment, autoscaler] = [deploymentObject(app), autoscalerObject({ name: app, target, policy, bounds })];
    for (const { metadata } of [deployment, autoscaler]) {
      Object.assign(metadata, { namespace, uid: `${metadata.uid}-${this.#serial++}` });
    }
    this.put("deployments", deployment);
    this.put("podresourceautoscalers", autoscaler);
  }

  /** Events are gone after an hour in a real cluster; here all of them are. */
  expireEvents(): void {
    for (const event of this.list("events")) this.api.store.remove(IDS.events, event);
  }

  addPod({ name, app, node, namespace = "shop" }: PlainPod): void {
    const pod = podObject({ name, node, labels: { app } });
    Object.assign(pod.metadata, { namespace, uid: `uid-${name}-${this.#serial++}` });
    this.put("pods", pod);
  }

  /** What the kubelets have been asked to do by then is done. */
  enact(): void {
    for (const key of [...this.#commanded]) {
      this.#commanded.delete(key);
      const [namespace = "", name = ""] = key.split("/");
      const pod = this.find("pods", name, namespace);
      if (pod === null) continue;
      const next = structuredClone(pod);
      enact(next);
      this.put("pods", next);
    }
  }

  /** In place of a kubelet's answer. */
  readonly fetchSummary = ({ name }: { readonly name: string }): Promise<SummaryAnswer> =>
    Promise.resolve(toSummaryAnswer(this.readSummary(name)));

  /** The text of a node's summary at this moment. */
  readSummary(node: string): string {
    const { clock, load } = this.#options;
    const [now, nowMs] = [clock.now(), clock.monotonic()];
    this.#askedAt.set(node, now);
    const time = formatTime(now);
    const pods = [...this.#byNode.get(node)?.values() ?? []].map((one) => {
      // A millicore for a millisecond is 1000 ns.
      one.counterNs += load(one.name) * 1000 * (nowMs - one.readMs);
      one.readMs = nowMs;
      const memory = `{"time":"${time}","workingSetBytes":${64 * MI},"usageBytes":${64 * MI}}`;
      return `{"podRef":{"name":"${one.name}","namespace":"${one.namespace}","uid":"${one.uid}"},"memory":${memory},` +
        `"containers":[{"name":"main","startTime":"2026-11-20T10:00:00Z","memory":${memory},` +
        `"cpu":{"time":"${time}","usageCoreNanoSeconds":${Math.round(one.counterNs)}}}]}`;
    });
    return `{"node":{"nodeName":"${node}"},"pods":[${pods.join(",")}]}`;
  }

  /** When usage of a pod was last read: epoch ms; `null` for a pod that is on no node. */
  sampledAt(uid: string): number | null {
    const [node] = [...this.#byNode].find(([, pods]) => pods.has(uid)) ?? [];
    return node === undefined ? null : this.#askedAt.get(node) ?? null;
  }

  #see(kind: string, pod: Json): void {
    const { uid, name, namespace, generation } = pod.metadata;
    const pods = this.#byNode.get(pod.spec.nodeName) ?? new Map<string, Measured>();
    this.#byNode.set(pod.spec.nodeName, pods);
    const key = `${namespace}/${name}`;
    if (kind === "DELETED") {
      this.#commanded.delete(key);
      pods.delete(uid);
      if (pods.size === 0) this.#byNode.delete(pod.spec.nodeName);
    } else if (!pods.has(uid)) {
      pods.set(uid, { namespace, name, uid, counterNs: 1e9, readMs: this.#options.clock.monotonic() });
    }
    if (kind === "MODIFIED" && generation > pod.status.observedGeneration) this.#commanded.add(key);
  }
}
