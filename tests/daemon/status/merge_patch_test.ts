import { assertEquals } from "#assert";
import fc from "fast-check";
import { toMergePatch } from "../../../lib/daemon/status/writer.ts";
import type { Json } from "../../../lib/embedded/json.ts";
import { mergePatch } from "../../../lib/embedded/server/write/patch.ts";

const CASES: Record<string, { from: unknown; to: unknown; patch: unknown }> = {
  "a key that is new": { from: {}, to: { a: 1 }, patch: { a: 1 } },
  "a key that is no more": { from: { a: 1, b: 2 }, to: { b: 2 }, patch: { a: null, b: 2 } },
  "labels of another target": {
    from: { selector: { matchLabels: { app: "web" } } },
    to: { selector: { matchLabels: { tier: "back" } } },
    patch: { selector: { matchLabels: { app: null, tier: "back" } } },
  },
  "an object that is no more": { from: { a: { b: 1 } }, to: {}, patch: { a: null } },
  "a list, replaced whole": { from: { a: [{ b: 1 }] }, to: { a: [{ c: 2 }] }, patch: { a: [{ c: 2 }] } },
  "an object in place of a list": { from: { a: [1] }, to: { a: { b: 1 } }, patch: { a: { b: 1 } } },
  "nothing before": { from: undefined, to: { a: { b: 1 } }, patch: { a: { b: 1 } } },
};

Deno.test("toMergePatch() names what has to go, given", async (t) => {
  for (const [name, { from, to, patch }] of Object.entries(CASES)) {
    await t.step(name, () => assertEquals(toMergePatch(from, to), patch));
  }
});

/** Objects without `null`, as an API server keeps them. */
const stored = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer(),
      fc.array(fc.integer(), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value")),
    ),
  })).value,
);

Deno.test("toMergePatch() makes `to` of `from`, and of another that it was told of", () => {
  fc.assert(fc.property(stored, stored, stored, (from, other, to) => {
    const patch = toMergePatch(from, toMergePatch(other, to)) as Json;
    assertEquals([mergePatch(from, patch), mergePatch(other, patch)], [to, to]);
  }));
});
