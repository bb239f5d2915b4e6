/**
 * When is a ScaledObject another one than before? Its generation alone does not say so.
 * Clauses: R7.
 */
import { assertEquals } from "#assert";
import { isSameObject, ScaledObjectCache } from "../../../lib/daemon/cluster/scaled_objects.ts";
import type { ScaledObjectFacts } from "../../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import { scaledObject } from "../../support/replicas_run.ts";

const CRON = {
  type: "cron",
  name: "office",
  metadata: { timezone: "Etc/UTC", start: "0 8 * * *", end: "0 18 * * *", desiredReplicas: "3" },
};

function facts(
  { maxReplicaCount = 10, formula = "office * 2", generation = 3, annotations = {}, status = {} } = {},
): ScaledObjectFacts {
  const spec = { maxReplicaCount, advanced: { scalingModifiers: { formula, target: "1" } } };
  const object = scaledObject("web", [CRON], { spec, annotations });
  const metadata = { ...object.metadata, uid: "so-1", generation, creationTimestamp: "2026-11-20T10:00:00Z" };
  return parseScaledObject({ ...object, metadata, status });
}

/** What a listener sees of each: its generation, and whether it is the same object as the one before. */
function follow(...objects: readonly ScaledObjectFacts[]): readonly (readonly [number, boolean])[] {
  const cache = new ScaledObjectCache();
  const seen: ScaledObjectFacts[] = [];
  const ignore = () => {};
  using _listening = cache.subscribe({
    onObject: (one) => void seen.push(one),
    onObjectGone: ignore,
    onRelatedChange: ignore,
  });
  for (const one of objects) cache.setObject(one);
  return seen.slice(1).map((one, index) => [one.generation, isSameObject(seen[index] ?? one, one)]);
}

Deno.test("a write of the status leaves an object the same, though it is parsed anew each time (R7)", () => {
  assertEquals(follow(facts(), facts({ status: { hpaName: "x" } }), facts()), [[3, true], [3, true]]);
});

Deno.test("an object of the same generation with another spec is another one, as after etcd was restored (R7)", () => {
  assertEquals(follow(facts(), facts({ maxReplicaCount: 20 })), [[-3, false]]);
  assertEquals(follow(facts(), facts({ formula: "office * 3" })), [[-3, false]], "a formula goes by its text");
});

Deno.test("an object stays another one until its spec changes again (R7)", () => {
  const other = facts({ maxReplicaCount: 20 });
  const seen = follow(facts(), other, other, facts({ maxReplicaCount: 30 }), facts({ generation: 4 }));
  assertEquals(seen, [[-3, false], [-3, true], [3, false], [4, false]]);
});

Deno.test("an annotation changes the object, and not its generation (R7, R55)", () => {
  const paused = facts({ annotations: { "autoscaling.keda.sh/paused-scale-in": "true" } });
  assertEquals(follow(facts(), paused), [[3, false]]);
});
