import { assertEquals } from "#assert";
import {
  formatHeader,
  formatHistogram,
  formatLabels,
  formatNumber,
  formatSample,
} from "../../../lib/daemon/metrics/family.ts";

Deno.test("formatLabels() takes the labels named, in their order, and no other", () => {
  assertEquals(formatLabels(["b", "a"], { a: "1", b: "2", c: "3" }), 'b="2",a="1"');
  assertEquals(formatLabels([], { a: "1" }), "");
});

Deno.test("formatLabels() escapes what would end a value or a line, and nothing else", () => {
  const cases: Readonly<Record<string, string>> = {
    'a"b': String.raw`a\"b`,
    "a\nb": String.raw`a\nb`,
    "a\\b": String.raw`a\\b`,
    "\\n": String.raw`\\n`,
    '\\"\n': String.raw`\\\"\n`,
    "é {},=\r\t": "é {},=\r\t",
    "": "",
  };
  for (const [value, expected] of Object.entries(cases)) {
    assertEquals(formatLabels(["a"], { a: value }), `a="${expected}"`);
  }
});

Deno.test("formatHeader() escapes backslash and line end in a help text, no quotes", () => {
  const row = { name: "a", kind: "gauge", help: 'x\n\\ "y"', labels: [] } as const;
  assertEquals(formatHeader(row), '# HELP a x\\n\\\\ "y"\n# TYPE a gauge\n');
});

Deno.test("formatRounded() writes numbers as Go reads them", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0"],
    [-1.5, "-1.5"],
    [0.1 + 0.2, "0.30000000000000004"],
    [1e-7, "1e-7"],
    [2 ** 53, "9007199254740992"],
    [1e21, "1e+21"],
    [Infinity, "+Inf"],
    [-Infinity, "-Inf"],
    [NaN, "NaN"],
  ];
  for (const [value, expected] of cases) assertEquals(formatNumber(value), expected);
});

Deno.test("formatSample() has no braces without labels", () => {
  assertEquals(formatSample("a", "", 1), "a 1\n");
  assertEquals(formatSample("a", 'b="c"', 1), 'a{b="c"} 1\n');
});

Deno.test("formatHistogram() adds up its buckets (C52)", () => {
  const row = { name: "h", kind: "histogram", help: "", labels: [], buckets: [0.5, 1] } as const;
  assertEquals(formatHistogram(row, "", { counts: [1, 0, 2], sum: 9.5 }).split("\n"), [
    'h_bucket{le="0.5"} 1',
    'h_bucket{le="1"} 1',
    'h_bucket{le="+Inf"} 3',
    "h_sum 9.5",
    "h_count 3",
    "",
  ]);
  assertEquals(
    formatHistogram(row, 'a="b"', { counts: [0, 0, 1], sum: Infinity }).split("\n").slice(2, 4),
    ['h_bucket{a="b",le="+Inf"} 1', 'h_sum{a="b"} +Inf'],
  );
});
