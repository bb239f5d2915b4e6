/**
 * The scale of a workload as it is read, and where the workload keeps what a scale shows.
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/scale-v1/
 */
import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt, textsAt } from "../../json.ts";
import type { ResourceType, ScalePaths } from "../kinds/resource_type.ts";
import { Refusal } from "../refusal.ts";

/** The names of the kind Scale. */
export const SCALE = { group: "autoscaling", version: "v1", plural: "scales", kind: "Scale", isCustom: false };

/** Where a type keeps what its scale shows. Throws where it has none. */
export function pathsOf({ scale, plural }: ResourceType): ScalePaths {
  if (scale === null) throw new Error(`Cannot read the scale of ${plural}: they have none`);
  return scale;
}

/** The Scale of a workload. Throws a Refusal for a custom one without the field of its replicas. */
export function toScale(object: JsonObject, type: ResourceType): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = objectAt(object, "metadata");
  const paths = pathsOf(type);
  const replicas = numberAt(object, ...paths.replicas);
  if (replicas === null && type.isCustom) {
    const message = `Internal error occurred: the spec replicas field ".${paths.replicas.join(".")}" does not exist`;
    throw new Refusal(500, { message, reason: "InternalError", details: { causes: [{ message: message.slice(25) }] } });
  }
  const selector = readSelector(object, type);
  return {
    kind: SCALE.kind,
    apiVersion: `${SCALE.group}/${SCALE.version}`,
    metadata: {
      name: name ?? null,
      namespace: namespace ?? null,
      uid: uid ?? null,
      resourceVersion: resourceVersion ?? null,
      creationTimestamp: creationTimestamp ?? null,
    },
    // Go leaves out a zero, and an empty text.
    spec: replicas === null || replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, ...paths.status) ?? 0, ...(selector === "" ? {} : { selector }) },
  };
}

/** Why this cannot be read as a Scale, in Go's words; `null` if it can. */
export function findMisfit(scale: JsonObject, { isStrict }: { readonly isStrict: boolean }): string | null {
  const value = at(scale, "spec", "replicas") ?? null;
  if (value !== null && !isInt32(value)) {
    const shown = typeof value === "number" ? `number ${value}` : nameOf(value);
    return `json: cannot unmarshal ${shown} into Go struct field ScaleSpec.spec.replicas of type int32`;
  }
  const unknown = Object.keys(objectAt(scale, "spec")).filter((key) => key !== "replicas");
  if (!isStrict || unknown.length === 0) return null;
  return `strict decoding error: ${unknown.toSorted().map((key) => `unknown field "spec.${key}"`).join(", ")}`;
}

function isInt32(value: Json): boolean {
  return typeof value === "number" && Number.isInteger(value) && value === (value | 0);
}

function nameOf(value: Json): string {
  return Array.isArray(value) ? "array" : isObject(value) ? "object" : typeof value === "boolean" ? "bool" : "string";
}

function readSelector(object: JsonObject, type: ResourceType): string {
  const { selector } = pathsOf(type);
  if (selector === null) return "";
  const found = at(object, ...selector);
  if (!isObject(found)) return textAt(object, ...selector);
  const terms = [
    ...Object.entries(objectAt(found, "matchLabels")).map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...listAt(found, "matchExpressions").map((one) => ({ key: textAt(one, "key"), text: toTerm(one) })),
  ];
  return terms.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0).map(({ text }) => text).join(",");
}

/** As labels.Requirement prints it, which keeps `in` for a single value. */
function toTerm(expression: JsonObject): string {
  const key = textAt(expression, "key");
  const values = textsAt(expression, "values").toSorted().join(",");
  switch (textAt(expression, "operator")) {
    case "In":
      return `${key} in (${values})`;
    case "NotIn":
      return `${key} notin (${values})`;
    case "Exists":
      return key;
    default:
      return `!${key}`;
  }
}
