/**
 * When the loops of an object are due.
 * Clauses: R7.
 */
import { assertEquals } from "#assert";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import { ReconcileSchedule } from "../../../lib/daemon/replicas/schedule.ts";
import { scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

const START = Date.parse("2026-11-20T11:00:00.250Z");

function facts({ generation = 1, annotations = {}, spec = {} } = {}) {
  const object = scaledObject("web", [workloadTrigger("app=web")], {
    annotations,
    spec: { pollingInterval: 10, ...spec },
  });
  const metadata = { ...object.metadata, uid: "u", generation, creationTimestamp: "2026-11-20T10:00:00Z" };
  return parseScaledObject({ ...object, metadata });
}

/** `poll@10` for each loop that is taken, with its due time in s after the start. */
function take(schedule: ReconcileSchedule, atMs: number): readonly string[] {
  return schedule.takeDue(START + atMs).map(({ loop, at }) => `${loop}@${(at - START) / 1000}`);
}

function begun(): ReconcileSchedule {
  const schedule = new ReconcileSchedule();
  schedule.follow(null, facts(), START);
  return schedule;
}

Deno.test("take() gives the poll half at once, then each pollingInterval, and the tick half first after 15 s (R7)", () => {
  const schedule = begun();
  const seen = Array.from({ length: 46 }, (_, second) => take(schedule, second * 1000)).flat();
  assertEquals(seen, ["poll@0", "poll@10", "tick@15", "poll@20", "poll@30", "tick@30", "poll@40", "tick@45"]);
});

Deno.test("take() dates a late half by its due time, and makes up none that were missed (R7, R8)", () => {
  const schedule = begun();
  take(schedule, 0);
  assertEquals(take(schedule, 15_007), ["poll@10", "tick@15"]);
  assertEquals(take(schedule, 64_000), ["poll@60", "tick@60"]);
  assertEquals(take(schedule, 65_000), []);
});

Deno.test("readNext() names the next due time on the grid, however late the last one was served (R7)", () => {
  const schedule = begun();
  assertEquals(schedule.getNextAt(START), START);
  take(schedule, 3_456);
  assertEquals(schedule.getNextAt(START + 3_456), START + 10_000);
});

Deno.test("follow() polls a new generation at once and leaves the ticks their grid (R7)", () => {
  const schedule = begun();
  take(schedule, 0);
  schedule.follow(facts(), facts({ generation: 2 }), START + 4_000);
  assertEquals(take(schedule, 4_000), ["poll@4"]);
  assertEquals([take(schedule, 10_000), take(schedule, 15_000)], [["poll@4"].slice(1), ["poll@14", "tick@15"]]);
});

Deno.test("follow() leaves the grids alone where only the status has changed (R7)", () => {
  const schedule = begun();
  take(schedule, 0);
  schedule.follow(facts(), facts(), START + 4_000);
  assertEquals(take(schedule, 4_000), []);
});

Deno.test("follow() has nothing due of a paused object, and polls it at once and ticks it 15 s later when it goes on (R7, R55)", () => {
  const schedule = begun();
  const paused = facts({ annotations: { "autoscaling.keda.sh/paused": "true" } });
  schedule.follow(facts(), paused, START + 1_000);
  assertEquals([take(schedule, 60_000), schedule.getNextAt(START)], [[], Infinity]);
  schedule.follow(paused, facts(), START + 61_000);
  assertEquals(take(schedule, 61_000), ["poll@61"]);
  assertEquals(take(schedule, 76_000), ["poll@71", "tick@76"]);
});

Deno.test("giveBack() has a half that did not run due once more, and no other one (R7)", () => {
  const schedule = begun();
  const due = schedule.takeDue(START + 15_007);
  for (const one of due) schedule.requeue(one);
  assertEquals(take(schedule, 15_010), ["poll@10", "tick@15"]);
  for (const one of due) schedule.requeue({ ...one, at: one.at - 1_000 });
  assertEquals(take(schedule, 15_011), []);
});

Deno.test("pollBy() begins the polls anew, unless one is due by then (R7)", () => {
  const schedule = begun();
  take(schedule, 0);
  schedule.activateBy(START + 12_000, START + 1_000);
  assertEquals(take(schedule, 10_000), ["poll@10"]);
  schedule.activateBy(START + 13_000, START + 11_000);
  assertEquals([take(schedule, 12_999), take(schedule, 13_000)], [[], ["poll@13"]]);
  schedule.activateBy(START + 24_000, START + 24_000);
  assertEquals(take(schedule, 24_000), ["tick@15", "poll@23"]);
});

Deno.test("tickNow() begins the ticks anew, unless one is due already (R7)", () => {
  const schedule = begun();
  take(schedule, 15_000);
  schedule.scaleNow(START + 22_000);
  assertEquals(take(schedule, 22_000), ["poll@20", "tick@22"]);
  assertEquals(take(schedule, 30_000), ["poll@30"]);
  schedule.scaleNow(START + 38_000);
  assertEquals(take(schedule, 38_000), ["tick@37"]);
  const paused = new ReconcileSchedule();
  paused.scaleNow(START);
  assertEquals(take(paused, 0), []);
});
