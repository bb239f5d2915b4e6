/** What the runner of one ScaledObject is made of. */
import type { Clock } from "../../runtime/clock.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { TriggerReader } from "../../triggers/trigger_reader.ts";
import type { SetFinalizer } from "./finalizers.ts";
import type { Gather } from "./gather.ts";
import type { Look } from "./look.ts";
import type { ScaleClient } from "./scale_client.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { ReadUsage } from "./read_usage.ts";
import type { ReplicasSink } from "./sink.ts";
import type { TargetPods } from "./target_pods.ts";

/** What every runner shares. */
export interface RunnerParts {
  readonly clock: Clock;
  readonly dryRun: boolean;
  readonly scales: ScaleClient;
  readonly look: Look;
  readonly gather: Gather;
  readonly readUsage: ReadUsage;
  readonly metered: Pick<MeteredPods, "read">;
  readonly setFinalizer: SetFinalizer;
  /** A deleted object's replicas could not be restored (R57). */
  readonly onUnrestored: (facts: ScaledObjectFacts, cause: string) => void;
  readonly sink: Pick<Required<ReplicasSink>, "onPass">;
  /** Right before each write: whether this podfit leads, and nobody else writes. */
  readonly mayWrite: (
    object: ScaledObject,
    of: { readonly pods: TargetPods; readonly transferredUid: string | null },
  ) => boolean;
  /** False while what the namespace's objects depend on is not known (any more): then nothing is done. */
  readonly isKnown: (namespace: string) => boolean;
}

/** What is one runner's own. */
export interface RunnerOptions extends RunnerParts {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
  /** When it begins, epoch ms: its polls then, its ticks 15 s later (R7). */
  readonly startAt: number;
}
