/**
 * What is left to do of a ScaledObject that is invalid, once it is deleted: KEDA gives the target its replicas back whatever else the spec says.
 * https://github.com/kedacore/keda/blob/v2.20.2/controllers/keda/scaledobject_finalizer.go
 */
import { openFields } from "../units/fields.ts";
import type { Problem } from "../units/problem.ts";
import { isRecord } from "../units/untrusted.ts";
import { DEFAULT_REPLICAS } from "./parse_replicas.ts";
import { parseScaleTarget } from "./parse_target.ts";
import type { ScaledObject } from "./scaled_object.ts";
import type { Spec } from "./parse_spec.ts";

/** Gives the object with nothing but its target; `null` where the spec does not ask for it, or no target can be read. Never throws. */
export function parseRestoring(
  spec: unknown,
  rest: Omit<ScaledObject, keyof Spec>,
): ScaledObject | null {
  if (!isRecord(spec) || !isRecord(spec["advanced"])) return null;
  if (spec["advanced"]["restoreToOriginalReplicaCount"] !== true) return null;
  const problems: Problem[] = [];
  const fields = openFields(spec, { path: "spec", problems, known: null });
  const target = fields && parseScaleTarget(fields, []);
  return target === null || problems.length > 0 ? null : { ...BARE, ...rest, target };
}

/** It neither polls nor ticks. */
const BARE: Omit<Spec, "target"> = {
  ...DEFAULT_REPLICAS,
  fallback: null,
  restoresReplicas: true,
  hpaName: null,
  behavior: null,
  formula: null,
  triggers: [],
};
