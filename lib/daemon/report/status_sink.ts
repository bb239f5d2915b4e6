/** The sink that notes each autoscaler's last resize, for its status (C45, C51). */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { LastScales } from "./last_scales.ts";
import { findOwner, type Sink } from "./sink.ts";

/** Where resizes are noted, and for whom. */
export interface StatusSinkOptions {
  readonly lastScales: Pick<LastScales, "note">;
  /** False for an autoscaler deleted while an answer was on its way: nothing is noted of it again. */
  readonly isKnown: (autoscaler: Autoscaler) => boolean;
}

/** Throws nothing of its own. */
export function createStatusSink({ lastScales, isKnown }: StatusSinkOptions): Sink {
  return (evaluation) => {
    const { scaled } = evaluation.outcome;
    if (scaled === null) return;
    const autoscaler = findOwner(evaluation, scaled);
    if (autoscaler === null || !isKnown(autoscaler)) return;
    const { at, action, change } = scaled;
    lastScales.note(autoscaler.uid, { at, action, change });
  };
}
