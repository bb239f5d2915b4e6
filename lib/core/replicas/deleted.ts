/** The object is being deleted (R57): what is written and told then. Finalizers are the shell's. */
import type { ReplicasInput, ReplicasOutcome, Scale, ScaleWrite } from "./input.ts";
import type { ReplicasNotice } from "./notices.ts";
import { readTopic, setTopic } from "./notify/notified.ts";
import { noteStopped } from "./notify/watching.ts";
import type { ReplicasState } from "./state.ts";

const TOPIC = "deleted";
const DELETED: ReplicasNotice = { name: "ScaledObjectDeleted", message: "ScaledObject was deleted" };

/** Nothing is written but the replicas of before podfit, where that is asked for. Told once, written as often as it is asked. */
export function finish(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const stopped = noteStopped(before.notified);
  const isNews = readTopic(before.notified, TOPIC) === null;
  const notified = setTopic(stopped.notified, TOPIC, "told");
  return {
    state: { ...before, history: null, isScaleInPending: false, notified },
    write: scale === null ? null : restore(before, scale, input),
    notices: isNews ? [...stopped.notices, DELETED] : stopped.notices,
    report: null,
  };
}

function restore(
  { originalReplicas: replicas }: ReplicasState,
  from: Scale,
  { object: { scaledObject, restoring }, now }: ReplicasInput,
): ScaleWrite | null {
  if ((scaledObject ?? restoring)?.restoresReplicas !== true || replicas === null || replicas === from.replicas) {
    return null;
  }
  const reason = replicas > from.replicas ? "ScaledOut" : "ScaledIn";
  const message = `New size: ${replicas}; reason: restoreToOriginalReplicaCount`;
  return { from, replicas, half: "restore", at: now, reason, message };
}
