/** What is kept of needs and writes (R31, R44). */
import { assertEquals } from "#assert";
import type { ScaleEvent, ScalingHistory } from "../../../lib/model/replicas_state.ts";
import { recordRescale, type Rescale, startHistory } from "../../../lib/horizontal/behavior.ts";
import type { ScalingPolicy } from "../../../lib/model/scaled_object.ts";
import { behavior, NO_HISTORY, NOW } from "../../support/tick_builders.ts";

function ago(ms: number, change: number, isOutdated = false): ScaleEvent {
  return { change, at: NOW - ms, isOutdated };
}

const every = (seconds: number): ScalingPolicy => ({ type: "Pods", value: 4, periodMs: seconds * 1000 });
const rules = behavior({ policies: [every(15), every(60)] }, { policies: [every(1800)] });

function note(history: Partial<ScalingHistory>, rescale: Partial<Rescale> = {}): ScalingHistory {
  return recordRescale({ ...NO_HISTORY, ...history }, { from: 10, to: 13, now: NOW, behavior: rules, ...rescale });
}

Deno.test("startHistory() takes what is there for needed (R31)", () => {
  assertEquals(startHistory(7, NOW), { needs: [{ replicas: 7, at: NOW }], ups: [], downs: [] });
});

Deno.test("recordRescale() keeps how much was added or removed, and when (R44)", () => {
  assertEquals(note({}), { ...NO_HISTORY, ups: [ago(0, 3)] });
  assertEquals(note({}, { to: 6 }), { ...NO_HISTORY, downs: [ago(0, 4)] });
});

Deno.test("recordRescale() keeps nothing without behavior (R44)", () => {
  assertEquals(note({ ups: [ago(5000, 1)] }, { behavior: null }), { ...NO_HISTORY, ups: [ago(5000, 1)] });
});

Deno.test("recordRescale() overwrites the last one that is older than the longest period of its direction (R44)", () => {
  const ups = [ago(90_000, 1), ago(60_001, 2), ago(60_000, 5), ago(15_000, 1)];
  assertEquals(note({ ups }).ups, [ago(90_000, 1, true), ago(0, 3), ago(60_000, 5), ago(15_000, 1)]);
  const downs = [ago(1_800_001, 2), ago(90_000, 1)];
  assertEquals(note({ downs }, { to: 6 }).downs, [ago(0, 4), ago(90_000, 1)]);
});

Deno.test("recordRescale() adds where none is that old, though other policies no longer see it (R44)", () => {
  assertEquals(note({ ups: [ago(60_000, 5)] }).ups, [ago(60_000, 5), ago(0, 3)]);
});

Deno.test("recordRescale() forgets an up that a down policy with a longer period still asks for, as the controller does (R44)", () => {
  assertEquals(note({ ups: [ago(90_000, 1)] }).ups, [ago(0, 3)]);
});

Deno.test("recordRescale() marks for good: a longer period later does not bring one back (R44)", () => {
  const { ups } = note({ ups: [ago(90_000, 1), ago(80_000, 2)] });
  assertEquals(ups, [ago(90_000, 1, true), ago(0, 3)]);
  const longer = behavior({ policies: [every(1800)] });
  assertEquals(note({ ups }, { to: 11, behavior: longer }).ups, [ago(0, 1), ago(0, 3)]);
});

Deno.test("recordRescale() marks nothing of the other direction (R44)", () => {
  const downs = [ago(9_000_000, 1)];
  assertEquals(note({ downs }).downs, downs);
});

Deno.test("recordRescale() leaves the history that it is given as it is (R45)", () => {
  const ups = Object.freeze([Object.freeze(ago(90_000, 1))]);
  note(Object.freeze({ ...NO_HISTORY, ups }));
  assertEquals(ups, [ago(90_000, 1)]);
});
