/** Ticks as the HPA controller of Kubernetes 1.36.3 makes them, without it: its answers are kept (tests/testdata/replicas). */
import { assert, assertEquals } from "#assert";
import { compare } from "../../verify/oracle/compare.ts";
import type { Course, CourseResult } from "../../verify/oracle/course.ts";
import { EXAMPLES } from "../../verify/oracle/examples.ts";
import { replay } from "../../verify/oracle/replay.ts";

const FILE = new URL("../../testdata/replicas/courses.ndjson.gz", import.meta.url);

interface Kept {
  readonly course: Course;
  readonly result: CourseResult;
}

async function readKept(): Promise<readonly Kept[]> {
  const file = await Deno.open(FILE);
  const text = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("tick() does in each kept course what the HPA controller did (R31, R32, R40, R44, R45)", async () => {
  const kept = await readKept();
  assert(kept.length === EXAMPLES.length + 40, `${kept.length}`);
  const results = kept.map(({ result }) => result.ticks).flat();
  assert(results.filter(({ wrote }) => wrote).length > 100);
  for (const { course, result } of kept) assertEquals(compare(result, await replay(course)), []);
});

Deno.test("the HPA controller itself comes to the numbers of the worked examples (E1 to E18, E20, M17)", async () => {
  const kept = new Map((await readKept()).map(({ result }) => [result.id, result]));
  for (const { course, after } of EXAMPLES) {
    assertEquals(kept.get(course.id)?.ticks.map((tick) => tick.after), after, course.id);
  }
});

const CLAUSES: Readonly<Record<string, string>> = {
  ...{
    E1: "R36",
    E2: "R34",
    E3: "R37",
    E4: "R37",
    E5: "R37",
    E6: "R37",
    E7: "R41, R43",
    E8: "R43",
    E9: "R43",
    E10: "R41, R42",
  },
  ...{
    E11: "R40",
    E12: "R38",
    E13: "R39",
    E14: "R32, R43",
    E15: "R83",
    E16: "R83",
    E17: "R25",
    E18: "R40",
    E20: "R37",
    M17: "M17",
  },
};

for (const { course, after } of EXAMPLES) {
  const clauses = CLAUSES[course.id.split(" ")[0] ?? ""];
  Deno.test(`tick() comes to the contract's numbers in example ${course.id} (${clauses})`, async () => {
    assertEquals((await replay(course)).ticks.map((tick) => tick.after), after);
  });
}

Deno.test("compare() finds a difference in replicas, in a write, in a condition, and in what is missing", () => {
  const conditions = { AbleToScale: "True/ReadyForNewScale" };
  const real = { id: "1/2", ticks: [{ after: 3, wrote: true, conditions }] };
  const [tick] = real.ticks;
  assert(tick !== undefined);
  assertEquals(compare(real, real), []);
  assertEquals(compare(real, { ...real, ticks: [{ ...tick, after: 4, wrote: false }] }), [
    "1/2 tick 0: after 4, the controller has 3, wrote false, the controller has true",
  ]);
  assertEquals(compare(real, { ...real, ticks: [{ ...tick, conditions: {} }] }), [
    "1/2 tick 0: AbleToScale absent, the controller has True/ReadyForNewScale",
  ]);
  assertEquals(compare(real, { ...real, ticks: [] }), ["1/2: 0 ticks, the controller has 1 of 1/2"]);
});
