import { assertEquals } from "#assert";
import { isDeepEqual } from "../../lib/units/equality.ts";

const CASES: Readonly<Record<string, { a: unknown; b: unknown; strict: boolean; merged: boolean }>> = {
  "keys in another order": { a: { a: 1, b: [2] }, b: { b: [2], a: 1 }, strict: true, merged: true },
  "another value in a list": { a: { a: [{ b: 1 }] }, b: { a: [{ b: 2 }] }, strict: false, merged: false },
  "a shorter list": { a: [1, 2], b: [1], strict: false, merged: false },
  "a list and an object with the same keys": { a: ["x"], b: { 0: "x" }, strict: false, merged: false },
  "an absent field": { a: { a: 1 }, b: {}, strict: false, merged: false },
  "a null and an absent field": { a: { a: null }, b: {}, strict: false, merged: true },
  "a null field deep inside": { a: [{ b: 1, c: null }], b: [{ b: 1 }], strict: false, merged: true },
  "null and undefined": { a: null, b: undefined, strict: false, merged: true },
  "a key that objects inherit": { a: { constructor: Object }, b: {}, strict: false, merged: false },
};

Deno.test("isDeepEqual() ignores the order of keys, and null for absent only when asked", () => {
  for (const [title, { a, b, strict, merged }] of Object.entries(CASES)) {
    const found = [isDeepEqual(a, b), isDeepEqual(b, a), isDeepEqual(a, b, true), isDeepEqual(b, a, true)];
    assertEquals(found, [strict, strict, merged, merged], title);
  }
});
