/** Which objects does a document of a manifest file hold, lists opened, and which of them are autoscalers? */
import { isRecord } from "../../units/untrusted.ts";
import { API_VERSION, KIND, type Manifest } from "./autoscaler.ts";

export interface ManifestObject {
  /** In its document: `items[0]`, or "" for the document itself. */
  readonly path: string;
  /** `null` for what podfit passes over. */
  readonly autoscaler: Manifest | null;
}

export function listObjects(document: unknown): readonly ManifestObject[] {
  if (document === null) return [];
  if (!isRecord(document) || !isList(document)) return [{ path: "", autoscaler: toAutoscaler(document) }];
  // Items of a list of one kind may leave it to the list what they are.
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

/** A slip in the case of its kind, or no kind at all, does not make an autoscaler something else. */
function toAutoscaler(object: unknown): Manifest | null {
  if (!isRecord(object)) return null;
  const { kind, apiVersion } = object;
  if (typeof kind === "string") return kind.toLowerCase() === KIND.toLowerCase() ? object : null;
  return typeof apiVersion === "string" && toGroup(apiVersion) === toGroup(API_VERSION) ? object : null;
}

function toGroup(apiVersion: string): string {
  return apiVersion.replace(/\/.*/s, "");
}
