/** How are subresources read and written? The scale of a workload, the binding of a pod, and tokens. */
import { formatTime } from "../../../units/time.ts";
import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt, textsAt } from "../../json.ts";
import { apiVersionOf, type ResourceType, type ScalePaths } from "../kinds/resource_type.ts";
import { badRequest, cannotHandle, conflict, invalid, invalidValue, Refusal } from "../refusal.ts";
import type { Entry } from "../store.ts";
import { inOrder, parseTree, takeAway, toTree, trackUpdate, type Writer } from "./fields.ts";
import { checkAddress } from "./objects.ts";
import { APPLY, cannotPatch, checkContentType, patchWith } from "./patch.ts";
import { type OwnedScale, type Patch, toWriter, updateObject, type WriteContext } from "./write.ts";

/** Replaces the scale of a workload. Throws a Refusal. */
export function updateScale(context: WriteContext, before: Entry, sent: JsonObject): Entry {
  checkKind(sent);
  const problem = findMisfit(sent, context);
  if (problem !== null) throw cannotHandle(SCALE, problem);
  const name = textAt(before.object, "metadata", "name");
  if (textAt(sent, "metadata", "name") === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  checkAddress(sent, { type: SCALE, namespace: context.namespace, name });
  return write(context, before, { sent, owners: nextOwners(context, before.object, sent) });
}

/** Patches the scale of a workload, or applies one to it. Throws a Refusal. */
export function patchScale(context: WriteContext, before: Entry, patch: Patch): Entry {
  checkContentType(patch.contentType, SCALE, context);
  if (context.apply !== null && patch.contentType === APPLY) {
    return write(context, before, context.apply.patchScale(context, before.object, patch));
  }
  const sent = patchWith(toScale(before.object, context.type), patch, context.patchFormats);
  const problem = findMisfit(sent, context);
  if (problem !== null) throw cannotPatch(JSON.stringify(sent), problem);
  return write(context, before, { sent, owners: nextOwners(context, before.object, sent) });
}

/**
 * The Scale of a workload. Throws a Refusal for a custom one without the field of its replicas.
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/scale-v1/
 */
export function toScale(object: JsonObject, type: ResourceType): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = objectAt(object, "metadata");
  const paths = pathsOf(type);
  const replicas = numberAt(object, ...paths.replicas);
  if (replicas === null && type.isCustom) {
    const message = `Internal error occurred: the spec replicas field ".${paths.replicas.join(".")}" does not exist`;
    throw new Refusal(500, { message, reason: "InternalError", details: { causes: [{ message: message.slice(25) }] } });
  }
  const selector = toSelectorText(object, type);
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

/** Binds a pod to a node for a scheduler. No manager owns that field, and no generation begins. */
export function bindPod({ store, type, now, isDryRun }: WriteContext, before: Entry, binding: JsonObject): void {
  const { object } = before;
  const name = textAt(object, "metadata", "name");
  const bound = textAt(object, "spec", "nodeName");
  if (bound !== "") {
    const why = `pod ${name} is already assigned to node ${JSON.stringify(bound)}`;
    throw conflict({ ...type, plural: "pods/binding" }, name, why);
  }
  const node = textAt(binding, "target", "name");
  if (node === "") throw badRequest("target.name: Required value");
  const others = listAt(object, "status", "conditions").filter(({ type }) => type !== "PodScheduled");
  const scheduled = {
    type: "PodScheduled",
    status: "True",
    observedGeneration: numberAt(object, "metadata", "generation") ?? 1,
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  };
  if (isDryRun) return;
  store.put("/pods", {
    ...object,
    spec: { ...objectAt(object, "spec"), nodeName: node },
    status: { ...objectAt(object, "status"), conditions: [...others, scheduled] },
  });
}

function checkKind(sent: JsonObject): void {
  const kind = textAt(sent, "kind") || SCALE.kind;
  const apiVersion = textAt(sent, "apiVersion") || apiVersionOf(SCALE);
  if (kind !== SCALE.kind) {
    const version = apiVersion.split("/").at(-1);
    const why = `converting (${version}.${kind}) to (autoscaling.Scale): unknown conversion`;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a Scale: ${why}`);
  }
  if (apiVersion === apiVersionOf(SCALE)) return;
  const expected = `does not match the expected API version (${apiVersionOf(SCALE)})`;
  throw badRequest(`the API version in the data (${apiVersion}) ${expected}`);
}

function write(context: WriteContext, before: Entry, { sent, owners }: OwnedScale): Entry {
  const { type } = context;
  const { object } = before;
  const name = textAt(object, "metadata", "name");
  const replicas = numberAt(sent, "spec", "replicas") ?? 0;
  if (replicas < 0) {
    throw invalid(SCALE, name, [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")]);
  }
  const uid = textAt(sent, "metadata", "uid");
  const own = textAt(object, "metadata", "uid");
  if (uid !== "" && uid !== own) {
    const key = `/registry/${type.plural}/${context.namespace}/${name}`;
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${own}`;
    const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
    throw conflict(type, name, error);
  }
  const metadata = { ...objectAt(object, "metadata") };
  const resourceVersion = textAt(sent, "metadata", "resourceVersion");
  const next = {
    ...withReplicas(object, pathsOf(type).replicas, replicas),
    metadata: { ...metadata, ...(resourceVersion === "" ? {} : { resourceVersion }) },
  };
  const managedFields = toParentEntries(context, object, owners);
  return updateObject(context, before, { sent: next, applied: { managedFields } });
}

/** The workload with this number of replicas. */
function withReplicas(object: JsonObject, [key, ...rest]: readonly string[], replicas: number): JsonObject {
  if (key === undefined) return object;
  const below = objectAt(object, key);
  return { ...object, [key]: rest.length === 0 ? replicas : withReplicas(below, rest, replicas) };
}

/** The names of the kind Scale. */
const SCALE = { group: "autoscaling", version: "v1", plural: "scales", kind: "Scale", isCustom: false };

/** Where a type keeps what its scale shows. Throws where it has none. */
function pathsOf({ scale, plural }: ResourceType): ScalePaths {
  if (scale === null) throw new Error(`Cannot read the scale of ${plural}: the kind has no scale`);
  return scale;
}

/** Why this cannot be read as a Scale, in Go's words; `null` if it can. */
function findMisfit(scale: JsonObject, { isStrict }: { readonly isStrict: boolean }): string | null {
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

function toSelectorText(object: JsonObject, type: ResourceType): string {
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

/** The owners after an update. */
function nextOwners(context: WriteContext, object: JsonObject, sent: JsonObject): readonly JsonObject[] {
  const owners = listOwners(context, object);
  if (owners.length === 0) return [];
  const before = { ...pickReplicas(toScale(object, context.type)), metadata: { managedFields: [...owners] } };
  return trackUpdate(before, pickReplicas(sent), toScaleWriter(context));
}

/** The entries of the workload when these own its replicas. */
function toParentEntries(
  context: WriteContext,
  object: JsonObject,
  owners: readonly JsonObject[],
): readonly JsonObject[] {
  const path = toPath(context);
  const entries = listAt(object, "metadata", "managedFields");
  const kept = entries.flatMap((entry) =>
    owners.some((owner) => isSameOwner(owner, entry)) ? [entry] : takeAway(entry, [new Set([path])])
  );
  const added = owners.filter((owner) => !entries.some((entry) => isSameOwner(owner, entry))).map((owner) => {
    const { time: _time, ...entry } = owner;
    return { ...entry, apiVersion: apiVersionOf(context.type), fieldsV1: toTree(new Set([path])) };
  });
  return inOrder([...kept, ...added]);
}

/** The path of the replicas in a scale. */
export const REPLICAS = "f:spec\nf:replicas";

/** The path in the workload. */
function toPath({ type }: WriteContext): string {
  return pathsOf(type).replicas.map((key) => `f:${key}`).join("\n");
}

/** The writer that entries of a scale name for this write. */
export function toScaleWriter(context: WriteContext): Writer {
  return { ...toWriter(context), apiVersion: apiVersionOf(SCALE) };
}

/** The owners of the replicas of a workload, as entries of its scale. */
export function listOwners(context: WriteContext, object: JsonObject): readonly JsonObject[] {
  const path = toPath(context);
  return listAt(object, "metadata", "managedFields").filter((entry) => parseTree(entry.fieldsV1).has(path))
    .map((entry) => ({ ...entry, apiVersion: apiVersionOf(SCALE), fieldsV1: toTree(new Set([REPLICAS])) }));
}

/** The scale with its replicas and nothing else. */
export function pickReplicas(scale: JsonObject): JsonObject {
  const replicas = numberAt(scale, "spec", "replicas") ?? 0;
  return { spec: replicas === 0 ? {} : { replicas } };
}

function isSameOwner(one: JsonObject, other: JsonObject): boolean {
  return ["manager", "operation", "subresource"].every((key) => textAt(one, key) === textAt(other, key));
}
