/**
 * PATCH: brings an object to what a patch makes of it, by the content type that the patch was sent with.
 */
import { applyObject } from "./apply.ts";
import { isObject, type Json, type JsonObject } from "../../json.ts";
import { jsonPatch } from "./json_patch.ts";
import { formatGo, mergePatch, strategicMerge } from "./patch.ts";
import { BAD_QUANTITY } from "../kinds/quantities.ts";
import { badRequest, invalid, invalidValue, notFound, Refusal, unsupportedMediaType } from "../refusal.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import type { Entry } from "../store/entry.ts";
import { createObject, toEmpty, toWriter, updateObject, type WriteContext } from "./write.ts";

/** A patch as it was sent. */
export interface Patch {
  /** The media type without parameters. */
  readonly contentType: string;
  readonly body: Json;
  /** True for an apply that takes fields from their owners. */
  readonly isForced: boolean;
}

/** What a patch made of its object. */
export interface Patched {
  readonly entry: Entry;
  readonly isNew: boolean;
}

/** The media type of server-side apply. */
export const APPLY = "application/apply-patch+yaml";
const JSON_PATCH = "application/json-patch+json";
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";

/** Patches an object, or creates it by an apply. Throws a Refusal. */
export function patchObject(
  context: WriteContext,
  { before, name, patch }: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
): Patched {
  checkContentType(patch.contentType, context.type);
  if (patch.contentType === APPLY) return apply(context, { before, name, patch });
  if (before === null) throw notFound(context.type, name);
  const sent = patchWith(before.object, patch);
  try {
    return { entry: updateObject(context, before, { sent }), isNew: false };
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 400)) throw error;
    if (error.message.endsWith(BAD_QUANTITY)) throw cannotPatch(formatGo(patch.body), BAD_QUANTITY);
    const [, why] = /: (strict decoding error: .*|unknown conversion)$/.exec(error.message) ?? [];
    throw why === undefined ? error : cannotPatch(JSON.stringify(sent), why);
  }
}

/** A result that is wrong is reported as a wrong patch. */
export function cannotPatch(shown: string, why: string): Refusal {
  return invalid({ group: "", plural: "", kind: "" }, "", [invalidValue("patch", shown, why)]);
}

function apply(
  context: WriteContext,
  { before, name, patch }: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
): Patched {
  const { isForced } = patch;
  const body = readApplied(patch, context);
  const writer = { ...toWriter(context), operation: "Apply" } as const;
  if (before !== null) {
    const { object: sent, managedFields } = applyObject(before.object, body, { writer, isForced });
    return { entry: updateObject(context, before, { sent, applied: { managedFields } }), isNew: false };
  }
  if (context.subresource !== "") throw notFound(context.type, name);
  const { managedFields } = applyObject(toEmpty(context.type), body, { writer, isForced });
  const metadata = { ...(isObject(body.metadata) ? body.metadata : {}), name };
  return { entry: createObject(context, { ...body, metadata }, { managedFields }), isNew: true };
}

/** What is applied. Throws a Refusal for no object, and where nobody says who applies it. */
export function readApplied({ body }: Patch, { manager }: Pick<WriteContext, "manager">): JsonObject {
  if (!isObject(body)) throw badRequest("error decoding YAML: the body is no object");
  if (manager !== "") return body;
  throw invalid({ group: "meta.k8s.io", plural: "", kind: "PatchOptions" }, "", [
    { field: "fieldManager", reason: "FieldValueRequired", message: "Required value: is required for apply patch" },
  ]);
}

/** The object as a patch that is no apply makes it. Throws a Refusal. */
export function patchWith(object: JsonObject, { contentType, body }: Patch): JsonObject {
  const patched = contentType === JSON_PATCH
    ? jsonPatch(object, body)
    : contentType === MERGE
    ? mergePatch(object, body)
    : strategicMerge(object, toObject(body));
  return toObject(patched);
}

/** Throws a Refusal for a patch in a format that the kind does not take. */
export function checkContentType(contentType: string, { isCustom }: Pick<ResourceType, "isCustom">): void {
  const all = [JSON_PATCH, MERGE, ...(isCustom ? [] : [STRATEGIC]), APPLY];
  if (all.includes(contentType)) return;
  if (isCustom) throw unsupportedMediaType(all);
  const message = "415: Unsupported Media Type";
  throw new Refusal(415, { message, reason: "UnsupportedMediaType", details: {} });
}

function toObject(value: Json): JsonObject {
  if (isObject(value)) return value;
  throw badRequest("error decoding patch: it is no object");
}
