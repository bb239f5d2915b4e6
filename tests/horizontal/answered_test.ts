/** What becomes of writes: rate events, refusals, conflicts, and what the vertical half is told (R7, R44, R46, R86). */
import { assertEquals } from "#assert";
import type { ScaleAnswer, ScaleWrite } from "../../lib/model/replicas_decision.ts";
import { DEFAULT_BEHAVIOR } from "../../lib/model/scaled_object.ts";
import { cpu, createFold, createKedaFold, type Fold, pods, scaledObject, value } from "../support/replicas_fold.ts";
import { START } from "../support/builders.ts";

const STEADY = { ...DEFAULT_BEHAVIOR, scaleDown: { ...DEFAULT_BEHAVIOR.scaleDown, windowMs: 0 } };
const BEHAVED = scaledObject({ behavior: STEADY });
const FORBIDDEN: ScaleAnswer = { kind: "refused", code: 403, message: "forbidden" };

/** A tick's write, answered by hand. */
function write(fold: Fold, asked: number): ScaleWrite {
  fold.answer = null;
  const outcome = fold.tick([value(asked)], { after: 15 });
  if (outcome.write === null) throw new Error("nothing was written");
  return outcome.write;
}

Deno.test("decideReplicas() notes an accepted write of the tick half at the tick's due time, however late the answer (R7, R44)", () => {
  const fold = createFold(BEHAVED, 2);
  const it = write(fold, 40);
  fold.now += 900;
  fold.see({ kind: "answered", write: it, answer: { kind: "accepted", replicas: 4 } });
  assertEquals(fold.state.history?.ups, [{ change: 2, at: START + 15_000, isOutdated: false }]);
});

Deno.test("decideReplicas() notes no write of another half, none that was dropped or refused, and none after a pause (R44, R46)", () => {
  const answers: readonly ScaleAnswer[] = [{ kind: "dropped" }, FORBIDDEN, { kind: "unanswered", message: "timeout" }];
  for (const answer of answers) {
    const fold = createFold(BEHAVED, 2);
    fold.see({ kind: "answered", write: write(fold, 40), answer });
    assertEquals(fold.state.history?.ups, [], answer.kind);
  }
  const fold = createFold(BEHAVED, 2);
  const it = write(fold, 40);
  const accepted = { kind: "accepted", replicas: 4 } as const;
  fold.see({ kind: "answered", write: { ...it, half: "poll" }, answer: accepted });
  assertEquals(fold.state.history?.ups, []);
  fold.changed(scaledObject({ behavior: STEADY, annotations: { isPaused: true } }));
  fold.see({ kind: "answered", write: it, answer: accepted });
  assertEquals(fold.state.history, null);
});

Deno.test("decideReplicas() says of a refused write FailedUpdateScale and FailedRescale, once for each cause (R46, R92)", () => {
  const fold = createFold(BEHAVED, 2);
  fold.answer = () => FORBIDDEN;
  fold.tick([value(40)], { after: 15 });
  assertEquals(fold.state.conditions.AbleToScale, {
    status: "False",
    reason: "FailedUpdateScale",
    message: "the HPA controller was unable to update the target scale: forbidden (HTTP 403)",
  });
  fold.tick([value(40)], { after: 15 });
  assertEquals(fold.writes.length, 2, "it is wanted again at the next tick");
  assertEquals(fold.takeEvents(), ["FailedRescale"]);
  fold.answer = () => ({ kind: "refused", code: 422, message: "invalid" });
  fold.tick([value(40)], { after: 15 });
  fold.answer = () => ({ kind: "accepted", replicas: 4 });
  fold.tick([value(40)], { after: 15 });
  fold.answer = () => FORBIDDEN;
  fold.tick([value(80)], { after: 15 });
  assertEquals(fold.takeEvents(), ["FailedRescale", "SuccessfulRescale", "FailedRescale"]);
});

Deno.test("decideReplicas() says nothing of a write that was dropped after a conflict (R46)", () => {
  const fold = createFold(BEHAVED, 2);
  const it = write(fold, 40);
  const before = fold.state;
  fold.takeEvents();
  const outcome = fold.see({ kind: "answered", write: it, answer: { kind: "dropped" } });
  assertEquals([outcome.state, outcome.notices], [before, []]);
});

