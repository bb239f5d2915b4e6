/** A pod or a workload on an embedded cluster with podfit beside it, whose records are explained as `podfit explain` does. */
import { describePod, describeWorkload } from "../../lib/cli/explanation/words.ts";
import { explainPod } from "../../lib/cli/explanation/explain_pod.ts";
import { explainWorkload } from "../../lib/cli/explanation/explain_workload.ts";
import type { PodExplanation, WorkloadExplanation } from "../../lib/cli/explanation/explanation.ts";
import { toCharacters } from "../../lib/cli/terminal/output.ts";
import { createStyle } from "../../lib/cli/terminal/text.ts";
import type { ClusterOptions } from "../../lib/embedded/cluster.ts";
import type { Scope } from "../../lib/daemon/cluster/facts.ts";
import { autoscaler, type LoadContainer, pod } from "../e2e/support/workloads.ts";
import type { Json } from "./api_objects.ts";
import { ClusterRun, type PodfitRun } from "./cluster_run.ts";
import { keepLines, type LineKeeper } from "./record_lines.ts";

export const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 10, targetUtilization: 60 };
export const POLICY = {
  pollInterval: "5s",
  consecutiveSamples: 2,
  cooldown: "2m",
  delay: "0s",
  cpu: { requests: SIDE },
};

/** As on a terminal without colour. */
export const PLAIN = { style: createStyle(false), columns: 120 };

export interface ExplainRunOptions {
  /** Of the pod's one container "main". */
  readonly container?: LoadContainer;
  /** Of the autoscaler, beside what it is about. */
  readonly spec?: Json;
  readonly nodes?: NonNullable<ClusterOptions["nodes"]>;
  readonly objects?: readonly Json[];
  readonly scope?: Scope;
}

/** Pod "web" of 100m, which uses 50m. */
export class ExplainRun implements AsyncDisposable {
  readonly run: ClusterRun;
  readonly podfit: PodfitRun;
  readonly lines: LineKeeper;

  private constructor(run: ClusterRun, podfit: PodfitRun, lines: LineKeeper) {
    this.run = run;
    this.podfit = podfit;
    this.lines = lines;
  }

  static async start(
    { container, spec = {}, nodes, objects = [], scope }: ExplainRunOptions = {},
  ): Promise<ExplainRun> {
    const run = await ClusterRun.start(nodes === undefined ? {} : { nodes });
    const sizes = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "2", memory: "256Mi" } };
    const main = { ...sizes, cpuMillicores: 50, memoryMiB: 20, ...container };
    await run.create(
      ...objects,
      pod("web", { containers: [main], fields: { nodeName: "node-1" } }),
      autoscaler("web", { selector: { matchLabels: { app: "web" } }, containerName: "main", policy: POLICY, ...spec }),
    );
    await run.advance(10);
    const lines = keepLines();
    return new ExplainRun(run, run.startPodfit(scope, { sinks: [lines.onEvaluation] }), lines);
  }

  async advance(seconds: number): Promise<void> {
    await this.run.advance(seconds);
  }

  use(cpuMillicores: number): void {
    this.run.cluster.setLoad({ namespace: "default", name: "web", port: 8080 }, { cpuMillicores });
  }

  /** Until the pod was resized so often. */
  async resized(times: number): Promise<void> {
    const count = () => this.lines.pod("web").filter(({ record }) => record.outcome.scaled !== null).length;
    for (let second = 0; second < 600 && count() < times; second++) await this.advance(1);
    if (count() < times) throw new Error(`Cannot go on: the pod was resized ${count()} times`);
  }

  explain(): PodExplanation {
    const explained = explainPod(this.lines.pod("web"), { now: this.run.clock.now() });
    if (explained === null) throw new Error("Cannot explain: there is no record");
    return explained;
  }

  text(columns: number = PLAIN.columns): readonly string[] {
    return describePod(this.explain(), { ...PLAIN, columns }).map(toCharacters);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.podfit[Symbol.asyncDispose]();
    await this.run[Symbol.asyncDispose]();
  }
}

/** What passes of a ScaledObject and evaluations of its pods come to. */
export function explainObject(lines: LineKeeper, name: string, now: number): WorkloadExplanation {
  const names = [...new Set(lines.all().filter(({ kind }) => kind === "pod").map((line) => line.name))];
  const pods = names.flatMap((pod) => lines.pod(pod).at(-1) ?? []);
  const explained = explainWorkload(lines.scaledObject(name), { now, pods });
  if (explained === null) throw new Error("Cannot explain: there is no record");
  return explained;
}

/** A pod that only takes room. */
export function taker(cpu: string): Json {
  const containers = [{ name: "main", image: "example/other:1", resources: { requests: { cpu } } }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "other" }, spec: { nodeName: "node-1", containers } };
}

export function toText(explained: WorkloadExplanation, columns: number = PLAIN.columns): readonly string[] {
  return describeWorkload(explained, { ...PLAIN, columns }).map(toCharacters);
}
