/** Parses spec.advanced (R2): restoring, what HorizontalPodAutoscalers have too, and the formula. */
import type { Fields } from "../units/fields.ts";
import type { Problem } from "../units/problem.ts";
import { isRecord } from "../units/untrusted.ts";
import { ANY_TEXT, openObject } from "./findings.ts";
import { parseBehavior } from "./parse_behavior.ts";
import { parseModifiers } from "./parse_formula.ts";
import type { ScaledObject } from "./scaled_object.ts";

export type Advanced = Pick<ScaledObject, "restoresReplicas" | "hpaName" | "behavior" | "formula">;

export interface AdvancedContext {
  /** How the triggers are called that a formula may use. */
  readonly names: readonly string[];
  readonly warnings: Problem[];
}

/** Gives what stands under advanced, or the defaults. Problems are reported to `spec`; never throws. */
export function parseAdvanced(spec: Fields, { names, warnings }: AdvancedContext): Advanced {
  const advanced = openObject(spec, "advanced", { known: ADVANCED_FIELDS, warnings });
  if (advanced === null) return { restoresReplicas: false, hpaName: null, behavior: null, formula: null };
  const config = openObject(advanced, "horizontalPodAutoscalerConfig", { known: ["name", "behavior"], warnings });
  const hasName = config !== null && config.get("name") !== "";
  return {
    restoresReplicas: advanced.boolean("restoreToOriginalReplicaCount") ?? false,
    hpaName: hasName ? config.text("name", ANY_TEXT) : null,
    behavior: config === null ? null : parseBehavior(config, warnings),
    formula: parseModifiers(advanced, { names, warnings, isUsed: usesModifiers(spec) }),
  };
}

/** Whether a formula shall stand for the triggers: any setting of scalingModifiers says so (ty:IsUsingModifiers). */
export function usesModifiers(spec: Fields): boolean {
  const advanced = spec.get("advanced");
  const modifiers = isRecord(advanced) && Object.hasOwn(advanced, "scalingModifiers")
    ? advanced.scalingModifiers
    : null;
  if (!isRecord(modifiers)) return modifiers !== null && modifiers !== undefined;
  return MODIFIERS.some((key) => Object.hasOwn(modifiers, key) && (modifiers[key] ?? "") !== "");
}

const ADVANCED_FIELDS = ["restoreToOriginalReplicaCount", "horizontalPodAutoscalerConfig", "scalingModifiers"];
const MODIFIERS = ["formula", "target", "activationTarget", "metricType"];
