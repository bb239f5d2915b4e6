/**
 * The ScaledObjects of a soak: their triggers have values that are drawn, and at times none. Afterwards replicas must be
 * those that the values need.
 */
import { drawBetween } from "../../../lib/simulate/model/random.ts";
import type { AskTrigger, HttpTriggerSource } from "../../../lib/triggers/value.ts";
import type { Json } from "../../support/api_objects.ts";
import type { PlainCluster } from "../chaos/plain_cluster.ts";
import { putDeployment, putScaledObject, toTrigger } from "../chaos/plain_scaled.ts";

/** What ScaledObjects are made of. */
export interface ScaledOptions {
  readonly seed: string;
  /** Monotonic ms. */
  readonly now: () => number;
  /** How long a trigger has one value. */
  readonly levelMs: number;
}

const NAMESPACE = "shop";
const TARGET = 10;
const MAX_LEVEL = 8;

/** Triggers by name of the workload, in turn. The replicas of cpu, cron and formulas have a check of their own elsewhere. */
const KINDS: readonly { readonly isChecked: boolean; readonly make: (name: string) => Json }[] = [
  { isChecked: true, make: (name) => ({ triggers: [toPrometheus(name)], spec: { minReplicaCount: 0 } }) },
  { isChecked: true, make: (name) => ({ triggers: [toTrigger(toUrl(name))] }) },
  {
    isChecked: true,
    make: (name) => ({
      triggers: [toPrometheus(name)],
      spec: { fallback: { failureThreshold: 3, replicas: 2 }, minReplicaCount: 2 },
    }),
  },
  {
    isChecked: false,
    make: (name) => ({
      triggers: [toPrometheus(name), {
        type: "cron",
        metadata: { timezone: "Etc/UTC", start: "0 8 * * *", end: "0 18 * * *", desiredReplicas: "3" },
      }],
    }),
  },
  {
    isChecked: false,
    make: (name) => ({
      triggers: [{ ...toPrometheus(name), name: "a" }, { ...toTrigger(toUrl(`${name}-b`)), name: "b" }],
      spec: { advanced: { scalingModifiers: { formula: "max([a, b]) + a / 4", target: String(TARGET) } } },
    }),
  },
  {
    isChecked: false,
    make: () => ({ triggers: [{ type: "cpu", metricType: "Utilization", metadata: { value: "60" } }] }),
  },
];

/** The workloads and the values of their triggers. */
export class ScaledWorkloads {
  readonly #options: ScaledOptions;
  /** By name, the least replicas. */
  readonly #checked = new Map<string, number>();
  /** No trigger has a value. */
  isFailing = false;

  constructor(options: ScaledOptions) {
    this.#options = options;
  }

  /** Creates so many Deployments and their ScaledObjects. */
  fill(cluster: PlainCluster, count: number): void {
    for (let index = 0; index < count; index++) this.add(cluster, { name: `scaled-${index}`, kind: index });
  }

  /** One more. */
  add(
    cluster: PlainCluster,
    { name, kind = 0, namespace = NAMESPACE }: {
      readonly name: string;
      readonly kind?: number;
      readonly namespace?: string;
    },
  ): void {
    const { isChecked = false, make } = KINDS[kind % KINDS.length] ?? {};
    const own = make?.(name);
    putDeployment(cluster, { name, namespace });
    putScaledObject(cluster, {
      name,
      namespace,
      triggers: own.triggers,
      spec: { pollingInterval: 30, cooldownPeriod: 60, ...own.spec },
    });
    if (isChecked && namespace === NAMESPACE) this.#checked.set(name, own.spec?.minReplicaCount ?? 1);
  }

  /** In place of the network. */
  readonly ask: AskTrigger<HttpTriggerSource> = ({ source }) => {
    if (this.isFailing) return Promise.resolve({ kind: "failed", message: "nobody is there", isEmpty: false });
    const name = source.kind === "prometheus" ? source.query : new URL(source.url).pathname.slice(1);
    return Promise.resolve({ kind: "value", value: TARGET * this.#findLevel(name), isEmpty: false });
  };

  /** Workloads whose replicas are not those that their values need. */
  listUnfit(cluster: PlainCluster): readonly string[] {
    return [...this.#checked].flatMap(([name, min]) => {
      const replicas = cluster.find("deployments", name, NAMESPACE)?.spec.replicas;
      const expected = Math.max(min, this.#findLevel(name));
      return replicas === expected ? [] : [`${name} has ${replicas} replicas and needs ${expected}`];
    });
  }

  #findLevel(name: string): number {
    const { seed, now, levelMs } = this.#options;
    return drawBetween([0, MAX_LEVEL], [seed, "trigger", name, Math.floor(now() / levelMs)]);
  }
}

function toUrl(name: string): string {
  return `https://metrics.example/${name}`;
}

function toPrometheus(name: string): Json {
  const metadata = { serverAddress: "https://prometheus.example", query: name, threshold: String(TARGET) };
  return { type: "prometheus", metadata };
}
