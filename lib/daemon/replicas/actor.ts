/** Sets replicas and tells of it: the part of an actor that is about ScaledObjects, with its events, log, metrics and statuses. */
import type { ScaledObjectStatus } from "../../core/replicas/status.ts";
import type { Brake } from "../../runtime/brake.ts";
import { computeOn } from "../../runtime/compute.ts";
import type { Log } from "../../runtime/log.ts";
import type { AskTrigger } from "../../triggers/trigger_source.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createScaledObjectPatch } from "../report/patch_status.ts";
import type { Recorder } from "../report/recorder.ts";
import { StatusLoop } from "../report/status_loop.ts";
import { StatusWriter } from "../report/status_writer.ts";
import { createReplicas, type Replicas, type ReplicasOptions } from "./replicas.ts";
import { createReplicasEvents } from "./report/event_sink.ts";
import { createReplicasLog } from "./report/log_sink.ts";
import { createReplicasMetrics } from "./report/metrics_sink.ts";
import { ReplicasSweep } from "./report/status_sweep.ts";
import type { ReplicasSink } from "./sink.ts";

/** How replicas are set. */
export interface ReplicasSettings {
  /** This module's: it is loaded where replicas are set, and nowhere else. */
  readonly create: typeof createReplicasActor;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  /** How triggers are asked over the network. */
  readonly ask: AskTrigger;
  /** Who else takes every pass of a ScaledObject. */
  readonly sinks?: readonly ReplicasSink[];
}

export interface ReplicasActorOptions extends Omit<ReplicasOptions, keyof ReplicasSettings> {
  readonly settings: ReplicasSettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly brake: Brake;
  readonly recorder: Pick<Recorder, "publish">;
}

export interface ReplicasActor extends Replicas {
  /** Its statuses have made no progress for a minute. */
  readonly isStuck: () => boolean;
  /** Writes the statuses that the last passes left. */
  readonly writeLast: () => Promise<void>;
}

/** Nothing runs before `run` is called. */
export function createReplicasActor(options: ReplicasActorOptions): ReplicasActor {
  const { clock, log, metrics, recorder, observer, settings } = options;
  const loop = new StatusLoop(clock);
  const known = new Set<string>();
  const replicas: Replicas = createReplicas({
    ...options,
    ...settings,
    sinks: [
      { onObject: ({ uid }) => void known.add(uid), onGone: ({ uid }) => void known.delete(uid) },
      createReplicasEvents(recorder),
      createReplicasLog(log),
      createReplicasMetrics({ metrics: metrics.replicas, isKnown: (uid) => known.has(uid) }),
      { onGone: ({ uid }) => sweep.forget(uid) },
      ...settings.sinks ?? [],
    ],
  });
  const writer = new StatusWriter<ScaledObjectStatus>({
    ...options,
    patch: createScaledObjectPatch(options.client),
    isKnown: () => true,
    rivals: "KEDA, or another podfit: let one of them alone have ScaledObjects",
    isNodeLocal: false,
    onProgress: loop.noteProgress,
  });
  const sweep = new ReplicasSweep({
    compute: computeOn(clock),
    list: replicas.list,
    writer,
    metrics: metrics.replicas,
    isKnown: observer.canScale,
  });
  // In a dry run statuses are written, as they are for autoscalers.
  return {
    ...replicas,
    isStuck: () => loop.isStuck,
    writeLast: () => loop.writeLast(sweep),
    async run(signal) {
      await Promise.all([replicas.run(signal), loop.run(sweep, { signal })]);
    },
  };
}
