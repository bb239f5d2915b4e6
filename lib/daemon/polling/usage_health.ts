/** Which tracked pods have no usage, and why (C51): their node cannot be read, or a running container is not in it. */
import { findContainer, type PodFacts } from "../../core/pod/pod_facts.ts";
import { type Autoscaler, toContenderKey } from "../../autoscaler/autoscaler.ts";
import { listContainers } from "../../core/pod/resizable.ts";
import { readSilenceMs, SILENCE_MS } from "../../core/observe/silence.ts";
import { readStateFor } from "../../core/recommend/shadow.ts";
import type { Standing } from "../../core/standing.ts";
import type { Reading } from "../../api/usage.ts";
import type { Clock } from "../../runtime/clock.ts";
import { FAILED_READS } from "../../usage/failed_reads.ts";
import { formatDuration } from "../../units/duration.ts";

/** How many of an autoscaler's pods have no usage, and why the first of them has none. */
export type Unread = (
  autoscaler: Autoscaler,
  pods: Iterable<PodFacts>,
) => { readonly count: number; readonly why: string };

/** Counts failed reads by node and notes pods that are never evaluated. */
export class UsageHealth {
  readonly #failures = new Map<string, { count: number; message: string }>();
  /** Since when a tracked pod has been without a view, monotonic ms. */
  readonly #unseen = new Map<string, number>();
  readonly #readStanding: (uid: string) => Standing | null;
  readonly #clock: Pick<Clock, "now" | "monotonic">;

  constructor(
    { readStanding, clock }: {
      readonly readStanding: (uid: string) => Standing | null;
      readonly clock: Pick<Clock, "now" | "monotonic">;
    },
  ) {
    this.#readStanding = readStanding;
    this.#clock = clock;
  }

  /** Notes a reading. A failed one that is not counted is no failure of the node, and only explains why usage is missing. */
  note(reading: Reading, { isCounted = true } = {}): void {
    if (reading.kind === "usage") return void this.#failures.delete(reading.node);
    const count = (this.#failures.get(reading.node)?.count ?? 0) + (isCounted ? 1 : 0);
    this.#failures.set(reading.node, { count, message: reading.message });
  }

  forgetPod(uid: string): void {
    this.#unseen.delete(uid);
  }

  /** A tracked pod that was never evaluated: not enough is known of the cluster, or its evaluation fails. */
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

  readonly unread: Unread = (autoscaler, pods) => {
    let [count, why] = [0, ""];
    const now = this.#clock.now();
    for (const pod of pods) {
      const reason = this.#explain(autoscaler, pod, now);
      if (reason === null) continue;
      if (count === 0) why = reason;
      count++;
    }
    return { count, why };
  };

  #explain(autoscaler: Autoscaler, pod: PodFacts, now: number): string | null {
    const failure = this.#failures.get(pod.nodeName ?? "");
    if (failure !== undefined && failure.count >= FAILED_READS) return failure.message;
    const state = this.#readStanding(pod.uid);
    const views = state === null ? undefined : readStateFor(autoscaler, state).views;
    // As long as the fold waits (C22): a poll interval above it is no silence.
    const limitMs = readSilenceMs(autoscaler);
    for (const name of listContainers(autoscaler, pod)) {
      const view = views?.[autoscaler.isWildcard ? toContenderKey(autoscaler.uid, name) : autoscaler.key];
      if (view === undefined) return this.#explainUnseen(pod);
      this.#unseen.delete(pod.uid);
      // Nearly every pod ends here.
      if (now - view.sampling.newAt < limitMs) continue;
      const runningAt = findContainer(pod, name)?.runningAt ?? null;
      if (runningAt === null || now - Math.min(runningAt, now) < limitMs) continue;
      const words = `pod "${pod.name}" has had no new usage for ${formatDuration(limitMs)} or more`;
      return failure === undefined ? words : `${words}: ${failure.message}`;
    }
    return null;
  }
}
