/** The words of events on ScaledObjects, KEDA's where it has them (R76, R92). */
import type { ScaledObjectFacts, Target } from "../../../scaled_object/scaled_object.ts";
import type { ScaleWrite } from "../input.ts";
import type { ReplicasNotice } from "../notices.ts";

/** `apps/v1.Deployment`, as status.scaleTargetKind has it; of the core group `/v1.ReplicationController`. */
export function toTargetKind({ apiVersion, kind }: Pick<Target, "apiVersion" | "kind">): string {
  const { group, version } = splitApiVersion(apiVersion);
  return `${group}/${version}.${kind}`;
}

/** `apps/v1` has both, `v1` no group. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}

/** `apps/v1.Deployment shop/web`. */
export function nameTarget({ namespace, name, scaledObject }: ScaledObjectFacts): string {
  if (scaledObject === null) return `target of ${namespace}/${name}`;
  return `${toTargetKind(scaledObject.target)} ${namespace}/${scaledObject.target.name}`;
}

/** An HPA was deleted, and its object goes on from its replicas. */
export function toTransferred(hpa: {
  readonly name: string;
  /** spec.minReplicas; `null` where absent. */
  readonly min: number | null;
  readonly max: number;
  /** status.desiredReplicas. */
  readonly desired: number;
}): ReplicasNotice {
  const message = `Deleted HorizontalPodAutoscaler "${hpa.name}" and took over: its minimum was ${hpa.min ?? 1}, its ` +
    `maximum ${hpa.max}, and it wanted ${hpa.desired} last`;
  return { name: "KEDAScalerInfo", message };
}

/** One for each write that the API server took. */
export function toWritten({ half, reason, message }: ScaleWrite): ReplicasNotice {
  if (half === "poll" && reason === "Activated") return { name: "KEDAScaleTargetActivated", message };
  if (half === "poll" && reason === "Deactivated") return { name: "KEDAScaleTargetDeactivated", message };
  return { name: "SuccessfulRescale", message };
}

/** A write that was refused, or of which nothing was heard. */
export function toUnwritten(write: ScaleWrite, cause: string, object: ScaledObjectFacts): ReplicasNotice {
  const { half, reason, from, replicas, message } = write;
  const what = `${nameTarget(object)} from ${from.replicas} to ${replicas}: ${cause}`;
  if (half === "poll" && reason === "Activated") {
    return { name: "KEDAScaleTargetActivationFailed", message: `Failed to scale ${what}` };
  }
  if (half === "poll" && reason === "Deactivated") {
    return { name: "KEDAScaleTargetDeactivationFailed", message: `Failed to deactivate ${what}` };
  }
  return { name: "FailedRescale", message: `${message}; error: ${cause}` };
}
