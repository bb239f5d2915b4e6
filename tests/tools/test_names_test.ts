import { assertEquals } from "#assert";
import { listTestNames } from "../../tools/test_names.ts";

Deno.test("listTestNames() finds tests and scenarios, however their names are written, but no steps", () => {
  const source = [
    'Deno.test("one (C1)", f);',
    "Deno.test('says \"no\"', f);",
    'Deno.test({ name: "with options", fn: f });',
    'scenario(\n  "of a cluster \\"x\\"",\n  { run },\n);',
    'chartTest("of the chart", f);',
    "for (const n of ALL) Deno.test(`in a loop`, f);",
    'await t.step("step", f);',
    "Deno.test(name, f);",
  ].join("\n");
  const names = ["one (C1)", 'says "no"', "with options", 'of a cluster "x"', "of the chart", "in a loop"];
  const found = listTestNames(source);
  assertEquals(found.map(({ isExact }) => isExact), names.map(() => true));
  assertEquals(found.map(({ pattern }) => names.filter((name) => pattern.test(name))), names.map((name) => [name]));
  assertEquals(found.some(({ pattern }) => pattern.test("step")), false);
});

Deno.test("listTestNames() lets any text stand where a table fills in", () => {
  const [name] = listTestNames("  Deno.test(`${path} of ${by({ a })} is (C7)`, f);");
  assertEquals(name?.isExact, false);
  const names = ["a.b of c is (C7)", "a of is (C7)", "a of b is (C7)!"];
  assertEquals(names.map((one) => name?.pattern.test(one)), [true, false, false]);
});
