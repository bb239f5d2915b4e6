/**
 * What podfit keeps of a cluster's OpenAPI v3 documents, and how they are changed before types are made of them.
 * `pruneDocument` makes the small documents that are committed; `toTypedDocument` corrects what would mislead a
 * typed client: patch bodies, error responses, quantities. Pure. https://spec.openapis.org/oas/v3.0.0
 */

/** A JSON object of the document: a schema, parameter, operation or response. */
export type Node = { readonly [keyword: string]: unknown };

export interface PathItem {
  readonly parameters?: readonly Node[];
  readonly [method: string]: unknown;
}

export interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: { readonly [path: string]: PathItem };
  readonly components: { readonly schemas: { readonly [name: string]: Node } };
}

/** Path -> method -> what is kept. */
export type Operations = { readonly [path: string]: readonly string[] };

/** Schema keyword of ours: the type is a deep partial of the named schema. */
export const PARTIAL_OF = "x-partial-of";

/** Keeps `operations`, the schemas they and `roots` reach, and of both only what changes a type. Sorted by key. */
export function pruneDocument(source: Document, operations: Operations, roots: readonly string[]): Document {
  const paths: Record<string, PathItem> = {};
  for (const [path, methods] of Object.entries(operations)) {
    paths[path] = prunePath(path, source.paths[path], methods);
  }
  const schemas: Record<string, Node> = {};
  for (const [name, schema] of Object.entries(source.components.schemas)) {
    const short = toShortName(name);
    if (short in schemas) throw new Error(`Cannot shorten schema "${name}": "${short}" is taken`);
    schemas[short] = pruneSchema(schema);
  }
  const { title, version } = source.info;
  return toReachable({ openapi: source.openapi, info: { title, version }, paths, components: { schemas } }, roots);
}

/** One document out of several. A schema that several define must be the same in each. */
export function mergeDocuments(documents: readonly Document[]): Document {
  const [first] = documents;
  if (first === undefined) throw new Error("Cannot merge documents: there are none");
  const paths: Record<string, PathItem> = {};
  const schemas: Record<string, Node> = {};
  for (const document of documents) {
    Object.assign(paths, document.paths);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const known = schemas[name];
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
        throw new Error(`Cannot merge schema "${name}": the documents define it differently`);
      }
      schemas[name] = schema;
    }
  }
  return { openapi: first.openapi, info: first.info, paths, components: { schemas } };
}

/**
 * Corrects a pruned document for a typed client. Every operation answers errors with a Status; a PATCH takes a deep
 * partial of what it returns and must name its content type (plain JSON is refused with 415); the server writes
 * quantities as strings.
 */
export function toTypedDocument(document: Document, roots: readonly string[]): Document {
  const schemas: Record<string, Node> = { ...document.components.schemas };
  if ("Quantity" in schemas) schemas["Quantity"] = { type: "string" };
  const paths: Record<string, PathItem> = {};
  for (const [path, item] of Object.entries(document.paths)) {
    const next: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(item)) {
      next[key] = key === "parameters" ? value : toTypedOperation(value as Node, { method: key, path, schemas });
    }
    paths[path] = next;
  }
  return toReachable({ ...document, paths, components: { schemas } }, ["Status", ...roots]);
}

/** Drops schemas that neither the paths nor `roots` reach, and sorts all keys. */
export function toReachable(document: Document, roots: readonly string[]): Document {
  const schemas = document.components.schemas;
  const reached = new Set<string>();
  const waiting = [...roots, ...readReferences(document.paths)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name)) continue;
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`Cannot resolve schema "${name}": the document does not define it`);
    reached.add(name);
    waiting.push(...readReferences(schema));
  }
  const kept = Object.fromEntries([...reached].map((name) => [name, schemas[name]]));
  return toSorted({ ...document, components: { schemas: kept } }) as Document;
}

/** `{ "$ref": ... }` to a schema of the document. */
export function toReference(name: string): Node {
  return { $ref: SCHEMAS + name };
}

const SCHEMAS = "#/components/schemas/";
const PATCH_TYPES = ["application/merge-patch+json", "application/strategic-merge-patch+json"];

/** Keywords that change a type. Defaults are left out: they'd make a field look always present. */
const KEPT = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "enum",
  "items",
  "nullable",
  "oneOf",
  "properties",
  "required",
  "type",
]);

/** Of a schema only the keywords that change its type; also used for the schema of a CRD. */
export function pruneSchema(schema: Node): Node {
  if (schema["x-kubernetes-int-or-string"] === true) return { oneOf: [{ type: "integer" }, { type: "string" }] };
  const next: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (KEPT.has(keyword)) next[keyword] = pruneKeyword(keyword, value);
  }
  // `allOf` of a single schema is how the server puts a description beside a reference.
  const { allOf, ...rest } = next;
  if (Array.isArray(allOf) && allOf.length === 1 && Object.keys(rest).length === 0) return allOf[0] as Node;
  return next;
}

