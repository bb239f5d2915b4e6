/** What keeps podfit from scaling, in KEDA's conditions (R3, R6, R16, R30, R75 to R78). */
import { assertEquals } from "#assert";
import type { Blocker } from "../../lib/model/replicas_decision.ts";
import { toTransferredNotice } from "../../lib/horizontal/events.ts";
import { createFold, scaledObject, value } from "../support/replicas_fold.ts";

const UNKNOWN_STATE = { status: "Unknown", reason: "UnknownState", message: "ScaledObject check failed" } as const;
const PROBLEMS = [
  { path: "spec.maxReplicaCount", message: "Cannot use 0: must be at least 1" },
  { path: "spec.triggers.0.type", message: 'Cannot use "kafka"' },
];

function obstructed(obstacle: Blocker) {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.tick([value(20)]);
  fold.takeEvents();
  const { history } = fold.state;
  const { write } = fold.see({ kind: "obstructed", obstacle });
  fold.see({ kind: "obstructed", obstacle });
  assertEquals([write, fold.state.history], [null, history], "the history stays");
  return { conditions: fold.state.conditions, events: fold.takeEvents(), fold };
}

Deno.test("decideReplicas() tells every problem of an invalid object at once, in one event, and writes nothing (R3)", () => {
  const fold = createFold(scaledObject({ minReplicas: 0 }), 0);
  fold.object = { ...fold.object, scaledObject: null, problems: PROBLEMS };
  fold.see({ kind: "obstructed", obstacle: { kind: "invalid" } });
  assertEquals(fold.state.conditions.Ready, {
    status: "False",
    reason: "ScaledObjectCheckFailed",
    message: "InvalidSpec: spec.maxReplicaCount: Cannot use 0: must be at least 1; " +
      'spec.triggers.0.type: Cannot use "kafka"',
  });
  assertEquals(fold.state.conditions.Active, UNKNOWN_STATE);
  const passes = [fold.poll([value(9)]), fold.tick([value(9)]), fold.changed(undefined)];
  assertEquals(passes.map(({ write }) => write), [null, null, null]);
  assertEquals(fold.takeEvents(), ["ScaledObjectCheckFailed"]);
});

Deno.test("decideReplicas() tells of other problems of an invalid object as news (R3, R92)", () => {
  const fold = createFold();
  for (const problems of [PROBLEMS, PROBLEMS.slice(1), PROBLEMS.slice(1)]) {
    fold.object = { ...fold.object, scaledObject: null, problems };
    fold.see({ kind: "obstructed", obstacle: { kind: "invalid" } });
  }
  assertEquals(fold.takeEvents(), ["ScaledObjectCheckFailed", "ScaledObjectCheckFailed"]);
});

Deno.test("decideReplicas() takes a failed check into Ready as it is worded, and heals by itself (R6, R16, R75)", () => {
  const { conditions, events, fold } = obstructed({
    kind: "check",
    reason: "TargetNotFound",
    message: 'deployment "web" does not exist',
  });
  assertEquals(conditions.Ready, {
    status: "False",
    reason: "ScaledObjectCheckFailed",
    message: 'deployment "web" does not exist',
  });
  assertEquals([conditions.Active, events], [UNKNOWN_STATE, ["ScaledObjectCheckFailed", "FailedGetScale"]]);
  fold.changed();
  assertEquals([fold.state.conditions.Ready?.status, fold.takeEvents()], ["True", ["ScaledObjectReady"]]);
});

Deno.test("decideReplicas() names selectors that do not parse or overlap in Ready and HPAActive (R30, R78)", () => {
  for (const reason of ["InvalidSelector", "AmbiguousSelector"] as const) {
    const { conditions, events } = obstructed({ kind: "selector", reason, message: "so it is" });
    assertEquals(conditions.Ready?.message, `${reason}: so it is`);
    const message = "HPA is not actively scaling: so it is";
    assertEquals(conditions.HPAActive, { status: "False", reason, message });
    assertEquals(events, ["ScaledObjectCheckFailed"]);
  }
});

Deno.test("decideReplicas() reports a scale that cannot be read, once (R30, R92)", () => {
  const { conditions, events } = obstructed({ kind: "scale", message: "HTTP 500" });
  assertEquals(conditions.Ready, {
    status: "False",
    reason: "ErrorGettingCurrentReplicas",
    message: "Error getting current replicas count for ScaleTarget: HTTP 500",
  });
  assertEquals(conditions.AbleToScale, {
    status: "False",
    reason: "FailedGetScale",
    message: "the HPA controller was unable to get the target's current scale: HTTP 500",
  });
  assertEquals(events, ["FailedGetScale"]);
});

Deno.test("decideReplicas() warns in Ready of checks that were skipped, while they are (R77)", () => {
  const fold = createFold(scaledObject(), 2);
  const readMessage = () => fold.state.conditions.Ready?.message;
  const plain = "ScaledObject is defined correctly and is ready for scaling";
  fold.warnings = ['HorizontalPodAutoscaler "web" writes too'];
  fold.changed();
  const warned = `${plain}; warning: HorizontalPodAutoscaler "web" writes too`;
  assertEquals(readMessage(), warned);
  fold.poll([value(1)]);
  assertEquals(readMessage(), warned);
  fold.warnings = [];
  fold.poll([value(1)]);
  assertEquals(readMessage(), plain);
});

Deno.test("toTransferredNotice() names the HPA with its bounds and what it wanted last (R76)", () => {
  const { name, message } = toTransferredNotice({ name: "web", min: null, max: 8, desired: 5 });
  assertEquals(name, "KEDAScalerInfo");
  assertEquals(
    message,
    'Deleted HorizontalPodAutoscaler "web" and took over: its minimum was 1, its maximum 8, and it wanted 5 last',
  );
});
