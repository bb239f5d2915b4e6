/** The sink that publishes the notices of a pass as Kubernetes Events on the ScaledObject (R92). */
import type { Recorder } from "../../report/recorder.ts";
import type { ReplicasSink } from "../sink.ts";

/** Never throws: what the recorder cannot write it counts and drops. */
export function createReplicasEvents(recorder: Pick<Recorder, "publish">): ReplicasSink {
  return {
    onPass({ input: { object: { namespace, name, uid } }, outcome: { notices } }) {
      const autoscaler = { kind: "ScaledObject", namespace, name, uid } as const;
      for (const notice of notices) recorder.publish(notice, { autoscaler });
    },
  };
}
