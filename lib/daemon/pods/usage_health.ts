/**
 * Which tracked pods have no usage, and why? It counts failed reads per node. It also remembers which source serves the
 * usage of each node.
 */
import type { Reading } from "../../api/usage.ts";
import { type Autoscaler, computeSilenceMs, SILENCE_MS, toViewKey } from "../../model/autoscaler.ts";
import { findContainer, listContainers, type PodFacts } from "../../model/pod.ts";
import type { ReadableState } from "../../model/state.ts";
import { type Clock, computeWallAheadMs } from "../../runtime/clock.ts";
import { formatDuration } from "../../units/time.ts";
import { MAX_FAILED_READS } from "../../usage/source.ts";
import { getStateFor } from "../../vertical/recommend.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** How many of an autoscaler's pods have no usage, and why the first of them has none. */
export type FindUnread = (
  autoscaler: Autoscaler,
  pods: Iterable<PodFacts>,
) => { readonly count: number; readonly why: string };

/** Counts failed reads by node, and finds pods that are never evaluated. Clauses: C51. */
export class UsageHealth {
  readonly #failures = new Map<string, { count: number; message: string }>();
  /** By uid, since when a tracked pod has not been evaluated, monotonic ms. */
  readonly #unseen = new Map<string, number>();
  readonly #findPodState: (uid: string) => ReadableState | null;
  readonly #clock: Pick<Clock, "now" | "steady" | "monotonic">;

  constructor(
    { readStanding, clock }: {
      readonly readStanding: (uid: string) => ReadableState | null;
      readonly clock: Pick<Clock, "now" | "steady" | "monotonic">;
    },
  ) {
    this.#findPodState = readStanding;
    this.#clock = clock;
  }

  /** Records a reading. A failed reading that is not counted only explains why usage is missing. */
  recordReading(reading: Reading, { isCounted = true } = {}): void {
    if (reading.kind === "usage") return void this.#failures.delete(reading.node);
    const count = (this.#failures.get(reading.node)?.count ?? 0) + (isCounted ? 1 : 0);
    this.#failures.set(reading.node, { count, message: reading.message });
  }

  forgetPod(uid: string): void {
    this.#unseen.delete(uid);
  }

  /**
   * Explains a tracked pod that was never evaluated: too little is known about the cluster, or its evaluation fails.
   */
  #explainUnseen(pod: PodFacts): string | null {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#unseen.get(pod.uid) ?? nowMs;
    this.#unseen.set(pod.uid, sinceMs);
    if (nowMs - sinceMs < SILENCE_MS) return null;
    return `pod "${pod.name}" is not evaluated: a list that its namespace depends on cannot be read, or its ` +
      "evaluation fails; podfit's log says which";
  }

  forgetNode(node: string): void {
    this.#failures.delete(node);
  }

  readonly findUnread: FindUnread = (autoscaler, pods) => {
    let [count, why] = [0, ""];
    const now = this.#clock.steady();
    const wallAheadMs = computeWallAheadMs(this.#clock, now);
    for (const pod of pods) {
      const reason = this.#explain(autoscaler, pod, { now, wallAheadMs });
      if (reason === null) continue;
      if (count === 0) why = reason;
      count++;
    }
    return { count, why };
  };

  #explain(
    autoscaler: Autoscaler,
    pod: PodFacts,
    { now, wallAheadMs }: { readonly now: number; readonly wallAheadMs: number },
  ): string | null {
    const failure = this.#failures.get(pod.nodeName ?? "");
    if (failure !== undefined && failure.count >= MAX_FAILED_READS) return failure.message;
    const state = this.#findPodState(pod.uid);
    const views = state === null ? undefined : getStateFor(autoscaler, state).views;
    // As long as a decision waits. A longer poll interval does not count as missing usage.
    const limitMs = computeSilenceMs(autoscaler);
    for (const name of listContainers(autoscaler, pod)) {
      const view = views?.[toViewKey(autoscaler, name)];
      if (view === undefined) return this.#explainUnseen(pod);
      this.#unseen.delete(pod.uid);
      // This is the case for nearly every pod.
      if (now - view.sampling.newAt < limitMs) continue;
      const runningAt = findContainer(pod, name)?.runningAt ?? null;
      if (runningAt === null || now - Math.min(runningAt - wallAheadMs, now) < limitMs) continue;
      const words = `pod "${pod.name}" has had no new usage for ${formatDuration(limitMs)} or more`;
      return failure === undefined ? words : `${words}: ${failure.message}`;
    }
    return null;
  }
}

interface UsageSourcesOptions {
  readonly metrics: Pick<Metrics, "setNodesBySource">;
  readonly onTrouble: OnFailure;
}

/** Remembers which source serves each node, and reports changes in metrics and log. Clauses: C54. */
export class UsageSources {
  readonly #options: UsageSourcesOptions;
  readonly #byNode = new Map<string, { readonly source: string; readonly isBetter: boolean }>();
  readonly #counts = new Map<string, number>();

  constructor(options: UsageSourcesOptions) {
    this.#options = options;
  }

  /** Records every reading. */
  recordReading({ node, served }: Reading): void {
    if (served === undefined) return;
    const { source, because } = served;
    const before = this.#byNode.get(node);
    if (before?.source === source) return;
    const isBetter = because === null;
    this.#byNode.set(node, { source, isBetter });
    if (before !== undefined) this.#add(before.source, -1);
    this.#add(source, 1);
    this.#publish();
    if (!isBetter) this.#reportFallback(node, source, because);
    else if (before !== undefined) this.#reportRecovery(node, `Usage of node is read from ${source} again`);
  }

  forget(node: string): void {
    const before = this.#byNode.get(node);
    if (before === undefined) return;
    this.#byNode.delete(node);
    this.#add(before.source, -1);
    this.#publish();
    if (!before.isBetter) this.#reportRecovery(node);
  }

  #add(source: string, count: number): void {
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + count);
  }

  #publish(): void {
    this.#options.metrics.setNodesBySource(this.#counts);
  }

  #reportFallback(node: string, source: string, because: string): void {
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message: `Usage of node "${node}" is read from ${source}: ${because}`,
      autoscaler: null,
      fields: { node, source },
      topic: { what: WHAT, reason: source, subject: node },
    });
  }

  #reportRecovery(subject: string, message?: string): void {
    this.#options.onTrouble({ kind: "recovered", what: WHAT, subject, ...(message !== undefined && { message }) });
  }
}

const WHAT = "Usage of nodes is read from another source";
