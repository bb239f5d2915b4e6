import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "#assert";
import { addNoise, cutLoad, type Load, toLoad } from "../../../lib/simulate/load.ts";

const RAMP = toLoad({ cpu: [[0, 0], [100, 1000]], memory: [[0, 50], [50, 50]] });

Deno.test("toProgramLoad() lasts from the first point of any resource to the last", () => {
  const load = toLoad({ cpu: [[20, 1], [30, 2]], memory: [[10, 5], [25, 20]], cache: [[10, 7]] });
  assertEquals(load.seconds, 20);
  assertEquals(load.at(0), { cpuMillicores: 1, workingSetBytes: 5, pageCacheBytes: 7 });
  assertEquals(load.at(20), { cpuMillicores: 2, workingSetBytes: 20, pageCacheBytes: 7 });
});

Deno.test("toProgramLoad() gives the same whatever order it is asked in", () => {
  const load = toLoad({ cpu: [[0, 0], [10, 10], [20, 0]], memory: [] });
  assertEquals([15, 5, 20, 0, 10].map((second) => load.at(second).cpuMillicores), [5, 5, 0, 0, 10]);
});

Deno.test("cutLoad() gives a part whose seconds begin at 0, and no more than there is", () => {
  const half = cutLoad(RAMP, [50, 100]);
  assertEquals([half.seconds, half.at(0).cpuMillicores, half.at(25).cpuMillicores], [50, 500, 750]);
  assertEquals(cutLoad(RAMP, [90, 200]).seconds, 10);
  assertEquals(cutLoad(RAMP, [200, 300]).seconds, 0);
  assertEquals(cutLoad(RAMP, [0, 20]).at(60).cpuMillicores, 200);
});

Deno.test("addNoise() leaves memory and the mean of CPU as they are, and spreads CPU by a tenth", () => {
  const flat: Load = { seconds: 400_000, at: () => ({ cpuMillicores: 300, workingSetBytes: 7 }) };
  const values = listCpu(addNoise(flat, "a"), 10);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  assertAlmostEquals(mean, 300, 2);
  assertAlmostEquals(spread, 30, 1);
  const next = values.slice(1).reduce((sum, value, at) => sum + (value - mean) * ((values[at] ?? 0) - mean), 0);
  assertAlmostEquals(next / values.length / spread ** 2, Math.exp(-1 / 3), 0.02);
  assertEquals(addNoise(flat, "a").at(5).workingSetBytes, 7);
});

Deno.test("addNoise() depends on the seed alone, and is never negative", () => {
  assertEquals(listCpu(addNoise(RAMP, "a"), 1), listCpu(addNoise(RAMP, "a"), 1));
  assertNotEquals(listCpu(addNoise(RAMP, "a"), 1), listCpu(addNoise(RAMP, "b"), 1));
  assert(listCpu(addNoise(RAMP, "a"), 1).every((value) => value >= 0));
});

Deno.test("addNoise() goes in straight lines between its knots", () => {
  const { at } = addNoise(RAMP, "a");
  assertAlmostEquals(at(25).cpuMillicores, (at(20).cpuMillicores + at(30).cpuMillicores) / 2, 1e-9);
});

Deno.test("addNoise() reads no more of a long load than a run asks for, and gives the same whatever order it is asked in", () => {
  let asked = 0;
  const flat: Load = { seconds: 1e12, at: () => ({ cpuMillicores: 300 + 0 * asked++, workingSetBytes: 7 }) };
  const { at } = addNoise(flat, "a");
  const forwards = [0, 17, 40_000].map((second) => at(second).cpuMillicores);
  assert(asked < 10_000, String(asked));
  const other = addNoise(flat, "a");
  assertEquals([40_000, 17, 0].map((second) => other.at(second).cpuMillicores).reverse(), forwards);
});

function listCpu({ seconds, at }: Load, every: number): readonly number[] {
  return Array.from({ length: Math.floor(seconds / every) }, (_, index) => at(index * every).cpuMillicores);
}
