/** Activation, cooldown and idle over time (R50 to R54). */
import { assertEquals } from "#assert";
import {
  cpu,
  createFold,
  createKedaFold,
  external,
  failed,
  formula,
  number,
  scaledObject,
  STATIC,
  value,
} from "../../support/replicas_fold.ts";
import { START } from "../../support/builders.ts";

const ZERO = { minReplicas: 0 };

Deno.test("decideReplicas() activates from zero to one where the minimum is zero (R52)", () => {
  const fold = createFold(scaledObject(ZERO), 0);
  const { write } = fold.poll([value(1)]);
  assertEquals([write?.half, write?.replicas, write?.reason], ["poll", 1, "Activated"]);
  assertEquals(write?.message, "Scaled apps/v1.Deployment shop/web from 0 to 1, triggered by s0-prometheus");
});

Deno.test("decideReplicas() activates to the minimum, from zero and from idle alike (R52)", () => {
  const zero = createFold(scaledObject({ minReplicas: 3 }), 0);
  const idle = createFold(scaledObject({ minReplicas: 3, idleReplicas: 1 }), 1);
  assertEquals([zero.poll([value(1)]).write?.replicas, idle.poll([value(1)]).write?.replicas], [3, 3]);
});

Deno.test("decideReplicas() is active strictly above the activation value, and by the value as it came (R51)", () => {
  const object = scaledObject({ ...ZERO, triggers: [external({ activation: 50 })] });
  const writes = [40, 50, 50.0001].map((it) => createFold(object, 0).poll([value(it)]).write?.replicas ?? null);
  assertEquals(writes, [null, null, 1]);
});

Deno.test("decideReplicas() is active where any one trigger is, though another one fails (R50, R51)", () => {
  const object = scaledObject({ ...ZERO, triggers: [external(), external({ index: 1 })] });
  const fold = createFold(object, 0);
  assertEquals(fold.poll([failed(), value(1)]).write?.replicas, 1);
  assertEquals(fold.state.activity, { "s0-prometheus": false, "s1-prometheus": true });
});

Deno.test("decideReplicas() takes an object of cpu and memory alone as always active (R51)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu(), cpu({ index: 1, type: "memory" })] }), 0);
  assertEquals(fold.poll([]).write?.message, "Scaled apps/v1.Deployment shop/web from 0 to 1, triggered by cpu;memory");
  assertEquals(fold.state.conditions.Active?.reason, "ScalerActive");
});

Deno.test("decideReplicas() takes an object with force-activation as active whatever its triggers say (R51)", () => {
  const fold = createFold(scaledObject({ ...ZERO, annotations: { isForcedActive: true } }), 0);
  const { write } = fold.poll([value(0)]);
  assertEquals(
    write?.message,
    "Scaled apps/v1.Deployment shop/web from 0 to 1, caused by forced activation annotation",
  );
  assertEquals(fold.state.conditions.Active, {
    status: "True",
    reason: "ScalerActive",
    message: "Scaling is performed because activation is being forced by annotation",
  });
});

Deno.test("decideReplicas() moves the condition alone where the minimum is above zero (R51)", () => {
  const fold = createFold(scaledObject(), 2);
  assertEquals(fold.poll([value(0)]).write, null);
  assertEquals(fold.state.conditions.Active?.reason, "ScalerNotActive");
  assertEquals(fold.poll([value(1)]).write, null);
  assertEquals(fold.state.conditions.Active?.reason, "ScalerActive");
});

Deno.test("decideReplicas() keeps when it was active last in whole seconds, and with a failed trigger does not move it (R50, R52, R53)", () => {
  const fold = createFold(scaledObject({ triggers: [external(), external({ index: 1 })] }), 2);
  fold.poll([value(1), value(0)], { after: 0.7 });
  assertEquals(fold.state.lastActiveAt, START);
  fold.poll([value(1), failed()], { after: 30 });
  assertEquals(fold.state.lastActiveAt, START);
  assertEquals(fold.state.conditions.Ready, {
    status: "Unknown",
    reason: "PartialTriggerError",
    message: "Some triggers defined in ScaledObject are not working correctly",
  });
  fold.poll([value(1), value(0)], { after: 30 });
  assertEquals([fold.state.lastActiveAt, fold.state.conditions.Ready?.status], [START + 60_000, "True"]);
});

Deno.test("decideReplicas() names in Ready what is wrong with single triggers, and never deactivates for them (R4, R52, R53)", () => {
  const problem = "spec.triggers[1].metadata.url: no";
  const bad = external({ index: 1, source: { kind: "invalid", problem } });
  const fold = createFold(scaledObject({ ...ZERO, triggers: [external(), bad] }), 2);
  fold.poll([value(1), failed(problem)]);
  assertEquals(fold.state.conditions.Ready, {
    status: "Unknown",
    reason: "PartialTriggerError",
    message: `Some triggers defined in ScaledObject are not working correctly; ${problem}`,
  });
  const { write } = fold.poll([value(0), failed(problem)], { after: 10_000 });
  assertEquals(write, null);
  assertEquals(fold.state.conditions.Ready, {
    status: "False",
    reason: "TriggerError",
    message: `Triggers defined in ScaledObject are not working correctly; ${problem}`,
  });
  const long = external({ index: 1, source: { kind: "invalid", problem: "x".repeat(5000) } });
  const other = createFold(scaledObject({ ...ZERO, triggers: [external(), long] }), 2);
  other.poll([value(0), failed()]);
  assertEquals(other.state.conditions.Ready?.message.length, 2048);
  const forced = createFold(scaledObject({ ...ZERO, triggers: [external(), long] }), 0);
  forced.poll([value(1), failed()]);
  assertEquals([forced.state.conditions.Ready?.status, forced.state.conditions.Ready?.message.length], ["True", 2048]);
});

