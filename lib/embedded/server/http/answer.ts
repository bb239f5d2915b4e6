/** How is a request for a resource answered? Each verb, as objects, as metadata or as tables. */
import { isObject, type Json, type JsonObject, objectAt, textAt } from "../../json.ts";
import { apiVersionOf, idOf, type ResourceType } from "../kinds/resource_type.ts";
import {
  badMatch,
  badRequest,
  cannotHandle,
  methodNotAllowed,
  notAVersion,
  notFound,
  Refusal,
  unknownResource,
} from "../refusal.ts";
import type { Entry } from "../store.ts";
import { patchObject } from "../write/patch.ts";
import { bindPod, patchScale, toScale, updateScale } from "../write/subresources.ts";
import {
  createObject,
  deleteObject,
  isDryRun,
  toDeleteOptions,
  updateObject,
  type WriteContext,
} from "../write/write.ts";
import { parseSelection } from "./list.ts";
import { type Answer, type AnswerContext, isServed, type ResourceRequest } from "./request.ts";
import { openWatch } from "./watch.ts";

/** Throws a Refusal. */
export function answerResource(context: AnswerContext, request: ResourceRequest): Answer | Promise<Answer> {
  const { target, verb, query, body: { value: body, tooLarge, findRepeated } } = request;
  const type = context.catalog.find(target);
  if (!isServed(type, target, verb)) throw unknownResource();
  if (verb === "list") return answerList(context, request, type);
  if (verb === "watch") return answerWatch(context, request, type);
  const { name, namespace, subresource } = target;
  const options = verb.startsWith("delete") ? toDeleteOptions(body, query) : {};
  const manager = query.get("fieldManager") ??
    (request.contentType.startsWith("application/apply") ? "" : request.agent);
  const { store, admission, patchFormats, apply, now, random } = context;
  const isStrict = query.get("fieldValidation") === "Strict";
  const isWhole = verb === "create" || verb === "update";
  const write: WriteContext = {
    store,
    admission,
    patchFormats,
    apply,
    now,
    random,
    type,
    namespace,
    subresource,
    manager,
    isDryRun: isDryRun(options, query),
    isStrict,
    repeated: isStrict && isWhole ? findRepeated() : [],
  };
  if (isWhole && tooLarge !== null) {
    throw cannotHandle(type, `json: cannot unmarshal number ${tooLarge} into Go value of type float64`);
  }
  const collection = context.store.collection(idOf(type));
  if (verb === "deletecollection") {
    if (idOf(type) === "/namespaces") throw methodNotAllowed();
    const selection = parseSelection(query, { type, namespace });
    const chosen = collection.list(selection).filter(({ object }) => selection.isSelected(object));
    for (const entry of chosen) deleteObject(toPlaced(write, entry), entry, options);
    return { code: 200, text: toListText(type, chosen, { resourceVersion: String(store.version) }) };
  }
  if (verb === "create" && name === "") {
    return show(createObject(write, toSent(body)), { ...request, context, type, code: 201 });
  }
  const before = collection.get(namespace, name);
  if (before === null && verb !== "patch") throw notFound(type, name);
  if (subresource === "scale") return answerScale(write, request, before);
  switch (verb) {
    case "get":
      if (subresource === "proxy") throw unavailable();
      parseVersion(query.get("resourceVersion") ?? "");
      return show(before as Entry, { ...request, context, type });
    case "create":
      if (subresource !== "binding") throw methodNotAllowed();
      bindPod(write, before as Entry, toSent(body));
      return toSuccess({ code: 201 });
    case "update":
      return show(updateObject(write, before as Entry, { sent: toSent(body) }), { ...request, context, type });
    case "patch": {
      const patch = { contentType: request.contentType, body, isForced: query.get("force") === "true" };
      const { entry, isNew } = patchObject(write, { before, name, patch });
      return show(entry, { ...request, context, type, code: isNew ? 201 : 200 });
    }
    case "delete": {
      const { entry, isGone } = deleteObject(write, before as Entry, options);
      if (!isGone || type.plural === "pods") return show(entry, { ...request, context, type });
      const { group, plural: kind } = type;
      return toSuccess({ details: { name, ...(group === "" ? {} : { group }), kind, uid: uidOf(entry) } });
    }
    default:
      throw methodNotAllowed();
  }
}

