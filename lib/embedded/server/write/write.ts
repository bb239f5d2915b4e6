/**
 * How is an object created, updated or deleted? Defaults, field managers, generation, validation and admission, in the
 * order of the API server.
 * A request that is wrong in two ways is refused for the same one as by a real server.
 */
import { formatTime } from "../../../units/time.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  takeFrom,
  textAt,
  textsAt,
} from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { isSameMeaning } from "../../quantities.ts";
import { validateFinalizers, validateMetadata } from "../kinds/names.ts";
import { takeSizes, validateResize } from "../kinds/pods.ts";
import { apiVersionOf, idOf, type ResourceType } from "../kinds/resource_type.ts";
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
import { Entry, type Store } from "../store.ts";
import type { Admission } from "./admission.ts";
import { trackUpdate, type Writer } from "./fields.ts";
import { checkAddress, type Place, toGeneratedName, toNewDraft, toNextDraft, toUid } from "./objects.ts";

/** More formats of patches, by media type: what a patch makes of an object. Each may throw a Refusal. */
export type PatchFormats = Readonly<Record<string, (target: Json, patch: Json) => Json>>;

/** A patch as it was sent. */
export interface Patch {
  /** The media type without parameters. */
  readonly contentType: string;
  readonly body: Json;
  /** True for an apply that takes fields from their owners. */
  readonly isForced: boolean;
}

/** Server-side apply. Both throw a Refusal. */
export interface Apply {
  /** Changes an object, or creates it. */
  readonly patch: (
    context: WriteContext,
    parts: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
  ) => Patched;
  /** What an apply makes of the scale of this workload. */
  readonly patchScale: (context: WriteContext, workload: JsonObject, patch: Patch) => OwnedScale;
}

/** What a patch made of its object. */
export interface Patched {
  readonly entry: Entry;
  readonly isNew: boolean;
}

/** The next scale, and the owners of its replicas. */
export interface OwnedScale {
  readonly sent: JsonObject;
  /** As entries of the scale. */
  readonly owners: readonly JsonObject[];
}

