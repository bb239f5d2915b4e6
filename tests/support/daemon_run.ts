/**
 * A whole daemon in memory under a VirtualClock: its API server, one kubelet that answers by what pods are said to use,
 * and short ways to ask what came of it. By default the kubelet enacts a resize as soon as it is accepted.
 */
import { createDaemon, type Daemon } from "../../lib/daemon/daemon.ts";
import { createMetrics, type Metrics } from "../../lib/daemon/metrics/metrics.ts";
import { type Scope, WHOLE_CLUSTER } from "../../lib/daemon/cluster/facts.ts";
import type { WriteRate } from "../../lib/daemon/permits.ts";
import { type EvaluationSink, withQuiet } from "../../lib/daemon/pods/controller.ts";
import type { OnFailure } from "../../lib/daemon/health.ts";
import type { FetchSummary } from "../../lib/usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../lib/usage/kubelet/watch.ts";
import type { OperatorLimits } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import { createLog } from "../../lib/runtime/log.ts";
import { autoscalerObject, deploymentObject, enact, type Json, nodeObject, podObject } from "./api_objects.ts";
import { formatTime } from "../../lib/units/time.ts";
import { type Call, TestApiServer } from "./api_server.ts";
import { settleEventLoop, VirtualClock } from "./virtual_clock.ts";
import { Pausable } from "./pausable.ts";

export interface RunOptions {
  /** Given: the API server, its kubelet and time go on from another run. */
  readonly after?: Run;
  readonly pods?: readonly Json[];
  readonly autoscalers?: readonly Json[];
  readonly deployments?: readonly Json[];
  readonly dryRun?: boolean;
  readonly requiresAnnotation?: boolean;
  readonly scope?: Scope;
  readonly limits?: OperatorLimits;
  readonly enacts?: boolean;
  /** It has no way to kubelets; another run may have. */
  readonly isBlind?: boolean;
  readonly pace?: WriteRate;
  /** How far the API server's clock is ahead of podfit's. */
  readonly skewMs?: number;
  readonly sinks?: readonly EvaluationSink[];
  readonly onTrouble?: OnFailure;
  /** Who it is among those that may hold the Lease "shop/podfit". */
  readonly identity?: string;
}

/** Millicores and Mi of each container "main", by pod name. */
export type Loads = Record<string, { readonly cpu?: number; readonly memoryMi?: number }>;