Deno.test("decideReplicas() takes an activation as activity once it is accepted, at the time when the poll was due (R52)", () => {
  const fold = createFold(scaledObject(ZERO), 0);
  fold.answer = null;
  const { write } = fold.poll([value(1)], { after: 30.4 });
  assertEquals(fold.state.lastActiveAt, null);
  if (write === null) throw new Error("nothing was written");
  fold.now += 5000;
  fold.see({ kind: "answered", write, answer: { kind: "accepted", replicas: 1 } });
  assertEquals(fold.state.lastActiveAt, START + 30_000);
});

Deno.test("decideReplicas() deactivates a cooldown after it was active last, on the very second (R53)", () => {
  const fold = createFold(scaledObject(ZERO), 2);
  fold.poll([value(1)]);
  assertEquals(fold.poll([value(0)], { after: 299 }).write, null);
  assertEquals(fold.state.conditions.Active?.reason, "ScalerCooldown");
  const { write } = fold.poll([value(0)], { after: 1 });
  assertEquals([write?.replicas, write?.reason], [0, "Deactivated"]);
  assertEquals(write?.message, "Deactivated apps/v1.Deployment shop/web from 2 to 0");
  assertEquals(fold.state.conditions.Active?.reason, "ScalerNotActive");
});

Deno.test("decideReplicas() counts the initial cooldown from the object's creation where it never was active (R53)", () => {
  const fold = createKedaFold(scaledObject({ ...ZERO, initialCooldownMs: 60_000 }), 2);
  assertEquals(fold.poll([value(0)], { after: 59 }).write, null);
  assertEquals(fold.poll([value(0)], { after: 1 }).write?.replicas, 0);
});

Deno.test("decideReplicas() goes to idle replicas instead of zero (R53)", () => {
  const fold = createKedaFold(scaledObject({ minReplicas: 3, idleReplicas: 1 }), 3);
  assertEquals(fold.poll([value(0)]).write?.replicas, 1);
  assertEquals(fold.poll([value(0)], { after: 30 }).write, null);
});

Deno.test("decideReplicas() lifts an inactive object to its minimum (R53)", () => {
  const fold = createFold(scaledObject({ minReplicas: 2 }), 0);
  const { write } = fold.poll([value(0)]);
  assertEquals([write?.replicas, write?.reason], [2, "ScaledOut"]);
  assertEquals(fold.state.lastActiveAt, null);
});

Deno.test("decideReplicas() never scales to zero for an error, with a fallback to zero replicas neither (R53)", () => {
  const fallbacks = [null, STATIC, { ...STATIC, replicas: 0 }];
  for (const fallback of fallbacks) {
    const fold = createFold(scaledObject({ ...ZERO, fallback }), 2);
    for (let polls = 0; polls < 3; polls++) assertEquals(fold.poll([failed()], { after: 3600 }).write, null);
    assertEquals(fold.state.conditions.Ready?.reason, fallback === null ? "TriggerError" : "ScaledObjectReady");
  }
});

Deno.test("decideReplicas() rests its tick half at idle replicas while it is inactive, and there alone (R54)", () => {
  const object = scaledObject({ minReplicas: 3, idleReplicas: 1 });
  const fold = createKedaFold(object, 3);
  fold.poll([value(0)]);
  const resting = fold.tick([value(0)], { after: 15 });
  assertEquals([resting.write, resting.report?.reason, fold.state.history], [null, "Idle", null]);
  assertEquals(fold.state.conditions.HPAActive?.reason, "ScalingDisabled");
  fold.scale = { ...fold.scale, replicas: 2 };
  assertEquals(fold.tick([value(0)], { after: 15 }).write?.replicas, 3);
});

Deno.test("decideReplicas() runs its tick half at idle replicas once it is active again (R54)", () => {
  const fold = createFold(scaledObject({ minReplicas: 3, idleReplicas: 1 }), 1);
  fold.answer = null;
  fold.poll([value(0)]);
  fold.poll([value(1)], { after: 30 });
  assertEquals(fold.tick([value(1)], { after: 15 }).write?.replicas, 3);
});

Deno.test("decideReplicas() rests its tick half at zero, and lifts replicas set to zero by hand at the next poll (R54)", () => {
  const fold = createFold(scaledObject({ minReplicas: 2 }), 0);
  assertEquals(fold.tick([]).report?.reason, "ScalingDisabled");
  assertEquals(fold.poll([value(0)], { after: 15 }).write?.replicas, 2);
});

Deno.test("decideReplicas() goes by the formula alone where there is one, and shows no trigger as active (R51, R63)", () => {
  const object = scaledObject({ ...ZERO, triggers: [external({ name: "a" })], formula: formula(() => number(0)) });
  const fold = createFold(object, 0);
  assertEquals(fold.poll([value(100)]).write, null);
  assertEquals(fold.state.activity, { "s0-prometheus": false });
});