function pruneKeyword(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case "$ref":
      return SCHEMAS + toShortName(String(value));
    case "properties":
      return Object.fromEntries(Object.entries(value as Node).map(([name, one]) => [name, pruneSchema(one as Node)]));
    case "items":
      return pruneSchema(value as Node);
    case "additionalProperties":
      return typeof value === "boolean" ? value : pruneSchema(value as Node);
    case "allOf":
    case "anyOf":
    case "oneOf":
      return (value as readonly Node[]).map(pruneSchema);
    case "required":
      return [...value as readonly string[]].sort();
    default:
      return value;
  }
}

function prunePath(path: string, item: PathItem | undefined, methods: readonly string[]): PathItem {
  const shared = (item?.parameters ?? []).map(pruneParameter);
  // Query parameters go to the operations: some paths declare them for all methods.
  const query = shared.filter((parameter) => parameter["in"] === "query");
  const next: Record<string, unknown> = { parameters: shared.filter((parameter) => parameter["in"] !== "query") };
  for (const method of methods) {
    const operation = item?.[method] as Node | undefined;
    if (operation === undefined) throw new Error(`Cannot keep ${method} of "${path}": the document does not have it`);
    next[method] = pruneOperation(operation, { query, isPatch: method === "patch" });
  }
  return next;
}

function pruneOperation(
  operation: Node,
  { query, isPatch }: { readonly query: readonly Node[]; readonly isPatch: boolean },
): Node {
  const own = ((operation["parameters"] ?? []) as readonly Node[]).map(pruneParameter);
  const parameters = [...query, ...own].filter((parameter) => parameter["name"] !== "pretty");
  const responses = Object.entries(operation["responses"] as Node).filter(([status]) => status.startsWith("2"));
  const body = operation["requestBody"] as Node | undefined;
  return {
    parameters: parameters.sort((a, b) => String(a["name"]) < String(b["name"]) ? -1 : 1),
    responses: Object.fromEntries(
      responses.map(([status, response]) => [status, { description: "", content: pruneContent(response as Node) }]),
    ),
    ...(body === undefined
      ? {}
      : { requestBody: { content: pruneContent(body, isPatch ? PATCH_TYPES : undefined), required: true } }),
  };
}

function pruneParameter(parameter: Node): Node {
  const { name, in: place, required, schema } = parameter;
  return { name, in: place, ...(required === true ? { required } : {}), schema: pruneSchema(schema as Node) };
}

/** JSON alone where the server offers it. `*\/*` of a request means any encoding, so JSON too. */
function pruneContent(holder: Node, types?: readonly string[]): Node {
  const content = holder["content"] as { readonly [type: string]: { readonly schema: Node } };
  const json = content["application/json"] ?? content["*/*"];
  const isText = json?.schema["type"] === "string";
  const kept = types ?? [isText ? "text/plain" : "application/json"];
  return Object.fromEntries(kept.map((type) => {
    const media = content[type] ?? json;
    if (media === undefined) throw new Error(`Cannot keep content type "${type}": the document does not have it`);
    return [type, { schema: pruneSchema(media.schema) }];
  }));
}

function toTypedOperation(
  operation: Node,
  { method, path, schemas }: {
    readonly method: string;
    readonly path: string;
    readonly schemas: Record<string, Node>;
  },
): Node {
  const status = { description: "", content: { "application/json": { schema: toReference("Status") } } };
  const responses = { ...operation["responses"] as Node, default: status };
  if (method !== "patch") return { ...operation, responses };
  const returned = readReferences(responses["200" as keyof typeof responses])[0];
  if (returned === undefined) throw new Error(`Cannot type the patch of "${path}": its answer names no schema`);
  const patch = `${returned}Patch`;
  schemas[patch] = { [PARTIAL_OF]: SCHEMAS + returned };
  const types = Object.keys((operation["requestBody"] as { readonly content: Node }).content);
  const content = Object.fromEntries(types.map((type) => [type, { schema: toReference(patch) }]));
  const header = { name: "content-type", in: "header", required: true, schema: { type: "string", enum: types } };
  const parameters = [...operation["parameters"] as readonly Node[], header];
  return { ...operation, parameters, responses, requestBody: { content, required: true } };
}

function readReferences(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith(SCHEMAS) ? [value.slice(SCHEMAS.length)] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(readReferences);
}

/** `io.k8s.api.core.v1.Pod` -> `Pod`. Also takes a whole reference. */
function toShortName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf("/")) + 1);
}

function toSorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return Object.fromEntries(entries.map(([key, one]) => [key, toSorted(one)]));
}
