/** Replicas of the embedded cluster: which pods go when there are too many, and a load that those that are ready share. */
import { assert, assertAlmostEquals, assertEquals } from "#assert";
import { choosePodsToDelete } from "../../lib/embedded/controllers/deployments.ts";
import type { JsonObject } from "../../lib/embedded/json.ts";
import { deployment, statefulSet } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const HOUR_MS = 3_600_000;

interface PodFacts {
  readonly node?: string;
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly cost?: string;
  readonly readyMs?: number;
  readonly ageMs?: number;
  readonly restarts?: number;
  readonly sidecarRestarts?: number;
}

function toPod(uid: string, facts: PodFacts = {}): JsonObject {
  const { node = "n", phase = "Running", isReady = true, readyMs = HOUR_MS, ageMs = 2 * HOUR_MS } = facts;
  const toTime = (ms: number) => new Date(NOW - ms).toISOString();
  const { cost, restarts = 0, sidecarRestarts = 0 } = facts;
  return {
    metadata: {
      uid,
      name: uid,
      creationTimestamp: toTime(ageMs),
      annotations: cost === undefined ? {} : { "controller.kubernetes.io/pod-deletion-cost": cost },
    },
    spec: { nodeName: node, initContainers: [{ name: "side", restartPolicy: "Always" }, { name: "init" }] },
    status: {
      phase,
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: toTime(readyMs) }],
      containerStatuses: [{ name: "main", restartCount: restarts }],
      initContainerStatuses: [{ name: "side", restartCount: sidecarRestarts }, { name: "init", restartCount: 9 }],
    },
  };
}

/** Each: who of the two goes, by which rule, in the order of the rules, each against all that follow. */
const RULES: readonly (readonly [sentence: string, goes: PodFacts, stays: PodFacts])[] = [
  ["has no node", { node: "" }, { phase: "Pending", isReady: false }],
  ["is pending", { phase: "Pending" }, { isReady: false, cost: "-9" }],
  ["is not ready", { isReady: false, cost: "9" }, { cost: "-9" }],
  ["costs less", { cost: "-1", readyMs: 3 * HOUR_MS }, { readyMs: 1000 }],
  ["costs nothing, as a cost of no number", { cost: "+1" }, { cost: "1" }],
  ["has more neighbours", { node: "crowded", readyMs: 3 * HOUR_MS }, { readyMs: 1000 }],
  ["became ready later", { readyMs: HOUR_MS / 4, restarts: 0 }, { readyMs: HOUR_MS, restarts: 5 }],
  ["restarted more often", { restarts: 2, ageMs: 9 * HOUR_MS }, { restarts: 1, ageMs: HOUR_MS }],
  ["has a sidecar that did", { sidecarRestarts: 1, ageMs: 9 * HOUR_MS }, { ageMs: HOUR_MS }],
  ["is younger", { ageMs: HOUR_MS }, { ageMs: 9 * HOUR_MS }],
];

for (const [sentence, goes, stays] of RULES) {
  Deno.test(`a ReplicaSet with too many pods deletes the one that ${sentence}`, () => {
    // Named so that the UID would choose the other.
    const [goer, stayer] = [toPod("b", goes), toPod("a", stays)];
    const related = [goer, stayer, toPod("c", { node: "crowded" })];
    for (const pods of [[goer, stayer], [stayer, goer]]) {
      const victims = choosePodsToDelete(pods, { count: 1, related, now: NOW });
      assertEquals(victims.map(({ metadata }: Json) => metadata.uid), ["b"]);
    }
  });
}

Deno.test("ages between the same powers of two are alike to a ReplicaSet, and the UID decides", () => {
  // 2^42 ns are 73 min.
  const pods = [toPod("b", { readyMs: 75 * 60_000 }), toPod("a", { readyMs: 140 * 60_000 })];
  const [victim] = choosePodsToDelete(pods, { count: 1, related: pods, now: NOW });
  assertEquals((victim as Json).metadata.uid, "a");
});

const MAIN = { containers: [{ requests: { cpu: "100m" }, limits: { cpu: "1" } }] };
const WEB = { namespace: "default", labels: { app: "web" } };

/** Millicores by pod, in the order of their ages. */
function readUse(run: ClusterRun): readonly number[] {
  return [...run.cluster.nodes.values()].flatMap(({ kubelet }) => kubelet.getState().pods)
    .toSorted((a, b) => a.life.seenAt - b.life.seenAt).map(({ meters }) => Math.round(meters.main?.millicores ?? 0));
}

