/**
 * pkg/fallback/fallback_test.go of KEDA 2.21.0 (Apache-2.0): its 16 tests as tables of inputs and outcomes. A title
 * after `KEDA:` is that of a spec; KEDA's TestFallback only starts these.
 */
import { assert, assertEquals } from "#assert";
import { toFallbackValue } from "../../lib/horizontal/fallback.ts";
import { toScaledObjectStatus } from "../../lib/horizontal/status.ts";
import type { Fallback } from "../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../lib/resources/scaled_object/scaled_object.ts";
import { createFold, external, failed, type Fold, scaledObject, value } from "../support/replicas_fold.ts";
import { ReplicasRun, scaledObject as scaledObjectManifest } from "../support/replicas_run.ts";
import { toScaledObject } from "../support/scaled_objects.ts";

/** A threshold of 3, and 10 replicas. The target is 10, except where a value comes. */
const TEN: Fallback = { failureThreshold: 3, replicas: 10, behavior: "static" };
const NAME = "s0-prometheus";

/** After so many failures of the metric. */
function foldAfter(failures: number | null, fallback: Fallback | null, replicas = 5): Fold {
  const fold = createFold(scaledObject({ fallback, triggers: [external({ targetMilli: 10_000n })] }), replicas);
  fold.changed();
  if (failures !== null) fold.state = { ...fold.state, failures: { [NAME]: failures } };
  return fold;
}

function healthOf({ object, state }: Fold): unknown {
  return toScaledObjectStatus(object, state).health?.[NAME];
}

Deno.test("KEDA: should return the expected metric when fallback is disabled (R70)", () => {
  const fold = foldAfter(null, null, 1);
  fold.tick([value(40)]);
  assertEquals([fold.scale.replicas, healthOf(fold)], [4, undefined]);
});

Deno.test("KEDA: should initialise the health status on success when fallback is enabled and status is empty (R70, R90)", () => {
  const fold = foldAfter(null, TEN);
  assertEquals(healthOf(fold), undefined);
  fold.tick([value(6)]);
  assertEquals(healthOf(fold), { numberOfFailures: 0, status: "Happy" });
});

Deno.test("KEDA: should reset the health status when scaler metrics are available when fallback is enabled (R70)", () => {
  const fold = foldAfter(5, TEN);
  assertEquals(healthOf(fold), { numberOfFailures: 5, status: "Failing" });
  fold.tick([value(6)]);
  assertEquals(healthOf(fold), { numberOfFailures: 0, status: "Happy" });
});

/** KEDA leaves the health that an earlier fallback has written (difference "stale-health"). */
Deno.test("KEDA: should not reset the health status when fallback is not enabled (R70)", () => {
  const fold = foldAfter(5, null, 1);
  fold.tick([value(40)]);
  assertEquals([fold.scale.replicas, healthOf(fold)], [4, undefined]);
});

Deno.test("KEDA: should propagate the error when fallback is disabled (R40, R70)", () => {
  const fold = foldAfter(null, null);
  fold.tick([failed("some error")]);
  assert(fold.state.conditions.HPAActive?.message.includes("some error"));
  assertEquals([fold.writes.length, healthOf(fold)], [0, undefined]);
});

Deno.test("KEDA: should bump the number of failures when metrics call fails (R70)", () => {
  const fold = foldAfter(0, TEN);
  fold.tick([failed("some error")]);
  assert(fold.state.conditions.HPAActive?.message.includes("some error"));
  assertEquals([fold.writes.length, healthOf(fold)], [0, { numberOfFailures: 1, status: "Failing" }]);
});

Deno.test("KEDA: should return a normalised metric when number of failures are beyond threshold (R70, R71)", () => {
  const fold = foldAfter(3, TEN);
  fold.tick([failed("some error")]);
  assertEquals([fold.scale.replicas, healthOf(fold)], [10, { numberOfFailures: 4, status: "Failing" }]);
  assertEquals(valueOf(TEN, 5), 100);
});

