/** Which objects does a document of a manifest file hold, and which of them are autoscalers? */
import { isRecord } from "../../units/untrusted.ts";
import { API_VERSION, KIND, type Manifest } from "./autoscaler.ts";

export interface ManifestObject {
  /** The place in the document: `items[0]`, or "" for the document itself. */
  readonly path: string;
  /** `null` for an object of another kind. */
  readonly autoscaler: Manifest | null;
}

/** Gives the object that the document is, or the items of the list that it is. */
export function listObjects(document: unknown): readonly ManifestObject[] {
  if (document === null) return [];
  if (!isRecord(document) || !isList(document)) return [{ path: "", autoscaler: toAutoscaler(document) }];
  // In a PodResourceAutoscalerList, an item may leave out its kind and apiVersion.
  const implied = document.kind === `${KIND}List` ? { apiVersion: document.apiVersion, kind: KIND } : {};
  return document.items.map((item, index) => ({
    path: `items[${index}]`,
    autoscaler: toAutoscaler(isRecord(item) ? { ...implied, ...item } : item),
  }));
}

type List = Manifest & { readonly items: readonly unknown[] };

function isList(document: Manifest): document is List {
  return typeof document.kind === "string" && document.kind.endsWith("List") && Array.isArray(document.items);
}

/** An autoscaler is recognised even if its kind is missing or in another case, so that this is reported. */
function toAutoscaler(object: unknown): Manifest | null {
  if (!isRecord(object)) return null;
  const { kind, apiVersion } = object;
  if (typeof kind === "string") return kind.toLowerCase() === KIND.toLowerCase() ? object : null;
  return typeof apiVersion === "string" && toGroup(apiVersion) === toGroup(API_VERSION) ? object : null;
}

function toGroup(apiVersion: string): string {
  return apiVersion.replace(/\/.*/s, "");
}
