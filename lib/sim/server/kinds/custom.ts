/**
 * Custom resources: the kinds that stored CustomResourceDefinitions define, with the defaults and columns of their
 * schema. What a schema does not know is dropped; autoscalers are validated by podfit's own parser (C8), not by CEL.
 */
import { parseAutoscaler } from "../../../autoscaler/parse_autoscaler.ts";
import { formatTime } from "../../../units/time.ts";
import { toCustomColumns } from "../http/columns.ts";
import {
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  openAt,
  setDefaults,
  textAt,
  textsAt,
} from "../store/json.ts";
import { invalidValue, type Problem, required } from "../http/refusal.ts";
import type { ResourceType } from "./resource_type.ts";

export function setDefinitionDefaults(definition: JsonObject): void {
  const names = openAt(definition, "spec", "names");
  const kind = textAt(names, "kind");
  setDefaults(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
  setDefaults(openAt(definition, "spec"), { conversion: { strategy: "None" } });
}

/** Established at once: its kind is served from the next request on. */
export function prepareNewDefinition(definition: JsonObject, { now }: { readonly now: number }): void {
  const { names = {}, versions } = objectAt(definition, "spec");
  const accepted = [["NamesAccepted", "NoConflicts", "no conflicts found"]];
  const established = [["Established", "InitialNamesAccepted", "the initial names have been accepted"]];
  definition.status = {
    conditions: [...accepted, ...established].map(([type = "", reason = "", message = ""]) => ({
      ...{ lastTransitionTime: formatTime(now), message, reason, status: "True", type },
    })),
    acceptedNames: structuredClone(names),
    storedVersions: listAt({ versions: versions ?? [] }, "versions").filter(({ storage }) => storage === true)
      .map((version) => textAt(version, "name")),
  };
}

export function validateDefinition(definition: JsonObject): readonly Problem[] {
  const spec = objectAt(definition, "spec");
  const name = `${textAt(spec, "names", "plural")}.${textAt(spec, "group")}`;
  const own = textAt(definition, "metadata", "name");
  return [
    ...(own === name ? [] : [invalidValue("metadata.name", own, 'must be spec.names.plural+"."+spec.group')]),
    ...(["Namespaced", "Cluster"].includes(textAt(spec, "scope")) ? [] : [required("spec.scope")]),
    ...(listAt(spec, "versions").length > 0 ? [] : [required("spec.versions")]),
  ];
}

/** The resource of each version that a definition serves. */
export function toCustomTypes(definition: JsonObject): readonly ResourceType[] {
  const spec = objectAt(definition, "spec");
  const names = objectAt(spec, "names");
  const group = textAt(spec, "group");
  return listAt(spec, "versions").filter(({ served }) => served === true).map((version) => {
    const schema = objectAt(version, "schema", "openAPIV3Schema");
    const hasStatus = isObject(objectAt(version, "subresources").status);
    return {
      ...{ group, version: textAt(version, "name"), plural: textAt(names, "plural"), kind: textAt(names, "kind") },
      ...{ singular: textAt(names, "singular"), listKind: textAt(names, "listKind") },
      shortNames: textsAt(names, "shortNames"),
      categories: textsAt(names, "categories"),
      isNamespaced: spec.scope === "Namespaced",
      subresources: hasStatus ? ["status"] : [],
      isCustom: true,
      needsVersion: true,
      selectableFields: [],
      beginsGeneration: (after, before) => before === null || !isSame(pickOwn(after), pickOwn(before)),
      setDefaults: (draft) => {
        for (const [key, property] of Object.entries(objectAt(schema, "properties"))) {
          const value = draft[key];
          if (key !== "metadata" && isObject(property) && value !== undefined) draft[key] = fit(value, property);
        }
      },
      listUnknown: ({ apiVersion: _version, kind: _kind, metadata: _metadata, ...sent }) =>
        listUnknown(sent, schema, ""),
      prepareNew: (draft) => {
        if (hasStatus) delete draft.status;
      },
      validate: (object) => validateCustom(object, { schema, isAutoscaler: names.kind === "PodResourceAutoscaler" }),
      columns: toCustomColumns(listAt(version, "additionalPrinterColumns")),
      schema,
    };
  });
}

/** With the schema's defaults and without what it does not know. */
function fit(value: Json, schema: JsonObject): Json {
  if (Array.isArray(value)) {
    const items = schema.items;
    return isObject(items) ? value.map((item) => fit(item, items)) : value;
  }
  if (!isObject(value)) return value;
  const properties = objectAt(schema, "properties");
  const others = schema.additionalProperties;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true || others === true;
  const fitted: JsonObject = {};
  for (const [key, one] of Object.entries(value)) {
    const property = properties[key] ?? others;
    // Null is left out where a schema does not allow it.
    if (isObject(property) && (one !== null || property.nullable === true)) fitted[key] = fit(one, property);
    else if (isOpen) fitted[key] = one;
  }
  for (const [key, property] of Object.entries(properties)) {
    const initial = isObject(property) ? property.default : undefined;
    if (initial !== undefined && fitted[key] === undefined) fitted[key] = structuredClone(initial);
  }
  return fitted;
}

function listUnknown(value: Json, schema: JsonObject, path: string): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => listUnknown(item, objectAt(schema, "items"), `${path}[${index}]`));
  }
  const others = schema.additionalProperties;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true || others === true;
  if (!isObject(value) || isOpen || (schema.properties === undefined && others === undefined)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const property = objectAt(schema, "properties")[key] ?? others;
    const place = path === "" ? key : `${path}.${key}`;
    return isObject(property) ? listUnknown(one, property, place) : [place];
  });
}

function validateCustom(
  object: JsonObject,
  { schema, isAutoscaler }: { readonly schema: JsonObject; readonly isAutoscaler: boolean },
): readonly Problem[] {
  const missing = textsAt(schema, "required").filter((key) => object[key] === undefined).map((key) => required(key));
  if (missing.length > 0 || !isAutoscaler) return missing;
  const { status: _status, ...sent } = object;
  const parsed = parseAutoscaler(sent);
  if (parsed.ok) return [];
  return parsed.problems.map(({ path, message }) => ({
    field: path,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${message}`,
  }));
}

/** All but metadata and status. */
function pickOwn({ metadata: _metadata, status: _status, ...own }: JsonObject): JsonObject {
  return own;
}
