/** The text of every event about the size of a pod, one function for each event. */
import type { Notice, NoticeName, ResizeReason } from "../../model/reasons.ts";
import {
  describeChange,
  formatFieldAmount,
  listChangedFields,
  type Refused,
  type ResizeRequest,
} from "../../model/resize_request.ts";
import type { ResourceField } from "../../units/resources.ts";
import type { UnansweredReason } from "../oom.ts";

/** The autoscaler's uid, and where it looks. */
export interface NoticeSubject {
  readonly autoscaler: string;
  readonly container: string;
  readonly pod: string;
}

/** Returns the event that usage has been absent for that long, in ms. */
export function metricsUnavailable({ autoscaler, container, pod }: NoticeSubject, silentMs: number): Notice {
  const seconds = Math.round(silentMs / 1000);
  const message = `no new usage of container "${container}" of pod "${pod}" for ${seconds}s: the container is not ` +
    "resized until there is";
  return { autoscaler, name: "MetricsUnavailable", message };
}

/** Returns the event that usage is read again. */
export function metricsRecovered({ autoscaler, container, pod }: NoticeSubject): Notice {
  const message = `usage of container "${container}" of pod "${pod}" is read again`;
  return { autoscaler, name: "MetricsRecovered", message };
}

/** Returns the event that a configured field cannot be compared with usage. Clauses: C37. */
export function baselineUnavailable({ autoscaler, container, pod }: NoticeSubject, key: ResourceField): Notice {
  const message =
    `${key} of container "${container}" of pod "${pod}" is missing or zero: there is nothing to compare ` +
    `usage with, so the field is skipped; set it in the pod template or remove policy.${key}`;
  return { autoscaler, name: "BaselineUnavailable", message };
}

/** Returns the event that the field can be compared again. */
export function baselineAvailable({ autoscaler, container, pod }: NoticeSubject, key: ResourceField): Notice {
  const message = `${key} of container "${container}" of pod "${pod}" is set again`;
  return { autoscaler, name: "BaselineAvailable", message };
}

/** Returns the event that the kubelet cannot apply the resize of the pod. */
export function resizeStuck(
  { autoscaler, pod }: NoticeSubject,
  { reason, why }: { reason: string; why: string },
): Notice {
  return { autoscaler, name: "ResizePending", message: `Resize of pod "${pod}" is stuck (${reason}): ${why}` };
}

/** Returns the event that a gate blocks a wanted resize. */
export function blocked(
  { autoscaler, container, pod }: NoticeSubject,
  { name, action, reason, why }: BlockDetails,
): Notice {
  const message = `${action} of container "${container}" of pod "${pod}" is blocked (${reason}): ${why}`;
  return { autoscaler, name, message };
}

/**
 * Returns the event that a resize may restart a container. `restarting`: the fields whose change restarts the container
 * according to its resizePolicy. Clauses: C43.
 */
export function resizeMayRestart(request: ResizeRequest, pod: string, restarting: readonly ResourceField[]): Notice {
  const { autoscaler, container, from, to } = request;
  const message = `Resizing container "${container}" of pod "${pod}" may restart it ` +
    `(resizePolicy RestartContainer): ${describeChange(from, to, restarting)}`;
  return { autoscaler, name: "ResizeMayRestart", message };
}

/** A kill that is not answered, and why. */
export interface OomKillDetails {
  readonly why: UnansweredReason;
  /** The limit at the kill, bytes. */
  readonly limitBytes: number | null;
  /** How many kills the event counts. */
  readonly count: number;
}

/** Returns the event that the container was OOM-killed and podfit does not raise the limit. Clauses: L13. */
export function oomKilled(
  { autoscaler, container, pod }: NoticeSubject,
  { why, limitBytes, count }: OomKillDetails,
): Notice {
  const times = count > 1 ? ` ${count} times` : "";
  const limit = limitBytes === null ? "" : ` at a memory limit of ${formatFieldAmount("memory.limits", limitBytes)}`;
  const message = `container "${container}" of pod "${pod}" was OOM-killed${times}${limit}: ${OOM_KILL_ADVICE[why]}`;
  return { autoscaler, name: "OOMKilled", message };
}

/**
 * Returns the event that the API server accepted the request: ScaleUp, ScaleDown, or ResizePending for a stuck resize
 * that was given up.
 */
export function resized(request: ResizeRequest, pod: string): Notice {
  const { autoscaler, container, action, from, to, why, reason } = request;
  const [name, did] = ACTION_TEXT[reason ?? action];
  const change = describeChange(from, to, listChangedFields(from, to));
  return { autoscaler, name, message: `${did} container "${container}" of pod "${pod}": ${change} (${why})` };
}

/** Returns the event that the API server refused the PATCH, with its message. */
export function resizeRefused(request: ResizeRequest, pod: string, { reason, message: why }: Refused): Notice {
  const { autoscaler, container, from, to, changes } = request;
  const message = `Resize of container "${container}" of pod "${pod}" was refused (${reason}): ${why}; wanted ` +
    describeChange(from, to, changes);
  return { autoscaler, name: "ScaleFailed", message };
}

/** The event of a block, its action and its cause. */
export interface BlockDetails {
  readonly name: NoticeName;
  readonly action: string;
  readonly reason: string;
  readonly why: string;
}

export const OOM_KILL_ADVICE: Readonly<Record<UnansweredReason, string>> = {
  ignored: "policy.memory.oom is ignore; raise the limit in the pod template, or set it to raise",
  unmanaged: "the limit is not managed; raise it in the pod template, or add policy.memory.limits",
  unlimited: "it has no memory limit of its own; the node, or a limit of the whole pod, had no more to give: raise " +
    "memory.requests, or the pod's limit",
  atMax: "the limit is at its bound; raise bounds.memory.limits.max",
  node:
    "the node ran out of memory, while the container was well below its limit; raise memory.requests, so that the " +
    "pod gets a node with more room",
  unreached:
    "its larger limit does not reach the pod's cgroup (https://github.com/kubernetes/kubernetes/issues/138760); " +
    "delete the pod, and raise the limit in the pod template",
};

export const ACTION_TEXT: Readonly<Record<ResizeRequest["action"] | ResizeReason, readonly [NoticeName, string]>> = {
  scaleUp: ["ScaleUp", "Scaled up"],
  scaleDown: ["ScaleDown", "Scaled down"],
  Inherited: ["Inherited", "Gave the size of its siblings to"],
  revert: ["ResizePending", "Gave up a stuck resize of"],
};
