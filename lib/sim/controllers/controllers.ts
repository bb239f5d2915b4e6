/**
 * The controllers and the scheduler of an embedded cluster: clients of its API server, each a level-based loop over what
 * list and watch tell.
 *
 * What they do not imitate: Jobs and CronJobs, HorizontalPodAutoscalers, minReadySeconds and progress deadlines,
 * ControllerRevisions and rollbacks, paused rollouts beyond standing still, volumes, preemption, priorities, spreading,
 * affinities but of nodes, ports, finalizers of owners (deletion is always in the background), owners of other kinds,
 * and quotas and disruption budgets on deletion.
 */
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createObjectsClient } from "../objects_client.ts";
import { Cache } from "./cache.ts";
import type { Context, Control } from "./context.ts";
import { controlDaemonSets } from "./daemon_sets.ts";
import { controlDeployments } from "./deployments.ts";
import { collectGarbage } from "./garbage.ts";
import { controlNamespaces } from "./namespaces.ts";
import { controlNodes } from "./node_lifecycle.ts";
import { Reconciler } from "./reconciler.ts";
import { controlReplicaSets } from "./replica_sets.ts";
import { scheduler } from "./scheduler.ts";
import { controlStatefulSets } from "./stateful_sets.ts";

/** What the controllers of a cluster work with. */
export interface ControllersOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  readonly random: () => number;
  /** Receives each failure; what failed is tried again. */
  readonly onError: (error: unknown) => void;
}

const CONTROLS: readonly ((context: Context) => Control)[] = [
  controlNamespaces,
  controlDeployments,
  controlReplicaSets,
  controlStatefulSets,
  controlDaemonSets,
  scheduler,
  controlNodes,
  collectGarbage,
];

/** Runs every controller until the signal aborts, and resolves when the last has ended. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { server, clock, random, onError } = options;
  const loops: { readonly control: Control; readonly reconciler: Reconciler }[] = [];
  const cache = new Cache({
    server,
    clock,
    random,
    onError,
    onChange(kind, object) {
      // An object that is not listed yet may be there, so nothing is created in its stead before all are.
      if (!cache.isSynced) return;
      for (const { control, reconciler } of loops) for (const key of control.keysOf(kind, object)) reconciler.add(key);
    },
  });
  const client = createObjectsClient({ server, clock, agent: "kube-controller-manager", signal });
  for (const create of CONTROLS) {
    const control = create({ cache, client, clock, random });
    loops.push({ control, reconciler: new Reconciler({ clock, random, onError, reconcile: control.reconcile }) });
  }
  await Promise.all([cache.run(signal), ...loops.map(({ reconciler }) => reconciler.run(signal))]);
}
