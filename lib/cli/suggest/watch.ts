/** Watches the usage of workloads' pods for a while, by what the daemon itself reads: kubelets' summaries, else metrics.k8s.io. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Clock } from "../../runtime/clock.ts";
import { collectUsage } from "../../simulate/load/usage_points.ts";
import type { UsageNode, UsagePod, WatchUsage } from "../../usage/watch_usage.ts";
import { formatDuration } from "../../units/duration.ts";
import type { FoundWorkload } from "./find_workload.ts";
import type { Watched } from "./watched.ts";

export interface WatchOptions {
  readonly watchUsage: WatchUsage;
  readonly clock: Pick<Clock, "timeout" | "monotonic">;
  readonly forMs: number;
  /** Ends the watching early: what was seen by then counts. */
  readonly signal: AbortSignal;
  /** Hears of each reading, and why one gave nothing. */
  readonly onReading?: (reading: { readonly passedMs: number; readonly failure: string | null }) => void;
}

/** As often as a profile's policy looks. */
const INTERVAL_MS = 5_000;

/** Resolves when the time is over. Never rejects for a node that cannot be read. */
export async function watchWorkloads(
  workloads: readonly FoundWorkload[],
  { watchUsage, clock, forMs, signal, onReading }: WatchOptions,
): Promise<readonly Watched[]> {
  const usage = collectUsage();
  const startedAt = clock.monotonic();
  using timeout = clock.timeout(forMs);
  const ending = AbortSignal.any([signal, timeout.signal]);
  const pods = workloads.flatMap((one) => one.pods);
  const names = new Map(pods.map((pod) => [pod.uid, keyOf(pod)]));
  const nodes = [...new Set(pods.flatMap(({ nodeName }) => nodeName ?? []))];
  await Promise.all(nodes.map(async (name) => {
    const own = pods.filter(({ nodeName }) => nodeName === name);
    const options = {
      interval: () => INTERVAL_MS,
      isTracked: (uid: string) => names.has(uid),
      pods: () => own.map(toUsagePod),
      signal: ending,
    };
    for await (const reading of watchUsage(toNode(name), options)) {
      if (reading.kind === "usage") {
        for (const [uid, { points }] of reading.pods) usage.add(names.get(uid) ?? uid, points);
      }
      const failure = reading.kind === "failed" ? reading.message : null;
      onReading?.({ passedMs: clock.monotonic() - startedAt, failure });
    }
  }));
  const passedMs = Math.min(forMs, Math.round((clock.monotonic() - startedAt) / 1000) * 1000);
  const loads = usage.toLoads();
  return workloads.map(({ target, pod, pods }) => ({
    target,
    pod,
    loads: loads.filter((load) => pods.some((one) => keyOf(one) === load.pod)),
    source: `usage of ${pods.length} pod${pods.length === 1 ? "" : "s"}, watched for ${formatDuration(passedMs)}`,
  }));
}

function keyOf({ namespace, name }: PodFacts): string {
  return `${namespace}/${name}`;
}

/** Summaries come through the API server, which knows the node's address. */
function toNode(name: string): UsageNode {
  return { name, readAddress: () => ({ addresses: null, port: 10_250, maxPods: null }) };
}

function toUsagePod({ uid, namespace, name, qosClass, containers }: PodFacts): UsagePod {
  return {
    uid,
    namespace,
    name,
    qosClass,
    containers: containers.map(({ name, instance, runningAt }) => ({ name, instance, runningAt })),
  };
}
