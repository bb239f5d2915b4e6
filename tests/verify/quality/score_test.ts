import { assertAlmostEquals, assertEquals } from "#assert";
import type { Curve } from "./curve.ts";
import { type Run, scoreRun, type Size } from "./score.ts";

const MIB = 2 ** 20;

Deno.test("scoreRun() means over each second what was too much, too little and held back, and weighs them", () => {
  // 10 s at 100m, then 10 s at 400m; the request of 200m and the limit of 300m stay.
  const score = scoreRun(curve({ points: [[0, 100], [9_999, 100], [10_000, 400]] }), run([[0, 200, 300, MIB, MIB]]));
  assertAlmostEquals(score.slack, 50);
  assertAlmostEquals(score.under, 100);
  assertAlmostEquals(score.underTime, 50);
  assertAlmostEquals(score.throttled, 50);
  assertAlmostEquals(score.throttledTime, 50);
  assertAlmostEquals(score.used, 200);
  assertAlmostEquals(score.cost, 50 + 3 * 100 + 20 * 50);
});

Deno.test("scoreRun() counts a size from its second on, and as a resize if the scored resource changed within the curve", () => {
  const sizes: readonly Size[] = [
    [0, 200, 400, MIB, MIB],
    [5, 100, 400, MIB, MIB],
    [8, 100, 400, 2 * MIB, MIB],
    [15, 100, 300, MIB, MIB],
    [20, 500, 900, MIB, MIB],
  ];
  const score = scoreRun(curve({ points: [[0, 0]] }), run(sizes));
  assertAlmostEquals(score.request, (5 * 200 + 15 * 100) / 20);
  assertAlmostEquals(score.limit, (15 * 400 + 5 * 300) / 20);
  assertAlmostEquals(score.resizesPerHour, 2 / (20 / 3600));
});

Deno.test("scoreRun() tells kills of the first two hours from later ones, and wants nothing while none is running", () => {
  const hours = { seconds: 3 * 3600, kind: "memory" as const, startsBelow: 0 };
  const it = curve({ ...hours, points: [[0, 100 * MIB]] });
  const size: Size = [0, 1, 1, 50 * MIB, 200 * MIB];
  const score = scoreRun(it, { ...run([size]), starts: [0, 3700, 10_000], kills: [3600, 9_000] });
  assertEquals([score.killsEarly, score.killsLate], [1, 1]);
  assertAlmostEquals(score.underTime, 100 - (100 + 1000) / hours.seconds * 100);
  assertAlmostEquals(score.used, 100 * (1 - 1100 / hours.seconds));
});

Deno.test("scoreRun() has a leak begin anew, and a new instance make up for what it holds less, with each start", () => {
  const at = { seconds: 3600, kind: "memory" as const };
  const leak = { ...curve(at), memory: { kind: "leak", value: 0, base: 10 * MIB, perHour: 3600 * MIB } as const };
  const once = scoreRun(leak, run([[0, 1, 1, MIB, 4000 * MIB]]));
  const again = scoreRun(leak, { ...run([[0, 1, 1, MIB, 4000 * MIB]]), starts: [0, 1800] });
  assertAlmostEquals(once.used, 10 + 3599 / 2);
  assertAlmostEquals(again.used, 10 + 1799 / 2);
  const below = curve({ ...at, points: [[0, 100 * MIB]], startsBelow: 60 * MIB });
  assertAlmostEquals(scoreRun(below, run([[0, 1, 1, MIB, 4000 * MIB]])).used, 100 - 60 * 30.5 / 3600, 1e-6);
});

Deno.test("scoreRun() looks for the second from which a request fits the step and goes on to for five minutes", () => {
  const it = { ...curve({ seconds: 3600, points: [[0, 900]] }), steps: [[1000, 90, 900]] as const };
  const sizes: readonly Size[] = [
    [0, 100, 2000, MIB, MIB],
    [1010, 900, 2000, MIB, MIB],
    [1200, 400, 2000, MIB, MIB],
    [1230, 860, 2000, MIB, MIB],
    [1535, 100, 2000, MIB, MIB],
  ];
  assertEquals(scoreRun(it, run(sizes)).settlesUp, 230);
  assertEquals(scoreRun(it, run(sizes.slice(0, 3))).settlesUp, null);
  assertEquals(scoreRun(it, run([[0, 1801, 2000, MIB, MIB]])).settlesUp, null);
  assertEquals(scoreRun(curve({}), run([[0, 100, 200, MIB, MIB]])).settlesUp, null);
});

interface CurveOptions {
  readonly seconds?: number;
  readonly kind?: Curve["kind"];
  readonly points?: readonly (readonly [number, number])[];
  readonly startsBelow?: number;
}

function curve({ seconds = 20, kind = "cpu", points = [[0, 100]], startsBelow = 0 }: CurveOptions): Curve {
  const load = { kind: "points", value: 0, points } as const;
  const cache = { kind: "constant", value: 0 } as const;
  return { name: "one", kind, isReal: false, seconds, cpu: load, memory: load, cache, startsBelow, steps: null };
}

function run(sizes: readonly Size[]): Run {
  return { controller: "x", curve: "one", sizes, starts: [0], kills: null };
}
