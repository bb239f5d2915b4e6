/**
 * Which controllers run, and how is a key reconciled? Each controller is a level-based loop over list and watch.
 * Not imitated: Jobs and CronJobs, HorizontalPodAutoscalers, minReadySeconds and progress deadlines,
 * ControllerRevisions and rollbacks, volumes, preemption, spreading, affinity except that of nodes, ports, finalizers
 * of owners (deletion is always in the background), owners of other kinds, and disruption budgets.
 */
import type { ApiServer } from "../../kube/transport.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createObjectsClient } from "../objects_client.ts";
import { Cache, type Watched } from "./cache.ts";
import type { Context, Control } from "./context.ts";
import { controlDeployments, controlReplicaSets } from "./deployments.ts";
import { collectGarbage, controlNamespaces } from "./garbage.ts";
import { createScheduler } from "./scheduler.ts";

/** Runs every controller until the signal aborts, and resolves when the last has ended. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { server, clock, random, onError } = options;
  const loops: { readonly control: Control; readonly reconciler: Reconciler }[] = [];
  const cache = new Cache({
    kinds: options.kinds,
    server,
    clock,
    random,
    onError,
    onChange(kind, object) {
      // An object that is not listed yet may exist, so nothing is created before all lists are complete.
      if (!cache.isSynced) return;
      for (const { control, reconciler } of loops) for (const key of control.keysOf(kind, object)) reconciler.add(key);
    },
  });
  const client = createObjectsClient({ server, clock, agent: "kube-controller-manager", signal });
  for (const create of options.controllers) {
    const control = create({ cache, client, clock, random });
    loops.push({ control, reconciler: new Reconciler({ clock, random, onError, reconcile: control.reconcile }) });
  }
  await Promise.all([cache.run(signal), ...loops.map(({ reconciler }) => reconciler.run(signal))]);
}

/** A queue of keys: each is worked on by one at a time, and again with a back-off when it failed. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  /** Due times by key, in ms of the clock. */
  readonly #due = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  #wake = () => {};

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  add(key: string, afterMs = 0): void {
    const dueMs = this.#options.clock.monotonic() + afterMs;
    if (dueMs >= (this.#due.get(key) ?? Infinity)) return;
    this.#due.set(key, dueMs);
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#first();
      const waitMs = next === null ? Infinity : next.dueMs - this.#options.clock.monotonic();
      if (next === null || waitMs > 0) await this.#sleep(waitMs, signal);
      else await this.#reconcile(next.key, signal);
    }
  }

  #first(): { readonly key: string; readonly dueMs: number } | null {
    const now = this.#options.clock.monotonic();
    let first: { key: string; dueMs: number } | null = null;
    for (const [key, dueMs] of this.#due) {
      if (first === null || dueMs < first.dueMs) first = { key, dueMs };
      if (dueMs <= now) break;
    }
    return first;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { reconcile, onError, random } = this.#options;
    this.#due.delete(key);
    try {
      const againMs = await reconcile(key);
      this.#failures.delete(key);
      if (typeof againMs === "number") this.add(key, againMs);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.add(key, backoffMs(failures, { ...RETRY, random }));
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => {
      this.#wake = () => {};
      // Given a reason, or an error with its stack is made for each.
      woken.abort("woken");
    };
    const both = AbortSignal.any([signal, woken.signal]);
    await this.#options.clock.sleep(Math.min(ms, MAX_WAIT_MS), both).catch(() => {});
    this.#wake = () => {};
  }
}

/** What the controllers of a cluster work with. */
interface ControllersOptions extends ControllerSet {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  readonly random: () => number;
  /** Receives each failure; what failed is tried again. */
  readonly onError: (error: unknown) => void;
}

/** The controllers that run, and the kinds that they watch. */
export interface ControllerSet {
  readonly kinds: readonly Watched[];
  readonly controllers: readonly ((context: Context) => Control)[];
}

/** What the demo needs: Deployments on nodes that stay. */
export const DEMO_CONTROLLERS: ControllerSet = {
  kinds: ["nodes", "namespaces", "serviceaccounts", "pods", "replicasets", "deployments"],
  controllers: [controlNamespaces, controlDeployments, controlReplicaSets, createScheduler, collectGarbage],
};

/** What a reconciler does with each key, and how it waits after a failure. */
interface ReconcilerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Level-based: brings what the key names to what is wanted now. Ms until it wants to be asked again, or nothing. */
  readonly reconcile: (key: string) => Promise<number | void>;
  readonly onError: (error: unknown) => void;
}

const RETRY = { baseMs: 100, maxMs: 30_000 };

const MAX_WAIT_MS = 3_600_000;
