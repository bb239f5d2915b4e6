import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { findAtPath, parseJsonPath } from "../../../lib/resources/scaled_object/json_path.ts";

const DOCUMENT = {
  queue: { length: 7, "dotted.key": 8, "": 0 },
  list: [1, { value: 2 }, [3, 4]],
  "#": 5,
  "a\\b": 6,
  "2": "two",
  "@at": 9,
  "st*r": 10,
};

Deno.test("findAtPath() finds keys, indices, escaped characters and lengths as GJSON does (R13)", () => {
  // Every line came out of gjson 1.19.0.
  const table: readonly (readonly [path: string, found: unknown])[] = [
    ["queue.length", 7],
    ["queue.dotted\\.key", 8],
    ["list.0", 1],
    ["list.1.value", 2],
    ["list.2.1", 4],
    ["list.01.value", 2],
    ["list.#", 3],
    ["list.2.#", 2],
    ["#", 5],
    ["a\\\\b", 6],
    ["2", "two"],
    ["\\@at", 9],
    ["st\\*r", 10],
    ["list.3", undefined],
    ["list.-1", undefined],
    ["list.value", undefined],
    ["list.\\#", undefined],
    ["list.\\0", undefined],
    ["queue.#", undefined],
    ["queue.length.more", undefined],
    ["none", undefined],
    ["queue.toString", undefined],
    ["constructor", undefined],
    ["__proto__.length", undefined],
    ["list.length", undefined],
  ];
  for (const [text, expected] of table) assertEquals(read(text, DOCUMENT), expected, text);
  assertEquals(read("1.#", [0, [1, 2]]), 2);
  assertEquals(read("#", [1, 2, 3]), 3);
  assertEquals(read("a", 5), undefined);
});

Deno.test("parseJsonPath() refuses other syntax of GJSON by its name (R13)", () => {
  const table: readonly (readonly [path: string, cause: string])[] = [
    ["a.*", 'wildcards ("*")'],
    ["a?b", 'wildcards ("?")'],
    ["a|b", 'pipes ("|")'],
    ['list.#(value=="1").x', 'queries ("#(...)")'],
    ["list.#[value>1]", 'queries ("#(...)")'],
    ["list.#.value", '"#" is supported at the end only'],
    ["@reverse", 'modifiers ("@...")'],
    ["a.@this", 'modifiers ("@...")'],
    ['!"x"', 'literals ("!...")'],
    ["{a,b}", 'several values ("{...")'],
    ["[a,b]", 'several values ("[...")'],
    ["..0.a", "a key is empty"],
    ["a.", "a key is empty"],
    ["", "a key is empty"],
    ["a\\", "ends with a backslash"],
  ];
  for (const [text, cause] of table) {
    const parsed = parseJsonPath(text);
    assert(!parsed.ok, text);
    assertStringIncludes(parsed.message, cause);
    assertStringIncludes(parsed.message, "Cannot parse GJSON path");
  }
});

Deno.test("parseJsonPath() and findAtPath() never throw, and a written path finds what it was written for (R13)", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.jsonValue(), (text, document) => void read(text, document)));
  const keys = fc.array(fc.string({ minLength: 1, unit: "grapheme" }), { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(keys, fc.integer(), (path, value) => {
    const document = path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value);
    // Every character may be escaped.
    const text = path.map((key) => [...key].map((character) => `\\${character}`).join("")).join(".");
    assertEquals(read(text, document), value);
  }));
});

function read(text: string, document: unknown): unknown {
  const parsed = parseJsonPath(text);
  return parsed.ok ? findAtPath(parsed.path, document) : undefined;
}
