/**
 * Parses spec.advanced of a ScaledObject: the HPA's behavior, and scalingModifiers with its formula.
 *
 * The behavior gets the API server's defaults. The formula is compiled; `tryFormula` runs it.
 */
import { compileExpr } from "../../formula/formula.ts";
import {
  type Behavior,
  DEFAULT_BEHAVIOR,
  type Formula,
  type Program,
  type ScaledObject,
  type ScalingPolicy,
  type ScalingRules,
} from "../../model/scaled_object.ts";
import { ANY_TEXT, type Fields, openObject, warnOfUnknown } from "../../units/fields.ts";
import { parseGoFloat, truncMilli } from "../../units/numbers.ts";
import { parseMilli, toStoredDouble } from "../../units/quantity.ts";
import { isRecord, type Problem, quote } from "../../units/untrusted.ts";

type Advanced = Pick<ScaledObject, "restoresReplicas" | "hpaName" | "behavior" | "formula">;

interface AdvancedContext {
  /** The names of the triggers that a formula may use. */
  readonly names: readonly string[];
  readonly warnings: Problem[];
}

/**
 * Returns the settings of spec.advanced, or the defaults. Problems are reported to `spec`; never throws. Clauses: R2.
 */
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

/** Returns whether a formula replaces the triggers: any setting of scalingModifiers means so (ty:IsUsingModifiers). */
export function usesModifiers(spec: Fields): boolean {
  const advanced = spec.get("advanced");
  const modifiers = isRecord(advanced) && Object.hasOwn(advanced, "scalingModifiers")
    ? advanced.scalingModifiers
    : null;
  if (!isRecord(modifiers)) return modifiers !== null && modifiers !== undefined;
  return MODIFIER_FIELDS.some((key) => Object.hasOwn(modifiers, key) && (modifiers[key] ?? "") !== "");
}

const ADVANCED_FIELDS = ["restoreToOriginalReplicaCount", "horizontalPodAutoscalerConfig", "scalingModifiers"];

const MODIFIER_FIELDS = ["formula", "target", "activationTarget", "metricType"];

/**
 * Returns both directions, filled in; `null` without a behavior. Problems are reported to `config`; never throws.
 * Clauses: R5.
 */
function parseBehavior(config: Fields, warnings: Problem[]): Behavior | null {
  const behavior = openObject(config, "behavior", { known: ["scaleUp", "scaleDown"], warnings });
  if (behavior === null) return null;
  return {
    scaleUp: parseRules(behavior, { key: "scaleUp", defaults: DEFAULT_BEHAVIOR.scaleUp, warnings }),
    scaleDown: parseRules(behavior, { key: "scaleDown", defaults: DEFAULT_BEHAVIOR.scaleDown, warnings }),
  };
}

const RULE_FIELDS = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"];

const POLICY_FIELDS = ["type", "value", "periodSeconds"];

/** Far more than a sensible list has. */
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

/** Returns `null` also for an empty list: KEDA drops it, and the API server then sets the defaults. */
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

interface FormulaContext {
  /** The names of the triggers that the formula may use. */
  readonly names: readonly string[];
  /** Whether a setting exists: a formula needs one. */
  readonly isUsed: boolean;
  readonly warnings: Problem[];
}

/** Returns the formula; `null` if something is wrong, which is reported to `advanced`. Never throws. Clauses: R60. */
function parseModifiers(advanced: Fields, { names, isUsed, warnings }: FormulaContext): Formula | null {
  const modifiers = openObject(advanced, "scalingModifiers", { known: MODIFIERS_PATH, warnings });
  if (modifiers === null || !isUsed) return null;
  const text = parseFormulaText(modifiers, "formula");
  const program = text === null ? null : compileFormula(modifiers, { text, names });
  const target = parseFloatText(modifiers, "target");
  for (const key of ["formula", "target"].filter((key) => (modifiers.get(key) ?? "") === "")) {
    modifiers.report(key, `Missing field "${key}": scalingModifiers need a formula and a target`);
  }
  const targetMilli = target === null ? null : truncMilli(target);
  if (target !== null && (targetMilli === null || targetMilli < 1n)) {
    modifiers.report("target", `Cannot use target ${quote(modifiers.get("target"))}: must be 0.001 or more`);
  }
  const activationTarget = parseFloatText(modifiers, "activationTarget") ?? 0;
  const metricType = modifiers.word("metricType", ["AverageValue", "Value"]) ?? "AverageValue";
  if (text === null || program === null || target === null || targetMilli === null) return null;
  return { text, program, target, targetMilli, activationTarget, metricType };
}

const MODIFIERS_PATH = ["formula", "target", "activationTarget", "metricType"];

/** No number in a text is longer. */
const MAX_NUMBER = 400;

function compileFormula(
  modifiers: Fields,
  { text, names }: { readonly text: string; readonly names: readonly string[] },
): Program | null {
  const compiled = compileExpr(text, { names });
  if (compiled.ok) return compiled.program;
  modifiers.report("formula", compiled.message);
  return null;
}

/**
 * Runs the formula once with every trigger at -1, as KEDA's webhook does. Returns the problem if it fails, otherwise
 * `null`. Never throws. Clauses: R60.
 */
export function tryFormula({ text, program }: Formula): Problem | null {
  const tried = program.run(Object.fromEntries(program.names.map((name) => [name, -1])));
  if (tried.kind !== "error") return null;
  const message = `Cannot use formula ${quote(text)}: with every trigger at -1 it fails: ${tried.message}`;
  return { path: "spec.advanced.scalingModifiers.formula", message };
}

function parseFormulaText(fields: Fields, key: string): string | null {
  const value = fields.get(key) ?? "";
  if (typeof value === "string") return value === "" ? null : value;
  fields.report(key, `Cannot use ${quote(value)} as ${key}: must be a string, in quotes`);
  return null;
}

function parseFloatText(fields: Fields, key: "target" | "activationTarget"): number | null {
  const text = parseFormulaText(fields, key);
  if (text === null) return null;
  const value = text.length > MAX_NUMBER ? null : parseGoFloat(text);
  if (value !== null && Number.isFinite(value)) return value;
  fields.report(key, `Cannot use ${quote(text)} as ${key}: must be a number such as "2" or "0.5", in quotes`);
  return null;
}
