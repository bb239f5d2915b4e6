/** The words of every event that the core publishes, one function each: what happened, to which object, what to do. */
import type { SideKey } from "../../units/resources.ts";
import { describeChange, listChanges } from "../changes.ts";
import type { Notice, NoticeName } from "../reasons.ts";
import type { Refused, ResizeRequest } from "../resize_request.ts";

/** The autoscaler's uid, and where it looks. */
export interface Subject {
  readonly autoscaler: string;
  readonly container: string;
  readonly pod: string;
}

/** Usage has stayed away for that long, ms. */
export function metricsUnavailable({ autoscaler, container, pod }: Subject, silentMs: number): Notice {
  const seconds = Math.round(silentMs / 1000);
  const message = `no new usage of container "${container}" of pod "${pod}" for ${seconds}s: it is not resized until ` +
    "there is";
  return { autoscaler, name: "MetricsUnavailable", message };
}

/** Usage is back. */
export function metricsRecovered({ autoscaler, container, pod }: Subject): Notice {
  const message = `usage of container "${container}" of pod "${pod}" is read again`;
  return { autoscaler, name: "MetricsRecovered", message };
}

/** A configured side has nothing to compare usage with (C37). */
export function baselineUnavailable({ autoscaler, container, pod }: Subject, key: SideKey): Notice {
  const message = `${key} of container "${container}" of pod "${pod}" is missing or zero: nothing to compare usage ` +
    `with, the side is skipped; set it in the pod template or remove policy.${key}`;
  return { autoscaler, name: "BaselineUnavailable", message };
}

/** It has again. */
export function baselineAvailable({ autoscaler, container, pod }: Subject, key: SideKey): Notice {
  const message = `${key} of container "${container}" of pod "${pod}" is there again`;
  return { autoscaler, name: "BaselineAvailable", message };
}

/** The kubelet cannot apply the resize of the pod, whoever made it. */
export function resizeStuck({ autoscaler, pod }: Subject, { reason, why }: { reason: string; why: string }): Notice {
  return { autoscaler, name: "ResizePending", message: `Resize of pod "${pod}" is stuck (${reason}): ${why}` };
}

/** The event of a block, and what is blocked why. */
export interface BlockWords {
  readonly name: NoticeName;
  readonly action: string;
  readonly reason: string;
  readonly why: string;
}

/** A resize is wanted, and a gate objects. */
export function blocked({ autoscaler, container, pod }: Subject, { name, action, reason, why }: BlockWords): Notice {
  const message = `${action} of container "${container}" of pod "${pod}" is blocked (${reason}): ${why}`;
  return { autoscaler, name, message };
}

/** `restarting`: the sides whose change the container's resizePolicy answers with a restart (C43). */
export function resizeMayRestart(request: ResizeRequest, pod: string, restarting: readonly SideKey[]): Notice {
  const { autoscaler, container, from, to } = request;
  const message = `Resizing container "${container}" of pod "${pod}" may restart it ` +
    `(resizePolicy RestartContainer): ${describeChange(from, to, restarting)}`;
  return { autoscaler, name: "ResizeMayRestart", message };
}

/** The API server accepted it: ScaleUp, ScaleDown, or ResizePending for a stuck resize that was given up. */
export function resized(request: ResizeRequest, pod: string): Notice {
  const { autoscaler, container, action, from, to, why } = request;
  const [name, did] = ACTIONS[action];
  const change = describeChange(from, to, listChanges(from, to));
  return { autoscaler, name, message: `${did} container "${container}" of pod "${pod}": ${change} (${why})` };
}

/** The API server refused the PATCH; the event has its words. */
export function resizeRefused(request: ResizeRequest, pod: string, { reason, message: why }: Refused): Notice {
  const { autoscaler, container, from, to, changes } = request;
  const message = `Resize of container "${container}" of pod "${pod}" was refused (${reason}): ${why}; wanted ` +
    describeChange(from, to, changes);
  return { autoscaler, name: "ScaleFailed", message };
}

const ACTIONS: Readonly<Record<ResizeRequest["action"], readonly [NoticeName, string]>> = {
  scaleUp: ["ScaleUp", "Scaled up"],
  scaleDown: ["ScaleDown", "Scaled down"],
  revert: ["ResizePending", "Gave up a stuck resize of"],
};
