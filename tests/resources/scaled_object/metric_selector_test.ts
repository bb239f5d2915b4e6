import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { type MetricSelector, parseMetricSelector } from "../../../lib/resources/scaled_object/metric_selector.ts";

Deno.test("parseMetricSelector() takes a name and labels, and every operator for = (R15)", () => {
  const table: readonly (readonly [text: string, selector: MetricSelector])[] = [
    ["up", { name: "up", labels: [] }],
    [" job:rate_1 { } ", { name: "job:rate_1", labels: [] }],
    ["up{a=\"1\",b='2', c=`3` ,}", { name: "up", labels: [["a", "1"], ["b", "2"], ["c", "3"]] }],
    ['up{a!="1",b=~"2.*",c!~"3"}', { name: "up", labels: [["a", "1"], ["b", "2.*"], ["c", "3"]] }],
    ['{__name__="up",a="1"}', { name: "up", labels: [["a", "1"]] }],
    ['{"my.metric", "my.label"="1"}', { name: "my.metric", labels: [["my.label", "1"]] }],
    ['up{a="q\\"\\\\\\n{},"}', { name: "up", labels: [["a", 'q"\\\n{},']] }],
    ["up{a=`\\n`}", { name: "up", labels: [["a", "\\n"]] }],
  ];
  for (const [text, selector] of table) assertEquals(parseMetricSelector(text), { ok: true, selector }, text);
});

Deno.test("parseMetricSelector() refuses what is no single selector, and says why (R15)", () => {
  const table: readonly (readonly [text: string, cause: string])[] = [
    ["", "it names no metric"],
    ['{a="1"}', "it names no metric"],
    ['{__name__=""}', "it names no metric"],
    ['up{__name__="down"}', "more than one metric"],
    ['up{"down"}', "more than one metric"],
    ["up[5m]", "nothing after it"],
    ["sum(up)", "nothing after it"],
    ["up{a}", 'label "a" has no operator'],
    ["up{a=1}", 'the value of label "a" must be quoted'],
    ['up{a="\\x41"}', "no escapes but"],
    ['up{a="1"', "the closing brace, is missing"],
    ['up{a="1" b="2"}', "a comma, or the closing brace"],
    ["up{,}", "a label, or the closing brace"],
  ];
  for (const [text, cause] of table) {
    const parsed = parseMetricSelector(text);
    assert(!parsed.ok, text);
    assertStringIncludes(parsed.message, cause);
  }
});

Deno.test("parseMetricSelector() never throws, and reads back every label it is written (R15)", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseMetricSelector(text)));
  const pieces = fc.constantFrom("up", "{", "}", "a", "=", "=~", '"', "'", "`", "\\", ",", " ", "\n", "é", "1");
  fc.assert(fc.property(fc.array(pieces), (all) => void parseMetricSelector(all.join(""))));
  fc.assert(fc.property(fc.string(), (value) => {
    const quoted = `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
    assertEquals(parseMetricSelector(`up{a=${quoted}}`), {
      ok: true,
      selector: { name: "up", labels: [["a", value]] },
    });
  }));
});
