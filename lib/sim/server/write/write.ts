/**
 * Creates and updates objects as the API server does: defaults, field managers, generation, validation and admission in
 * its order, so that a request that is wrong in two ways is refused for the same one.
 */
import { admitPod, followPod, giveLimitDefaults, recountQuotas } from "./admission.ts";
import { formatTime } from "../../../units/time.ts";
import { isSame, type JsonObject, listAt, numberAt, objectAt, takeFrom, textAt, textsAt } from "../../json.ts";
import { trackUpdate, type Writer } from "./managed_fields.ts";
import { validateFinalizers, validateMetadata } from "../kinds/names.ts";
import { checkAddress, type Place, toNewDraft, toNextDraft, toSuffix, toUid } from "./objects.ts";
import { isSameMeaning } from "../kinds/quantities.ts";
import {
  alreadyExists,
  cannotHandle,
  conflict,
  forbidden,
  invalid,
  invalidValue,
  notFound,
  type Problem,
  versionNeeded,
  versionOnCreate,
} from "../refusal.ts";
import { takeSizes, validateResize } from "./resize.ts";
import { apiVersionOf, idOf, type ResourceType } from "../kinds/resource_type.ts";
import { Entry } from "../store/entry.ts";
import type { Store } from "../store/store.ts";

/** What a write is made with, and by whom. */
export interface WriteContext extends Place {
  readonly store: Store;
  readonly now: number;
  readonly random: () => number;
  /** "" = the object itself. */
  readonly subresource: string;
  /** The name that managedFields have for the client. */
  readonly manager: string;
  readonly isDryRun: boolean;
  /** Refuses fields that a schema does not know, and does not just drop them. */
  readonly isStrict: boolean;
  /** The paths of fields that were sent twice; none unless `isStrict`. */
  readonly repeated: readonly string[];
}

/** Given by server-side apply, which tells owners apart by itself. */
export interface AppliedFields {
  readonly managedFields: readonly JsonObject[];
}

/** Stores a new object. Throws a Refusal. */
export function createObject(context: WriteContext, sent: JsonObject, applied?: AppliedFields): Entry {
  const { store, type, namespace, now, random, isDryRun } = context;
  checkAddress(sent, { type, namespace, name: null });
  if (textAt(sent, "metadata", "resourceVersion") !== "" && !isDryRun) throw versionOnCreate();
  if (namespace !== null) checkNamespace(context, sent);
  const generateName = textAt(sent, "metadata", "generateName");
  const name = textAt(sent, "metadata", "name") || (generateName === "" ? "" : generateName + toSuffix(random));
  const draft = toNewDraft(sent, { type, namespace, name, uid: toUid(random), now });
  checkKnown(draft, context);
  type.setDefaults(draft);
  const metadata = objectAt(draft, "metadata");
  if (!type.beginsGeneration(draft, null)) delete metadata.generation;
  const managedFields = applied?.managedFields ?? trackUpdate(toEmpty(type), draft, toWriter(context));
  if (managedFields.length > 0) metadata.managedFields = [...managedFields];
  if (idOf(type) === "/pods") giveLimitDefaults(store, draft);
  type.prepareNew(draft, { now });
  refuseInvalid(type, name, [...validateMetadata(draft), ...type.validate(draft, null)]);
  if (idOf(type) === "/pods") admitPod(store, draft, null);
  if (store.collection(idOf(type)).get(namespace, name) !== null) throw alreadyExists(type, name);
  return save(context, draft);
}

/** `sent`: the whole object as it shall be; only what the subresource is for is taken of it. */
export function updateObject(
  context: WriteContext,
  before: Entry,
  { sent, applied }: { readonly sent: JsonObject; readonly applied?: AppliedFields },
): Entry {
  const { type, namespace, subresource } = context;
  const old = before.object;
  const name = textAt(old, "metadata", "name");
  checkAddress(sent, { type, namespace, name });
  const version = textAt(sent, "metadata", "resourceVersion");
  if (version === "" && type.needsVersion) throw versionNeeded(type, name);
  if (version !== "" && version !== textAt(old, "metadata", "resourceVersion")) throw conflict(type, name);
  checkUid(type, old, textAt(sent, "metadata", "uid"));
  const draft = toNextDraft(sent, old, type);
  checkKnown(draft, context);
  type.setDefaults(draft);
  const managedFields = applied?.managedFields ?? trackUpdate(old, draft, toWriter(context));
  const next = takeAsked(draft, old, context);
  const isMeant = !isSameMeaning(withoutFields(next), withoutFields(old)) || !isSameOwners(managedFields, old);
  const metadata: JsonObject = { ...objectAt(next, "metadata") };
  if (isMeant) metadata.managedFields = [...managedFields];
  if (type.beginsGeneration(next, old)) metadata.generation = (numberAt(metadata, "generation") ?? 0) + 1;
  const result = { ...next, metadata };
  refuseInvalid(type, name, findProblems(result, old, context));
  if (subresource === "resize") admitPod(context.store, result, old);
  if (isSame(result, old)) return before;
  if (!isGone(result)) return save(context, result);
  removeObject(context, result);
  // Shown as it was: the version of its removal is for those who watch.
  return new Entry(result, before.version);
}