interface Shown extends ResourceRequest {
  readonly context: AnswerContext;
  readonly type: ResourceType;
  readonly code?: number;
}

function show(entry: Entry, { accept, context: { now }, type, query, code = 200 }: Shown): Answer {
  if (!wantsTable(accept)) return { code, text: entry.text };
  const metadata = { resourceVersion: textAt(entry.object, "metadata", "resourceVersion") };
  const include = query.get("includeObject") ?? "Metadata";
  return { code, text: JSON.stringify(toTable([entry.object], { type, now, metadata, include })) };
}

function answerScale(
  write: WriteContext,
  { verb, body: { value: body }, target, contentType, query }: ResourceRequest,
  before: Entry | null,
): Answer {
  if (!["get", "update", "patch"].includes(verb)) throw methodNotAllowed();
  if (before === null) throw notFound(write.type, target.name);
  const isForced = query.get("force") === "true";
  const entry = verb === "update"
    ? updateScale(write, before, toSent(body))
    : verb === "patch"
    ? patchScale(write, before, { contentType, body, isForced })
    : before;
  return { code: 200, text: JSON.stringify(toScale(entry.object, write.type)) };
}

function toSent(body: Json): JsonObject {
  if (isObject(body)) return body;
  throw badRequest("the object provided is unrecognized: the body is no object");
}

/** The write of an object that was found across namespaces. */
function toPlaced(write: WriteContext, { object }: Entry): WriteContext {
  return { ...write, namespace: textAt(object, "metadata", "namespace") || null };
}

/** A deletion tells what is gone, a creation its code. */
function toSuccess(part: { readonly details: JsonObject } | { readonly code: number }): Answer {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", ...part };
  return { code: "code" in part ? part.code : 200, text: JSON.stringify(status) };
}

function uidOf({ object }: Entry): string {
  return textAt(object, "metadata", "uid");
}

function unavailable(): Refusal {
  return new Refusal(503, { message: "error trying to reach service: nobody is there", reason: "ServiceUnavailable" });
}

/** Answers a list as objects, as metadata or as a table. Throws a Refusal. */
function answerList(
  { store, lister, now }: AnswerContext,
  { target: { namespace }, query, accept }: ResourceRequest,
  type: ResourceType,
): Answer {
  const selection = parseSelection(query, { type, namespace });
  const page = lister.list(store.collection(idOf(type)), { query, selection, version: store.version });
  const metadata: JsonObject = {
    resourceVersion: String(page.version),
    ...(page.continueToken === null ? {} : { continue: page.continueToken }),
    ...(page.remaining === null ? {} : { remainingItemCount: page.remaining }),
  };
  const readObjects = () => page.entries.map(({ object }) => object);
  if (wantsMetadata(accept)) return { code: 200, text: JSON.stringify(toPartialList(readObjects(), metadata)) };
  if (wantsTable(accept)) {
    const include = query.get("includeObject") ?? "Metadata";
    return { code: 200, text: JSON.stringify(toTable(readObjects(), { type, now, metadata, include })) };
  }
  return { code: 200, text: toListText(type, page.entries, metadata) };
}

/** The text of a list of these objects. */
function toListText(type: ResourceType, entries: readonly Entry[], metadata: JsonObject): string {
  const { listKind, kind, isCustom } = type;
  // A list of custom resources says that it does not go on.
  const head = {
    kind: listKind,
    apiVersion: apiVersionOf(type),
    metadata: { ...(isCustom ? { continue: "" } : {}), ...metadata },
  };
  // Items of built-in kinds don't say their kind again: a client that relies on it would fail on a real server.
  const own = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersionOf(type))},`;
  const items = entries.map(({ text }) => !isCustom && text.startsWith(own) ? `{${text.slice(own.length)}` : text);
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items.join(",")}]}`;
}

