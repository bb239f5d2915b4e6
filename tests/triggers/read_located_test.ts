import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import process from "node:process";
import type { MetricsApiSource } from "../../lib/model/scaled_object.ts";
import { parseEntryValue, parseLocatedValue } from "../../lib/triggers/located.ts";

type Format = MetricsApiSource["format"];

const NO_PLAIN_YAML =
  "it is not one YAML document, or has anchors, aliases or merge keys; check format and where it comes from";

Deno.test("parseLocatedValue() reads numbers, and texts as quantities, out of JSON and YAML (R13, R15)", () => {
  const table: readonly (readonly [Format, text: string, location: string, value: number])[] = [
    ["json", '{"a":{"b":1.5}}', "a.b", 1.5],
    ["json", '{"a":[{"b":-2e3}]}', "a.0.b", -2000],
    ["json", '{"a":[1,2,3]}', "a.#", 3],
    ["json", '{"a":"250m"}', "a", 0.25],
    ["json", '{"a":"2Ki"}', "a", 2048],
    ["json", '{"a":"1e3"}', "a", 1000],
    ["json", '{"a":"7"}', "a", 7],
    ["yaml", "a:\n  b: 1.5\n", "a.b", 1.5],
    ["yaml", "a: {b: 250m}", "a.b", 0.25],
    ["yaml", "a: [{b: 1}, {b: 2}]", "a.1.b", 2],
    ["yaml", "a: 5", "a.b.c", 5],
    ["yaml", "1: {2: 3}", "1.2", 3],
    ["yaml", "a: .inf", "a", Infinity],
    ["prometheus", 'jobs{q="a"} 4\njobs{q="b"} 5\n', 'jobs{q="b"}', 5],
  ];
  for (const [format, text, valueLocation, value] of table) {
    assertEquals(parseLocatedValue(text, { format, valueLocation }), { ok: true, value }, `${text} ${valueLocation}`);
  }
});

Deno.test("parseLocatedValue() says why there is no number, and quotes nothing of the answer (R13)", () => {
  const table: readonly (readonly [Format, text: string, location: string, cause: string])[] = [
    ["json", '{"a":true}', "a", "valueLocation points to a boolean, not to a number or a quantity"],
    ["json", '{"a":null}', "a", "valueLocation points to null, not to a number or a quantity"],
    ["json", '{"a":{}}', "a", "valueLocation points to an object, not to a number or a quantity"],
    ["json", '{"a":[]}', "a", "valueLocation points to a list, not to a number or a quantity"],
    ["json", '{"a":1}', "b", "valueLocation points to nothing, not to a number or a quantity"],
    ["json", '{"a":"CANARY"}', "a", "valueLocation points to a text that is not a quantity"],
    ["json", '{"a":" 7"}', "a", "valueLocation points to a text that is not a quantity"],
    ["json", '{"a":""}', "a", "valueLocation points to a text that is not a quantity"],
    ["json", "{CANARY", "a", "it is not JSON; check format and where it comes from"],
    ["json", "", "a", "it is not JSON; check format and where it comes from"],
    ["yaml", "a: [CANARY", "a", NO_PLAIN_YAML],
    ["yaml", "- 1", "0", "it is not a map"],
    ["yaml", "a: {b: 1}", "a", "valueLocation points to an object, not to a number or a quantity"],
    ["yaml", "a: [1]", "a.length", "valueLocation points to nothing, not to a number or a quantity"],
    ["yaml", "a: 1", "toString", "valueLocation points to nothing, not to a number or a quantity"],
    ["prometheus", "CANARY {", "a", "line 1 of the answer is not in Prometheus' text format"],
  ];
  for (const [format, text, valueLocation, cause] of table) {
    assertEquals(parseLocatedValue(text, { format, valueLocation }), { ok: false, cause }, `${text} ${valueLocation}`);
  }
});

