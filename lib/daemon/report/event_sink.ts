/** The sink that publishes the notices of an evaluation as Kubernetes Events on their autoscalers (C50). */
import type { Recorder } from "./recorder.ts";
import type { Sink } from "./sink.ts";

/** Never throws: what the recorder cannot write it counts and drops. */
export function createEventSink(recorder: Pick<Recorder, "publish">): Sink {
  return ({ input: { pod, contenders }, outcome: { notices } }) => {
    for (const notice of notices) {
      const autoscaler = contenders.find(({ uid }) => uid === notice.autoscaler);
      if (autoscaler !== undefined) recorder.publish(notice, { autoscaler, pod });
    }
  };
}
