import { assertEquals, assertThrows } from "#assert";
import { readCrdRoots, toCrdDocument } from "../../tools/crd.ts";
import { type Document, type Node, toReference } from "../../tools/openapi.ts";

const LIST = "/apis/example.org/v1/things";
const STATUS = { patchesStatus: true, patchesObject: false };
const NAMESPACED = "/apis/example.org/v1/namespaces/{namespace}/things";

Deno.test("toCrdDocument() lists and patches status as pods are listed and resized", () => {
  const { paths } = toCrdDocument(crd({}), core(), STATUS);
  assertEquals(Object.keys(paths).sort(), [`${NAMESPACED}`, `${NAMESPACED}/{name}/status`, LIST]);
  assertEquals(paths[LIST], { get: answer("ThingList") });
  const types = Object.keys((paths[`${NAMESPACED}/{name}/status`]?.["patch"] as Body).requestBody.content);
  assertEquals(types, ["application/merge-patch+json"]);
});

Deno.test("toCrdDocument() has the operations that are asked for, and the list alone of a kind without namespace", () => {
  const pathsOf = (given: Node, patchesStatus: boolean, patchesObject: boolean) =>
    Object.keys(toCrdDocument(given, core(), { patchesStatus, patchesObject }).paths).sort();
  const read = [NAMESPACED, LIST];
  assertEquals(pathsOf(crd({}), false, false), read);
  assertEquals(pathsOf(crd({}), true, true), [
    NAMESPACED,
    `${NAMESPACED}/{name}`,
    `${NAMESPACED}/{name}/status`,
    LIST,
  ]);
  const { spec } = crd({});
  assertEquals(pathsOf({ spec: { ...spec as Node, scope: "Cluster" } }, true, true), [LIST]);
});

Deno.test("toCrdDocument() defines the kind, its list and its parts with what they reach", () => {
  const { schemas } = toCrdDocument(crd({ size: { "x-kubernetes-int-or-string": true } }), core(), STATUS).components;
  assertEquals(schemas["ThingSpec"]?.["properties"], { size: { oneOf: [{ type: "integer" }, { type: "string" }] } });
  assertEquals(schemas["Thing"]?.["properties"], {
    metadata: toReference("ObjectMeta"),
    spec: toReference("ThingSpec"),
    status: toReference("ThingStatus"),
  });
  const names = Object.keys(schemas);
  assertEquals(names, ["ListMeta", "ObjectMeta", "Patch", "Status", "Thing", "ThingList", "ThingSpec", "ThingStatus"]);
});

Deno.test("readCrdRoots() names what is exported", () => {
  assertEquals(readCrdRoots(crd({})), ["Thing", "ThingList", "ThingPatch", "ThingSpec", "ThingStatus"]);
});

Deno.test("toCrdDocument() refuses a CRD without a stored version", () => {
  const { spec } = crd({});
  const unstored = { spec: { ...spec as Node, versions: [] } };
  assertThrows(() => toCrdDocument(unstored, core(), STATUS), Error, 'Cannot read CRD "Thing": no version is stored');
});

interface Body {
  readonly requestBody: { readonly content: Node };
}

function crd(spec: Node): Node {
  const openAPIV3Schema = {
    type: "object",
    required: ["spec"],
    properties: {
      metadata: { type: "object" },
      spec: { type: "object", properties: spec },
      status: { type: "object" },
    },
  };
  const versions = [
    { name: "v1alpha1", storage: false, schema: { openAPIV3Schema: {} } },
    { name: "v1", storage: true, schema: { openAPIV3Schema } },
  ];
  return { spec: { group: "example.org", scope: "Namespaced", names: { kind: "Thing", plural: "things" }, versions } };
}

function answer(name: string): Node {
  return { responses: { "200": { content: { "application/json": { schema: toReference(name) } } } } };
}

function core(): Document {
  const patch = { schema: toReference("Patch") };
  const content = { "application/merge-patch+json": patch, "application/strategic-merge-patch+json": patch };
  const object = { type: "object" };
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "1.36" },
    paths: {
      "/api/v1/pods": { get: answer("PodList") },
      "/api/v1/namespaces/{namespace}/pods": { get: answer("PodList") },
      "/api/v1/namespaces/{namespace}/pods/{name}/resize": { patch: { ...answer("Pod"), requestBody: { content } } },
    },
    components: {
      schemas: {
        ListMeta: object,
        ObjectMeta: object,
        Patch: object,
        Pod: object,
        Status: object,
      },
    },
  };
}
