/** JSON patches applied to plain JSON. What is taken and what is refused is as Kubernetes 1.36.3 answers. */
import { assertEquals, assertThrows } from "#assert";
import { jsonPatch } from "../../../support/embedded/json_patch.ts";
import { Refusal } from "../../../../lib/embedded/server/refusal.ts";
import type { Json } from "../../../support/api_objects.ts";

Deno.test("jsonPatch() adds, replaces, removes, moves, copies and tests", () => {
  const before = { a: [1, 2], "b/c": { d: 1 } };
  const kept = structuredClone(before);
  const patched = jsonPatch(before, [
    { op: "test", path: "/a/1", value: 2 },
    { op: "add", path: "/a/-", value: 3 },
    { op: "add", path: "/a/0", value: 0 },
    { op: "replace", path: "/b~1c/d", value: 5 },
    { op: "copy", from: "/b~1c", path: "/e" },
    { op: "move", from: "/e/d", path: "/f" },
    { op: "remove", path: "/a/1" },
  ]);
  assertEquals(patched, { a: [0, 2, 3], "b/c": { d: 5 }, e: {}, f: 5 });
  assertEquals(before, kept);
});

const TAKEN: Readonly<Record<string, readonly [operation: Json, after: Json]>> = {
  "a missing field replaced": [{ op: "replace", path: "/x", value: 1 }, { a: 1, l: [1, 2], x: 1 }],
  "a missing field copied": [{ op: "copy", from: "/x", path: "/y" }, { a: 1, l: [1, 2], y: null }],
  "a missing field tested for null": [{ op: "test", path: "/x", value: null }, { a: 1, l: [1, 2] }],
  "a field added without a value": [{ op: "add", path: "/x" }, { a: 1, l: [1, 2], x: null }],
  "a dash as the name of a field": [{ op: "add", path: "/-", value: 1 }, { a: 1, l: [1, 2], "-": 1 }],
  "a field moved to where it is": [{ op: "move", from: "/a", path: "/a" }, { a: 1, l: [1, 2] }],
  "an index from the end": [{ op: "remove", path: "/l/-1" }, { a: 1, l: [1] }],
  "an item added at the end by index": [{ op: "add", path: "/l/-1", value: 3 }, { a: 1, l: [1, 2, 3] }],
  "an index with a zero before it": [{ op: "add", path: "/l/01", value: 3 }, { a: 1, l: [1, 3, 2] }],
  "objects alike but for the order of fields": [{ op: "test", path: "", value: { l: [1, 2], a: 1 } }, {
    a: 1,
    l: [1, 2],
  }],
};

for (const [name, [operation, after]] of Object.entries(TAKEN)) {
  Deno.test(`jsonPatch() takes ${name}`, () => assertEquals(jsonPatch({ a: 1, l: [1, 2] }, [operation]), after));
}

Deno.test("jsonPatch() takes __proto__ for the name of a field", () => {
  const patched = jsonPatch({}, [{ op: "add", path: "/__proto__", value: "x" }]) as Json;
  assertEquals(Object.entries(patched), [["__proto__", "x"]]);
  assertEquals(Object.getPrototypeOf(patched), Object.prototype);
});

const REFUSED: Readonly<Record<string, Json>> = {
  "a test that fails": { op: "test", path: "/a", value: 2 },
  "a test below what is missing": { op: "test", path: "/x/y", value: null },
  "a missing field removed": { op: "remove", path: "/x" },
  "a missing field moved": { op: "move", from: "/x", path: "/y" },
  "a field of a number": { op: "add", path: "/a/b", value: 1 },
  "a field of what is missing": { op: "add", path: "/x/y", value: 1 },
  "an object moved into itself": { op: "move", from: "/l", path: "/l/0" },
  "an index beyond the end": { op: "add", path: "/l/5", value: 1 },
  "an index that is none": { op: "replace", path: "/l/x", value: 1 },
  "the end, where an item is needed": { op: "remove", path: "/l/-" },
  "an empty index": { op: "add", path: "/l/", value: 1 },
  "a path without a slash": { op: "add", path: "a", value: 1 },
  "no path": { op: "add", value: 1 },
  "no operation": {},
  "an unknown operation": { op: "shout", path: "/a" },
  "null": null,
};

for (const [name, operation] of Object.entries(REFUSED)) {
  Deno.test(`jsonPatch() refuses ${name}, in a real server's words`, () => {
    const words = "the server rejected our request due to an error in our request";
    assertThrows(() => jsonPatch({ a: 1, l: [1, 2] }, [operation]), Refusal, words);
  });
}

Deno.test("jsonPatch() refuses what is no list", () => {
  const words = "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
  assertThrows(() => jsonPatch({}, { op: "add" }), Refusal, words);
});
