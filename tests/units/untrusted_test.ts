import { assertEquals } from "@std/assert";
import { isRecord, quote } from "../../lib/units/untrusted.ts";

Deno.test("quote() shows any value on one short line", () => {
  const shown: readonly [unknown, string][] = [
    ["12Q", `"12Q"`],
    [`a"b\n`, `"a\\"b\\n"`],
    ["a".repeat(40), `"${"a".repeat(40)}"`],
    ["a".repeat(1e6), `"${"a".repeat(40)}..."`],
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

Deno.test("isRecord() holds for objects only", () => {
  for (const value of [{}, { a: 1 }, Object.create(null)]) assertEquals(isRecord(value), true);
  for (const value of [null, undefined, [], "a", 1, () => {}]) assertEquals(isRecord(value), false);
});
