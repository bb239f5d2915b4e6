// deno-lint-ignore-file no-console
/**
 * Writes tests/testdata/kubernetes_1.34.json: the fields and query parameters that the oldest tested version has, of all
 * that lib/api is generated from. A test compares them with the version of lib/api/openapi.
 *   deno run -P=dev tools/api_fields.ts FOLDER
 * FOLDER is api/openapi-spec/v3 of the Go module k8s.io/kubernetes, in the version of tests/cluster/kubernetes/1.34.
 */
import { SOURCES } from "./generate.ts";
import { type Document, mergeDocuments, type Node, pruneDocument, toReachable } from "./openapi.ts";

/** The names that a document has: the fields of each schema, and the query parameters of each operation. */
export interface ApiFields {
  readonly schemas: Readonly<Record<string, readonly string[]>>;
  /** By operation: `get /api/v1/pods`. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
}

/** Where tests read the fields of the oldest tested version. */
export const OLDEST = new URL("../tests/testdata/kubernetes_1.34.json", import.meta.url);

/** Lists the fields and parameters of a pruned document. Schemas without fields, such as quantities, have none. */
export function listFields({ components, paths }: Document): ApiFields {
  const parameters = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).filter(([method]) => method !== "parameters").map(([method, operation]) => {
      const { parameters } = operation as { readonly parameters: readonly Node[] };
      const query = parameters.filter((parameter) => parameter["in"] === "query");
      return [`${method} ${path}`, query.map(({ name }) => String(name)).sort()];
    })
  );
  const schemas = Object.entries(components.schemas)
    .map(([name, schema]) => [name, Object.keys(schema["properties"] ?? {}).sort()]);
  return { schemas: Object.fromEntries(schemas), parameters: Object.fromEntries(parameters) };
}

/** By schema or operation: what `wanted` has and `there` lacks. */
export function findMissing(
  wanted: ApiFields["schemas"],
  there: ApiFields["schemas"],
): Readonly<Record<string, readonly string[]>> {
  const missing = Object.entries(wanted).map(([name, fields]) =>
    [name, fields.filter((field) => !there[name]?.includes(field))] as const
  );
  return Object.fromEntries(missing.filter(([, fields]) => fields.length > 0));
}

async function readFields(folder: string): Promise<ApiFields> {
  const documents: Document[] = [];
  for (const [endpoint, operations] of Object.entries(SOURCES)) {
    const file = `${endpoint.replaceAll("/", "__")}_openapi.json`;
    const source: Document = JSON.parse(await Deno.readTextFile(`${folder}/${file}`));
    documents.push(pruneDocument(source, operations, endpoint === "api/v1" ? ["Status"] : []));
  }
  return listFields(toReachable(mergeDocuments(documents), ["Status"]));
}

if (import.meta.main) {
  const [folder] = Deno.args;
  if (folder === undefined) throw new Error("Usage: deno run -P=dev tools/api_fields.ts FOLDER");
  const { schemas, parameters } = await readFields(folder);
  const source = "k8s.io/kubernetes v1.34.4 (Apache-2.0), api/openapi-spec/v3: names of fields and of query parameters";
  const lines = (names: ApiFields["schemas"]) =>
    Object.entries(names).map(([name, fields]) => `  ${JSON.stringify(name)}: ${JSON.stringify(fields.join(" "))}`)
      .join(",\n");
  const text = `{\n"source": "${source}",\n"schemas": {\n${lines(schemas)}\n},\n"parameters": {\n${
    lines(parameters)
  }\n}\n}\n`;
  await Deno.writeTextFile(OLDEST, text);
  console.log(`${Object.keys(schemas).length} schemas, ${Object.keys(parameters).length} operations`);
}
