/** Namespaces and nodes that come and go: podfit keeps nothing of deleted ones. */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, deploymentObject, type Json, nodeObject, podObject } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";
import { findKept, watchKept } from "../support/kept.ts";

/** Kinds of autoscalers: for each kind podfit keeps something else. */
const KINDS: readonly Json[] = [
  {},
  { mode: "recommend" },
  { newPods: "inherit" },
  { containerName: "*" },
  { target: { kind: "deployment", name: "nobody" } },
  { policy: { cooldown: "never" } },
  { policy: { cpu: undefined, memory: { limits: { scaleUpThreshold: 90, targetUtilization: 60 } } } },
];

/** Its objects by kind, in the order of their creation. */
function objectsOf(index: number): [string, Json][] {
  const name = `gone-${index}`;
  const namespaced: [string, Json][] = [
    ["deployments", deploymentObject(name)],
    ["podresourceautoscalers", autoscalerObject({ name, target: { kind: "deployment", name }, ...KINDS[index] })],
    ["pods", ownedPod(name)],
    ["limitranges", { kind: "LimitRange", metadata: { name, uid: name }, spec: { limits: [{ type: "Container" }] } }],
    ["resourcequotas", { kind: "ResourceQuota", metadata: { name, uid: `${name}-quota` }, spec: {}, status: {} }],
  ];
  for (const [, object] of namespaced) object.metadata.namespace = name;
  return [
    ["namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name, uid: `${name}-namespace` } }],
    ["nodes", nodeObject(name)],
    ...namespaced,
  ];
}

/** One of several pods of a revision. */
function ownedPod(name: string): Json {
  const pod = podObject({ name, node: name, labels: { app: name } });
  pod.metadata.ownerReferences = [{ kind: "ReplicaSet", uid: `${name}-set`, controller: true }];
  return pod;
}

/** The limits of what podfit keeps: the last 4096 events, and failures for half an hour. */
const BOUNDED = ["events/recorder", "events/writer", "health"].map((name) => `lib/daemon/${name}.ts`);

Deno.test("createDaemon() keeps nothing of namespaces, pods, autoscalers and nodes that have gone, in any order", async () => {
  const before = new Run();
  await before.stop();
  const { made, kept } = watchKept(() => new Run({ after: before, enacts: false }));
  await using run = made;
  for (const isReversed of [false, true]) {
    const all = KINDS.map((_, index) => objectsOf(index));
    for (const [plural, object] of all.flat()) run.api.put(plural, object);
    run.use(Object.fromEntries(KINDS.map((_, index) => [`gone-${index}`, { cpu: 150 }])));
    await run.advance(20);
    assert(run.resizes.length > 0);
    assert(findKept(kept, "gone-").length > 20, "they are found where they are");
    for (const objects of all) {
      for (const [plural, { metadata }] of isReversed ? objects.reverse() : objects) {
        run.api.remove(plural, metadata.name, metadata.namespace ?? null);
      }
    }
    await run.advance(40);
    assertEquals(findKept(kept, "gone-").filter((text) => !BOUNDED.some((file) => text.startsWith(file))), []);
    assertEquals(run.series("").filter((line) => line.includes("gone-")), []);
  }
});
