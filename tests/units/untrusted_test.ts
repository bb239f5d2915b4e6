import { assert, assertEquals } from "#assert";
import { isRecord, joinPath, measureJson, quote } from "../../lib/units/untrusted.ts";

Deno.test("quote() shows any value on one short line", () => {
  const shown: readonly [unknown, string][] = [
    ["12Q", `"12Q"`],
    [`a"b\n`, `"a\\"b\\n"`],
    ["a".repeat(40), `"${"a".repeat(40)}"`],
    ["a".repeat(1e6), `"${"a".repeat(40)}..."`],
    ["a\u0000\u0085\u2028b", `"a\\u0000\\u{85}\\u{2028}b"`],
    ["\u202eb\u200b\u{e0001}", `"\\u{202e}b\\u{200b}\\u{e0001}"`],
    [`${"a".repeat(39)}\u{1f600}`, `"${"a".repeat(39)}\\ud83d..."`],
    [1.5, "1.5"],
    [true, "true"],
    [null, "null"],
    [undefined, "undefined"],
    [[1], "a list"],
    [{}, "an object"],
    [Symbol("x"), "symbol"],
  ];
  for (const [value, text] of shown) assertEquals(quote(value), text);
});

Deno.test("measureJson() gives about the length of the text, and stops where the maximum is passed", () => {
  assertEquals(measureJson({ a: ["bc", 1, null, { d: true }], e: {} }), 49);
  for (const max of [100, 1_000]) {
    for (const value of [new Array(10_000).fill(1), Object.fromEntries(new Array(10_000).fill(1).entries())]) {
      let reads = 0;
      const counted = new Proxy<object>(value, {
        get: (target, key) => (reads++, Reflect.get(target, key)),
      });
      const bytes = measureJson(counted, max);
      assert(bytes > max && bytes < max + 10, `${bytes}`);
      assert(reads <= 2 * max + 10, `${reads} reads`);
    }
  }
});

Deno.test("isRecord() holds for objects only", () => {
  for (const value of [{}, { a: 1 }, Object.create(null)]) assertEquals(isRecord(value), true);
  for (const value of [null, undefined, [], "a", 1, () => {}]) assertEquals(isRecord(value), false);
});

Deno.test("joinPath() writes a path of any key on one bounded line", () => {
  assertEquals(joinPath("", "spec"), "spec");
  assertEquals(joinPath("spec", "policy"), "spec.policy");
  assertEquals(joinPath("spec.selector.matchLabels", "a.io/b"), "spec.selector.matchLabels.a.io/b");
  assertEquals(joinPath("spec", 'a\n"b"\u202e'), `spec.a\\n\\"b\\"\\u{202e}`);
  assertEquals(joinPath("spec", "k".repeat(1e6)), `spec.${"k".repeat(96)}...`);
});
