/** KEDAScalersStarted and KEDAScalersStopped (R92): podfit looks after the object, or no more. */
import type { ReplicasNotice } from "../notices.ts";
import { type Notified, readTopic, setTopic } from "./notified.ts";

/** What comes of it for what is notified. */
export interface Watching {
  readonly notified: Notified;
  readonly notices: readonly ReplicasNotice[];
}

const TOPIC = "scalers";

/** Also told by each new podfit, as KEDA's does. */
export function noteStarted(before: Notified): Watching {
  if (readTopic(before, TOPIC) !== null) return { notified: before, notices: [] };
  const notice: ReplicasNotice = { name: "KEDAScalersStarted", message: "Started scalers watch" };
  return { notified: setTopic(before, TOPIC, "started"), notices: [notice] };
}

export function noteStopped(before: Notified): Watching {
  if (readTopic(before, TOPIC) === null) return { notified: before, notices: [] };
  const notice: ReplicasNotice = { name: "KEDAScalersStopped", message: "Stopped scalers watch" };
  return { notified: setTopic(before, TOPIC, null), notices: [notice] };
}