Deno.test("parseLocatedValue() never throws, whatever the answer and the location (R13)", () => {
  const format = fc.constantFrom<Format>("json", "yaml", "prometheus");
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    fc.constantFrom("a: &a [*a]", "a: *b", "? [1]\n: 2", "[".repeat(5000)),
  );
  fc.assert(fc.property(format, text, fc.string(), (format, text, valueLocation) => {
    const read = parseLocatedValue(text, { format, valueLocation });
    assert(read.ok ? typeof read.value === "number" : read.cause !== "");
  }));
});

Deno.test("parseLocatedValue() has nothing of the answer written to stderr, as the YAML parser's warnings would (R13)", async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message);
  process.on("warning", note);
  assertEquals(parseLocatedValue("? [CANARY]\n: 2\na: 1\n", { format: "yaml", valueLocation: "a" }), {
    ok: true,
    value: 1,
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  process.off("warning", note);
  assertEquals(warnings, []);
});

const KEYS = Array.from({ length: 100 }, (_, index) => `k${index}: 1`).join(", ");
const HOSTILE_YAML: Readonly<Record<string, string>> = {
  "an alias": "a: &x 1\nv: *x\n",
  "an anchor": "v: &x 3\n",
  "an anchor on a key": "&x v: 3\n",
  "a merge key": "<<: {v: 3}\n",
  "a merge key by a directive": "%YAML 1.1\n---\n<<: {v: 3}\n",
  "a merge key deep within": "v: 3\na: [{<<: {b: 1}}]\n",
  "a list of aliases under a merge key": `a: &a {${KEYS}}\nb: {<<: [${"*a,".repeat(200)}]}\nv: 3\n`,
  "a merge on every line": `a: &a {k: 1}\n${"b:\n  <<: *a\n".repeat(100)}v: 3\n`,
};
for (const [what, text] of Object.entries(HOSTILE_YAML)) {
  Deno.test(`parseLocatedValue() refuses YAML with ${what} (R13, R15)`, () => {
    const read = parseLocatedValue(text, { format: "yaml", valueLocation: "v" });
    assertEquals(read, { ok: false, cause: NO_PLAIN_YAML });
  });
}

const TOO_MUCH_YAML =
  "it has more than 16 KiB of YAML, more than 1000 lines, fields and values, or long lines that begin with " +
  "many spaces; ask for less, or use format json";

Deno.test("parseLocatedValue() takes 16 KiB of YAML and no more, counted in bytes, and what looks like aliases in texts (R13, R15)", () => {
  const read = (text: string) => parseLocatedValue(text, { format: "yaml", valueLocation: "v" });
  const ok = { ok: true, value: 3 } as const;
  assertEquals(read("v: 3\n# ".padEnd(16 * 1024, "x")), ok);
  assertEquals(read("v: 3\n# ".padEnd(16 * 1024 + 1, "x")), { ok: false, cause: TOO_MUCH_YAML });
  assertEquals(read(`v: 3\na: ${"é".repeat(10_000)}\n`), { ok: false, cause: TOO_MUCH_YAML });
  assertEquals(read("v: 3\na: 'R&D * <<'\nb: 2 * 3 & 4\n"), ok);
});

Deno.test("parseLocatedValue() takes 1,000 lines, fields and values of YAML and no more, so that no answer is slow (R13, R15)", () => {
  const read = (text: string) => parseLocatedValue(text, { format: "yaml", valueLocation: "v" });
  const ok = { ok: true, value: 3 } as const;
  // "v: 3" and its end are two of them.
  assertEquals(read(`v: 3\n${"#\n".repeat(499)}`), ok);
  assertEquals(read(`v: 3\na: "${"a\n ".repeat(994)}"`), ok);
  for (const unit of ["#\n", "- [>\n", "[", "{", "? ", "a\n", "%a\n"]) {
    const excess = { ok: false, cause: TOO_MUCH_YAML } as const;
    assertEquals(read(`v: 3\n${unit.repeat(1000)}`), excess, `1,000 times ${JSON.stringify(unit)}`);
  }
});

