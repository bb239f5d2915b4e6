/** What podfit asks for before it scales to zero, beyond what KEDA does (R58). */
import { assertEquals } from "#assert";
import { externalTrigger, prometheusSource } from "../../support/triggers.ts";
import {
  createFold,
  createKedaFold,
  empty,
  external,
  failed,
  type Fold,
  formula,
  number,
  type Overrides,
  scaledObject,
  STATIC,
  value,
} from "../../support/replicas_fold.ts";
import { SECOND, START } from "../../support/builders.ts";
import { seedReplicasState, toScaledObjectStatus } from "../../../lib/horizontal/status.ts";

const ZERO = { minReplicas: 0, cooldownMs: 3_600_000 };

/** `hadValue`: it was active 10 s before, and two checks have answered. */
function fold(overrides: Overrides = {}, { replicas = 10, hadValue = true } = {}): Fold {
  const one = createFold(scaledObject({ ...ZERO, cooldownMs: 0, ...overrides }), replicas);
  if (hadValue) { for (const _check of [1, 2]) one.poll([value(100)], { after: 30 }); }
  return one;
}

Deno.test("an object that was never active counts as active when it is first found inactive, for a whole cooldown (R58)", () => {
  const one = createFold(scaledObject(ZERO), 10);
  one.poll([value(0)], { after: 30 });
  assertEquals([one.writes.length, one.state.lastActiveAt], [0, START + 30 * SECOND]);
  assertEquals(one.state.conditions.Active?.reason, "ScalerCooldown");
  one.poll([value(0)], { after: 3599 });
  assertEquals(one.writes.length, 0);
  one.poll([value(0)], { after: 1 });
  assertEquals(one.writes.map(({ replicas }) => replicas), [0]);
});

Deno.test("an object that was never active goes to idle replicas after a cooldown, and one at zero has no cooldown (R58)", () => {
  const idle = createFold(scaledObject({ cooldownMs: 60_000, minReplicas: 3, idleReplicas: 1 }), 3);
  assertEquals([idle.poll([value(0)]).write, idle.poll([value(0)], { after: 60 }).write?.replicas], [null, 1]);
  const zero = createFold(scaledObject(ZERO), 0);
  zero.poll([value(0)]);
  assertEquals(zero.state.lastActiveAt, null);
});

Deno.test("no object goes to zero before its initial cooldown is over, though it was active after its creation (R58)", () => {
  const one = fold({ initialCooldownMs: 600_000, cooldownMs: 30_000, createdAt: START });
  one.poll([value(0)], { after: 500 });
  assertEquals(one.writes.length, 0);
  one.poll([value(0)], { after: 40 });
  assertEquals(one.writes.map(({ replicas }) => replicas), [0]);
});

Deno.test("the cooldown of an object that was never active outlives podfit (R58)", () => {
  const one = createFold(scaledObject(ZERO), 10);
  one.poll([value(0)]);
  one.state = seedReplicasState(JSON.parse(JSON.stringify(toScaledObjectStatus(one.object, one.state))));
  one.poll([value(0)], { after: 1800 });
  assertEquals([one.writes.length, one.state.lastActiveAt], [0, START]);
  one.poll([value(0)], { after: 1800 });
  assertEquals(one.writes.map(({ replicas }) => replicas), [0]);
});

Deno.test("a podfit that has started goes to zero at its second check in which every trigger answers (R58)", () => {
  const one = createFold(scaledObject({ ...ZERO, cooldownMs: 300_000 }), 10);
  one.state = { ...one.state, lastActiveAt: START - 86_400_000 };
  assertEquals(one.poll([failed()], { after: 30 }).write, null);
  assertEquals(one.poll([value(0)], { after: 30 }).report?.reason, "ScalerCooldown");
  assertEquals(one.poll([failed()], { after: 30 }).write, null);
  assertEquals(one.poll([value(0)], { after: 30 }).write?.replicas, 0);
});

Deno.test("an empty answer of a trigger that gave values is a failure for 5 minutes, with its own reason (R58)", () => {
  const one = fold();
  one.takeEvents();
  const first = one.poll([empty()], { after: 30 });
  assertEquals([first.write, first.report?.reason, one.state.conditions.Ready?.reason], [
    null,
    "TriggerEmpty",
    "TriggerEmpty",
  ]);
  assertEquals(one.takeEvents(), ["KEDAScalerFailed"]);
  assertEquals(one.poll([empty()], { after: 299 }).write, null);
  assertEquals(one.takeEvents(), [], "it is said once");
  const { write } = one.poll([empty()], { after: 1 });
  assertEquals([write?.replicas, one.state.conditions.Ready?.reason], [0, "ScaledObjectReady"]);
});

Deno.test("where checks are rare, an empty answer must come three times before it is zero (R58)", () => {
  const one = fold({ pollIntervalMs: 600_000 });
  const writes = [1, 2, 3].map(() => one.poll([empty()], { after: 600 }).write?.replicas ?? null);
  assertEquals(writes, [null, null, 0]);
});

Deno.test("one value between empty answers starts their 5 minutes again, and a failure does not (R58)", () => {
  const one = fold();
  one.poll([empty()], { after: 30 });
  one.poll([value(1)], { after: 200 });
  one.poll([empty()], { after: 30 });
  one.poll([failed()], { after: 200 });
  assertEquals(one.poll([empty()], { after: 99 }).write, null);
  assertEquals(one.poll([empty()], { after: 1 }).write?.replicas, 0);
});

