/**
 * A pod's status in the few words of `kubectl get pods`.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/printers/internalversion/printers.go
 */
import { formatAge } from "./ages.ts";
import { type JsonObject, listAt, numberAt, objectAt, textAt } from "../../json.ts";

/** What kubectl shows of the state of a pod. */
export interface PodStatus {
  /** `1/2` */
  readonly ready: string;
  readonly reason: string;
  /** `3 (2m ago)` */
  readonly restarts: (now: number) => string;
}

/** What kubectl shows of the state of a pod. */
export function readPodStatus(pod: JsonObject): PodStatus {
  const sidecars = listAt(pod, "spec", "initContainers").filter(({ restartPolicy }) => restartPolicy === "Always")
    .map((container) => textAt(container, "name"));
  const starting = listAt(pod, "status", "initContainerStatuses");
  const running = [
    ...starting.filter((status) => sidecars.includes(textAt(status, "name"))),
    ...listAt(pod, "status", "containerStatuses"),
  ];
  const ready = running.filter((status) => status.ready === true).length;
  const total = sidecars.length + listAt(pod, "spec", "containers").length;
  return {
    ready: `${ready}/${total}`,
    reason: readReason(pod, { starting, sidecars }),
    restarts: (now) => {
      const count = running.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0);
      const times = running.map((status) => textAt(status, "lastState", "terminated", "finishedAt")).sort();
      const last = times.at(-1) ?? "";
      return count === 0 || last === "" ? String(count) : `${count} (${formatAge(last, now)} ago)`;
    },
  };
}

function readReason(
  pod: JsonObject,
  { starting, sidecars }: { readonly starting: readonly JsonObject[]; readonly sidecars: readonly string[] },
): string {
  if (textAt(pod, "metadata", "deletionTimestamp") !== "") return "Terminating";
  const plain = listAt(pod, "spec", "initContainers").length;
  const stuck = starting.findIndex((status) => {
    if (sidecars.includes(textAt(status, "name"))) return status.started !== true;
    return numberAt(status, "state", "terminated", "exitCode") !== 0;
  });
  if (stuck >= 0) {
    const status = starting[stuck];
    const why = textAt(status, "state", "terminated", "reason") || textAt(status, "state", "waiting", "reason");
    return why === "" || why === "PodInitializing" ? `Init:${stuck}/${plain}` : `Init:${why}`;
  }
  for (const { state } of listAt(pod, "status", "containerStatuses").toReversed()) {
    const waiting = textAt(state, "waiting", "reason");
    const ended = objectAt(state, "terminated");
    if (waiting !== "") return waiting;
    if (ended.reason || ended.exitCode !== undefined) return textAt(ended, "reason") || `ExitCode:${ended.exitCode}`;
  }
  return textAt(pod, "status", "reason") || textAt(pod, "status", "phase") || "Unknown";
}