Deno.test("parseLocatedValue() refuses long lines of YAML that begin with many spaces, as each space costs a look at the line (R13, R15)", () => {
  const read = (text: string) => parseLocatedValue(text, { format: "yaml", valueLocation: "v" });
  const [ok, excess] = [{ ok: true, value: 3 }, { ok: false, cause: TOO_MUCH_YAML }] as const;
  const line = (spaces: number, length: number) => `v: 3\na: x\n${" ".repeat(spaces).padEnd(length, "y")}\n`;
  assertEquals(read(line(200, 16_000)), ok, "as deep as lists may be nested");
  assertEquals(read(line(8000, 16_000)), excess);
  assertEquals(read(`queue:? \n  length:5\n${" ".repeat(8000)}0a: >`), excess);
  assertEquals(read(`v: 3\na: "x\n${"\t".repeat(16_000)}"\n`), excess);
  assertEquals(read(`v: 3\n${`a: x\n${" ".repeat(1000)}y\n`.repeat(12)}`), excess, "many such lines");
});

Deno.test("parseEntryValue() reads a number as KEDA does, from a text, JSON and YAML (R97)", () => {
  type Source = Parameters<typeof parseEntryValue>[1];
  const [float64, int64, quantity] = ["float64", "int64", "quantity"] as const;
  const table:
    readonly (readonly [Source["format"], Source["valueType"], text: string, location: string, number | string])[] = [
      ["number", float64, "12.5", "", 12.5],
      ["number", float64, " \t-7e1 jobs", "", -70],
      ["number", float64, "5m", "", 5],
      ["number", float64, ".5", "", 0.5],
      ["number", float64, "INF", "", Infinity],
      ["number", float64, "NaN", "", NaN],
      ["number", int64, "12.9", "", 12],
      ["number", int64, "+3", "", 3],
      ["number", quantity, "500m", "", 0.5],
      ["number", quantity, "2Ki", "", 2048],
      ["json", float64, '{"a":{"b":1.5}}', "a.b", 1.5],
      ["json", float64, '{"a":"250m"}', "a", 0.25],
      ["json", int64, '{"a":-2.7}', "a", -2],
      ["json", quantity, '{"a":"250m"}', "a", 0.25],
      ["json", quantity, '{"a":3}', "a", 3],
      ["yaml", float64, "a: {b: 1.5}", "a.b", 1.5],
      ["yaml", float64, 'a: "7 jobs"', "a", 7],
      ["yaml", int64, "a: 1.5", "a", 1.5],
      ["yaml", quantity, "a: 250m", "a", 0.25],
      ["number", float64, "", "", "its text does not begin with a number"],
      ["number", float64, "\n5", "", "its text does not begin with a number"],
      ["number", float64, "5e", "", "its text does not begin with a number"],
      ["number", float64, "0x1F", "", "its text does not begin with a number"],
      ["number", float64, "12x", "", 12],
      ["number", float64, "12_000", "", "its text does not begin with a number"],
      ["number", float64, "1e5_0", "", "its text does not begin with a number"],
      ["number", float64, `${"1".repeat(100_000)}x`, "", "its text does not begin with a number"],
      ["number", int64, "x1", "", "its text does not begin with an integer"],
      ["number", int64, "9223372036854775808", "", "its text does not begin with an integer"],
      ["number", quantity, "5 ", "", "its text is not a quantity"],
      ["json", float64, "{", "a", "it is not JSON; check format and where it comes from"],
      ["json", float64, "{}", "a", "valueLocation points to nothing, not to a number or a quantity"],
      ["json", int64, '{"a":"5"}', "a", "valueLocation points to a string, not to a number"],
      ["yaml", float64, "a: [1]", "a", "valueLocation points to a list, not to a number or a quantity"],
      ["yaml", float64, "a: much", "a", "its text does not begin with a number"],
      ["number", float64, "1".padEnd(128 * 1024 + 1), "", "the text of its key has more than 128 KiB"],
      ["number", float64, "1".padEnd(128 * 1024), "", 1],
    ];
  for (const [format, valueType, text, valueLocation, expected] of table) {
    const result = parseEntryValue(text, { format, valueType, valueLocation });
    const name = `${format} ${valueType} ${text.slice(0, 40)}`;
    assertEquals(
      result,
      typeof expected === "number" ? { ok: true, value: expected } : { ok: false, cause: expected },
      name,
    );
  }
});
