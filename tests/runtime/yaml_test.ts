import { assertEquals, assertThrows } from "@std/assert";
import { parse, parseAll, stringify } from "@std/yaml";

Deno.test("parse() reads a document and says where it is broken", () => {
  assertEquals(parse("a: 1\nb: [x]"), { a: 1, b: ["x"] });
  assertThrows(() => parse("a: [1"), SyntaxError, "line");
});

Deno.test("parseAll() and stringify() agree", () => {
  assertEquals(parseAll(`${stringify({ a: "on" })}---\n${stringify({ b: 2 })}`), [{ a: "on" }, { b: 2 }]);
});
