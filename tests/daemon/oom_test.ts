/**
 * An OOM kill in a whole daemon in memory: the watch of the pod shows it, without a poll or a reading.
 * Clauses: L10, L13.
 */
import { assertEquals } from "#assert";
import { autoscalerObject, type Json, nodeObject, podObject } from "../support/api_objects.ts";
import { type Loads, Run } from "../support/daemon_run.ts";

const MEMORY = {
  memory: {
    requests: { scaleUpThreshold: 80, scaleDownThreshold: 0, targetUtilization: 60 },
    limits: { scaleUpThreshold: 80, scaleDownThreshold: 0, targetUtilization: 60 },
  },
};

function newRun(pollInterval: string): Run {
  return new Run({ autoscalers: [autoscalerObject({ policy: { ...MEMORY, pollInterval, after: "containerReady" } })] });
}

/** The main container ends and runs again, as two changes of the pod. */
async function kill(run: Run): Promise<void> {
  const terminated = { containerID: "containerd://web-1-main", reason: "OOMKilled", exitCode: 137 };
  const finishedAt = new Date(run.clock.now()).toISOString();
  const change = (status: Json) =>
    run.api.edit("pods", "web-1", (pod: Json) => Object.assign(pod.status.containerStatuses[0], status));
  change({ ready: false, state: { terminated: { ...terminated, finishedAt } } });
  await run.clock.advance(80);
  change({
    containerID: "containerd://web-1-again",
    lastState: { terminated: { ...terminated, finishedAt } },
    state: { running: { startedAt: finishedAt } },
  });
  await run.clock.advance(20);
}

function memory(run: Run): Json {
  const { requests, limits } = run.api.get("pods", "web-1").spec.containers[0].resources;
  return [requests.memory, limits.memory];
}

Deno.test("createDaemon() answers an OOM kill on the change that shows the container running, long before the next poll (L10, L11)", async () => {
  await using run = newRun("5m");
  await run.advance(30);
  await kill(run);
  assertEquals(memory(run), ["178Mi", "356Mi"], "within 100 ms");
  assertEquals(run.resizes.length, 1);
});

Deno.test("createDaemon() answers an OOM kill while no usage was ever read (L10, L11)", async () => {
  await using run = newRun("5s");
  run.kubelet.failure = "connection refused";
  await run.advance(3);
  await kill(run);
  assertEquals(memory(run), ["178Mi", "356Mi"]);
});

Deno.test("createDaemon() answers an OOM kill while the first reading hangs (L10, L11)", async () => {
  await using run = newRun("5s");
  let release = () => {};
  run.kubelet.held = new Promise<void>((resolve) => release = resolve);
  await run.advance(3);
  await kill(run);
  assertEquals(memory(run), ["178Mi", "356Mi"]);
  release();
});

Deno.test("createDaemon() answers an OOM kill before a burst of resizes that wait for their turn (L11)", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `other-${index}`);
  const policy = { ...MEMORY, pollInterval: "5s" };
  await using run = new Run({
    autoscalers: [autoscalerObject({ policy })],
    pods: [podObject(), ...names.map((name) => podObject({ name }))],
    pace: { perSecond: 1, burst: 1 },
  });
  run.use(Object.fromEntries(names.map((name) => [name, { cpu: 150 }])));
  await run.advance(20);
  const before = run.resizes.length;
  await kill(run);
  await run.advance(4);
  assertEquals(memory(run), ["178Mi", "356Mi"]);
  assertEquals(run.resizes.length < before + 8, true, "most of the others still wait");
});

const NODES: readonly [string, string, Loads, string, readonly string[]][] = [
  ["under MemoryPressure, and the container well below its limit", "True", { "web-1": { memoryMi: 64 } }, "256Mi", [
    "OOMKilled x1",
  ]],
  ["that has memory", "False", { "web-1": { memoryMi: 64 } }, "356Mi", ["ScaleUp x1"]],
];
for (const [sentence, status, loads, limit, events] of NODES) {
  Deno.test(`createDaemon() takes a kill on a node ${sentence}, as it is (L13)`, async () => {
    await using run = newRun("5s");
    const node = nodeObject();
    const conditions = [{ type: "Ready", status: "True" }, { type: "MemoryPressure", status }];
    run.api.put("nodes", { ...node, status: { ...node.status, conditions } });
    run.use(loads);
    await run.advance(30);
    await kill(run);
    await run.advance(2);
    assertEquals(memory(run)[1], limit);
    assertEquals(run.events, events);
  });
}

for (const [mode, podEvents] of [["apply", ["web-1 OOMKilled x1"]], ["recommend", []]] as const) {
  Deno.test(`createDaemon() writes an OOM kill without an answer on the pod as mode ${mode} asks (L58)`, async () => {
    const policy = { ...MEMORY, memory: { ...MEMORY.memory, oom: "ignore" }, pollInterval: "5s" };
    await using run = new Run({ autoscalers: [autoscalerObject({ mode, policy })] });
    await run.advance(30);
    await kill(run);
    await run.advance(30);
    assertEquals([run.events, run.podEvents], [["OOMKilled x1"], podEvents]);
  });
}