/** Answers a watch. Rejects with a Refusal. */
async function answerWatch(
  { store, clock, random }: AnswerContext,
  { target: { namespace }, query, accept, signal }: ResourceRequest,
  type: ResourceType,
): Promise<Answer> {
  const selection = parseSelection(query, { type, namespace });
  const fromVersion = parseVersion(query.get("resourceVersion") ?? "");
  const marksInitialEnd = query.get("sendInitialEvents") === "true";
  if (marksInitialEnd && query.get("resourceVersionMatch") !== "NotOlderThan") {
    throw badMatch("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  const timeoutMs = Number(query.get("timeoutSeconds") ?? "0") * 1000 || MAX_WATCH_MS * (1 + random());
  // A version of the future: no word, until it has come.
  for (
    let waitedMs = 0;
    fromVersion !== null && fromVersion > store.version && waitedMs < timeoutMs;
    waitedMs += 1000
  ) {
    await clock.sleep(1000, signal);
  }
  const hasBookmarks = ["true", "1"].includes(query.get("allowWatchBookmarks") ?? "");
  const isTable = wantsTable(accept);
  const isPartial = wantsMetadata(accept);
  const include = query.get("includeObject") ?? "Metadata";
  let hasHeader = true;
  const toRow = (object: JsonObject) => {
    const table = toTable([object], { type, now: clock.now(), metadata: {}, include, hasHeader });
    hasHeader = false;
    return table;
  };
  return {
    code: 200,
    text: "",
    open: (register) =>
      openWatch({
        collection: store.collection(idOf(type)),
        selection,
        timeoutMs,
        clock,
        signal,
        register,
        version: () => store.version,
        fromVersion: marksInitialEnd ? null : fromVersion,
        bookmark: hasBookmarks && !isTable ? isPartial ? toPartial({}) : toBookmarkObject(type) : null,
        marksInitialEnd,
        convert: isPartial ? toPartial : isTable ? toRow : null,
      }),
  };
}

const MAX_WATCH_MS = 1_800_000;

/** `null` = from the present state. Throws a Refusal for a text that is not a version. */
function parseVersion(text: string): number | null {
  if (text === "" || text === "0") return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Refusal(500, { message: notAVersion(text) });
}

/** Bookmarks have nothing but a version, and what Go writes of an empty object. */
function toBookmarkObject(type: ResourceType): JsonObject {
  const empty = type.plural === "pods" ? { spec: { containers: null }, status: {} } : {};
  return { kind: type.kind, apiVersion: apiVersionOf(type), metadata: {}, ...empty };
}

/** How objects are shown as a table. */
interface TableOptions {
  readonly type: ResourceType;
  readonly now: number;
  /** The metadata of the list. */
  readonly metadata: JsonObject;
  /** The part of each object that comes along: None, Metadata or Object. */
  readonly include: string;
  /** False for all but the first event of a watch. */
  readonly hasHeader?: boolean;
}

/** Objects as a Table, one row for each. */
function toTable(objects: readonly JsonObject[], options: TableOptions): JsonObject {
  const { type, now, metadata, include, hasHeader = true } = options;
  const definitions = type.columns.map(({ name, type, format, priority }) => ({
    name,
    type,
    format,
    description: "",
    priority,
  }));
  const rows = objects.map((object) => ({
    cells: type.columns.map(({ cell }) => cell(object, now)),
    object: toIncluded(object, include),
  }));
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: hasHeader ? definitions : null,
    rows,
  };
}

/** Does the client want tables? It names them first, and plain JSON only as what it also takes. */
function wantsTable(accept: string | null): boolean {
  return /(^|,)\s*application\/json;[^,]*\bas=Table\b/.test(accept ?? "");
}

function toIncluded(object: JsonObject, include: string): Json {
  if (include === "None") return null;
  if (include === "Object") return object;
  return toPartial(object);
}

const KIND = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };

/**
 * Does the client want metadata only, of what it can be given as JSON?
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
 */
function wantsMetadata(accept: string | null): boolean {
  return /(^|,)\s*application\/json;[^,]*\bas=PartialObjectMetadata(List)?\b/.test(accept ?? "");
}

/** An object as its metadata alone. */
function toPartial(object: JsonObject): JsonObject {
  return { ...KIND, metadata: objectAt(object, "metadata") };
}

/** Items say their kind, other than those of a plain list. */
function toPartialList(objects: readonly JsonObject[], metadata: JsonObject): JsonObject {
  return { ...KIND, kind: "PartialObjectMetadataList", metadata, items: objects.map(toPartial) };
}