/** What a write is made with, and by whom. */
export interface WriteContext extends Place {
  readonly store: Store;
  readonly admission: Admission;
  readonly patchFormats: PatchFormats;
  /** `null` where no apply is taken. */
  readonly apply: Apply | null;
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

/** Stores a new object. Throws a Refusal. */
export function createObject(context: WriteContext, sent: JsonObject, applied?: AppliedFields): Entry {
  const { store, admission, type, namespace, now, random, isDryRun } = context;
  checkAddress(sent, { type, namespace, name: null });
  if (textAt(sent, "metadata", "resourceVersion") !== "" && !isDryRun) throw versionOnCreate();
  if (namespace !== null) checkNamespace(context, sent);
  const generateName = textAt(sent, "metadata", "generateName");
  const name = textAt(sent, "metadata", "name") || (generateName === "" ? "" : toGeneratedName(generateName, random));
  const draft = toNewDraft(sent, { type, namespace, name, uid: toUid(random), now });
  checkKnown(draft, context);
  type.setDefaults(draft);
  const metadata = objectAt(draft, "metadata");
  if (!type.beginsGeneration(draft, null)) delete metadata.generation;
  const managedFields = applied?.managedFields ?? trackUpdate(toEmpty(type), draft, toWriter(context));
  if (managedFields.length > 0) metadata.managedFields = [...managedFields];
  if (idOf(type) === "/pods") admission.giveDefaults(store, draft);
  type.prepareNew(draft, { now });
  refuseInvalid(type, name, [...validateMetadata(draft), ...type.validate(draft, null)]);
  if (idOf(type) === "/pods") admission.admit(store, draft, null);
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
  if (subresource === "resize") context.admission.admit(context.store, result, old);
  if (isDeepEqual(result, old)) return before;
  if (!isGone(result)) return save(context, result);
  removeObject(context, result);
  // Shown as it was: the version of its removal is for those who watch.
  return new Entry(result, before.version);
}

/** The writer that managedFields name for this write. */
export function toWriter({ type, manager, subresource, now }: WriteContext): Writer {
  return { manager, operation: "Update", apiVersion: apiVersionOf(type), subresource, time: formatTime(now) };
}

/** The fields of Go's empty struct, which a new object of a built-in kind has and no manager owns. */
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

/** `options`: a DeleteOptions, merged with what the query said. */
export function deleteObject(context: WriteContext, before: Entry, options: JsonObject): Deleted {
  const { type, store, isDryRun } = context;
  checkPreconditions(before, { type, preconditions: objectAt(options, "preconditions") });
  const { object } = before;
  const graceSeconds = parseGraceSeconds(object, { type, options });
  const finalizers = listFinalizers(object, options);
  const marked = markDeleted(object, { context, graceSeconds, finalizers });
  if (graceSeconds === 0 && finalizers.length === 0 && textsAt(object, "spec", "finalizers").length === 0) {
    // Only pods are deleted in two steps, even where the second follows at once.
    const entry = removeObject(context, idOf(type) === "/pods" ? marked : object);
    if (idOf(type) === DEFINITIONS && !isDryRun) removeAllOf(context, object);
    return { entry, isGone: true };
  }
  const metadata = objectAt(object, "metadata");
  const wasMarked = textAt(metadata, "deletionTimestamp") !== "";
  const isSooner = graceSeconds < (numberAt(metadata, "deletionGracePeriodSeconds") ?? Infinity);
  if (wasMarked && !isSooner) return { entry: before, isGone: false };
  return { entry: isDryRun ? new Entry(marked, store.version) : store.put(idOf(type), marked), isGone: false };
}

/** Query parameters count where the body is silent. */
export function toDeleteOptions(body: unknown, query: URLSearchParams): JsonObject {
  const grace = query.get("gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(isObject(body) ? body : {}),
  };
}

/** Is nothing of this deletion to be stored? */
export function isDryRun(options: JsonObject, query: URLSearchParams): boolean {
  return query.getAll("dryRun").includes("All") || textsAt(options, "dryRun").includes("All");
}

/** Server-side apply gives them, because it computes the owners itself. */
interface AppliedFields {
  readonly managedFields: readonly JsonObject[];
}

/** Removes an object at once and for good. */
function removeObject({ store, admission, type, namespace, isDryRun }: WriteContext, object: JsonObject): Entry {
  if (isDryRun) return new Entry(object, store.version);
  const removed = store.remove(idOf(type), object);
  admission.follow(store, { id: idOf(type), namespace: namespace ?? "", before: object, after: null });
  return removed;
}

function save({ store, admission, type, namespace, isDryRun }: WriteContext, object: JsonObject): Entry {
  if (isDryRun) return new Entry(object, store.version);
  const collection = store.collection(idOf(type));
  const name = textAt(object, "metadata", "name");
  const before = collection.get(namespace, name)?.object ?? null;
  const entry = store.put(idOf(type), object);
  admission.follow(store, { id: idOf(type), namespace: namespace ?? "", before, after: object });
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

/** Was it being deleted, and did this update remove its last finalizer? */
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
  return isDeepEqual(strip(managedFields), strip(listAt(old, "metadata", "managedFields")));
}

/** An object as its deletion left it. */
interface Deleted {
  readonly entry: Entry;
  readonly isGone: boolean;
}

/** The object with the mark of its deletion, the first of which begins a generation. */
function markDeleted(
  object: JsonObject,
  { context: { type, now }, graceSeconds, finalizers }: {
    readonly context: WriteContext;
    readonly graceSeconds: number;
    readonly finalizers: readonly string[];
  },
): JsonObject {
  const metadata = objectAt(object, "metadata");
  const generation = numberAt(metadata, "generation");
  const isFirst = textAt(metadata, "deletionTimestamp") === "";
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(generation === null || !isFirst ? {} : { generation: generation + 1 }),
      deletionTimestamp: formatTime(now + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      ...(finalizers.length === 0 ? {} : { finalizers: [...finalizers] }),
    },
    ...(idOf(type) === "/namespaces" ? { status: { ...objectAt(object, "status"), phase: "Terminating" } } : {}),
  };
}

const DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions";

/** Only a running pod on a node takes time; nothing has to be waited for with any other object. */
function parseGraceSeconds(
  object: JsonObject,
  { type, options }: { readonly type: ResourceType; readonly options: JsonObject },
): number {
  if (idOf(type) !== "/pods") return 0;
  const isOver = ["Succeeded", "Failed"].includes(textAt(object, "status", "phase"));
  if (textAt(object, "spec", "nodeName") === "" || isOver) return 0;
  return numberAt(options, "gracePeriodSeconds") ?? numberAt(object, "spec", "terminationGracePeriodSeconds") ?? 30;
}

function listFinalizers(object: JsonObject, options: JsonObject): readonly string[] {
  const finalizers = textsAt(object, "metadata", "finalizers").filter((one) =>
    one !== "foregroundDeletion" && one !== "orphan"
  );
  if (options.propagationPolicy === "Foreground") return [...finalizers, "foregroundDeletion"];
  return options.propagationPolicy === "Orphan" ? [...finalizers, "orphan"] : finalizers;
}

/** The objects of a kind go with its definition. */
function removeAllOf({ store }: WriteContext, definition: JsonObject): void {
  const spec = objectAt(definition, "spec");
  const id = `${textAt(spec, "group")}/${textAt(spec, "names", "plural")}`;
  for (const { object } of store.collection(id).list()) store.remove(id, object);
}

/** The object has to be the one that was meant. */
function checkPreconditions(
  { object }: Entry,
  { type, preconditions }: { readonly type: ResourceType; readonly preconditions: JsonObject },
): void {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const { uid, resourceVersion } = preconditions;
  const name = String(metadata.name);
  if (typeof uid === "string" && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ` +
      "The object might have been deleted and then recreated";
    throw conflict({ ...type, plural: type.kind }, name, why);
  }
  if (typeof resourceVersion === "string" && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in ` +
      `record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict({ ...type, plural: type.kind }, name, why);
  }
}
