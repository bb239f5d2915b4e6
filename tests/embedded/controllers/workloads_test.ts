/** Workloads of the embedded cluster: manifests as written become ready pods, and follow what is changed in them. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "#assert";
import { hpa, scaledObject } from "../../e2e/support/scaled_objects.ts";
import { daemonSet, deployment, type Manifest, statefulSet } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";

const TINY = { containers: [{ requests: { cpu: "10m" } }] };
const NEW_ENV = { template: { metadata: { annotations: { changed: "yes" } } } };

Deno.test("a Deployment becomes ready pods of one ReplicaSet, and its status says so", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", { ...TINY, replicas: 3 }));
  await run.advance(5);
  const pods = await run.list("pods");
  assertEquals(pods.length, 3);
  const [set] = await run.list("replicasets");
  for (const { metadata, spec, status } of pods) {
    assertMatch(metadata.name, new RegExp(`^${set.metadata.name}-[a-z0-9]{5}$`));
    assertEquals(metadata.labels["pod-template-hash"], set.metadata.labels["pod-template-hash"]);
    assertEquals(metadata.ownerReferences[0].uid, set.metadata.uid);
    assertEquals([spec.nodeName, status.phase], ["node-1", "Running"]);
  }
  const { status } = await run.get("deployments/web");
  assertEquals([status.replicas, status.readyReplicas, status.updatedReplicas, status.observedGeneration], [
    3,
    3,
    3,
    1,
  ]);
  assertEquals(status.conditions.map(({ type, status }: Json) => `${type} ${status}`), [
    "Available True",
    "Progressing True",
  ]);
  assertEquals(run.errors, []);
});

Deno.test("a Deployment that is scaled follows, and one that is deleted takes its pods along", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", { ...TINY, replicas: 1 }));
  await run.advance(5);
  await run.patch("deployments/web", { spec: { replicas: 4 } });
  await run.advance(5);
  assertEquals((await run.pods()).length, 4);
  await run.patch("deployments/web", { spec: { replicas: 2 } });
  await run.advance(5);
  assertEquals((await run.pods()).length, 2);
  await run.delete("deployments/web");
  await run.advance(5);
  assertEquals([await run.list("replicasets"), await run.pods()], [[], []]);
});

Deno.test("a deleted pod of a Deployment is replaced by another", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", TINY));
  await run.advance(5);
  const [before] = await run.list("pods");
  await run.delete(`pods/${before.metadata.name}`);
  await run.advance(5);
  const [after, ...more] = await run.list("pods");
  assertEquals(more, []);
  assertNotEquals(after.metadata.uid, before.metadata.uid);
  assertEquals(after.status.phase, "Running");
});

Deno.test("Recreate waits for the old pods to be gone before the new ones come", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", { ...TINY, replicas: 2 }));
  await run.advance(5);
  const old = (await run.list("pods")).map(({ metadata }: Json) => metadata.uid);
  await run.patch("deployments/web", { spec: NEW_ENV });
  const most = await watchPods(run, 10, (pods) => {
    const kinds = new Set(pods.map(({ metadata }) => old.includes(metadata.uid)));
    assert(kinds.size < 2, "old and new side by side");
  });
  assertEquals(most, 2);
  const pods = await run.list("pods");
  assert(pods.length === 2 && pods.every(({ metadata }: Json) => !old.includes(metadata.uid)));
  assertEquals((await run.list("replicasets")).map(({ spec }: Json) => spec.replicas).sort(), [0, 2]);
});

Deno.test("RollingUpdate keeps within maxSurge and maxUnavailable", async () => {
  await using run = await ClusterRun.start();
  const manifest: Json = structuredClone(deployment("web", { ...TINY, replicas: 4 }));
  manifest.spec.strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
  await run.create(manifest);
  await run.advance(5);
  const old = (await run.list("pods")).map(({ metadata }: Json) => metadata.uid);
  await run.patch("deployments/web", { spec: NEW_ENV });
  await watchPods(run, 20, (pods) => {
    const active = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    assert(active.length <= 5, `${active.length} pods`);
    assert(active.filter(isReady).length >= 3, `${active.filter(isReady).length} ready`);
  });
  const pods = await run.list("pods");
  assert(pods.length === 4 && pods.every(({ metadata }: Json) => !old.includes(metadata.uid)));
  assertEquals((await run.get("deployments/web")).status.updatedReplicas, 4);
});

Deno.test("an ordered StatefulSet makes its pods one after the other, a parallel one all at once", async () => {
  await using run = await ClusterRun.start();
  const ordered: Json = structuredClone(statefulSet("db", { ...TINY, replicas: 3 }));
  ordered.spec.podManagementPolicy = "OrderedReady";
  await run.create(ordered, statefulSet("cache", { ...TINY, replicas: 3 }));
  await run.advance(0.05);
  const names = (await run.list("pods")).map(({ metadata }: Json) => metadata.name);
  assertEquals(names, ["cache-0", "cache-1", "cache-2", "db-0"]);
  await run.advance(10);
  assertEquals((await run.pods()).filter((line) => line.startsWith("db")), [
    "db-0 Running ready",
    "db-1 Running ready",
    "db-2 Running ready",
  ]);
  const pod = await run.get("pods/db-1");
  assertEquals(pod.metadata.labels["statefulset.kubernetes.io/pod-name"], "db-1");
  const before = pod.metadata.uid;
  await run.delete("pods/db-1");
  await run.advance(5);
  assertNotEquals((await run.get("pods/db-1")).metadata.uid, before);
  await run.patch("statefulsets/db", { spec: { replicas: 1 } });
  await run.advance(10);
  assertEquals((await run.pods()).filter((line) => line.startsWith("db")), ["db-0 Running ready"]);
  assertEquals((await run.get("statefulsets/db")).status.readyReplicas, 1);
});

Deno.test("a changed StatefulSet replaces its pods from the last to the first", async () => {
  await using run = await ClusterRun.start();
  await run.create(statefulSet("db", { ...TINY, replicas: 3 }));
  await run.advance(5);
  const old = new Map((await run.list("pods")).map(({ metadata }: Json) => [metadata.name, metadata.uid]));
  await run.patch("statefulsets/db", { spec: NEW_ENV });
  const replaced: string[] = [];
  await watchPods(run, 20, (pods) => {
    for (const { metadata } of pods) {
      const isNew = old.get(metadata.name) !== metadata.uid;
      if (isNew && !replaced.includes(metadata.name)) replaced.push(metadata.name);
    }
  });
  assertEquals(replaced, ["db-2", "db-1", "db-0"]);
  const { status } = await run.get("statefulsets/db");
  assertEquals([status.updatedReplicas, status.readyReplicas], [3, 3]);
});

Deno.test("a DaemonSet has a pod on each node that it may have one on, those that come later too", async () => {
  await using run = await ClusterRun.start({
    nodes: [{}, {}, { taints: [{ key: "dedicated", effect: "NoSchedule" }] }],
  });
  await run.create(daemonSet("agent", TINY));
  await run.advance(5);
  const nodes = async () => (await run.list("pods")).map(({ spec }: Json) => spec.nodeName).sort();
  assertEquals(await nodes(), ["node-1", "node-2"]);
  await run.cluster.addNode({});
  await run.advance(5);
  assertEquals(await nodes(), ["node-1", "node-2", "node-4"]);
  const { status } = await run.get("daemonsets/agent");
  assertEquals([status.desiredNumberScheduled, status.numberReady], [3, 3]);
  await run.patch("daemonsets/agent", { spec: NEW_ENV });
  await run.advance(20);
  assertEquals(await nodes(), ["node-1", "node-2", "node-4"]);
  assertEquals((await run.get("daemonsets/agent")).status.updatedNumberScheduled, 3);
});

Deno.test("a namespace is given a service account, and goes with all that is in it", async () => {
  await using run = await ClusterRun.start();
  await run.create({ kind: "Namespace", metadata: { name: "shop" } });
  await run.advance(1);
  assertEquals((await run.list("serviceaccounts", "shop")).map(({ metadata }: Json) => metadata.name), ["default"]);
  const into = (manifest: Json) => ({ ...manifest, metadata: { ...manifest.metadata, namespace: "shop" } });
  await run.create(into(deployment("web", { ...TINY, replicas: 2 })), into(statefulSet("db", TINY)));
  await run.advance(5);
  assertEquals((await run.pods("shop")).length, 3);
  await run.delete("namespaces/shop");
  await run.advance(0.05);
  assertEquals((await run.get("namespaces/shop")).status.phase, "Terminating");
  await run.advance(10);
  assertEquals(await run.find("namespaces/shop"), null);
  assertEquals(await run.pods("shop"), []);
  assertEquals(run.errors.map(String).filter((line) => !/being terminated|not found/.test(line)), []);
});

Deno.test("a namespace that is deleted takes objects of every kind along, and waits for their finalizers", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  await run.create({ kind: "Namespace", metadata: { name: "shop" } });
  await run.advance(1);
  const into = (manifest: Manifest): Json => ({
    ...manifest,
    metadata: { ...manifest["metadata"] as Json, namespace: "shop" },
  });
  const trigger = { type: "cpu", metricType: "Utilization", metadata: { value: "50" } };
  const held = into(scaledObject("web", { minReplicaCount: 1, triggers: [trigger] }));
  await run.create(
    { ...held, metadata: { ...held.metadata, finalizers: ["finalizer.keda.sh"] } },
    into({ apiVersion: "keda.sh/v1alpha1", kind: "TriggerAuthentication", metadata: { name: "web" }, spec: {} }),
    into(hpa("web")),
    into({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web" },
      spec: { maxUnavailable: 1 },
    }),
  );
  await run.delete("namespaces/shop");
  await run.advance(10);
  assertEquals((await run.get("namespaces/shop")).status.phase, "Terminating");
  const plurals = ["scaledobjects", "triggerauthentications", "horizontalpodautoscalers", "poddisruptionbudgets"];
  const left = await Promise.all(plurals.map(async (plural) => (await run.list(plural, "shop")).length));
  assertEquals(left, [1, 0, 0, 0]);
  await run.patch("shop/scaledobjects/web", { metadata: { finalizers: null } });
  await run.advance(2);
  assertEquals(await run.find("namespaces/shop"), null);
});

/** Looks at the pods twenty times a second; gives their greatest number. */
async function watchPods(run: ClusterRun, seconds: number, look: (pods: readonly Json[]) => void): Promise<number> {
  let most = 0;
  for (let step = 0; step < seconds * 20; step++) {
    await run.advance(0.05);
    const pods = await run.list("pods");
    most = Math.max(most, pods.length);
    look(pods);
  }
  return most;
}

function isReady({ status }: Json): boolean {
  return status.conditions?.some(({ type, status }: Json) => type === "Ready" && status === "True") ?? false;
}
