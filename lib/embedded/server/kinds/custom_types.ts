/**
 * How does a CustomResourceDefinition become a kind, and what does its schema leave of an object?
 *
 * The defaults and checks of definitions themselves are here too.
 */
import { formatTime } from "../../../units/time.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  openAt,
  setDefaults,
  textAt,
  textsAt,
} from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { toCustomColumns } from "./columns.ts";
import type { CreateChecks, ResourceType, ScalePaths } from "./resource_type.ts";

/** The resource of each version that a definition serves. */
export function toCustomTypes(definition: JsonObject, createChecks: CreateChecks): readonly ResourceType[] {
  const spec = objectAt(definition, "spec");
  return listAt(spec, "versions").filter(({ served }) => served === true)
    .map((version) => toType(spec, version, createChecks));
}

/**
 * The value with the schema's defaults and without what it does not know.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
 */
export function prune(value: Json, schema: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => prune(item, objectAt(schema, "items")));
  if (!isObject(value)) return value;
  const properties = objectAt(schema, "properties");
  const kept = Object.entries(value).flatMap(([key, one]): readonly [string, Json][] => {
    const property = propertyOf(schema, key);
    if (property === null) return isOpen(schema) ? [[key, one]] : [];
    // A null counts as absent where the schema does not allow it.
    return one === null && property.nullable !== true ? [] : [[key, prune(one, property)]];
  });
  // Unlike an assignment, this takes a key such as `__proto__` for a key like any other.
  const pruned: JsonObject = Object.fromEntries(kept);
  for (const [key, property] of Object.entries(properties)) {
    const initial = isObject(property) ? property.default : undefined;
    if (initial !== undefined && pruned[key] === undefined) pruned[key] = structuredClone(initial);
  }
  return pruned;
}

/** Fills in what a definition leaves out. */
export function setDefinitionDefaults(definition: JsonObject): void {
  const names = openAt(definition, "spec", "names");
  const kind = textAt(names, "kind");
  setDefaults(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
  setDefaults(openAt(definition, "spec"), { conversion: { strategy: "None" } });
}

/** A definition is established at once: its kind is served from the next request on. */
export function prepareNewDefinition(definition: JsonObject, { now }: { readonly now: number }): void {
  const { names = {}, versions } = objectAt(definition, "spec");
  const conditions = [
    { type: "NamesAccepted", reason: "NoConflicts", message: "no conflicts found" },
    { type: "Established", reason: "InitialNamesAccepted", message: "the initial names have been accepted" },
  ];
  definition.status = {
    conditions: conditions.map((condition) => ({
      lastTransitionTime: formatTime(now),
      status: "True",
      ...condition,
    })),
    acceptedNames: structuredClone(names),
    storedVersions: listAt({ versions: versions ?? [] }, "versions").filter(({ storage }) => storage === true)
      .map((version) => textAt(version, "name")),
  };
}

function toType(spec: JsonObject, version: JsonObject, createChecks: CreateChecks): ResourceType {
  const names = objectAt(spec, "names");
  const schema = objectAt(version, "schema", "openAPIV3Schema");
  const hasStatus = isObject(objectAt(version, "subresources").status);
  const scale = parseScalePaths(objectAt(version, "subresources").scale);
  const { check, checkStatus } = createChecks(schema);
  return {
    group: textAt(spec, "group"),
    version: textAt(version, "name"),
    plural: textAt(names, "plural"),
    kind: textAt(names, "kind"),
    singular: textAt(names, "singular"),
    listKind: textAt(names, "listKind"),
    shortNames: textsAt(names, "shortNames"),
    categories: textsAt(names, "categories"),
    isNamespaced: spec.scope === "Namespaced",
    subresources: [...(hasStatus ? ["status"] : []), ...(scale === null ? [] : ["scale"])],
    scale,
    isCustom: true,
    needsVersion: true,
    selectableFields: [],
    beginsGeneration: (after, before) => before === null || !isDeepEqual(pickOwn(after), pickOwn(before)),
    setDefaults: (draft) => {
      const { apiVersion, kind, metadata, ...own } = draft;
      for (const key of Object.keys(own)) delete draft[key];
      Object.assign(draft, prune(own, schema));
      // What every object has is not the schema's to take away.
      Object.assign(draft, { apiVersion, kind, metadata });
    },
    listUnknown: ({ apiVersion: _version, kind: _kind, metadata: _metadata, ...sent }) => listUnknown(sent, schema),
    prepareNew: (draft) => {
      if (hasStatus) delete draft.status;
    },
    validate: check,
    validateStatus: checkStatus,
    columns: toCustomColumns(listAt(version, "additionalPrinterColumns")),
    schema,
  };
}

/** The paths of a definition begin with a dot. */
function parseScalePaths(scale: Json | undefined): ScalePaths | null {
  if (!isObject(scale)) return null;
  const [replicas, status, selector] = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"]
    .map((key) => textAt(scale, key).split(".").slice(1));
  return { replicas: replicas ?? [], status: status ?? [], selector: selector?.length ? selector : null };
}

/** All but metadata and status. */
function pickOwn({ metadata: _metadata, status: _status, ...own }: JsonObject): JsonObject {
  return own;
}

/** The paths of fields that the schema does not know, in order. */
function listUnknown(value: Json, schema: JsonObject, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    const items = objectAt(schema, "items");
    return value.flatMap((item, index) => listUnknown(item, items, `${path}[${index}]`));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const property = propertyOf(schema, key);
    const place = path === "" ? key : `${path}.${key}`;
    if (property !== null) return listUnknown(one, property, place);
    return isOpen(schema) ? [] : [place];
  });
}

function propertyOf(schema: JsonObject, key: string): JsonObject | null {
  const properties = objectAt(schema, "properties");
  const property = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
  return isObject(property) ? property : null;
}

function isOpen(schema: JsonObject): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
}
