import { assertEquals, assertThrows } from "#assert";
import {
  type Document,
  mergeDocuments,
  type Node,
  PARTIAL_OF,
  pruneDocument,
  pruneSchema,
  toReference,
  toTypedDocument,
} from "../../tools/openapi.ts";

const POD = "/pods/{name}";
const KEPT = { [POD]: ["get", "patch"] };

Deno.test("pruneDocument() keeps the named operations and the schemas they reach, sorted", () => {
  const pruned = pruneDocument(source(), KEPT, ["Status"]);
  assertEquals(Object.keys(pruned.paths), [POD]);
  assertEquals(Object.keys(pruned.paths[POD] ?? {}), ["get", "parameters", "patch"]);
  assertEquals(Object.keys(pruned.components.schemas), ["Patch", "Pod", "Quantity", "Status"]);
  assertEquals(Object.keys(pruned.info), ["title", "version"]);
});

Deno.test("pruneDocument() keeps JSON alone, the answers of success and no cosmetic parameters", () => {
  const pruned = pruneDocument(source(), KEPT, []);
  assertEquals(pruned.paths[POD], {
    parameters: [{ name: "name", in: "path", required: true, schema: { type: "string" } }],
    get: {
      parameters: [
        { name: "limit", in: "query", schema: { type: "integer" } },
        { name: "watch", in: "query", schema: { type: "boolean" } },
      ],
      responses: { "200": { description: "", content: { "application/json": { schema: toReference("Pod") } } } },
    },
    patch: {
      parameters: [{ name: "watch", in: "query", schema: { type: "boolean" } }],
      requestBody: {
        required: true,
        content: {
          "application/merge-patch+json": { schema: toReference("Patch") },
          "application/strategic-merge-patch+json": { schema: toReference("Patch") },
        },
      },
      responses: { "200": { description: "", content: { "application/json": { schema: toReference("Pod") } } } },
    },
  });
});

Deno.test("pruneDocument() gives the same text whatever the order of keys", () => {
  const reversed = (value: unknown): unknown =>
    Array.isArray(value) || typeof value !== "object" || value === null
      ? value
      : Object.fromEntries(Object.entries(value).reverse().map(([key, one]) => [key, reversed(one)]));
  const other = pruneDocument(reversed(source()) as Document, KEPT, []);
  assertEquals(JSON.stringify(other), JSON.stringify(pruneDocument(source(), KEPT, [])));
});

Deno.test("pruneDocument() reads an answer of any type as text", () => {
  const any = { "200": { content: { "*/*": { schema: { type: "string" } } } } };
  const pruned = pruneDocument({ ...source(), paths: { "/proxy": { get: { responses: any } } } }, {
    "/proxy": ["get"],
  }, []);
  const get = pruned.paths["/proxy"]?.["get"] as { responses: { "200": { content: Node } } };
  assertEquals(get.responses["200"].content, { "text/plain": { schema: { type: "string" } } });
});

Deno.test("pruneDocument() refuses what the document does not have", () => {
  const table: readonly (readonly [() => unknown, string])[] = [
    [() => pruneDocument(source(), { [POD]: ["put"] }, []), `Cannot keep put of "${POD}"`],
    [() => pruneDocument(source(), { "/nodes": ["get"] }, []), 'Cannot keep get of "/nodes"'],
    [() => pruneDocument(source(), {}, ["Lease"]), 'Cannot resolve schema "Lease"'],
    [() => pruneDocument(withSchema("other.Pod"), {}, []), 'Cannot shorten schema "other.Pod": "Pod" is taken'],
  ];
  for (const [prune, message] of table) assertThrows(prune, Error, message);
});