Deno.test("a load of a workload is shared by its ready pods, equally, and anew when they change", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", { ...MAIN, replicas: 2 }), deployment("else", { ...MAIN, replicas: 1 }));
  await run.advance(5);
  run.cluster.setWorkloadLoad(WEB, { cpuMillicores: 1200 });
  await run.advance(2);
  assertEquals(readUse(run).toSorted((a, b) => a - b), [1, 601, 601]);
  await run.cluster.client.update("/apis/apps/v1/namespaces/default/deployments/web/scale", {
    metadata: { name: "web" },
    spec: { replicas: 4 },
  });
  await run.advance(5);
  assertEquals(readUse(run).toSorted((a, b) => a - b), [1, 301, 301, 301, 301]);
  await run.patch("deployments/web", { spec: { replicas: 1 } });
  await run.advance(40);
  assertEquals(readUse(run).toSorted((a, b) => a - b), [1, 1000]);
  run.cluster.setWorkloadLoad(WEB, null);
  await run.advance(2);
  assertEquals(readUse(run), [1, 1]);
});

Deno.test("a pod takes no part in the load of its workload until it is ready", async () => {
  await using run = await ClusterRun.start();
  const readinessProbe = { initialDelaySeconds: 20 };
  const containers = [{ ...MAIN.containers[0], fields: { readinessProbe } }];
  await run.create(deployment("web", { containers, replicas: 1 }));
  run.cluster.setWorkloadLoad(WEB, { cpuMillicores: 600 });
  await run.advance(15);
  assertEquals(readUse(run), [1]);
  await run.advance(15);
  assertEquals(readUse(run), [601]);
  await run.patch("deployments/web", { spec: { replicas: 2 } });
  await run.advance(15);
  assertEquals(readUse(run), [601, 1]);
  await run.advance(15);
  assertEquals(readUse(run), [301, 301]);
});

Deno.test("a leader takes its part of a load, the others share the rest, and memory is shared likewise", async () => {
  await using run = await ClusterRun.start();
  await run.create(statefulSet("web", { ...MAIN, replicas: 3 }));
  await run.advance(5);
  run.cluster.setWorkloadLoad(WEB, { cpuMillicores: 1000, workingSetBytes: 100e6, leaderPart: 0.7 });
  await run.advance(5);
  assertEquals(readUse(run), [701, 151, 151]);
  const [state] = [...run.cluster.nodes.values()].map(({ kubelet }) => kubelet.getState());
  const bytes = state?.pods.map(({ meters }) => meters.main?.workingSetBytes ?? 0) ?? [];
  assertEquals(bytes.map((one) => Math.round((one - 1_200_000) / 1e6)), [70, 15, 15]);
});

Deno.test("a load's curve runs from when it was set, for pods that come later too, each with noise of its own", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment("web", { ...MAIN, replicas: 2 }));
  await run.advance(60);
  const cpuMillicores = { kind: "step", before: 0, after: 800, atMs: 60_000 } as const;
  run.cluster.setWorkloadLoad(WEB, { cpuMillicores, noise: { part: 0.2, stepMs: 30_000 } });
  await run.advance(50);
  assertEquals(readUse(run), [1, 1]);
  await run.advance(15);
  const before = readUse(run);
  assert(before[0] !== before[1], "the same noise");
  for (const one of before) assertAlmostEquals(one, 401, 80);
  await run.advance(10);
  assertEquals(readUse(run), before, "in the same 30 s");
  await run.patch("deployments/web", { spec: { replicas: 4 } });
  await run.advance(10);
  const after = readUse(run);
  assertEquals(after.length, 4);
  for (const one of after) assertAlmostEquals(one, 201, 40);
});

Deno.test("definitions of keda.sh serve ScaledObjects, as long as they are there", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  const triggers = [{ type: "cpu", metricType: "Utilization", metadata: { value: "60" } }];
  await run.create({
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: "web" },
    spec: { scaleTargetRef: { name: "web" }, minReplicaCount: 1, triggers },
  });
  assertEquals((await run.get("scaledobjects/web")).spec.triggers, triggers);
  assertEquals(await run.list("triggerauthentications"), []);
});