Deno.test("decideReplicas() notifies of each accepted write, with the new size and why (R92)", () => {
  const fold = createFold(BEHAVED, 2);
  fold.tick([value(40)], { after: 15 });
  fold.tick([value(10)], { after: 15 });
  assertEquals(fold.notices, [
    { name: "SuccessfulRescale", message: "New size: 4; reason: external metric s0-prometheus above target" },
    { name: "SuccessfulRescale", message: "New size: 1; reason: All metrics below target" },
  ]);
  assertEquals(fold.state.conditions.AbleToScale?.reason, "SucceededRescale");
});

Deno.test("decideReplicas() has KEDA's events for activation and deactivation, accepted and refused (R52, R53, R92)", () => {
  const accepting = createKedaFold(scaledObject({ minReplicas: 0 }), 0);
  accepting.poll([value(1)]);
  accepting.poll([value(0)], { after: 300 });
  assertEquals(accepting.takeEvents(), ["ScaledObjectReady", "KEDAScaleTargetActivated", "KEDAScaleTargetDeactivated"]);
  const refusing = createKedaFold(scaledObject({ minReplicas: 0 }), 0);
  refusing.answer = () => FORBIDDEN;
  refusing.poll([value(1)]);
  assertEquals(refusing.notices.at(-1), {
    name: "KEDAScaleTargetActivationFailed",
    message: "Failed to scale apps/v1.Deployment shop/web from 0 to 1: forbidden (HTTP 403)",
  });
  assertEquals(refusing.state.lastActiveAt, null);
  refusing.scale = { ...refusing.scale, replicas: 2 };
  refusing.answer = () => ({ kind: "unanswered", message: "no answer within 10 s" });
  refusing.poll([value(0)], { after: 300 });
  assertEquals(refusing.notices.at(-1), {
    name: "KEDAScaleTargetDeactivationFailed",
    message: "Failed to deactivate apps/v1.Deployment shop/web from 2 to 0: no answer within 10 s",
  });
});

Deno.test("decideReplicas() takes a scale-in as pending while all triggers ask for fewer, until it is done (R86)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 5);
  fold.tick([pods(5, 50n)], { after: 15 });
  assertEquals([fold.state.isScaleInPending, fold.state.scaledInAt], [true, null]);
  for (let ticks = 0; ticks < 21; ticks++) fold.tick([pods(5, 50n)], { after: 15 });
  assertEquals([fold.scale.replicas, fold.state.isScaleInPending], [1, false]);
  assertEquals(fold.state.scaledInAt, START + 22 * 15_000);
});

Deno.test("decideReplicas() takes no scale-in as pending where none can come (R86)", () => {
  const triggers = [cpu(), cpu({ index: 1, type: "memory" })];
  const pendingOf = (object = scaledObject({ triggers }), readings = [pods(5, 50n), pods(5, 50n)], replicas = 5) => {
    const fold = createFold(object, replicas);
    fold.tick(readings);
    return fold.state.isScaleInPending;
  };
  assertEquals(pendingOf(), true);
  assertEquals(pendingOf(undefined, [pods(5, 50n), pods(5, 500n)]), false, "another trigger holds them");
  assertEquals(pendingOf(undefined, [pods(5, 50n), pods(0, 50n)]), false, "another trigger fails");
  assertEquals(pendingOf(scaledObject({ triggers, minReplicas: 5 })), false, "at the minimum");
  assertEquals(pendingOf(scaledObject({ triggers, minReplicas: 0 }), [pods(1, 50n), pods(1, 50n)], 1), false, "at one");
  assertEquals(
    pendingOf(scaledObject({ triggers, annotations: { isScaleInPaused: true } })),
    false,
    "scale-in is paused",
  );
});

Deno.test("decideReplicas() goes by hi, so that pods shrink while only full-grown ones would be too many (R83, R86)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 4);
  fold.tick([pods(4, 600n, { born: 1000n, full: 4000n })]);
  assertEquals(fold.state.isScaleInPending, false);
});

Deno.test("decideReplicas() forgets a pending scale-in with a pause, an obstacle and the end of the object (R86)", () => {
  const pending = () => {
    const fold = createFold(scaledObject({ triggers: [cpu()] }), 5);
    fold.tick([pods(5, 50n)]);
    return fold;
  };
  const [paused, obstructed, deleted] = [pending(), pending(), pending()];
  assertEquals(paused.state.isScaleInPending, true);
  paused.changed(scaledObject({ triggers: [cpu()], annotations: { isPaused: true } }));
  obstructed.see({ kind: "obstructed", obstacle: { kind: "scale", message: "timeout" } });
  deleted.see({ kind: "deleted", scale: null });
  assertEquals([paused, obstructed, deleted].map(({ state }) => state.isScaleInPending), [false, false, false]);
});
