/** podfit's daemon in this process, behind a wire of its own: what the suites of chaos and soak let things happen to. */
import { createDaemon, type Daemon, type DaemonOptions } from "../../../lib/daemon/daemon.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createMetrics, type Metrics } from "../../../lib/daemon/metrics/metrics.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import type { FetchSummary } from "./summaries.ts";

/** What a podfit is started with. */
export interface PodfitOptions {
  readonly name: string;
  readonly server: ApiServer;
  readonly source: { readonly fetchSummary: FetchSummary };
  readonly clock: Clock;
  readonly random: () => number;
  /** Given, it acts only while it holds this Lease, under its own name. */
  readonly lease?: { readonly namespace: string; readonly name: string };
  /** How replicas are set; without it they are not. */
  readonly replicas?: NonNullable<DaemonOptions["replicas"]>;
}

/** A podfit that runs until it is asked to end. */
export class Podfit {
  readonly name: string;
  readonly daemon: Daemon;
  readonly metrics: Metrics = createMetrics({ version: "chaos" });
  /** Lines of its log by level and message. */
  readonly lines = new Map<string, number>();
  readonly #ending = new AbortController();
  #isOver = false;
  #failure: unknown = null;

  constructor({ name, server, source, clock, random, lease, replicas }: PodfitOptions) {
    this.name = name;
    this.daemon = createDaemon({
      server,
      watchUsage: watchKubelets(source, { clock, random }),
      scope: WHOLE_CLUSTER,
      dryRun: false,
      requiresAnnotation: false,
      instance: name,
      ...(lease !== undefined && { lease: { ...lease, identity: name } }),
      ...(replicas !== undefined && { replicas }),
      clock,
      random,
      log: createLog({ level: "info", format: "json", clock, write: (line) => this.#count(line) }),
      metrics: this.metrics,
      signal: this.#ending.signal,
    });
    this.daemon.run().catch((error) => this.#failure = error).finally(() => this.#isOver = true);
  }

  /** It has ended, or rejected. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Starts its end. */
  end(): void {
    this.#ending.abort();
  }

  /** What is wrong with it by its own account; empty where all is well. */
  describe(): string {
    if (this.#failure !== null) return `${this.name} failed: ${this.#failure}`;
    if (this.#isOver) return `${this.name} has ended by itself`;
    const verdicts = [this.daemon.isAlive(), this.daemon.isReady()];
    return verdicts.filter(({ ok }) => !ok).map(({ message }) => `${this.name}: ${message}`).join("; ");
  }

  /** Lines of its log so far. */
  countLines(): number {
    return this.lines.values().reduce((sum, count) => sum + count, 0);
  }

  /** The sum of the series of a metric that have these labels. */
  sum(family: string, labels: readonly string[] = []): number {
    let sum = 0;
    for (const line of [...this.metrics.render()].join("").split("\n")) {
      const [, series = "", value = ""] = /^(\S+?(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      if (!new RegExp(`^${family}(\\{|$)`).test(series) || labels.some((label) => !series.includes(label))) continue;
      sum += Number(value);
    }
    return sum;
  }

  #count(line: string): void {
    const { level, message } = JSON.parse(line);
    const key = `${level} ${message}`;
    this.lines.set(key, (this.lines.get(key) ?? 0) + 1);
  }
}
