/**
 * The last resize of each autoscaler. This process records its own resizes. `WatchedScales` finds those of other
 * podfits in the watch of pods.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import { type ContainerFacts, findContainer, getActualSize, type PodFacts } from "../../model/pod.ts";
import { describeChange, listChangedFields } from "../../model/resize_request.ts";
import type { LastScale } from "../../resources/pod_resource_autoscaler/status.ts";
import type { Clock } from "../../runtime/clock.ts";
import { listOwnedFields } from "../../units/managed_fields.ts";
import type { ResourceField } from "../../units/resources.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import { limitAutoscalers } from "../cluster/matching.ts";
import { type EvaluationSink, findAutoscaler } from "../pods/controller.ts";
import { findNewestScale } from "./facts.ts";

/** The newest resize of each autoscaler, by uid. A sink records it, and a status shows it. Clauses: C45, C51. */
export class LastScales {
  readonly #clock: Pick<Clock, "now">;
  readonly #scales = new Map<string, LastScale>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Keeps the newer of this resize and the recorded one. */
  record(uid: string, scale: LastScale): void {
    this.#scales.set(uid, findNewestScale(scale, this.find(uid), this.#clock.now()) ?? scale);
  }

  /** Returns `null` if the autoscaler with this uid has resized nothing. */
  find(uid: string): LastScale | null {
    return this.#scales.get(uid) ?? null;
  }

  forget(uid: string): void {
    this.#scales.delete(uid);
  }
}

interface StatusSinkOptions {
  readonly lastScales: Pick<LastScales, "record">;
  /** False for an autoscaler that was deleted while an answer was under way. Its resizes are not recorded. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Returns a sink that records each autoscaler's last resize. It throws only if `isKnown` does. Clauses: C45, C51. */
export function createStatusSink({ lastScales, isKnown }: StatusSinkOptions): EvaluationSink {
  return (evaluation) => {
    const { scaled } = evaluation.outcome;
    if (scaled === null) return;
    const autoscaler = findAutoscaler(evaluation, scaled);
    if (autoscaler === null || !isKnown(autoscaler)) return;
    const { at, action, change } = scaled;
    lastScales.record(autoscaler.uid, { at: at + (evaluation.input.wallAheadMs ?? 0), action, change });
  };
}

interface WatchedScalesOptions {
  readonly lastScales: Pick<LastScales, "record">;
  /** This process resizes the pod with this uid itself. It records the resize at once and with the right autoscaler. */
  readonly isOwn: (uid: string) => boolean;
}

/**
 * Finds resizes of other podfits in the watch of pods: a container's size has changed, and the API server names podfit
 * as the manager of the change. Clauses: C51.
 */
export class WatchedScales {
  readonly #options: WatchedScalesOptions;
  readonly #seen = new Map<string, PodFacts>();

  constructor(options: WatchedScalesOptions) {
    this.#options = options;
  }

  /** The pod is new, or has changed. */
  put({ pod, autoscalers }: TrackedPod): void {
    const before = this.#seen.get(pod.uid);
    this.#seen.set(pod.uid, pod);
    if (before === undefined || before === pod || this.#options.isOwn(pod.uid)) return;
    for (const after of pod.containers) {
      const scale = findScale(findContainer(before, after.name), after, pod);
      const autoscaler = scale === null ? null : findLikelyAutoscaler(autoscalers, after.name);
      if (scale !== null && autoscaler !== null) this.#options.lastScales.record(autoscaler.uid, scale);
    }
  }

  remove({ uid }: Pick<PodFacts, "uid">): void {
    this.#seen.delete(uid);
  }
}

/**
 * Returns `null` if podfit did not change the size, or only reverted it to the size in force. A revert is not a scale
 * action. Clauses: C47.
 */
function findScale(before: ContainerFacts | null, after: ContainerFacts, { resizes }: PodFacts): LastScale | null {
  if (before === null || before.spec === after.spec) return null;
  const changed = listChangedFields(before.spec, after.spec);
  const entry = changed.length === 0 ? undefined : resizes.find(({ manager, owned }) => {
    if (manager !== `podfit.${after.name}`) return false;
    const sides: readonly ResourceField[] = listOwnedFields(owned, after.name);
    return changed.some((key) => sides.includes(key));
  });
  if (entry === undefined) return null;
  const from = getActualSize(before);
  const [first, ...others] = listChangedFields(from, after.spec);
  if (first === undefined) return null;
  const action = (after.spec[first] ?? 0) > (from[first] ?? 0) ? "scaleUp" : "scaleDown";
  return { at: entry.at, action, change: describeChange(from, after.spec, [first, ...others]) };
}

/**
 * Returns the autoscaler that most likely resized. Between autoscalers of one rank the cooldowns decide, and only its
 * podfit knows them.
 */
function findLikelyAutoscaler(contenders: readonly Autoscaler[], container: string): Autoscaler | null {
  const all = contenders.filter(({ containerName, mode }) => containerName === container && mode === "apply");
  return limitAutoscalers(all, 1)[0] ?? null;
}
