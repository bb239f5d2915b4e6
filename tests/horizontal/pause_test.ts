/** Pausing as a whole, at a number, and in one direction (R45, R55, R56). */
import { assertEquals } from "#assert";
import { disablePausedDirections } from "../../lib/horizontal/behavior.ts";
import { DEFAULT_BEHAVIOR } from "../../lib/model/scaled_object.ts";
import { createFold, type Overrides, scaledObject, value } from "../support/replicas_fold.ts";

const PAUSED = scaledObject({ annotations: { isPaused: true } });

Deno.test("decideReplicas() runs neither half of a paused object, and forgets needs and events (R45, R55)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.tick([value(100)]);
  fold.changed(PAUSED);
  assertEquals(fold.state.history, null);
  const polled = fold.poll([value(100)]);
  const ticked = fold.tick([value(100)]);
  assertEquals([polled.write, polled.report?.reason], [null, "Paused"]);
  assertEquals([ticked.write, ticked.report?.reason, fold.state.history], [null, "Paused", null]);
});

Deno.test("decideReplicas() says of a paused object that it is ready and paused, and that nothing is known of its activity (R55)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.poll([value(1)]);
  const { Active } = fold.state.conditions;
  fold.changed(PAUSED);
  const message = "ScaledObject is paused";
  assertEquals(fold.state.conditions.Ready, { status: "True", reason: "ScaledObjectReady", message });
  assertEquals(fold.state.conditions.Paused, { status: "True", reason: "ScaledObjectPaused", message });
  assertEquals(Active?.status, "True");
  assertEquals(fold.state.conditions.Active, { status: "Unknown", reason: "UnknownState", message });
  assertEquals(fold.state.isActive, true, "podfit remembers it");
});

Deno.test("decideReplicas() notifies of a pause once, and of its end (R55, R92)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.takeEvents();
  fold.changed(PAUSED);
  fold.tick([value(1)]);
  fold.changed(PAUSED);
  assertEquals(fold.takeEvents(), ["ScaledObjectPaused", "KEDAScalersStopped"]);
  fold.changed(scaledObject());
  assertEquals(fold.takeEvents(), ["ScaledObjectUnpaused", "KEDAScalersStarted", "KEDAScalersStarted"]);
  assertEquals(fold.state.conditions.Paused, {
    status: "False",
    reason: "ScaledObjectUnpaused",
    message: "pause annotation removed for ScaledObject",
  });
});

Deno.test("decideReplicas() writes paused-replicas when the object appears or changes, and leaves later changes by hand (R55)", () => {
  const object = scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } });
  const fold = createFold(object, 2);
  const { write } = fold.changed();
  assertEquals([write?.half, write?.replicas, fold.state.pausedReplicas], ["paused", 4, 4]);
  assertEquals(write?.message, "New size: 4; reason: annotation autoscaling.keda.sh/paused-replicas");
  fold.scale = { ...fold.scale, replicas: 7 };
  assertEquals([fold.poll([value(1)]).write, fold.tick([value(1)]).write], [null, null]);
  assertEquals(fold.changed().write?.replicas, 4);
  assertEquals(fold.changed().write, null);
});

Deno.test("decideReplicas() writes a paused count outside of the bounds, and zero (R55)", () => {
  const counts = [0, 50].map((pausedReplicas) =>
    createFold(scaledObject({ annotations: { isPaused: true, pausedReplicas } }), 2).changed().write?.replicas
  );
  assertEquals(counts, [0, 50]);
});

Deno.test("decideReplicas() forgets the paused count with the pause (R55)", () => {
  const fold = createFold(scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } }), 2);
  fold.changed();
  fold.changed(scaledObject());
  assertEquals(fold.state.pausedReplicas, null);
});

Deno.test("decideReplicas() takes an invalid object with a pause as paused (R3, R55)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.tick([value(1)]);
  const problems = [{ path: "metadata.annotations", message: "Cannot parse" }];
  fold.changed(undefined, { scaledObject: null, problems, isPaused: true });
  assertEquals([fold.state.conditions.Paused?.status, fold.state.conditions.Ready?.status], ["True", "False"]);
  assertEquals(fold.state.history, null);
});

Deno.test("disablePausedDirections() disables the paused direction, and so fills in a behavior that was absent (R56)", () => {
  const { scaleUp, scaleDown } = DEFAULT_BEHAVIOR;
  const paused = (directions: NonNullable<Overrides["annotations"]>) =>
    disablePausedDirections(scaledObject({ annotations: directions }));
  assertEquals(paused({}), null);
  assertEquals(paused({ isScaleInPaused: true }), { scaleUp, scaleDown: { ...scaleDown, select: "Disabled" } });
  assertEquals(paused({ isScaleOutPaused: true }), { scaleUp: { ...scaleUp, select: "Disabled" }, scaleDown });
});

Deno.test("disablePausedDirections() keeps what else the behavior says (R56)", () => {
  const slow = { windowMs: 60_000, select: "Min", policies: [], tolerance: 0.2 } as const;
  const behavior = { scaleUp: slow, scaleDown: slow };
  const object = scaledObject({ behavior, annotations: { isScaleInPaused: true } });
  assertEquals(disablePausedDirections(object), { scaleUp: slow, scaleDown: { ...slow, select: "Disabled" } });
});

Deno.test("decideReplicas() does not go to zero with scale-in paused, and neither does its tick half scale in (R56)", () => {
  const object = scaledObject({ minReplicas: 0, annotations: { isScaleInPaused: true } });
  const fold = createFold(object, 5);
  const polled = fold.poll([value(0)]);
  assertEquals([polled.write, polled.report?.reason], [null, "Paused"]);
  for (let ticks = 0; ticks < 30; ticks++) assertEquals(fold.tick([value(1)], { after: 15 }).write, null);
  assertEquals(fold.state.conditions.Paused?.status, "True");
});

Deno.test("decideReplicas() does not activate with scale-out paused, and neither does its tick half scale out (R56)", () => {
  const object = scaledObject({ minReplicas: 0, annotations: { isScaleOutPaused: true } });
  const fold = createFold(object, 0);
  const polled = fold.poll([value(5)]);
  assertEquals([polled.write, polled.report?.reason, fold.state.lastActiveAt], [null, "Paused", null]);
  fold.scale = { ...fold.scale, replicas: 1 };
  assertEquals(fold.tick([value(500)], { after: 15 }).write, null);
});

Deno.test("decideReplicas() still goes to the bounds with both directions paused (R56)", () => {
  const annotations = { isScaleInPaused: true, isScaleOutPaused: true };
  const object = scaledObject({ minReplicas: 2, maxReplicas: 4, annotations });
  assertEquals(createFold(object, 9).tick([value(0)]).write?.replicas, 4);
  assertEquals(createFold(object, 1).tick([value(0)]).write?.replicas, 2);
  assertEquals(createFold(object, 0).poll([value(0)]).write?.replicas, 2);
});
