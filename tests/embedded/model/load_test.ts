/** Is a load read from JSON correctly, and is every problem reported with its path? */
import { assert, assertEquals } from "#assert";
import { computeCurve, IDLE, parseLoad } from "../../../lib/embedded/model/load.ts";
import { parseTrace } from "../../support/embedded/trace.ts";

Deno.test("parseLoad() takes numbers for constant curves and IDLE for what is left out", () => {
  const parsed = parseLoad({ cpuMillicores: 100, exits: { afterMs: 500, code: 3 } });
  assert(parsed.ok);
  assertEquals(parsed.load, {
    ...IDLE,
    cpuMillicores: { kind: "constant", value: 100 },
    exits: { afterMs: 500, code: 3 },
  });
});

Deno.test("parseLoad() reads each kind of curve back as it was written", () => {
  const curves = [
    { kind: "step", before: 1, after: 2, atMs: 3 },
    { kind: "ramp", from: 1, to: 2, startMs: 3, durationMs: 4, clock: "container" },
    { kind: "sine", mean: 1, amplitude: 2, periodMs: 3, peakMs: 4 },
    { kind: "spikes", height: 1, everyMs: 2, lengthMs: 3, firstMs: 4 },
    { kind: "noise", amplitude: 1, stepMs: 2, seed: "s" },
    { kind: "jvmStart", peak: 1, idle: 2, startMs: 3, halfLifeMs: 4 },
    { kind: "leak", base: 1, perHour: 2, max: null },
    { kind: "points", points: [[0, 1], [1, 2]], repeats: true },
    { kind: "scaled", curve: { kind: "constant", value: 1 }, factor: 2 },
  ];
  const sum = { kind: "sum", curves };
  const parsed = parseLoad({ workingSetBytes: sum });
  assert(parsed.ok, JSON.stringify(parsed));
  assertEquals(parsed.load.workingSetBytes as unknown, sum);
});

const BAD: Readonly<Record<string, readonly [value: unknown, path: string]>> = {
  "no object": [7, ""],
  "an unknown field": [{ cpu: 1 }, "cpu"],
  "an unknown kind": [{ cpuMillicores: { kind: "saw" } }, "cpuMillicores.kind"],
  "a period of zero": [
    { cpuMillicores: { kind: "sine", mean: 1, amplitude: 1, periodMs: 0 } },
    "cpuMillicores.periodMs",
  ],
  "a number that is none": [{ cpuMillicores: { kind: "constant", value: "1" } }, "cpuMillicores.value"],
  "an unknown clock": [
    { cpuMillicores: { kind: "step", before: 1, after: 1, atMs: 1, clock: "x" } },
    "cpuMillicores.clock",
  ],
  "points in no order": [{ cpuMillicores: { kind: "points", points: [[5, 1], [1, 1]] } }, "cpuMillicores.points[1]"],
  "an inner curve": [
    { pageCacheBytes: { kind: "sum", curves: [1, { kind: "leak", base: "x", perHour: 1 }] } },
    "pageCacheBytes.curves[1].base",
  ],
  "no threads at all": [{ threads: 0 }, "threads"],
  "a broken end": [{ exits: { afterMs: -1 } }, "exits.afterMs"],
};

for (const [name, [value, path]] of Object.entries(BAD)) {
  Deno.test(`parseLoad() names the path of ${name}`, () => {
    const parsed = parseLoad(value);
    assert(!parsed.ok);
    assertEquals(parsed.problems.map((problem) => problem.path), [path]);
  });
}

Deno.test("parseLoad() refuses curves nested without end", () => {
  let curve: unknown = 1;
  for (let depth = 0; depth < 5000; depth++) curve = { kind: "scaled", factor: 1, curve };
  const parsed = parseLoad({ cpuMillicores: curve });
  assert(!parsed.ok);
  assertEquals(parsed.problems.length, 1);
});

Deno.test("parseTrace() draws lines between the rows of a measured load", () => {
  const parsed = parseTrace("seconds,millicores\n0,100\n300,400\n600,100\n", { repeats: true });
  assert(parsed.ok);
  const read = (seconds: number) => computeCurve(parsed.curve, { ageMs: 0, podMs: seconds * 1000, wallMs: 0 });
  assertEquals([read(0), read(100), read(450), read(700)], [100, 200, 250, 200]);
});

Deno.test("parseTrace() names the line that it cannot read", () => {
  const problems = (csv: string) => {
    const parsed = parseTrace(csv);
    return parsed.ok ? [] : parsed.problems.map(({ path }) => path);
  };
  assertEquals(problems("time,cpu\n0,1"), ["line 1"]);
  assertEquals(problems("seconds,millicores\n0,1\n5,x\n"), ["line 3"]);
  assertEquals(problems("seconds,millicores\n"), ["rows.points"]);
});
