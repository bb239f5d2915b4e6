/** Deletion and the replicas of before (R6, R45, R57). */
import { assertEquals } from "#assert";
import { createFold, scaledObject, scaleOf, value } from "../support/replicas_fold.ts";

const RESTORES = scaledObject({ restoresReplicas: true });

Deno.test("decideReplicas() restores the replicas of first sight where that is asked for (R6, R57)", () => {
  const fold = createFold(RESTORES, 3);
  fold.changed();
  fold.scale = scaleOf(8);
  fold.changed();
  const { write } = fold.see({ kind: "deleted", scale: fold.scale });
  assertEquals([write?.half, write?.replicas, write?.reason], ["restore", 3, "ScaledIn"]);
  assertEquals(write?.message, "New size: 3; reason: restoreToOriginalReplicaCount");
});

Deno.test("decideReplicas() restores the replicas of an object that has become invalid too, by what its status says (R57)", () => {
  const fold = createFold(RESTORES, 3);
  fold.changed();
  const { scaledObject: restoring } = fold.object;
  fold.object = { ...fold.object, scaledObject: null, restoring, isDeleting: true };
  const { write } = fold.see({ kind: "deleted", scale: scaleOf(8) });
  assertEquals([write?.half, write?.replicas], ["restore", 3]);
  fold.object = { ...fold.object, restoring: null };
  assertEquals(fold.see({ kind: "deleted", scale: scaleOf(8) }).write, null);
});

Deno.test("decideReplicas() writes nothing else for a deleted object (R57)", () => {
  const kept = createFold(scaledObject(), 3);
  kept.changed();
  assertEquals(kept.see({ kind: "deleted", scale: scaleOf(8) }).write, null);
  const fold = createFold(RESTORES, 3);
  assertEquals(fold.see({ kind: "deleted", scale: scaleOf(8) }).write, null, "it was never seen");
  fold.changed();
  assertEquals(fold.see({ kind: "deleted", scale: scaleOf(3) }).write, null, "it has them");
  assertEquals(fold.see({ kind: "deleted", scale: null }).write, null, "the target is gone");
});

Deno.test("decideReplicas() notifies of the deletion once, and forgets needs and events (R45, R57, R92)", () => {
  const fold = createFold(RESTORES, 3);
  fold.changed();
  fold.tick([value(30)]);
  fold.takeEvents();
  fold.object = { ...fold.object, isDeleting: true };
  fold.see({ kind: "deleted", scale: null });
  fold.see({ kind: "deleted", scale: null });
  assertEquals(fold.takeEvents(), ["KEDAScalersStopped", "ScaledObjectDeleted"]);
  assertEquals(fold.state.history, null);
});

Deno.test("decideReplicas() runs no half of an object that is being deleted (R57)", () => {
  const fold = createFold(scaledObject({ minReplicas: 0 }), 0);
  fold.object = { ...fold.object, isDeleting: true };
  const [polled, ticked, changed] = [fold.poll([value(9)]), fold.tick([value(9)]), fold.changed(undefined)];
  assertEquals([polled.write, ticked.write, changed.write], [null, null, null]);
  assertEquals(fold.takeEvents(), []);
});
