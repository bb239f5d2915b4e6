/** Patches that are merged into plain JSON: strategic merge as kubectl and podfit send it, and JSON merge patch. */
import { assertEquals, assertThrows } from "#assert";
import { mergePatch, strategicMerge } from "../../../../lib/embedded/server/write/patch.ts";
import { Refusal } from "../../../../lib/embedded/server/refusal.ts";
import type { Json } from "../../../support/api_objects.ts";

const POD = {
  containers: [
    { name: "a", image: "x", env: [{ name: "A", value: "1" }, { name: "B", value: "2" }], args: ["1", "2"] },
    { name: "b", image: "y" },
  ],
};

const STRATEGIC: Readonly<Record<string, readonly [before: Json, patch: Json, after: Json]>> = {
  "an item of a list by its name": [
    POD,
    { containers: [{ name: "b", image: "z" }] },
    { containers: [POD.containers[0], { name: "b", image: "z" }] },
  ],
  "an item of a list within an item": [
    POD,
    { containers: [{ name: "a", env: [{ name: "B", value: "3" }] }] },
    {
      containers: [
        { ...POD.containers[0], env: [{ name: "A", value: "1" }, { name: "B", value: "3" }] },
        POD.containers[1],
      ],
    },
  ],
  "a list without a key as a whole": [
    { containers: [{ name: "a", args: ["1", "2"] }] },
    { containers: [{ name: "a", args: ["3"] }] },
    { containers: [{ name: "a", args: ["3"] }] },
  ],
  "a new item first, as a real server puts it": [
    { containers: [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "c", image: "z" }] },
    { containers: [{ name: "c", image: "z" }, { name: "a" }, { name: "b" }] },
  ],
  "items in the order that is asked for": [
    { containers: [{ name: "a" }, { name: "b" }] },
    { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }, { name: "c" }], containers: [{ name: "c" }] },
    { containers: [{ name: "b" }, { name: "a" }, { name: "c" }] },
  ],
  "an order alone": [
    { containers: [{ name: "a" }, { name: "b" }] },
    { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] },
    { containers: [{ name: "b" }, { name: "a" }] },
  ],
  "an item away": [
    { containers: [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: [{ name: "b" }] },
  ],
  "a list by another": [
    { containers: [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "c" }, { $patch: "replace" }] },
    { containers: [{ name: "c" }] },
  ],
  "an object by another": [{ a: { b: 1, c: 2 } }, { a: { b: 3, $patch: "replace" } }, { a: { b: 3 } }],
  "only the keys that are retained": [
    { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
    { strategy: { $retainKeys: ["type"], type: "Recreate" } },
    { strategy: { type: "Recreate" } },
  ],
  "texts into a set, and out of it": [
    { finalizers: ["a", "b"] },
    { "$deleteFromPrimitiveList/finalizers": ["a"], finalizers: ["c", "b"] },
    { finalizers: ["b", "c"] },
  ],
  "a null away": [{ a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
};

for (const [name, [before, patch, after]] of Object.entries(STRATEGIC)) {
  Deno.test(`strategicMerge() merges ${name}`, () => {
    const kept = structuredClone(before);
    assertEquals(strategicMerge(before, patch), after);
    assertEquals(before, kept);
  });
}

Deno.test("strategicMerge() refuses an item without its key", () => {
  assertThrows(() => strategicMerge(POD, { containers: [{ image: "z" }] }), Refusal, "merge key: name");
});

Deno.test("mergePatch() replaces lists and removes nulls", () => {
  assertEquals(mergePatch({ a: [1, 2], b: { c: 1, d: 2 } }, { a: [3], b: { c: null } }), { a: [3], b: { d: 2 } });
});
