/** Objects as a Table, which is how `kubectl get` asks for them; the server decides what columns show. */
import type { Json, JsonObject } from "../../json.ts";
import { toPartial } from "./partial.ts";
import type { ResourceType } from "../kinds/resource_type.ts";

/** How objects are shown as a table. */
export interface TableOptions {
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
export function toTable(objects: readonly JsonObject[], options: TableOptions): JsonObject {
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
export function wantsTable(accept: string | null): boolean {
  return /(^|,)\s*application\/json;[^,]*\bas=Table\b/.test(accept ?? "");
}

function toIncluded(object: JsonObject, include: string): Json {
  if (include === "None") return null;
  if (include === "Object") return object;
  return toPartial(object);
}
