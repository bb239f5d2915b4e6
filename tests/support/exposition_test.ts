import { assertEquals } from "#assert";
import { findFormatProblems } from "./exposition.ts";

const GAUGE = "# HELP a b\n# TYPE a gauge\n";
const COUNTER = "# HELP a b\n# TYPE a counter\n";
const HISTOGRAM = "# HELP h b\n# TYPE h histogram\n";
const WHOLE = 'h_bucket{x="1",le="0.5"} 1\nh_bucket{x="1",le="+Inf"} 2\nh_sum{x="1"} 3.5\nh_count{x="1"} 2\n';

Deno.test("findFormatProblems() passes what the text format allows", () => {
  const page = `${GAUGE}a{b="\\\\ \\" \\n"} +Inf\na NaN\na{b="é"} -1.5e-7\n${HISTOGRAM}${WHOLE}`;
  assertEquals(findFormatProblems(page), []);
});

Deno.test("findFormatProblems() reports each planted problem", async (t) => {
  const cases: Readonly<Record<string, readonly [page: string, problem: string]>> = {
    "an open end": [`${GAUGE}a 1`, "the last line does not end"],
    "a bare quote": [`${GAUGE}a{b="x"y"} 1\n`, 'no sample: a{b="x"y"} 1'],
    "a forged line": [`${GAUGE}a{b="x\n"} 1\n`, 'no sample: a{b="x'],
    "an unknown escape": [`${GAUGE}a{b="\\t"} 1\n`, 'no sample: a{b="\\t"} 1'],
    "a comma too many": [`${GAUGE}a{b="x",} 1\n`, 'no sample: a{b="x",} 1'],
    "JavaScript's infinity": [`${GAUGE}a Infinity\n`, "no sample: a Infinity"],
    "no header": ["a 1\n", "a sample without a family: a 1"],
    "no help": ["# TYPE a gauge\na 1\n", "no TYPE line after its HELP line: # TYPE a gauge"],
    "an unescaped help": ["# HELP a \\x\n# TYPE a gauge\n", "no HELP line: # HELP a \\x"],
    "another family": [`${GAUGE}b 1\n`, "a sample of another family: b 1"],
    "a family twice": [`${GAUGE}${COUNTER}`, "a family in two places: # TYPE a counter"],
    "a series twice": [`${GAUGE}a{b="1",c="2"} 1\na{c="2",b="1"} 1\n`, 'a series twice: a{c="2",b="1"} 1'],
    "a label twice": [`${GAUGE}a{b="1",b="2"} 1\n`, 'a label twice: a{b="1",b="2"} 1'],
    "a negative counter": [`${COUNTER}a -1\n`, "a counter below zero: a -1"],
    "a bucket missing": [
      HISTOGRAM + WHOLE.replace(/.*Inf.*\n/, ""),
      'a count that is not its last bucket\'s: h_count{x="1"} 2',
    ],
    "no sum": [HISTOGRAM + WHOLE.replace(/.*sum.*\n/, ""), 'a histogram with parts missing: h{x="1"}'],
    "no count": [HISTOGRAM + WHOLE.replace(/.*count.*\n/, ""), 'a histogram with parts missing: h{x="1"}'],
    "buckets that fall": [
      HISTOGRAM + WHOLE.replace('"+Inf"} 2', '"+Inf"} 0'),
      'buckets that do not add up: h_bucket{x="1",le="+Inf"} 0',
    ],
    "buckets out of order": [
      HISTOGRAM + WHOLE.replace("+Inf", "0.4"),
      'buckets out of order: h_bucket{x="1",le="0.4"} 2',
    ],
  };
  for (const [name, [page, problem]] of Object.entries(cases)) {
    await t.step(name, () => assertEquals(findFormatProblems(page)[0], problem));
  }
});
