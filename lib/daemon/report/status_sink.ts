/** The sink that notes each autoscaler's last resize, for its status (C45, C51). */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { LastScale } from "../../autoscaler/conditions.ts";
import { findOwner, type Sink } from "./sink.ts";

export interface StatusSinkOptions {
  readonly noteScale: (uid: string, scale: LastScale) => void;
  /** False for an autoscaler deleted while an answer was on its way: nothing is noted of it again. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Throws nothing of its own. */
export function createStatusSink({ noteScale, isKnown }: StatusSinkOptions): Sink {
  return (evaluation) => {
    const { scaled } = evaluation.outcome;
    if (scaled === null) return;
    const autoscaler = findOwner(evaluation, scaled);
    if (autoscaler === null || !isKnown(autoscaler)) return;
    const { at, action, change } = scaled;
    noteScale(autoscaler.uid, { at, action, change });
  };
}
