/**
 * Parses horizontalPodAutoscalerConfig.behavior as the API server would check and fill it in for a HorizontalPodAutoscaler (R5).
 * Kubernetes 1.36.3: pkg/apis/autoscaling/v2/defaults.go (GenerateHPAScaleUpRules, copyHPAScalingRules) and validation.go (validateScalingRules).
 */
import type { Fields } from "../units/fields.ts";
import type { Problem } from "../units/problem.ts";
import { parseMilli, toStoredDouble } from "../units/quantity.ts";
import { quote } from "../units/untrusted.ts";
import { type Behavior, DEFAULT_BEHAVIOR, type ScalingPolicy, type ScalingRules } from "./behavior.ts";
import { openObject, warnOfUnknown } from "./findings.ts";

/** Gives both directions, filled in; `null` without a behavior. Problems are reported to `config`; never throws. */
export function parseBehavior(config: Fields, warnings: Problem[]): Behavior | null {
  const behavior = openObject(config, "behavior", { known: ["scaleUp", "scaleDown"], warnings });
  if (behavior === null) return null;
  return {
    scaleUp: parseRules(behavior, { key: "scaleUp", defaults: DEFAULT_BEHAVIOR.scaleUp, warnings }),
    scaleDown: parseRules(behavior, { key: "scaleDown", defaults: DEFAULT_BEHAVIOR.scaleDown, warnings }),
  };
}

const RULE_FIELDS = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"];
const POLICY_FIELDS = ["type", "value", "periodSeconds"];
/** Far above any sensible list. */
const MAX_POLICIES = 100;

interface RulesContext {
  readonly key: "scaleUp" | "scaleDown";
  readonly defaults: ScalingRules;
  readonly warnings: Problem[];
}

function parseRules(behavior: Fields, { key, defaults, warnings }: RulesContext): ScalingRules {
  const rules = openObject(behavior, key, { known: RULE_FIELDS, warnings });
  if (rules === null) return defaults;
  const seconds = rules.integer("stabilizationWindowSeconds", { min: 0, max: 3600 });
  return {
    windowMs: seconds === null ? defaults.windowMs : seconds * 1000,
    select: rules.word("selectPolicy", ["Max", "Min", "Disabled"]) ?? defaults.select,
    policies: parseScalingPolicies(rules, warnings) ?? defaults.policies,
    tolerance: parseTolerance(rules),
  };
}

/** Gives `null` also for an empty list: KEDA drops it on the way to the API server, which then fills in the default ones. */
function parseScalingPolicies(rules: Fields, warnings: Problem[]): readonly ScalingPolicy[] | null {
  const list = rules.get("policies");
  if (list === null || (Array.isArray(list) && list.length === 0)) return null;
  if (!Array.isArray(list) || list.length > MAX_POLICIES) {
    rules.report("policies", `Cannot use ${quote(list)} as policies: must be a list of at most ${MAX_POLICIES}`);
    return null;
  }
  return list.map((value, index) => parseScalingPolicy(rules.entry("policies", { index, value }), warnings));
}

function parseScalingPolicy(policy: Fields | null, warnings: Problem[]): ScalingPolicy {
  if (policy === null) return { type: "Pods", value: 1, periodMs: 1000 };
  warnOfUnknown(policy, { known: POLICY_FIELDS, warnings });
  policy.require(POLICY_FIELDS);
  return {
    type: policy.word("type", ["Pods", "Percent"]) ?? "Pods",
    value: policy.integer("value", { min: 1 }) ?? 1,
    periodMs: 1000 * (policy.integer("periodSeconds", { min: 1, max: 1800 }) ?? 1),
  };
}

function parseTolerance(rules: Fields): number | null {
  if (!rules.has("tolerance")) return null;
  const value = rules.get("tolerance");
  const parsed = parseMilli(value);
  if (!parsed.ok) rules.report("tolerance", parsed.message);
  else if (parsed.milli < 0n) rules.report("tolerance", `Cannot use negative tolerance ${quote(value)}`);
  else return toStoredDouble(value);
  return null;
}
