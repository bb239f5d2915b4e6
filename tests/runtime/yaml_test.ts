import { assert, assertEquals, assertThrows } from "#assert";
import { parse, parseAll, parsePlain, stringify } from "../../lib/runtime/yaml.ts";
import { findExcess } from "../../lib/runtime/yaml.ts";

Deno.test("parseBody() reads a document and says where it is broken", () => {
  assertEquals(parse("a: 1\nb: [x]"), { a: 1, b: ["x"] });
  assertThrows(() => parse("a: [1"), SyntaxError, "line");
});

Deno.test("parseAll() and stringify() agree", () => {
  assertEquals(parseAll(`${stringify({ a: "on" })}---\n${stringify({ b: 2 })}`), [{ a: "on" }, { b: 2 }]);
});

Deno.test("parseBody() reads merged fields, empty documents and text that looks like a date", () => {
  assertEquals(parse("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}"), { a: { x: 1, y: 2 }, b: { x: 1, y: 3 } });
  assertEquals([parse(""), parse("# nothing"), parseAll("")], [null, null, []]);
  assertEquals(parse("2026-11-22"), "2026-11-22");
});

Deno.test("parse() and parsePlain() read a document that a marker ends, with or without comments behind it", () => {
  for (const end of ["---\n", "---", "---\n# end\n", "...\n", "---\n---\n"]) {
    assertEquals([parse(`a: 1\n${end}`), parsePlain(`a: 1\n${end}`)], [{ a: 1 }, { a: 1 }], end);
  }
  assertThrows(() => parse("a: 1\n---\n---\nb: 1"), SyntaxError, "more than one document");
});

const broken: readonly [sentence: string, text: string, why: string][] = [
  ["a key twice", "a:\n  s3cret: 1\n  s3cret: 2", "duplicate key at line 3, column 3"],
  ["an alias of nothing", "a: *s3cret", "unknown or circular alias at line 1, column 4"],
  ["a tag of nothing", "a: !s3cret! x", "at line 1, column 4"],
  ["an odd escape", '"s3cret \\q"', "bad dq escape at line 1, column 9"],
  ["two documents", "a: s3cret\n---\nb: 1", "more than one document"],
];
for (const [sentence, text, why] of broken) {
  Deno.test(`parseBody() refuses ${sentence}, without quoting the text`, () => {
    const { message } = assertThrows(() => parse(text), SyntaxError, why);
    assert(!message.includes("s3cret"), message);
  });
}

/** A few lines, or a few MB, that would cost gigabytes. */
const costly: readonly [sentence: string, text: string, why: string][] = [
  ["aliases of aliases", bomb(9), "aliases that expand to too many values"],
  ["an alias of itself", "a: &a [*a]", "unknown or circular alias at line 1, column 8"],
  ["lists in lists", "[".repeat(101) + "]".repeat(101), "nested more than 100 levels deep at line 1"],
  ["objects in objects", "{a: ".repeat(101) + "1" + "}".repeat(101), "nested more than 100 levels deep at line 1"],
  ["very many lists in lists", "[".repeat(100_000) + "]".repeat(100_000), "resource exhaustion at line 1"],
  ["very many lists that do not end", "[".repeat(600_000), "more than 500000 lines, fields and values"],
  ["very many commas", `[${",".repeat(600_000)}]`, "more than 500000 lines, fields and values"],
  ["very many lines", "a\n".repeat(600_000), "more than 500000 lines, fields and values"],
  [
    "a long line that begins with very many spaces",
    `a: x\n${" ".repeat(100_000)}y`,
    "long lines that begin with many spaces; split it",
  ],
  ["very many odd escapes", `"${"\\q".repeat(600_000)}"`, "more than 500000 lines, fields and values"],
];
for (const [sentence, text, why] of costly) {
  Deno.test(`parseBody() refuses ${sentence}`, () => {
    assertThrows(() => parse(text), SyntaxError, why);
    assertThrows(() => parseAll(text), SyntaxError, why);
  });
}

Deno.test("parseBody() reads what is large and honest: a list of a thousand objects, and many fields in one", () => {
  const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`field-${index}`, "value"]));
  assertEquals(parse(stringify(fields)), fields);
  const list = Array.from(
    { length: 1000 },
    (_, index) => ({ metadata: { name: `web-${index}`, labels: { app: "web" } } }),
  );
  assertEquals(parse(JSON.stringify(list)), list);
  assertEquals(findExcess("x".repeat(5_000_000)), null);
});

/** Nine lists in nine lists in nine lists. */
function bomb(levels: number): string {
  const names = Array.from({ length: levels }, (_, level) => `l${level}`);
  return names.map((name, level) => {
    const item = level === 0 ? "x" : `*${names[level - 1]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => item).join(", ")}]`;
  }).join("\n");
}
