/** Does each curve move as its name says, and by which clock? */
import { assert, assertAlmostEquals, assertEquals } from "#assert";
import { computeCurve, type Curve } from "../../../lib/embedded/model/load.ts";

const at = (ms: number) => ({ ageMs: ms, podMs: ms, wallMs: ms });

const CASES: Readonly<Record<string, readonly [curve: Curve, expected: Readonly<Record<number, number>>]>> = {
  "constant": [{ kind: "constant", value: 7 }, { 0: 7, 1e9: 7 }],
  "step": [{ kind: "step", before: 1, after: 9, atMs: 100 }, { 99: 1, 100: 9 }],
  "ramp": [{ kind: "ramp", from: 10, to: 20, startMs: 100, durationMs: 100 }, { 0: 10, 150: 15, 300: 20 }],
  "ramp of no duration": [{ kind: "ramp", from: 10, to: 20, startMs: 100, durationMs: 0 }, { 99: 10, 100: 20 }],
  "sine": [
    { kind: "sine", mean: 100, amplitude: 50, periodMs: 1000, peakMs: 250 },
    { 250: 150, 750: 50, 500: 100, 1250: 150 },
  ],
  "spikes": [{ kind: "spikes", height: 5, everyMs: 100, lengthMs: 10, firstMs: 50 }, {
    0: 0,
    50: 5,
    59: 5,
    60: 0,
    155: 5,
  }],
  "jvmStart": [{ kind: "jvmStart", peak: 900, idle: 100, startMs: 1000, halfLifeMs: 500 }, {
    0: 900,
    1500: 500,
    2000: 300,
  }],
  "leak": [{ kind: "leak", base: 100, perHour: 60, max: 130 }, { 0: 100, 600_000: 110, 7_200_000: 130 }],
  "points": [{ kind: "points", points: [[0, 0], [100, 10], [200, 10]], repeats: false }, { 50: 5, 150: 10, 900: 10 }],
  "points that repeat": [{ kind: "points", points: [[0, 0], [100, 10]], repeats: true }, { 50: 5, 150: 5, 1050: 5 }],
  "no points": [{ kind: "points", points: [], repeats: true }, { 50: 0 }],
  "sum": [{ kind: "sum", curves: [{ kind: "constant", value: 1 }, { kind: "constant", value: 2 }] }, { 0: 3 }],
  "scaled": [{ kind: "scaled", curve: { kind: "constant", value: 8 }, factor: 0.5 }, { 0: 4 }],
};

for (const [name, [curve, expected]] of Object.entries(CASES)) {
  Deno.test(`computeCurve() reads a ${name}`, () => {
    for (const [ms, value] of Object.entries(expected)) {
      assertAlmostEquals(computeCurve(curve, at(Number(ms))), value, 1e-6);
    }
  });
}

Deno.test("computeCurve() begins anew with an instance only what the process does to itself", () => {
  const restarted = { ageMs: 0, podMs: 60_000, wallMs: 1_000_000 };
  assertEquals(computeCurve({ kind: "leak", base: 1, perHour: 3600, max: null }, restarted), 1);
  assertEquals(computeCurve({ kind: "jvmStart", peak: 9, idle: 1, startMs: 10, halfLifeMs: 10 }, restarted), 9);
  const ramp: Curve = { kind: "ramp", from: 0, to: 60, startMs: 0, durationMs: 60_000 };
  assertEquals(computeCurve(ramp, restarted), 60);
  assertEquals(computeCurve({ ...ramp, clock: "container" }, restarted), 0);
});

Deno.test("computeCurve() makes noise that depends on seed and time alone, and stays within its amplitude", () => {
  const noise: Curve = { kind: "noise", amplitude: 10, stepMs: 100, seed: "a" };
  const slots = Array.from({ length: 1000 }, (_, index) => index * 100);
  const values = slots.map((ms) => computeCurve(noise, at(ms)));
  assertEquals(slots.toReversed().map((ms) => computeCurve(noise, at(ms + 99))).toReversed(), values);
  assert(values.every((value) => Math.abs(value) <= 10));
  assert(new Set(values).size > 900);
  assert(Math.abs(values.reduce((sum, value) => sum + value, 0) / values.length) < 1);
  assert(slots.some((ms, index) => computeCurve({ ...noise, seed: "b" }, at(ms)) !== values[index]));
});
