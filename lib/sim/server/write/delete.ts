/**
 * DELETE: at once, or marked first, where a pod has time left, finalizers hold it back, or a namespace has content.
 */
import { formatTime } from "../../../units/time.ts";
import { isObject, type JsonObject, numberAt, objectAt, textAt, textsAt } from "../../json.ts";
import { conflict } from "../refusal.ts";
import { idOf, type ResourceType } from "../kinds/resource_type.ts";
import { Entry } from "../store/entry.ts";
import { removeObject, type WriteContext } from "./write.ts";

/** An object as its deletion left it. */
export interface Deleted {
  readonly entry: Entry;
  readonly isGone: boolean;
}

/** `options`: a DeleteOptions, merged with what the query said. */
export function deleteObject(context: WriteContext, before: Entry, options: JsonObject): Deleted {
  const { type, store, isDryRun } = context;
  checkPreconditions(before, { type, preconditions: objectAt(options, "preconditions") });
  const { object } = before;
  const graceSeconds = readGraceSeconds(object, { type, options });
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
function readGraceSeconds(
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