/** Removes an object at once and for good. */
export function removeObject({ store, type, namespace, isDryRun }: WriteContext, object: JsonObject): Entry {
  if (isDryRun) return new Entry(object, store.version);
  const removed = store.remove(idOf(type), object);
  if (idOf(type) === "/pods") followPod(store, namespace ?? "", { before: object, after: null });
  return removed;
}

/** The writer that managedFields name for this write. */
export function toWriter({ type, manager, subresource, now }: WriteContext): Writer {
  return { manager, operation: "Update", apiVersion: apiVersionOf(type), subresource, time: formatTime(now) };
}

/** The fields of Go's empty struct, which a new object of a built-in kind has and nobody owns. */
export function toEmpty({ isCustom }: ResourceType): JsonObject {
  if (isCustom) return { metadata: {} };
  const pod = { containers: [] };
  const template = { metadata: {}, spec: pod };
  return {
    metadata: {},
    spec: { ...pod, template, strategy: {}, updateStrategy: {}, serviceName: "", scaleTargetRef: {} },
    status: {},
    // These are fields of an event.
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: "",
  };
}

function save({ store, type, namespace, isDryRun }: WriteContext, object: JsonObject): Entry {
  if (isDryRun) return new Entry(object, store.version);
  const collection = store.collection(idOf(type));
  const name = textAt(object, "metadata", "name");
  const before = collection.get(namespace, name)?.object ?? null;
  const entry = store.put(idOf(type), object);
  if (idOf(type) === "/pods") followPod(store, namespace ?? "", { before, after: object });
  if (idOf(type) === "/resourcequotas") recountQuotas(store, namespace ?? "");
  return collection.get(namespace, name) ?? entry;
}

function checkNamespace({ store, type, namespace }: WriteContext, sent: JsonObject): void {
  const found = store.collection("/namespaces").get(null, namespace ?? "");
  if (found === null) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, namespace ?? "");
  if (textAt(found.object, "metadata", "deletionTimestamp") === "") return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(type, textAt(sent, "metadata", "name"), why, [{
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  }]);
}

function checkKnown(draft: JsonObject, { type, isStrict, repeated }: WriteContext): void {
  const problems = [
    ...repeated.map((path) => `duplicate field "${path}"`),
    ...(isStrict ? type.listUnknown(draft) : []).toSorted().map((path) => `unknown field "${path}"`),
  ];
  if (problems.length > 0) throw cannotHandle(type, `strict decoding error: ${problems.join(", ")}`);
}

/** The real server reports it twice, once for all kinds and once for this one. */
function checkUid(type: ResourceType, old: JsonObject, uid: string): void {
  if (uid === "" || uid === textAt(old, "metadata", "uid")) return;
  const problem = invalidValue("metadata.uid", uid, "field is immutable");
  throw invalid(type, textAt(old, "metadata", "name"), [problem, problem]);
}

function takeAsked(draft: JsonObject, old: JsonObject, { type, subresource }: WriteContext): JsonObject {
  switch (subresource) {
    case "":
      return type.subresources.includes("status") ? takeFrom(draft, old, ["status"]) : draft;
    case "status":
      return takeFrom(old, draft, ["status"]);
    case "resize":
      return takeSizes(old, draft);
    default:
      return takeFrom(old, draft, ["spec"]);
  }
}

function findProblems(next: JsonObject, old: JsonObject, { type, subresource }: WriteContext): readonly Problem[] {
  if (subresource === "resize") return validateResize(next, old);
  if (subresource === "status") return type.validateStatus(next, old);
  // The spec was checked when it was written.
  if (subresource !== "" && subresource !== "scale") return [];
  return [...validateMetadata(next), ...validateFinalizers(next, old), ...type.validate(next, old)];
}

function refuseInvalid(type: ResourceType, name: string, problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid(type, name, problems);
}

/** Was it being deleted, and held back by nothing but what this update took away? */
function isGone(object: JsonObject): boolean {
  const metadata = objectAt(object, "metadata");
  if (textAt(metadata, "deletionTimestamp") === "" || textsAt(metadata, "finalizers").length > 0) return false;
  if (textsAt(object, "spec", "finalizers").length > 0) return false;
  return (numberAt(metadata, "deletionGracePeriodSeconds") ?? 0) === 0;
}

function withoutFields(object: JsonObject): JsonObject {
  const { managedFields: _fields, ...metadata } = objectAt(object, "metadata");
  return { ...object, metadata };
}

/** Times of the entries do not count. */
function isSameOwners(managedFields: readonly JsonObject[], old: JsonObject): boolean {
  const strip = (entries: readonly JsonObject[]) =>
    entries.map(({ time: _time, ...rest }) => JSON.stringify(rest)).sort();
  return isSame(strip(managedFields), strip(listAt(old, "metadata", "managedFields")));
}