export class Run implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly api: TestApiServer;
  readonly kubelet: FakeKubelet;
  readonly metrics: Metrics = createMetrics({ version: "test" });
  readonly log: Json[] = [];
  /** Its clock, and its way to the API server, where it has an identity. */
  readonly process: Pausable;
  readonly daemon: Daemon;
  readonly #ending = new AbortController();
  readonly #ended: Promise<void>;

  constructor(options: RunOptions = {}) {
    const {
      after,
      skewMs = 0,
      pods = [podObject()],
      autoscalers = [autoscalerObject()],
      deployments = [deploymentObject()],
    } = options;
    this.clock = after?.clock ?? new VirtualClock();
    this.api = after?.api ?? new TestApiServer(this.clock, { skewMs });
    this.kubelet = after?.kubelet ?? new FakeKubelet(this.clock, this.api);
    if (after === undefined) {
      this.api.put("nodes", nodeObject());
      for (const one of deployments) this.api.put("deployments", one);
      for (const one of autoscalers) this.api.put("podresourceautoscalers", one);
      for (const one of pods) this.api.put("pods", one);
    }
    this.kubelet.enacts = options.enacts ?? true;
    this.process = new Pausable(this.clock);
    const { identity } = options;
    const plain = this.api.toServer();
    const [clock, server] = identity === undefined
      ? [this.clock, plain]
      : [this.process.clock, { ...plain, transport: this.process.wrap(plain.transport) }];
    this.daemon = createDaemon({
      server,
      watchUsage: watchKubelets(options.isBlind === true ? BLIND : this.kubelet, {
        clock,
        random: () => 0,
      }),
      scope: options.scope ?? WHOLE_CLUSTER,
      dryRun: options.dryRun ?? false,
      requiresAnnotation: options.requiresAnnotation ?? false,
      instance: "test",
      ...(options.limits !== undefined && { limits: options.limits }),
      ...(identity !== undefined && { lease: { namespace: "shop", name: "podfit", identity } }),
      clock,
      random: () => 0,
      log: createLog({
        level: "debug",
        format: "json",
        clock,
        write: (line) => this.log.push(JSON.parse(line)),
      }),
      metrics: this.metrics,
      sinks: (options.sinks ?? []).map(withQuiet),
      ...(options.pace !== undefined && { pace: options.pace }),
      onTrouble: options.onTrouble ?? (() => {}),
      signal: this.#ending.signal,
    });
    this.#ended = this.daemon.run();
    // Looked at by stop().
    this.#ended.catch(() => {});
  }

  /** Second by second: the kubelet enacts at the end of each. */
  async advance(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.clock.advance(1000);
      if (this.kubelet.enacts && this.kubelet.enactAll()) await settleEventLoop();
    }
  }

  use(loads: Loads): void {
    this.kubelet.use(loads);
  }

  /** PATCHes of pods/resize so far. */
  get resizes(): readonly Call[] {
    return this.api.calls.filter(({ path }) => path.endsWith("/resize"));
  }

  /** `Reason xCount`, in the order of their creation. */
  /** `reason xCount` of the events on autoscalers, without the prefix. */
  get events(): string[] {
    return this.eventsOn("PodResourceAutoscaler").map(({ reason, count }) =>
      `${reason.replace("PodResourceAutoscaler", "")} x${count}`
    );
  }

  /** `pod reason xCount` of the events on pods, without the prefix. */
  get podEvents(): string[] {
    return this.eventsOn("Pod").map(({ involvedObject: { name }, reason, count }) =>
      `${name} ${reason.replace("PodResourceAutoscaler", "")} x${count}`
    );
  }

  eventsOn(kind: "PodResourceAutoscaler" | "Pod"): readonly Json[] {
    return this.api.list("events").filter(({ involvedObject }) => involvedObject.kind === kind);
  }

  status(name = "web"): Json {
    return this.api.get("podresourceautoscalers", name).status ?? {};
  }

  /** `True Valid` and the like. */
  condition(type: string, name = "web"): string {
    const one = this.status(name).conditions?.find((condition: Json) => condition.type === type);
    return one === undefined ? "-" : `${one.status} ${one.reason}`;
  }

  cpu(name = "web-1"): string {
    return this.api.get("pods", name).spec.containers[0].resources.requests.cpu;
  }

  series(prefix: string): string[] {
    return [...this.metrics.render()].join("").split("\n").filter((line) => line.startsWith(prefix)).sort();
  }

  /** Ends the daemon; time has to move for what it still waits for. */
  async stop(): Promise<void> {
    this.#ending.abort();
    let isOver = false;
    const over = this.#ended.finally(() => isOver = true);
    over.catch(() => {});
    for (let second = 0; second < 60 && !isOver; second++) {
      await settleEventLoop();
      if (!isOver) await this.clock.advance(1000);
    }
    if (!isOver) throw new Error("Cannot stop: the daemon runs on after a minute");
    await over;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const BLIND: { readonly fetchSummary: FetchSummary } = {
  fetchSummary: ({ name }) =>
    Promise.resolve({
      kind: "failed",
      reason: "unreachable",
      message: `Cannot read usage of node "${name}": no route to host`,
    }),
};

/** A run whose pod "web-1" uses 150m of 100m from its start. */
export function busyRun(options: RunOptions = {}): Run {
  const run = new Run(options);
  run.use({ "web-1": { cpu: 150 } });
  return run;
}

export class FakeKubelet {
  enacts = true;
  /** An answer instead of the summary. */
  failure: string | null = null;
  /** It is dialed directly, for which its node has to be known. */
  isDialed = false;
  /** The summary lists no pod. */
  isEmpty = false;
  /** How far its node's clock is ahead of podfit's. */
  aheadMs = 0;
  /** It answers what it has measured last until so long after. */
  measuresEveryMs = 0;
  #measured: { readonly atMs: number; readonly bytes: Uint8Array<ArrayBuffer> } | null = null;
  /** Awaited before each answer. */
  held: Promise<void> = Promise.resolve();
  readonly #clock: VirtualClock;
  readonly #api: TestApiServer;
  readonly #loads = new Map<string, { cpu: number; memoryMi: number; counterNs: number; readAt: number }>();

  constructor(clock: VirtualClock, api: TestApiServer) {
    this.#clock = clock;
    this.#api = api;
  }

  use(loads: Loads): void {
    for (const [pod, load] of Object.entries(loads)) {
      const before = this.#read(pod);
      this.#loads.set(pod, { ...before, cpu: load.cpu ?? before.cpu, memoryMi: load.memoryMi ?? before.memoryMi });
    }
  }

  /** Whether there was anything to enact. */
  enactAll(): boolean {
    const behind = this.#api.list("pods").filter(({ metadata, status }) =>
      status.observedGeneration < metadata.generation
    );
    for (const { metadata } of behind) this.#api.edit("pods", metadata.name, enact);
    return behind.length > 0;
  }

  readonly fetchSummary: FetchSummary = async ({ addresses }) => {
    await this.held;
    if (this.isDialed && addresses === null) {
      return { kind: "failed", reason: "unlisted", message: "node is not known" };
    }
    if (this.failure !== null) return { kind: "failed", reason: "unreachable", message: this.failure };
    const nowMs = this.#clock.monotonic();
    if (this.#measured === null || nowMs - this.#measured.atMs >= this.measuresEveryMs) {
      this.#measured = { atMs: nowMs, bytes: this.#measure() };
    }
    return {
      kind: "summary",
      bytes: this.#measured.bytes,
      clockOffsetMs: this.#clock.now() + this.aheadMs - this.#clock.steady(),
    };
  };

  #measure(): Uint8Array<ArrayBuffer> {
    const pods = (this.isEmpty ? [] : this.#api.list("pods")).map(({ metadata: { name, namespace, uid } }) => ({
      podRef: { name, namespace, uid },
      containers: ["main", "proxy"].map((container) => this.#readStats(container, this.#read(name))),
    }));
    return new TextEncoder().encode(JSON.stringify({ node: { nodeName: "node1" }, pods }));
  }

  #read(pod: string) {
    // A container uses what it uses, whatever its node's clock is set to.
    const now = this.#clock.monotonic();
    const one = this.#loads.get(pod) ?? { cpu: 50, memoryMi: 64, counterNs: 1e9, readAt: now };
    // A millicore for a millisecond is 1000 ns.
    const next = { ...one, counterNs: one.counterNs + one.cpu * 1000 * (now - one.readAt), readAt: now };
    this.#loads.set(pod, next);
    return next;
  }

  #readStats(name: string, { counterNs, memoryMi }: { counterNs: number; memoryMi: number }): Json {
    const time = formatTime(this.#clock.now() + this.aheadMs);
    const workingSetBytes = memoryMi * 1024 * 1024;
    return {
      name,
      startTime: "2026-11-20T10:00:00Z",
      cpu: { time, usageCoreNanoSeconds: Math.round(counterNs) },
      memory: { time, workingSetBytes, usageBytes: workingSetBytes },
    };
  }
}
