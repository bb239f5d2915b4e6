/**
 * Custom resources: the kinds that stored CustomResourceDefinitions define, with the defaults, the checks and the columns
 * of their schemas.
 */
import { isObject, isSame, type Json, type JsonObject, listAt, objectAt, textAt, textsAt } from "../../../json.ts";
import { toCustomColumns } from "../columns.ts";
import type { ResourceType, ScalePaths } from "../resource_type.ts";
import { createChecks } from "./check.ts";
import { listUnknown, prune } from "./prune.ts";

/** The resource of each version that a definition serves. */
export function toCustomTypes(definition: JsonObject): readonly ResourceType[] {
  const spec = objectAt(definition, "spec");
  return listAt(spec, "versions").filter(({ served }) => served === true).map((version) => toType(spec, version));
}

function toType(spec: JsonObject, version: JsonObject): ResourceType {
  const names = objectAt(spec, "names");
  const schema = objectAt(version, "schema", "openAPIV3Schema");
  const hasStatus = isObject(objectAt(version, "subresources").status);
  const scale = readScalePaths(objectAt(version, "subresources").scale);
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
    beginsGeneration: (after, before) => before === null || !isSame(pickOwn(after), pickOwn(before)),
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
function readScalePaths(scale: Json | undefined): ScalePaths | null {
  if (!isObject(scale)) return null;
  const [replicas, status, selector] = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"]
    .map((key) => textAt(scale, key).split(".").slice(1));
  return { replicas: replicas ?? [], status: status ?? [], selector: selector?.length ? selector : null };
}

/** All but metadata and status. */
function pickOwn({ metadata: _metadata, status: _status, ...own }: JsonObject): JsonObject {
  return own;
}
