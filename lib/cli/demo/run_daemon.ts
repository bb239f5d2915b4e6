/** podfit's daemon on one of the demo's clusters: the same as elsewhere, but that it writes no log and asks nobody else. */
import { createDaemon, type DaemonOptions } from "../../daemon/daemon.ts";
import { WHOLE_CLUSTER } from "../../daemon/inventory/scope.ts";
import { createMetrics } from "../../daemon/metrics/metrics.ts";
import { createReplicasActor } from "../../daemon/replicas/actor.ts";
import type { ReplicasSink } from "../../daemon/replicas/sink.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLog } from "../../runtime/log.ts";
import type { AskTrigger } from "../../triggers/trigger_source.ts";
import type { SummarySource } from "../../usage/summary_source.ts";
import { watchKubelets } from "../../usage/watch_kubelets.ts";
import { VERSION } from "../version.ts";

/** A cluster, its clock, and who hears of the daemon. */
export interface DemoDaemonOptions extends Pick<DaemonOptions, "sinks" | "onTrouble"> {
  readonly server: ApiServer;
  readonly source: SummarySource;
  readonly clock: Clock;
  /** Who hears of replicas; `null` = they are left alone, as unless podfit is told otherwise. */
  readonly replicasSink: ReplicasSink | null;
}

/** A daemon that runs. */
export interface DemoDaemon extends AsyncDisposable {
  /** Rejects when it ends by itself. */
  readonly failed: Promise<never>;
}

/** Runs it until it is disposed of. */
export function runDaemon({ source, replicasSink, ...options }: DemoDaemonOptions): DemoDaemon {
  const { clock } = options;
  const ending = new AbortController();
  const daemon = createDaemon({
    ...options,
    watchUsage: watchKubelets(source, { clock, random: Math.random }),
    random: Math.random,
    scope: WHOLE_CLUSTER,
    ...(replicasSink && { replicas: { ...REPLICAS, sinks: [replicasSink] } }),
    dryRun: false,
    requiresAnnotation: false,
    instance: "demo",
    // The screen belongs to the story.
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: VERSION }),
    signal: ending.signal,
  });
  const running = daemon.run();
  const failed = running.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  return {
    failed,
    async [Symbol.asyncDispose]() {
      ending.abort();
      // `failed` rejects with its failure.
      await Promise.allSettled([running]);
    },
  };
}

const ASK_NOBODY: AskTrigger = () =>
  Promise.resolve({ kind: "failed", message: "the demo reaches no other machine", isEmpty: false });

const REPLICAS = { create: createReplicasActor, clusterObjectNamespace: "podfit", ask: ASK_NOBODY };