const SCHEMAS: { readonly [sentence: string]: readonly [Node, Node] } = {
  "drops what changes no type": [
    { type: "integer", format: "int64", description: "x", default: 0, minimum: 1, "x-kubernetes-list-type": "map" },
    { type: "integer" },
  ],
  "keeps fields that are named like keywords": [
    { properties: { description: { type: "string", description: "x" }, default: { type: "boolean" } } },
    { properties: { description: { type: "string" }, default: { type: "boolean" } } },
  ],
  "takes the only schema out of allOf": [
    { description: "x", allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Pod" }] },
    toReference("Pod"),
  ],
  "leaves an allOf of two": [{ allOf: [{ type: "string" }, { nullable: true }] }, {
    allOf: [{ type: "string" }, { nullable: true }],
  }],
  "reads int-or-string as either": [
    { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }], maxLength: 32 },
    { oneOf: [{ type: "integer" }, { type: "string" }] },
  ],
  "sorts required and keeps enums in order": [
    { required: ["b", "a"], properties: { a: { enum: ["y", "x"] } } },
    { required: ["a", "b"], properties: { a: { enum: ["y", "x"] } } },
  ],
  "follows items and additional properties": [
    { items: { additionalProperties: { type: "string", title: "x" } }, additionalProperties: true },
    { items: { additionalProperties: { type: "string" } }, additionalProperties: true },
  ],
};
for (const [sentence, [schema, expected]] of Object.entries(SCHEMAS)) {
  Deno.test(`pruneSchema() ${sentence}`, () => assertEquals(pruneSchema(schema), expected));
}

Deno.test("toTypedDocument() types errors, patches and quantities", () => {
  const typed = toTypedDocument(pruneDocument(source(), KEPT, ["Status"]), []);
  const types = ["application/merge-patch+json", "application/strategic-merge-patch+json"];
  const { get, patch } = typed.paths[POD] as { get: Operation; patch: Operation };
  const failure = { description: "", content: { "application/json": { schema: toReference("Status") } } };
  assertEquals([get.responses["default"], patch.responses["default"]], [failure, failure]);
  assertEquals(Object.keys(patch.requestBody.content), types);
  assertEquals(patch.requestBody.content[types[0] ?? ""], { schema: toReference("PodPatch") });
  const header = { name: "content-type", in: "header", required: true, schema: { type: "string", enum: types } };
  assertEquals(patch.parameters.at(-1), header);
  assertEquals(get.parameters.length, 2);
  const { schemas } = typed.components;
  assertEquals(schemas["PodPatch"], { [PARTIAL_OF]: "#/components/schemas/Pod" });
  assertEquals(schemas["Quantity"], { type: "string" });
  assertEquals("Patch" in schemas, false);
});

Deno.test("mergeDocuments() refuses two schemas of one name", () => {
  const one = pruneDocument(source(), KEPT, []);
  assertEquals(mergeDocuments([one, one]), one);
  const other = { ...one, components: { schemas: { ...one.components.schemas, Pod: { type: "string" } } } };
  assertThrows(() => mergeDocuments([one, other]), Error, 'Cannot merge schema "Pod"');
});

interface Operation {
  readonly parameters: readonly Node[];
  readonly responses: Node;
  readonly requestBody: { readonly content: Node };
}

function withSchema(name: string): Document {
  const { components, ...rest } = source();
  return { ...rest, components: { schemas: { ...components.schemas, [name]: {} } } };
}

/** What an API server writes, in small. */
function source(): Document {
  const reference = (name: string) => ({ $ref: `#/components/schemas/io.k8s.${name}` });
  const query = (name: string, type: string) => ({ name, in: "query", description: "x", schema: { type } });
  const pod = { schema: reference("Pod") };
  const answers = { "200": { description: "OK", content: { "application/yaml": pod, "application/json": pod } } };
  const patch = { schema: reference("Patch") };
  const info = { title: "Kubernetes", version: "1.36", license: "x" };
  return {
    openapi: "3.0.0",
    info,
    paths: {
      "/other": { get: { responses: answers } },
      [POD]: {
        parameters: [
          { name: "name", in: "path", required: true, schema: { type: "string", uniqueItems: true } },
          query("watch", "boolean"),
          query("pretty", "string"),
        ],
        get: {
          operationId: "x",
          parameters: [query("limit", "integer")],
          responses: { ...answers, "401": { description: "Unauthorized" } },
        },
        delete: { responses: answers },
        patch: {
          requestBody: {
            content: {
              "application/apply-patch+yaml": patch,
              "application/json-patch+json": patch,
              "application/merge-patch+json": patch,
              "application/strategic-merge-patch+json": patch,
            },
          },
          responses: answers,
        },
      },
    },
    components: {
      schemas: {
        "io.k8s.Status": { type: "object" },
        "io.k8s.Pod": { type: "object", properties: { cpu: { allOf: [reference("Quantity")] } } },
        "io.k8s.Quantity": { oneOf: [{ type: "string" }, { type: "number" }] },
        "io.k8s.Patch": { type: "object" },
        "io.k8s.Unreached": { type: "object" },
      },
    },
  };
}
