/**
 * Objects as PartialObjectMetadata, which is how informers that need only metadata list and watch them.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
 */
import { type JsonObject, objectAt } from "../../json.ts";

const KIND = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };

/** Does the client want metadata only, of what it can be given as JSON? */
export function wantsMetadata(accept: string | null): boolean {
  return /(^|,)\s*application\/json;[^,]*\bas=PartialObjectMetadata(List)?\b/.test(accept ?? "");
}

/** An object as its metadata alone. */
export function toPartial(object: JsonObject): JsonObject {
  return { ...KIND, metadata: objectAt(object, "metadata") };
}

/** Items say their kind, other than those of a plain list. */
export function toPartialList(objects: readonly JsonObject[], metadata: JsonObject): JsonObject {
  return { ...KIND, kind: "PartialObjectMetadataList", metadata, items: objects.map(toPartial) };
}
