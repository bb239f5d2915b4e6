/**
 * podfit's daemon, as it is, on the embedded cluster under virtual time, one pod for each curve: which sizes were in
 * force when, starts and kills, as the API server tells them.
 */
import { createDaemon } from "../../../lib/daemon/daemon.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import type { Resource } from "../../../lib/units/resources.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import type { Curve } from "./curve.ts";
import type { Run, Size } from "./score.ts";

/** What every controller finds: the usual round numbers, limits twice the requests. As in sim/run.go. */
const TEMPLATE = { requests: { cpu: "500m", memory: "256Mi" }, limits: { cpu: "1", memory: "512Mi" } };
const NODE = { name: "node-1", cpuMillicores: 10_000_000, memoryBytes: 2 ** 44, pods: 1000 };
const START_SECONDS = 60;
const STEP_SECONDS = 600;

export interface DaemonRunOptions {
  /** `podfit-balanced`. */
  readonly controller: string;
  readonly curves: readonly Curve[];
  /** Goes into the spec of each autoscaler. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly seed: string;
  /** Gets the simulated hours and their number, each four hours. */
  readonly onHours: (passed: number, of: number) => void;
  /** Gets the lines of podfit's log, which are errors. */
  readonly complain: (line: string) => void;
}

/** One run for each curve, in their order. */
export async function runDaemon(options: DaemonRunOptions): Promise<readonly Run[]> {
  const { controller, curves, spec, seed, onHours, complain } = options;
  const cluster = await ClusterRun.start({ seed, nodes: [NODE] });
  const startAt = cluster.clock.now();
  for (const curve of curves) await cluster.create(toPod(curve), toAutoscaler(curve, spec));
  const ending = new AbortController();
  const seen = new Map(curves.map(({ name }) => [name, newSeen()]));
  const watching = watchPods(cluster, ending.signal, (pod) => {
    const known = seen.get(pod.metadata.name);
    if (known !== undefined) note(known, pod, { startAt, now: cluster.clock.now() });
  });
  const daemon = startDaemon(cluster, ending.signal, complain);
  await cluster.advance(START_SECONDS);
  await refuseFaults(cluster);
  const lasts = Math.max(...curves.map(({ seconds }) => seconds));
  for (let passed = START_SECONDS; passed < lasts; passed += STEP_SECONDS) {
    await cluster.advance(STEP_SECONDS);
    // What goes on after the end of its curve costs time only.
    const over = curves.filter(({ seconds }) => passed < seconds && passed + STEP_SECONDS >= seconds);
    for (const { name } of over) {
      await cluster.delete(`podresourceautoscalers/${name}`);
      await cluster.delete(`pods/${name}`);
    }
    if (passed % 14_400 < STEP_SECONDS) onHours(Math.round(passed / 3600), Math.round(lasts / 3600));
  }
  ending.abort();
  await cluster.advance(20);
  await Promise.all([watching, daemon]);
  return curves.map(({ name }) => ({ controller, curve: name, ...seen.get(name) ?? newSeen() }));
}

interface Seen {
  readonly sizes: Size[];
  readonly starts: number[];
  readonly kills: number[];
}

function newSeen(): Seen {
  return { sizes: [], starts: [], kills: [] };
}

function toPod({ name, cpu, memory, cache, startsBelow }: Curve): Json {
  const ramp = { kind: "ramp", from: -startsBelow, to: 0, durationMs: 60_000, clock: "container" };
  const workingSetBytes = startsBelow > 0 ? { kind: "sum", curves: [memory, ramp] } : memory;
  const load = { app: { cpuMillicores: cpu, workingSetBytes, pageCacheBytes: cache } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name }, annotations: { "sim.podfit.dev/load": JSON.stringify(load) } },
    spec: { containers: [{ name: "app", image: "example.com/app:1", resources: TEMPLATE }] },
  };
}

function toAutoscaler({ name }: Curve, given: DaemonRunOptions["spec"]): Json {
  return {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, containerName: "app", ...given },
  };
}

async function startDaemon({ cluster, clock }: ClusterRun, signal: AbortSignal, write: (line: string) => void) {
  const server = cluster.connect();
  const random = () => 0.5;
  await createDaemon({
    server,
    watchUsage: watchKubelets(cluster.openSource(server), { clock, random }),
    scope: WHOLE_CLUSTER,
    clock,
    random,
    metrics: createMetrics({ version: "quality" }),
    dryRun: false,
    requiresAnnotation: false,
    instance: "quality",
    signal,
    log: createLog({ level: "error", format: "json", clock, write }),
  }).run();
}

/** A policy or load that is not taken would be scored as one that does nothing. */
async function refuseFaults(cluster: ClusterRun): Promise<void> {
  const events: readonly Json[] = await cluster.list("events");
  const fault = events.find(({ reason }) => ["InvalidLoad", "InvalidSpec", "FailedScheduling"].includes(reason));
  if (fault !== undefined) throw new Error(`Cannot use "${fault.involvedObject.name}": ${fault.message}`);
}

/** Calls back with each state of each pod. An API server ends a watch after a while, and the next begins anew. */
async function watchPods({ cluster }: ClusterRun, signal: AbortSignal, onPod: (pod: Json) => void): Promise<void> {
  const { origin, transport } = cluster.connect();
  while (!signal.aborted) {
    try {
      const request = new Request(`${origin}/api/v1/namespaces/default/pods?watch=true`, { signal });
      const { body } = await transport(request);
      if (body === null) throw new Error("Cannot watch pods: no body");
      let rest = "";
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") onPod(JSON.parse(line).object);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface Times {
  /** Epoch ms. */
  readonly startAt: number;
  readonly now: number;
}

function note(seen: Seen, pod: Json, { startAt, now }: Times): void {
  const status: Json = pod.status?.containerStatuses?.[0];
  if (status === undefined) return;
  const toSecond = (at: number) => (at - startAt) / 1000;
  const { requests = {}, limits = {} } = status.resources ?? {};
  const size: Size = [
    toSecond(now),
    readAmount(requests.cpu, "cpu"),
    readAmount(limits.cpu, "cpu"),
    readAmount(requests.memory, "memory"),
    readAmount(limits.memory, "memory"),
  ];
  const last = seen.sizes.at(-1);
  const amounts = size.slice(1);
  if (amounts.every((one) => one > 0) && amounts.some((one, index) => one !== last?.[index + 1])) seen.sizes.push(size);
  if (status.state?.running !== undefined) addOnce(seen.starts, toSecond(Date.parse(status.state.running.startedAt)));
  for (const ended of [status.lastState?.terminated, status.state?.terminated]) {
    if (ended?.reason === "OOMKilled") addOnce(seen.kills, toSecond(Date.parse(ended.finishedAt)));
  }
}

/** Zero while it is not known. */
function readAmount(value: unknown, resource: Resource): number {
  const parsed = parseAmount(value, resource);
  return parsed.ok ? parsed.amount : 0;
}

function addOnce(list: number[], value: number): void {
  if (!list.includes(value)) list.push(value);
}
