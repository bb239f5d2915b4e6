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

// The last resize of each autoscaler in this process: noted by a sink, read when a status is computed (C45, C51).

/** The newest resize by autoscaler uid. */
export class LastScales {
  readonly #clock: Pick<Clock, "now">;
  readonly #scales = new Map<string, LastScale>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Keeps the newer of this one and the one noted before. */
  record(uid: string, scale: LastScale): void {
    this.#scales.set(uid, findNewestScale(scale, this.find(uid), this.#clock.now()) ?? scale);
  }

  /** `null` when the autoscaler with this uid has resized nothing. */
  find(uid: string): LastScale | null {
    return this.#scales.get(uid) ?? null;
  }

  forget(uid: string): void {
    this.#scales.delete(uid);
  }
}

// The sink that notes each autoscaler's last resize, for its status (C45, C51).

/** Where resizes are noted, and for whom. */
interface StatusSinkOptions {
  readonly lastScales: Pick<LastScales, "record">;
  /** False for an autoscaler deleted while an answer was on its way: nothing is noted of it again. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Throws nothing of its own. */
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

// Resizes of other podfits, as the watch of pods shows them (C51): a container's size changes, and the API server
// names podfit as the manager that changed it. Who resized stays unsaid where podfit was not watching yet.

/** Where resizes are noted. */
interface WatchedScalesOptions {
  readonly lastScales: Pick<LastScales, "record">;
  /** This process resizes the pod with this uid itself, and notes it better: at once, and with the autoscaler that did it. */
  readonly isOwn: (uid: string) => boolean;
}

/** Remembers the pods as they were seen last. */
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

/** `null` where podfit did not change the size, or only put back what was in force (C47), which is no scale action. */
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

/** The one that most likely did it: of those of one rank the cooldowns decide, which its podfit alone knows. */
function findLikelyAutoscaler(contenders: readonly Autoscaler[], container: string): Autoscaler | null {
  const all = contenders.filter(({ containerName, mode }) => containerName === container && mode === "apply");
  return limitAutoscalers(all, 1)[0] ?? null;
}
