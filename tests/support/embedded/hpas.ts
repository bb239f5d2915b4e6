/**
 * What does the server add to a HorizontalPodAutoscaler, and what does it demand of one?
 */
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  openAt,
  setDefaults,
  textAt,
} from "../../../lib/embedded/json.ts";
import { BAD_QUANTITY, canonicalQuantity } from "../../../lib/embedded/quantities.ts";
import {
  cannotHandle,
  forbiddenField,
  invalidValue,
  type Problem,
  required,
  unsupportedValue,
} from "../../../lib/embedded/server/refusal.ts";

/** Fills in what the manifest leaves out: an empty `behavior` too is filled, a missing one is not. */
export function setHpaDefaults(hpa: JsonObject): void {
  const spec = openAt(hpa, "spec");
  setDefaults(spec, { minReplicas: 1 });
  if (listAt(spec, "metrics").length === 0) spec.metrics = [structuredClone(CPU_METRIC)];
  for (const metric of listAt(spec, "metrics")) {
    for (const source of Object.values(metric)) if (isObject(source)) rewrite(objectAt(source, "target"), TARGETS);
  }
  if (!isObject(spec.behavior)) return;
  for (const [direction, rules] of Object.entries(RULES)) {
    const given = openAt(spec.behavior, direction);
    setDefaults(given, structuredClone(rules));
    rewrite(given, ["tolerance"]);
  }
}

/** The problems of its numbers, its target and its behavior. */
export function validateHpa({ spec }: JsonObject): readonly Problem[] {
  const min = numberAt(spec, "minReplicas") ?? 1;
  const max = numberAt(spec, "maxReplicas") ?? 0;
  const metrics = listAt(spec, "metrics");
  const problems: Problem[] = [];
  if (min < 1) problems.push(invalidValue("spec.minReplicas", min, "must be greater than or equal to 1"));
  if (max === 0) problems.push(required("spec.maxReplicas", "must be set and greater than 0"));
  if (max < 0) problems.push(invalidValue("spec.maxReplicas", max, "must be greater than or equal to 1"));
  if (max < min) problems.push(invalidValue("spec.maxReplicas", max, "must be greater than or equal to `minReplicas`"));
  problems.push(...validateTarget(objectAt(spec, "scaleTargetRef")));
  for (const [index, { type }] of metrics.entries()) {
    if (METRICS.includes(String(type))) continue;
    problems.push(unsupportedValue(`spec.metrics[${index}].type`, type ?? "", METRICS));
  }
  if (min === 0 && !metrics.some(({ type }) => type === "Object" || type === "External")) {
    const why = "must specify at least one Object or External metric to support scaling to zero replicas";
    problems.push(forbiddenField("spec.metrics", why));
  }
  return [
    ...problems,
    ...Object.keys(RULES).flatMap((direction) => {
      const rules = objectAt(spec, "behavior")[direction];
      return isObject(rules) ? validateRules(rules, `spec.behavior.${direction}`) : [];
    }),
  ];
}

const CPU_METRIC = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
};

const PERCENT = { type: "Percent", value: 100, periodSeconds: 15 };

const RULES: Readonly<Record<string, JsonObject>> = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, PERCENT],
  },
  // Its window is the controller's.
  scaleDown: { selectPolicy: "Max", policies: [PERCENT] },
};

const TARGETS = ["value", "averageValue"];

const METRICS = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/** In the server's spelling. */
function rewrite(holder: JsonObject, keys: readonly string[]): void {
  for (const key of keys) {
    const value = holder[key];
    if (value === undefined) continue;
    const text = canonicalQuantity(value);
    if (text === null) throw cannotHandle({ kind: "HorizontalPodAutoscaler", version: "v2" }, BAD_QUANTITY);
    holder[key] = text;
  }
}

function validateTarget(target: JsonObject): readonly Problem[] {
  const field = "spec.scaleTargetRef";
  return [
    ...(textAt(target, "kind") === "" ? [required(`${field}.kind`)] : []),
    ...(textAt(target, "name") === "" ? [required(`${field}.name`)] : []),
    ...(textAt(target, "apiVersion").includes("/")
      ? []
      : [invalidValue(`${field}.apiVersion`, textAt(target, "apiVersion"), "apiVersion must specify API group")]),
  ];
}

function validateRules(rules: JsonObject, field: string): readonly Problem[] {
  const window = numberAt(rules, "stabilizationWindowSeconds") ?? 0;
  const tolerance = textAt(rules, "tolerance");
  const policies = listAt(rules, "policies");
  const at = `${field}.stabilizationWindowSeconds`;
  return [
    ...(window < 0 ? [invalidValue(at, window, "must be greater than or equal to zero")] : []),
    ...(window > 3600 ? [invalidValue(at, window, "must be less than or equal to 3600")] : []),
    ...validateWord(rules.selectPolicy, ["Disabled", "Max", "Min"], `${field}.selectPolicy`),
    ...(policies.length === 0 ? [required(`${field}.policies`, "must specify at least one Policy")] : []),
    ...policies.flatMap((policy, index) => validatePolicy(policy, `${field}.policies[${index}]`)),
    ...(tolerance.startsWith("-")
      ? [invalidValue(`${field}.tolerance`, tolerance, "must be greater than or equal to 0")]
      : []),
  ];
}

function validatePolicy(policy: JsonObject, field: string): readonly Problem[] {
  const [value, seconds] = [numberAt(policy, "value") ?? 0, numberAt(policy, "periodSeconds") ?? 0];
  return [
    ...validateWord(policy.type, ["Percent", "Pods"], `${field}.type`),
    ...(value <= 0 ? [invalidValue(`${field}.value`, value, "must be greater than zero")] : []),
    ...(seconds <= 0 ? [invalidValue(`${field}.periodSeconds`, seconds, "must be greater than zero")] : []),
    ...(seconds > 1800 ? [invalidValue(`${field}.periodSeconds`, seconds, "must be less than or equal to 1800")] : []),
  ];
}

function validateWord(word: Json | undefined, supported: readonly string[], field: string): readonly Problem[] {
  return supported.includes(String(word)) ? [] : [unsupportedValue(field, word ?? "", supported)];
}
