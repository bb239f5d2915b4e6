/** What log, metrics and people learn of a pass (R94, C53). */
import { assertEquals } from "#assert";
import {
  cpu,
  createFold,
  createKedaFold,
  external,
  failed,
  formula,
  number,
  pods,
  scaledObject,
  STATIC,
  value,
} from "../support/replicas_fold.ts";

Deno.test("decideReplicas() reports of a poll what it found, and the reason of what it did (R94)", () => {
  const reasons = (replicas: number, reading: ReturnType<typeof value>, overrides = {}) => {
    const { report } = createKedaFold(scaledObject({ minReplicas: 0, ...overrides }), replicas).poll([reading]);
    return [report?.reason, report?.replicas, report?.desired];
  };
  assertEquals(reasons(0, value(1)), ["Activated", 0, 1]);
  assertEquals(reasons(2, value(1)), [null, 2, 2]);
  assertEquals(reasons(2, value(0)), ["Deactivated", 2, 0]);
  assertEquals(reasons(2, value(0), { initialCooldownMs: 1000 }), ["ScalerCooldown", 2, 2]);
  assertEquals(reasons(0, value(0)), ["ScalingDisabled", 0, 0]);
  assertEquals(reasons(1, value(0), { minReplicas: 3, idleReplicas: 1 }), ["Idle", 1, 1]);
  assertEquals(reasons(2, failed()), ["TriggerFailed", 2, 2]);
  assertEquals(reasons(2, failed(), { fallback: STATIC }), ["TriggerFailed", 2, 2]);
  assertEquals(reasons(0, value(0), { minReplicas: 2 }), ["ScaledOut", 0, 2]);
});

Deno.test("decideReplicas() reports each trigger of a poll with its rounded value, error and activity (R94)", () => {
  const triggers = [cpu(), external({ index: 1 }), external({ index: 2 })];
  const fold = createFold(scaledObject({ triggers }), 2);
  const { report } = fold.see({
    kind: "poll",
    scale: fold.scale,
    triggers: new Map([[1, value(2.00049)], [2, failed("timeout")]]),
    readyPods: 2,
  });
  assertEquals(report?.triggers, [
    { index: 0, type: "cpu", metricName: "cpu", value: null, error: null, isActive: true, proposal: null },
    {
      index: 1,
      type: "prometheus",
      metricName: "s1-prometheus",
      value: 2,
      error: null,
      isActive: true,
      proposal: null,
    },
    {
      index: 2,
      type: "prometheus",
      metricName: "s2-prometheus",
      value: null,
      error: "timeout",
      isActive: false,
      proposal: null,
    },
  ]);
});

Deno.test("decideReplicas() reports the activity of the formula alone where there is one (R63, R94)", () => {
  const triggers = [external({ name: "a" })];
  const fold = createFold(scaledObject({ triggers, formula: formula(() => number(3), { activationTarget: 2 }) }), 2);
  const { report } = fold.poll([value(1)]);
  const found = report?.triggers.map(({ metricName, value, isActive }) => [metricName, value, isActive]);
  assertEquals(found, [["s0-prometheus", 1, null], ["composite-metric", 3, true]]);
});

Deno.test("decideReplicas() reports of a tick usage, pods, ratio and proposal of each trigger, then need and result (R94)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu(), external({ index: 1 })] }), 2);
  const { report } = fold.tick([pods(2, 900n), value(20)]);
  assertEquals(report?.triggers, [
    {
      index: 0,
      type: "cpu",
      metricName: "cpu",
      value: 1.8,
      error: null,
      isActive: null,
      proposal: { replicas: 4, lo: 4, hi: 4, ratio: 1.8, ready: 2, unready: 0, missing: 0 },
    },
    {
      index: 1,
      type: "prometheus",
      metricName: "s1-prometheus",
      value: 20,
      error: null,
      isActive: null,
      proposal: { replicas: 2, lo: 2, hi: 2, ratio: 1, ready: 0, unready: 0, missing: 0 },
    },
  ]);
  assertEquals([report?.need, report?.stabilized, report?.desired, report?.reason], [4, 4, 4, "ScaledOut"]);
});

Deno.test("decideReplicas() writes nothing in a dry run, says so, and records the need alone (R46, R94)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.dryRun = true;
  const { write, report } = fold.tick([value(80)]);
  assertEquals([write, report?.reason, report?.desired], [null, "DryRun", 4]);
  assertEquals(fold.state.history?.needs.at(-1)?.replicas, 8);
  const activating = createFold(scaledObject({ minReplicas: 0 }), 0);
  activating.dryRun = true;
  assertEquals([activating.poll([value(1)]).write, activating.state.lastActiveAt], [null, null]);
  assertEquals(activating.changed(scaledObject({ annotations: { isPaused: true, pausedReplicas: 5 } })).write, null);
});