Deno.test("KEDA: should set the fallback condition when a fallback exists in the scaled object (R72)", () => {
  const triggers = [external({ targetMilli: 10_000n }), external({ index: 1, targetMilli: 10_000n })];
  const fold = createFold(scaledObject({ fallback: TEN, triggers }), 5);
  fold.changed();
  fold.state = { ...fold.state, failures: { [NAME]: 3, "s1-prometheus": 6 } };
  fold.tick([failed("some error"), failed("some error")]);
  assertEquals(fold.state.conditions.Fallback?.status, "True");
});

Deno.test("KEDA: should return error when fallback is enabled but scaledobject has invalid parameter (R3, R4)", () => {
  const { scaledObject: parsed, problems } = parseScaledObject(
    toScaledObject({ "spec.fallback": { failureThreshold: -3, replicas: 10 } }),
  );
  assertEquals([parsed, problems.map(({ path }) => path)], [null, ["spec.fallback.failureThreshold"]]);
});

Deno.test("KEDA: should set the fallback condition to false if the config is invalid (R3, R72)", () => {
  const fold = foldAfter(3, TEN);
  const problems = [{ path: "spec.fallback.failureThreshold", message: "Cannot use -3" }];
  fold.object = { ...fold.object, scaledObject: null, problems };
  fold.see({ kind: "obstructed", obstacle: { kind: "invalid" } });
  fold.tick([failed("some error")]);
  assertEquals([fold.state.conditions.Fallback?.status === "True", fold.writes.length], [false, 0]);
});

/** The current replicas, and the value. The target is 10. */
const BEHAVIORS: readonly (readonly [title: string, Fallback["behavior"], replicas: number, value: number])[] = [
  [
    "KEDA: should use fallback replicas when current replicas is lower when behavior is 'currentReplicasIfHigher'",
    ...["currentReplicasIfHigher", 4, 100] as const,
  ],
  ["KEDA: should use current replicas when behavior is 'currentReplicas'", "currentReplicas", 6, 60],
  ["KEDA: should ignore current replicas when behavior is 'static'", "static", 15, 100],
];

for (const [title, behavior, replicas, expected] of BEHAVIORS) {
  Deno.test(`${title} (R71)`, () => {
    assertEquals(valueOf({ ...TEN, behavior }, replicas), expected);
  });
}

function valueOf(fallback: Fallback, replicas: number): number {
  const trigger = external({ targetMilli: 10_000n });
  const object = scaledObject({ fallback, triggers: [trigger] });
  return Number(toFallbackValue(object, trigger, { replicas, readyPods: 1 })) / 1000;
}

Deno.test("KEDA: should ignore error if we fail to update kubernetes status (R70, R71)", async () => {
  const prometheus = {
    type: "prometheus",
    metadata: { serverAddress: "http://prometheus:9090", query: "up", threshold: "10" },
  };
  const spec = { minReplicaCount: 1, fallback: { failureThreshold: 3, replicas: 3 } };
  const answer = (request: Request) =>
    request.method === "PATCH" && request.url.includes("/status")
      ? Response.json({ kind: "Status", code: 500, message: "some error" }, { status: 500 })
      : null;
  await using run = await ReplicasRun.start([
    deployment("web"),
    scaledObjectManifest("web", [prometheus], { spec }),
  ], { answer });
  await run.advance(120);
  assertEquals(await run.replicas(), 3);
  assertEquals(await run.condition("web", "Ready"), "-", "no status was written");
});

function deployment(name: string) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "app" }] } },
    },
  };
}

/** KEDA's test looks for a race of its goroutines. podfit decides for one object at a time. */
Deno.test("KEDA's TestUpdateStatusConcurrency: 20 metrics fail at once, and each counts once (R70)", () => {
  const triggers = Array.from({ length: 20 }, (_, index) => external({ index }));
  const fold = createFold(scaledObject({ fallback: TEN, triggers }), 5);
  fold.changed();
  fold.tick(triggers.map(() => failed("scaler error")));
  assertEquals(new Set(Object.values(fold.state.failures)), new Set([1]));
  assertEquals(Object.keys(fold.state.failures).length, 20);
});
