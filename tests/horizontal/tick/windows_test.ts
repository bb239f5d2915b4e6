/** Stabilization (R41, R42). */
import { assertEquals } from "#assert";
import type { RecordedNeed } from "../../../lib/model/replicas_state.ts";
import { type StabilizationInput, stabilize } from "../../../lib/horizontal/behavior.ts";
import { behavior, NO_HISTORY, NOW } from "../../support/tick_builders.ts";

/** A need of so many replicas, that many ms ago. */
function ago(ms: number, replicas: number): RecordedNeed {
  return { replicas, at: NOW - ms };
}

function run(need: number, needs: readonly RecordedNeed[], overrides: Partial<StabilizationInput> = {}) {
  return stabilize({ ...NO_HISTORY, needs }, { now: NOW, replicas: 10, need, behavior: null, ...overrides });
}

const both = (up: number, down: number) => ({ behavior: behavior({ windowMs: up }, { windowMs: down }) });

Deno.test("stabilize() without behavior takes the largest need of 300 s, that of exactly 300 s too (R41)", () => {
  assertEquals(run(5, [ago(300_000, 8)]).stabilized, 8);
  assertEquals(run(5, [ago(300_001, 8)]).stabilized, 5);
  assertEquals(run(5, [ago(15_000, 7), ago(30_000, 9), ago(45_000, 6)]).stabilized, 9);
});

Deno.test("stabilize() without behavior has no window on the way up (R41)", () => {
  assertEquals(run(12, [ago(15_000, 3)]).stabilized, 12);
});

Deno.test("stabilize() without behavior reuses the last slot older than 300 s (R41, R44)", () => {
  const { history } = run(5, [ago(400_000, 1), ago(300_001, 2), ago(300_000, 3)]);
  assertEquals(history.needs, [ago(400_000, 1), ago(0, 5), ago(300_000, 3)]);
});

Deno.test("stabilize() records the need itself, not what it makes of it (R41, R42)", () => {
  assertEquals(run(5, [ago(15_000, 8)]).history.needs, [ago(15_000, 8), ago(0, 5)]);
  assertEquals(run(5, [ago(15_000, 8)], both(0, 300_000)).history.needs, [ago(15_000, 8), ago(0, 5)]);
});

Deno.test("stabilize() lowers replicas to the largest need of the down window (R42)", () => {
  assertEquals(run(5, [ago(15_000, 7), ago(299_999, 8)], both(0, 300_000)).stabilized, 8);
  assertEquals(run(5, [ago(15_000, 12)], both(0, 300_000)).stabilized, 10);
});

Deno.test("stabilize() raises replicas to the smallest need of the up window (R42)", () => {
  assertEquals(run(20, [ago(15_000, 14), ago(59_999, 12)], both(60_000, 0)).stabilized, 12);
  assertEquals(run(20, [ago(15_000, 8)], both(60_000, 0)).stabilized, 10);
});

Deno.test("stabilize() does not count a need of exactly the window's age (R42, E10)", () => {
  assertEquals(run(5, [ago(300_000, 8)], both(0, 300_000)).stabilized, 5);
  assertEquals(run(20, [ago(60_000, 12)], both(60_000, 0)).stabilized, 20);
});

Deno.test("stabilize() counts nothing but the need where both windows are 0 (R42)", () => {
  assertEquals([run(5, [ago(1, 9)], both(0, 0)).stabilized, run(20, [ago(1, 9)], both(0, 0)).stabilized], [5, 20]);
});

Deno.test("stabilize() looks at both windows whatever the direction (R42)", () => {
  // 6 is needed and 12 was: neither out to 12 nor in to 6.
  assertEquals(run(6, [ago(15_000, 12)], both(60_000, 60_000)).stabilized, 10);
  assertEquals(run(12, [ago(15_000, 6)], both(60_000, 60_000)).stabilized, 10);
  // Replicas that others have set are brought back between them.
  assertEquals(run(12, [ago(15_000, 6)], { ...both(60_000, 60_000), replicas: 3 }).stabilized, 6);
  assertEquals(run(12, [ago(15_000, 6)], { ...both(60_000, 60_000), replicas: 30 }).stabilized, 12);
});

Deno.test("stabilize() reuses the last slot that is older than both windows (R42, R44)", () => {
  const needs = [ago(400_000, 1), ago(100_000, 2), ago(60_000, 3)];
  assertEquals(run(5, needs, both(60_000, 30_000)).history.needs, [ago(400_000, 1), ago(0, 5), ago(60_000, 3)]);
  assertEquals(run(5, needs, both(60_000, 300_000)).history.needs, [ago(0, 5), ago(100_000, 2), ago(60_000, 3)]);
  assertEquals(run(5, needs, both(30_000, 600_000)).history.needs, [...needs, ago(0, 5)]);
});
