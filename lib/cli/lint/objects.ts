/** Which objects does a document of a manifest file hold, and which of them are checked? */
import { isRecord } from "../../units/untrusted.ts";
import { CHECKED_KINDS, type CheckedKind } from "./kinds.ts";
import type { Manifest } from "./manifest.ts";

export interface ManifestObject {
  /** The place in the document: `items[0]`, or "" for the document itself. */
  readonly path: string;
  /** As it stands there. */
  readonly value: unknown;
  /** `null` for an object of another kind. */
  readonly known: KnownObject | null;
}

export interface KnownObject {
  readonly kind: CheckedKind;
  readonly manifest: Manifest;
}

/** Gives the object that the document is, or the items of the list that it is. */
export function listObjects(document: unknown): readonly ManifestObject[] {
  if (document === null) return [];
  if (!isRecord(document) || !isList(document)) return [{ path: "", value: document, known: toKnown(document) }];
  // In a list of one kind, an item may leave out its kind and apiVersion.
  const one = CHECKED_KINDS.find(({ kind }) => document.kind === `${kind}List`);
  const implied = one === undefined ? {} : { apiVersion: document.apiVersion, kind: one.kind };
  return document.items.map((item, index) => {
    const value = isRecord(item) ? { ...implied, ...item } : item;
    return { path: `items[${index}]`, value, known: toKnown(value) };
  });
}

type List = Manifest & { readonly items: readonly unknown[] };

function isList(document: Manifest): document is List {
  return typeof document.kind === "string" && document.kind.endsWith("List") && Array.isArray(document.items);
}

/** An object is recognised even if its kind is missing or in another case, so that this is reported. */
function toKnown(object: unknown): KnownObject | null {
  if (!isRecord(object)) return null;
  const kind = CHECKED_KINDS.find((one) => isOf(object, one));
  return kind === undefined ? null : { kind, manifest: object };
}

function isOf({ kind, apiVersion }: Manifest, known: CheckedKind): boolean {
  if (typeof kind === "string") return kind.toLowerCase() === known.kind.toLowerCase();
  return typeof apiVersion === "string" && toGroup(apiVersion) === toGroup(known.apiVersion);
}

function toGroup(apiVersion: string): string {
  return apiVersion.replace(/\/.*/s, "");
}
