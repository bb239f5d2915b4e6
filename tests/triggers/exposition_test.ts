import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { parseExposition } from "../../lib/triggers/exposition.ts";
import { parseMetricSelector } from "../../lib/resources/scaled_object/metric_selector.ts";

const TEXT = `# HELP backend_queue_size Length.
# TYPE backend_queue_size gauge
backend_queue_size{queueName="zero"} 0
backend_queue_size{queueName="one",zone="a"} 1.5
  backend_queue_size { queueName = "two" , zone="b", } 2 1395066363000
backend_queue_size{queueName="two",zone="b"} 22
# TYPE jobs_total counter
jobs_total 1e3
untyped_metric{quote="a\\"b\\\\c\\nd"} -7
# a comment
#

# TYPE latency histogram
latency_bucket{le="1"} 2
latency_sum 4
latency_count 2
# TYPE spread summary
spread{quantile="0.5"} 3
spread_sum 9
lonely_sum 5
{"dotted.name", a="1"} 6
not_a_number NaN
endless +Inf
`;

Deno.test("parseExposition() takes the first series with the selector's name and labels (R15)", () => {
  const table: readonly (readonly [selector: string, value: number])[] = [
    ["backend_queue_size", 0],
    ['backend_queue_size{queueName="one"}', 1.5],
    ['backend_queue_size{zone="b",queueName="two"}', 2],
    ["jobs_total", 1000],
    ['untyped_metric{quote="a\\"b\\\\c\\nd"}', -7],
    ["lonely_sum", 5],
    ['{"dotted.name",a="1"}', 6],
    ["not_a_number", NaN],
    ["endless", Infinity],
  ];
  for (const text of [TEXT, TEXT.replaceAll("\n", "\r\n"), TEXT.trimEnd()]) {
    for (const [selector, value] of table) assertEquals(read(text, selector), value, selector);
  }
});

Deno.test("parseExposition() takes no histogram and no summary, nor what belongs to one (R15)", () => {
  for (const name of ["latency", "latency_sum", "latency_count", "latency_bucket", "spread", "spread_sum"]) {
    assertEquals(read(TEXT, name), "no series of the answer has its name and labels", name);
  }
  assertEquals(read("# HELP h_sum of its own\nh_sum 3\n# TYPE h histogram\nh_sum 4\n", "h_sum"), 3);
});

Deno.test("parseExposition() finds nothing where a label is missing or another, also an empty one (R15)", () => {
  for (const selector of ["other", 'backend_queue_size{queueName="three"}', 'jobs_total{a=""}']) {
    assertEquals(read(TEXT, selector), "no series of the answer has its name and labels", selector);
  }
});

Deno.test("parseExposition() refuses a text with a malformed line before the series, and quotes nothing of it (R15)", () => {
  const lines = [
    "a",
    "a b",
    "a 1 2 3",
    "a 1 2.5",
    "a 1 ",
    "# HELP jobs a\n# HELP jobs b",
    "a 1 99999999999999999999",
    "a 1_0",
    "a 0x1p2",
    "1a 1",
    'a{b="1"',
    "a{b=1} 1",
    'a{b="\\x"} 1',
    'a{b="1"c="2"} 1',
    'a{__name__="b"} 1',
    '{b="1"} 1',
    'a{"b"} 1',
    "# TYPE a unheard",
    "# TYPE jobs gauge\n# TYPE jobs gauge",
    "# HELP jobs a\u2028b\n# HELP jobs c",
    "a 1\r2",
    "<html>SECRET</html>",
  ];
  for (const line of lines) {
    const cause = read(`${line}\njobs 1\n`, "jobs");
    assert(
      typeof cause === "string" && /^line [123] of the answer is not in Prometheus/.test(cause),
      `${line}: ${cause}`,
    );
    assert(!cause.includes("SECRET"));
    assertEquals(read(`jobs 1\n${line}\n`, "jobs"), 1, "what follows the series is not read");
  }
});

Deno.test("parseExposition() never throws, whatever the text, and ends in proportion to it (R15)", () => {
  const pieces = fc.constantFrom(
    "a",
    "#",
    " TYPE ",
    " HELP ",
    "gauge",
    "{",
    "}",
    '"',
    "\\",
    "=",
    ",",
    " ",
    "1",
    "\n",
    "\r",
    "_sum",
    "é",
  );
  fc.assert(fc.property(fc.array(pieces, { maxLength: 60 }), (all) => void read(all.join(""), "a")));
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void read(text, "a")));
  // A pattern that looks twice at a character would be at one of these for hours.
  for (const piece of ["a{", '"', '\\"', "\\", " ", 'a{b="', 'a{b="1",', "# TYPE a ", "_sum", "\n", "# "]) {
    read(piece.repeat(2 ** 20 / piece.length), "a");
  }
});

function read(text: string, selector: string): number | string {
  const parsed = parseMetricSelector(selector);
  assert(parsed.ok);
  const found = parseExposition(text, parsed.selector);
  return found.ok ? found.value : found.cause;
}