Deno.test("an empty answer keeps the scaling loop from scaling in, and another trigger may still scale out (R58)", () => {
  const one = fold({ triggers: [external(), external({ index: 1 })], behavior: null });
  one.state = { ...one.state, history: { needs: [], ups: [], downs: [] } };
  const held = one.tick([empty(), value(10)], { after: 15 });
  assertEquals([held.write, held.report?.reason], [null, "MetricInvalid"]);
  one.scale = { ...one.scale, replicas: 5, statusReplicas: 5 };
  assertEquals(one.tick([empty(), value(80)], { after: 15 }).write?.replicas, 8);
});

Deno.test("a formula has an empty answer as 0: it may scale out for it, and neither scale in nor go to zero (R58)", () => {
  const object = {
    triggers: [external({ name: "a" }), external({ index: 1, name: "b" })],
    formula: formula(({ a, b }) => number((a ?? 1000) + (b ?? 1000))),
  };
  const one = fold(object, { replicas: 5, hadValue: false });
  for (const _check of [1, 2]) one.poll([value(20), value(20)], { after: 30 });
  one.state = { ...one.state, history: { needs: [], ups: [], downs: [] } };
  const held = one.tick([empty(), value(20)], { after: 15 });
  assertEquals([held.write, held.report?.reason], [null, "MetricInvalid"]);
  assertEquals(one.tick([empty(), value(80)], { after: 15 }).write?.replicas, 8);
  assertEquals(one.poll([empty(), value(0)], { after: 15 }).report?.reason, "TriggerEmpty");
  const { lastActiveAt } = one.state;
  one.poll([empty(), value(80)], { after: 15 });
  assertEquals([one.state.conditions.Active?.reason, one.state.lastActiveAt], ["ScalerActive", lastActiveAt]);
});

Deno.test("an empty answer is neither a failure nor a reason for fallback where replicas cannot fall (R58)", () => {
  const one = fold({ fallback: STATIC }, { replicas: 0 });
  one.scale = { ...one.scale, replicas: 0 };
  for (let checks = 0; checks < 8; checks++) one.poll([empty()], { after: 30 });
  assertEquals([one.scale.replicas, one.state.conditions.Ready?.reason], [0, "ScaledObjectReady"]);
  const minimal = fold({ minReplicas: 2 }, { replicas: 2 });
  assertEquals(minimal.poll([empty()], { after: 30 }).report?.reason, null);
});

Deno.test("an empty answer does not count for fallback, so no fallback replaces it (R58, R70)", () => {
  const one = fold({ fallback: { ...STATIC, failureThreshold: 1 } });
  const reasons = [1, 2, 3, 4].map(() => one.poll([empty()], { after: 30 }).report?.reason);
  assertEquals(reasons, Array(4).fill("TriggerEmpty"));
  assertEquals(one.state.failures, { "s0-prometheus": 0 });
});

Deno.test("a trigger that was active before podfit started gave values, as the status says (R58)", () => {
  const before = fold();
  before.state = seedReplicasState(JSON.parse(JSON.stringify(toScaledObjectStatus(before.object, before.state))));
  assertEquals(before.poll([empty()], { after: 30 }).report?.reason, "TriggerEmpty");
});

Deno.test("a trigger that has given no value since podfit started is no failure, but goes to zero after 5 minutes only (R58)", () => {
  const one = fold({}, { hadValue: false });
  one.state = { ...one.state, lastActiveAt: START - 86_400_000 };
  const reasons = [0, 30, 269].map((after) => one.poll([empty()], { after }).report?.reason);
  assertEquals([...reasons, one.state.conditions.Ready?.reason], [
    "ScalerCooldown",
    "ScalerCooldown",
    "ScalerCooldown",
    "ScaledObjectReady",
  ]);
  assertEquals(one.poll([empty()], { after: 1 }).write?.replicas, 0);
});

Deno.test("what ignoreNullValues says in the manifest is done at once (R14, R58)", () => {
  const source = prometheusSource({ hasNullRule: true });
  const one = fold({ triggers: [externalTrigger(source, { targetMilli: 10_000n })] });
  assertEquals(one.poll([empty()], { after: 30 }).write?.replicas, 0);
});

Deno.test("a deactivation that waits for its turn is said once for each wait, and leaves what is known as it was (R59)", () => {
  const one = fold();
  one.answer = () => ({ kind: "held", message: "it waits" });
  one.takeEvents();
  for (const _check of [1, 2, 3]) one.poll([value(0)], { after: 30 });
  assertEquals(one.takeEvents(), ["DeactivationHeld"]);
  assertEquals(one.state.conditions.Active, { status: "False", reason: "DeactivationHeld", message: "it waits" });
  assertEquals([one.state.scaledInAt, one.scale.replicas], [null, 10]);
  one.poll([value(1)], { after: 30 });
  one.poll([value(0)], { after: 30 });
  assertEquals(one.takeEvents(), ["DeactivationHeld"], "another wait");
});

Deno.test("with --keda-deactivation all of this is as in KEDA (R53, R58)", () => {
  const created = createKedaFold(scaledObject(ZERO), 10);
  assertEquals(created.poll([empty()]).write?.replicas, 0);
  const initial = createKedaFold(
    scaledObject({ ...ZERO, cooldownMs: 0, createdAt: START, initialCooldownMs: 600_000 }),
    10,
  );
  initial.poll([value(1)]);
  assertEquals(initial.poll([empty()], { after: 30 }).write?.replicas, 0);
});
