/** behavior of an HPA with what the API server and the controller fill in (R5). */
import type { Behavior, ScalingRules } from "../../../lib/model/scaled_object.ts";
import type { HpaPolicy, HpaRules, HpaSpec } from "./course.ts";

/** `null` where the HPA has none, which is not the same as an empty one. */
export function toBehavior({ behavior }: HpaSpec): Behavior | null {
  if (behavior === undefined) return null;
  return { scaleUp: toRules(behavior.scaleUp, UP), scaleDown: toRules(behavior.scaleDown, DOWN) };
}

interface Defaults {
  readonly window: number;
  readonly policies: readonly HpaPolicy[];
}

const DOUBLE: HpaPolicy = { type: "Percent", value: 100, periodSeconds: 15 };
const UP: Defaults = { window: 0, policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, DOUBLE] };
const DOWN: Defaults = { window: 300, policies: [DOUBLE] };

function toRules(rules: HpaRules = {}, defaults: Defaults): ScalingRules {
  return {
    windowMs: (rules.stabilizationWindowSeconds ?? defaults.window) * 1000,
    select: rules.selectPolicy ?? "Max",
    policies: (rules.policies ?? defaults.policies).map(({ type, value, periodSeconds }) => ({
      type,
      value,
      periodMs: periodSeconds * 1000,
    })),
    tolerance: rules.tolerance === undefined ? null : toDouble(rules.tolerance),
  };
}

/** As Quantity.AsApproximateFloat64: the digits, times a power of ten. */
function toDouble(quantity: string): number {
  const [, whole = "", fraction = "", milli] = /^(\d*)\.?(\d*)(m?)$/.exec(quantity) ?? [];
  const exponent = -fraction.length - (milli === "m" ? 3 : 0);
  return exponent === 0 ? Number(whole) : Number(whole + fraction) * 10 ** exponent;
}
