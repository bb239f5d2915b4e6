/** The short form of `deno task fuzz --cost`: what it builds and finds, with counted steps in place of time. */
import { assert, assertEquals } from "#assert";
import { draw } from "../../../../lib/simulate/model/random.ts";
import { buildText, listJsonPatterns } from "./pattern.ts";
import { findExcess, type Finding, searchCost } from "./search.ts";
import { COST_TARGETS, type CostTarget } from "./targets.ts";

Deno.test("buildText() repeats the numbered unit as often as fits, and closes what is nested", () => {
  assertEquals(buildText({ open: "[", unit: '"a#",', close: "0]" }, 18), '["a0","a1","a2",0]');
  assertEquals(buildText({ open: "", unit: "[", core: "0", shut: "]", close: "" }, 7), "[[[0]]]");
  assertEquals(buildText({ open: "a", unit: "", close: "b" }, 100), "ab");
});

Deno.test("listJsonPatterns() gives JSON of every size for each place of a value", () => {
  const seed = { spec: { names: ["a", "b"], labels: { app: "web" }, count: 3, none: undefined } };
  const patterns = listJsonPatterns(seed);
  assert(patterns.length > 15, `${patterns.length} patterns`);
  for (const pattern of patterns) {
    for (const length of [0, 500, 2000]) JSON.parse(buildText(pattern, length));
  }
  const texts = patterns.map((pattern) => buildText(pattern, 150));
  assert(texts.some((text) => JSON.parse(text).spec.names?.length > 10));
  assert(texts.some((text) => Object.keys(JSON.parse(text).spec.labels ?? {}).length > 5));
});

/** Counts steps as milliseconds. */
function search(steps: (text: string) => number, own: Partial<CostTarget> = {}) {
  let counted = 0;
  let drawn = 0;
  const target: CostTarget = {
    name: "counted",
    legal: 2 ** 20,
    seeds: [{ open: "", unit: "a", close: "" }],
    tokens: ["b", "c"],
    run: (text) => counted += steps(text),
    ...own,
  };
  return searchCost(target, {
    tries: 200,
    random: () => draw(["cost", drawn++]),
    measure(run) {
      counted = 0;
      run();
      return { ms: counted, mib: 0 };
    },
  });
}

Deno.test("searchCost() climbs to what costs more, and accepts growth by its size", () => {
  const [worst] = search((text) => text.split("b").length * 1e-3);
  assert(worst !== undefined && worst.pattern.unit.includes("b"), JSON.stringify(worst?.pattern));
  assert(worst.exponent !== null && Math.abs(worst.exponent - 1) < 0.1, `${worst.exponent}`);
});

Deno.test("searchCost() finds growth by the square, however short its runs are", () => {
  const [worst] = search((text) => (text.length / 8192) ** 2);
  assert(worst !== undefined);
  assertEquals(worst.exponent?.toFixed(1), "2.0");
  assert(findExcess({ ...worst, ms: 1, largest: null })?.includes("power 2.00"));
});

Deno.test("findExcess() names what costs more than 50 ms of 64 KiB, except files of commands", () => {
  const slow = (text: string) => text.length / 1000;
  const [worst, file] = [search(slow)[0], search(slow, { isFile: true })[0]];
  assert(worst !== undefined && file !== undefined);
  assertEquals(findExcess(worst), "66 ms of an input of 64 KiB or less, at most 50 expected");
  assertEquals(findExcess(file), null);
});

Deno.test("findExcess() judges the largest input that can reach a parser: 50 ms, or four times JSON.parse, and its memory", () => {
  // Each step is cheap; there are many of them in a megabyte.
  const [worst] = search((text) => text.length / 10_000);
  assert(worst !== undefined);
  assertEquals(findExcess(worst), "105 ms of its largest input, 1048576 bytes, at most 50 expected");
  const judge = (largest: Finding["largest"], isFile = false) => findExcess({ ...worst, largest, isFile });
  const json = { bytes: 1000, ms: 100, mib: 0, jsonMs: 30 };
  assertEquals(judge(json), null);
  assertEquals(
    judge({ ...json, ms: 121 }),
    "121 ms of its largest input, 1000 bytes, at most 120 expected (JSON.parse alone takes 30)",
  );
  assertEquals(judge({ ...json, ms: 121 }, true), null);
  const heap = { bytes: 2 ** 20, ms: 1, mib: 80, jsonMs: null };
  assertEquals(judge(heap), null);
  assertEquals(judge({ ...heap, mib: 81 }, true), "81 MiB of its largest input, 1048576 bytes, at most 80 expected");
});

Deno.test("searchCost() measures the largest input of the two worst, and gives one of them first", () => {
  const findings = search((text) => text.split("b").length * 1e-3);
  assertEquals(findings.map(({ largest }) => largest !== null), findings.map((_, index) => index < 2));
  assertEquals(findings[0]?.largest?.bytes, 2 ** 20);
});

for (const target of COST_TARGETS) {
  Deno.test(`every seed of costly input reaches its parser: ${target.name}`, () => {
    for (const pattern of target.seeds) {
      try {
        target.run(buildText(pattern, 600));
      } catch (error) {
        assert(error instanceof SyntaxError || error instanceof RangeError, `it throws ${error}`);
      }
    }
    assert(target.seeds.length > 5);
  });
}
