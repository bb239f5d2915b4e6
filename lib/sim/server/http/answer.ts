/** Answers a request for a resource: each verb, for the object itself and for what it has beside it. */
import { deleteObject, isDryRun, toDeleteOptions } from "../write/delete.ts";
import { answerList, answerWatch, readVersion, toListText } from "./answer_list.ts";
import { isObject, type Json, type JsonObject, textAt } from "../../json.ts";
import { patchObject } from "../write/patch_object.ts";
import { badRequest, cannotHandle, methodNotAllowed, notFound, Refusal, unknownResource } from "../refusal.ts";
import { idOf, type ResourceType } from "../kinds/resource_type.ts";
import type { Answer, AnswerContext, ResourceRequest } from "./exchange.ts";
import { isServed } from "./route.ts";
import { readSelection } from "./selectors.ts";
import type { Entry } from "../store/entry.ts";
import { toScale } from "../write/read_scale.ts";
import { patchScale, updateScale } from "../write/scale.ts";
import { bindPod, toTokenAnswer } from "../write/subresources.ts";
import { toTable, wantsTable } from "./table.ts";
import { createObject, updateObject, type WriteContext } from "../write/write.ts";

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
  const { store, now, random } = context;
  const isStrict = query.get("fieldValidation") === "Strict";
  const isWhole = verb === "create" || verb === "update";
  const write: WriteContext = {
    store,
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
    const selection = readSelection(query, { type, namespace });
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
      readVersion(query.get("resourceVersion") ?? "");
      return show(before as Entry, { ...request, context, type });
    case "create":
      return answerPart(context, write, { ...request, before: before as Entry });
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

/** POST to something that an object has. */
function answerPart(
  { access, random, now }: AnswerContext,
  write: WriteContext,
  { target, body: { value: body }, before }: ResourceRequest & { readonly before: Entry },
): Answer {
  if (target.subresource === "binding") {
    bindPod(write, before, toSent(body));
    return toSuccess({ code: 201 });
  }
  if (target.subresource !== "token") throw methodNotAllowed();
  const token = access.createServiceAccountToken({ namespace: target.namespace ?? "", name: target.name, random });
  return { code: 201, text: JSON.stringify(toTokenAnswer(body, { token, now })) };
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
function toSuccess(told: { readonly details: JsonObject } | { readonly code: number }): Answer {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", ...told };
  return { code: "code" in told ? told.code : 200, text: JSON.stringify(status) };
}

function uidOf({ object }: Entry): string {
  return textAt(object, "metadata", "uid");
}

function unavailable(): Refusal {
  return new Refusal(503, { message: "error trying to reach service: nobody is there", reason: "ServiceUnavailable" });
}
