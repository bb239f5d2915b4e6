/** What people steer by annotation (R51, R55, R56, R76, R77). Annotations are read also where the rest of the object is invalid. */
import type { Fields } from "../units/fields.ts";
import { parseGoBoolean, parseGoInteger } from "../units/go_numbers.ts";
import { quote } from "../units/untrusted.ts";
import type { Annotations } from "./scaled_object.ts";

/** Gives the annotations; `metadata` is `null` where there is none. Problems are reported to it; never throws. */
export function parseAnnotations(metadata: Fields | null): Annotations {
  const annotations = metadata?.object("annotations", null) ?? null;
  const isTrue = (key: string) => annotations?.get(key) === "true";
  const replicas = annotations === null ? null : readPausedReplicas(annotations);
  return {
    isPaused: isSwitchedOn(annotations, PAUSED) || (annotations?.has(PAUSED_REPLICAS) ?? false),
    pausedReplicas: replicas,
    isScaleInPaused: isSwitchedOn(annotations, PAUSED_SCALE_IN),
    isScaleOutPaused: isSwitchedOn(annotations, PAUSED_SCALE_OUT),
    isForcedActive: isSwitchedOn(annotations, FORCE_ACTIVATION),
    transfersHpa: isTrue(TRANSFER),
    ignoresHpas: isTrue(OWNERSHIP),
  };
}

const PAUSED = "autoscaling.keda.sh/paused";
const PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas";
const PAUSED_SCALE_IN = "autoscaling.keda.sh/paused-scale-in";
const PAUSED_SCALE_OUT = "autoscaling.keda.sh/paused-scale-out";
const FORCE_ACTIVATION = "autoscaling.keda.sh/force-activation";
const TRANSFER = "scaledobject.keda.sh/transfer-hpa-ownership";
const OWNERSHIP = "validations.keda.sh/hpa-ownership";

/** Any text that is not a word for false switches it on: scaledobject_types.go, getBoolAnnotation. */
function isSwitchedOn(annotations: Fields | null, key: string): boolean {
  if (annotations === null || !annotations.has(key)) return false;
  const value = annotations.get(key);
  return typeof value !== "string" || (parseGoBoolean(value) ?? true);
}

function readPausedReplicas(annotations: Fields): number | null {
  if (!annotations.has(PAUSED_REPLICAS)) return null;
  const value = annotations.get(PAUSED_REPLICAS);
  const replicas = typeof value === "string" ? parseGoInteger(value, 32) : null;
  if (replicas !== null && replicas >= 0n) return Number(replicas);
  const message = `Cannot use ${quote(value)} as number of paused replicas: must be an integer, 0 or more, in quotes`;
  annotations.report(PAUSED_REPLICAS, message);
  return null;
}
