/** Parses spec.fallback, and says where it would never take effect (R4, R70, R71). */
import type { Fields } from "../units/fields.ts";
import type { Problem } from "../units/problem.ts";
import { openObject } from "./findings.ts";
import { type Fallback, FALLBACK_BEHAVIORS } from "./scaled_object.ts";
import { isResourceType } from "./trigger_context.ts";

export interface FallbackContext {
  /** Of all triggers, whether valid or not. */
  readonly types: readonly string[];
  readonly hasFormula: boolean;
  readonly warnings: Problem[];
}

/** Gives the fallback; `null` without one. Problems are reported to `spec`; never throws. */
export function parseFallback(spec: Fields, { types, hasFormula, warnings }: FallbackContext): Fallback | null {
  const known = ["failureThreshold", "replicas", "behavior"];
  const fallback = openObject(spec, "fallback", { known, warnings });
  if (fallback === null) return null;
  fallback.require(["failureThreshold", "replicas"]);
  const behavior = fallback.word("behavior", FALLBACK_BEHAVIORS) ?? "static";
  if (behavior === "scalingModifiers" && !hasFormula) {
    fallback.report("behavior", "Cannot use behavior scalingModifiers: there is no advanced.scalingModifiers.formula");
  }
  if (!hasFormula && types.every(isResourceType)) {
    fallback.reportWhole("Cannot use fallback: cpu and memory triggers have none, add another trigger or remove it");
  }
  return {
    failureThreshold: fallback.integer("failureThreshold", { min: 0 }) ?? 0,
    replicas: fallback.integer("replicas", { min: 0 }) ?? 0,
    behavior,
  };
}
