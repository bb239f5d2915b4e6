/** What does the API server know about a kind? Its names, defaults, checks and columns. */
import type { JsonObject } from "../../json.ts";
import type { Named, Problem } from "../refusal.ts";
import type { Column } from "./columns.ts";

/** One resource of the API: its names and the rules for its objects. */
export interface ResourceType extends Named {
  readonly version: string;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  readonly subresources: readonly string[];
  /** Where its objects keep what /scale shows; `null` for a kind without. */
  readonly scale: ScalePaths | null;
  /** Defined by a CustomResourceDefinition: no strategic merge, and `metadata` is all that a draft begins with. */
  readonly isCustom: boolean;
  /** An update has to say which version it was made of. */
  readonly needsVersion: boolean;
  /** The fields that a selector may name, in addition to metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** Does this change begin a new metadata.generation? Kinds without one never do. */
  readonly beginsGeneration: (after: JsonObject, before: JsonObject | null) => boolean;
  /** Fills in what is left out, in a draft that was sent. */
  readonly setDefaults: (draft: JsonObject) => void;
  /** Fields that its schema does not know, by path; none of built-in kinds, whose schema is not here. */
  readonly listUnknown: (sent: JsonObject) => readonly string[];
  /** Puts in what the server itself gives to a new object, such as its first status. */
  readonly prepareNew: (draft: JsonObject, context: { readonly now: number }) => void;
  readonly validate: (object: JsonObject, before: JsonObject | null) => readonly Problem[];
  /** The problems of an object whose status alone was written; none for kinds whose status anybody may make up. */
  readonly validateStatus: (object: JsonObject, before: JsonObject) => readonly Problem[];
  readonly columns: readonly Column[];
  /** The schema of a CustomResourceDefinition; `null` for built-in kinds. */
  readonly schema: JsonObject | null;
}

/** The checks of the objects of one custom kind, by its schema. */
export interface SchemaChecks {
  /** The problems of an object; `before` is `null` for a new one. */
  readonly check: (object: JsonObject, before: JsonObject | null) => readonly Problem[];
  /** The problems of an object whose status alone is written. */
  readonly checkStatus: (object: JsonObject, before: JsonObject) => readonly Problem[];
}

/** Makes the checks of a schema. */
export type CreateChecks = (schema: JsonObject) => SchemaChecks;

/** Every object is right: the schema's defaults and fields are applied all the same. */
export const NO_CHECKS: SchemaChecks = { check: () => [], checkStatus: () => [] };

/** Paths of fields. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly status: readonly string[];
  /** Of a selector, or of one as text; `null` = it shows none. */
  readonly selector: readonly string[] | null;
}

/** The name of its collection in the store. */
export function idOf({ group, plural }: Pick<ResourceType, "group" | "plural">): string {
  return `${group}/${plural}`;
}

/** The apiVersion of its objects: `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
