/**
 * Something is replaced after a decision: a pod by another pod of the same name, a container by its next run, a workload
 * by one with another selector, a node that is back, a clock that was set.
 * Clauses: C10, C11, C22, C42, C43.
 */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, deploymentObject, enact, type Json, nodeObject, podObject } from "../support/api_objects.ts";
import { busyRun, Run } from "../support/daemon_run.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";

const CLIMBER = autoscalerObject({ bounds: { cpu: { requests: { step: "10m" } } } });

/** Does what `kubectl replace --force` or a StatefulSet does. */
function replacePod(run: Run, uid: string): void {
  run.api.remove("pods", "web-1");
  const pod = podObject();
  run.api.put("pods", { ...pod, metadata: { ...pod.metadata, uid } });
}

/** The pod uid and the time of each PATCH. */
function listResizes(run: Run): string[] {
  return run.resizes.map(({ body }) => body.metadata.uid);
}

Deno.test("createDaemon() does nothing to a pod that took the name of another during its PATCH (C11, C44)", async () => {
  await using run = busyRun();
  run.api.intercept = ({ path }) => {
    if (path.endsWith("/resize") && run.resizes.length === 1) replacePod(run, "another");
    return null;
  };
  await run.advance(14);
  assertEquals([listResizes(run), run.cpu(), run.events], [["uid-web-1"], "100m", []]);
  await run.advance(10);
  assertEquals([listResizes(run), run.cpu(), run.events], [["uid-web-1", "another"], "250m", ["ScaleUp x1"]]);
  assertEquals(run.log.filter(({ level }) => level === "WARN" || level === "ERROR"), []);
});

Deno.test("createDaemon() warms up for a pod that took the name of another, and no cooldown passes on (C11, C42)", async () => {
  await using run = busyRun();
  await run.advance(12);
  replacePod(run, "another");
  await run.advance(8);
  assertEquals([listResizes(run), run.cpu()], [["uid-web-1"], "100m"], "two samples of its own");
  await run.advance(6);
  assertEquals([listResizes(run), run.cpu()], [["uid-web-1", "another"], "250m"]);
});

Deno.test("createDaemon() begins streaks anew for a container that restarted between samples (C22, C43)", async () => {
  await using run = busyRun();
  await run.advance(9);
  const startedAt = "2026-11-20T11:00:09Z";
  run.api.edit("pods", "web-1", ({ status }) => {
    Object.assign(status.containerStatuses[0], { containerID: "containerd://next", state: { running: { startedAt } } });
  });
  await run.advance(10);
  assertEquals(run.resizes.length, 0, "the sample at 10 s is still of the run before");
  await run.advance(8);
  assertEquals([run.resizes.length, run.cpu()], [1, "250m"]);
});

Deno.test("createDaemon() sends nothing for a container that restarts while its PATCH is decided (C40)", async () => {
  await using run = busyRun();
  run.api.intercept = ({ path }) => {
    if (path.endsWith("/resize") && run.resizes.length === 1) {
      run.api.edit("pods", "web-1", ({ status }) => status.containerStatuses[0].containerID = "containerd://next");
    }
    return null;
  };
  await run.advance(20);
  assertEquals([run.resizes.length, run.cpu()], [1, "100m"], "a conflict, and then a new run's streak");
  await run.advance(10);
  assertEquals([run.resizes.length, run.cpu()], [2, "250m"]);
});

Deno.test("createDaemon() follows a target that was deleted and created with another selector (C10, C11)", async () => {
  const pods = [podObject(), podObject({ name: "api-1", labels: { app: "api" } })];
  await using run = new Run({ pods, autoscalers: [CLIMBER] });
  run.use({ "web-1": { cpu: 300 }, "api-1": { cpu: 300 } });
  await run.advance(12);
  assertEquals([run.cpu("web-1"), run.cpu("api-1")], ["110m", "100m"]);
  run.api.remove("deployments", "web");
  await run.advance(5);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["False TargetNotFound", "False TargetNotFound"]);
  run.api.put("deployments", { ...deploymentObject("api"), metadata: deploymentObject().metadata });
  await run.advance(15);
  assertEquals([run.cpu("web-1"), run.cpu("api-1")], ["110m", "110m"], "another pod: no cooldown holds it");
  assertEquals(run.status().effectiveSelector, { matchLabels: { app: "api" } });
  assertEquals([run.condition("Ready"), run.condition("Active")], ["True Valid", "True Tracking"]);
  await run.advance(60);
  assertEquals([run.cpu("web-1"), run.cpu("api-1")], ["110m", "120m"]);
});

Deno.test("createDaemon() keeps the cooldown over a target that was deleted and created the same (C11, C42)", async () => {
  await using run = busyRun({ autoscalers: [CLIMBER] });
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(12);
  run.api.remove("deployments", "web");
  await run.advance(5);
  run.api.put("deployments", deploymentObject());
  await run.advance(50);
  assertEquals(run.cpu(), "110m");
  await run.advance(10);
  assertEquals(run.cpu(), "120m");
});

Deno.test("createDaemon() acts on no usage from before a node went, and on new usage once it is back (C22)", async () => {
  const cooling = autoscalerObject({ bounds: CLIMBER.spec.bounds, policy: { cooldown: "2m" } });
  await using run = busyRun({ autoscalers: [cooling] });
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(22);
  run.kubelet.failure = 'Cannot read usage of node "node1": connection refused';
  await run.advance(130);
  assertEquals([run.cpu(), run.condition("Metrics")], ["110m", "False MetricsUnavailable"], "cooled down, but blind");
  run.use({ "web-1": { cpu: 70 } });
  run.kubelet.failure = null;
  await run.advance(40);
  assertEquals([run.cpu(), run.condition("Metrics")], ["110m", "True Available"], "70m of 110m is in the band");
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(15);
  assertEquals(run.cpu(), "120m");
});

Deno.test("createDaemon() reads a node again that was deleted and has come back (C20, C51)", async () => {
  await using run = busyRun({ autoscalers: [CLIMBER] });
  run.kubelet.isDialed = true;
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(5);
  run.api.remove("nodes", "node1", null);
  await run.advance(20);
  assertEquals([run.resizes.length, run.condition("Metrics")], [0, "False MetricsUnavailable"]);
  run.api.put("nodes", nodeObject());
  await run.advance(40);
  assertEquals([run.resizes.length, run.cpu(), run.condition("Metrics")], [1, "110m", "True Available"]);
});

Deno.test("createDaemon() begins anew for the pods of a node that left with its last pod and came back (C20)", async () => {
  await using run = busyRun({ autoscalers: [CLIMBER] });
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(9);
  run.api.remove("pods", "web-1");
  await run.advance(30);
  assertEquals(await run.series("podfit_node_pollers"), ["podfit_node_pollers 0"]);
  replaceGone(run);
  await run.advance(8);
  assertEquals(run.resizes.length, 0);
  await run.advance(7);
  assertEquals([run.resizes.length, run.cpu()], [1, "110m"]);
});

function replaceGone(run: Run): void {
  const pod = podObject();
  run.api.put("pods", { ...pod, metadata: { ...pod.metadata, uid: "another" } });
}

Deno.test("createDaemon() forgets no resize when its pod was enacted and changed before the watch told of any of it (C42)", async () => {
  await using run = busyRun({ autoscalers: [CLIMBER], enacts: false });
  run.use({ "web-1": { cpu: 300 } });
  await run.advance(9);
  const release = run.api.hold("pods");
  await run.advance(3);
  run.api.edit("pods", "web-1", enact);
  run.api.edit("pods", "web-1", ({ metadata }) => metadata.labels.touched = "yes");
  await run.advance(20);
  release();
  await run.advance(36);
  assertEquals([run.resizes.length, run.cpu()], [1, "110m"]);
  await run.advance(10);
  assertEquals([run.resizes.length, run.cpu()], [2, "120m"]);
});

/** When each resize was sent, by a clock that is never set. */
async function listTimes(run: Run, seconds: number, happen: (second: number) => void): Promise<number[]> {
  const times: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const before = run.cpu();
    happen(second);
    await run.advance(1);
    if (run.cpu() !== before) times.push(second);
  }
  return times;
}

const HOUR_MS = 3_600_000;

Deno.test("createDaemon() goes on within two minutes of a wall clock that stepped back an hour, no sooner than a cooldown (C22, C42)", async () => {
  for (const at of [5, 8, 12, 40]) {
    await using run = busyRun({ autoscalers: [CLIMBER] });
    run.use({ "web-1": { cpu: 300 } });
    const times = await listTimes(run, 330, (second) => {
      if (second === at) run.clock.setNow(run.clock.now() - HOUR_MS);
    });
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    assert(times.length >= 4 && gaps.every((gap) => gap >= 60 && gap <= 130), `${at}: ${times.join()}`);
    assertEquals([run.condition("Scaling"), run.status().lastScaleResourceChange], [
      "True ScaleUp",
      `cpu.requests ${Number.parseInt(run.cpu()) - 10}m -> ${run.cpu()}`,
    ], "the last resize is told, though an earlier one seems later");
  }
});

Deno.test("createDaemon() takes an hour's step of the wall clock for no hour of idleness (C22)", async () => {
  // One sample is enough, and the clock of the node was set forward with podfit's.
  const eager = autoscalerObject({ policy: { consecutiveSamples: 1, cooldown: "0s" } });
  await using run = new Run({ autoscalers: [eager] });
  run.use({ "web-1": { cpu: 60 } });
  const times = await listTimes(run, 60, (second) => {
    if (second === 22) run.clock.setNow(run.clock.now() + HOUR_MS);
  });
  assertEquals([times, run.cpu()], [[], "100m"]);
});

Deno.test("createDaemon() says Scaling=False when only a clock that was set back would say otherwise (C51)", async () => {
  const object: Json = autoscalerObject();
  object.status = {
    lastScaleTime: "2026-11-20T14:00:00Z",
    lastScaleAction: "scaleUp",
    lastScaleResourceChange: "cpu.requests 10m -> 20m",
  };
  await using run = busyRun({ autoscalers: [object] });
  await run.advance(4);
  assertEquals([run.condition("Scaling"), run.status().lastScaleTime], ["False Idle", "2026-11-20T14:00:00Z"]);
  await run.advance(11);
  await settleEventLoop();
  assertEquals([run.condition("Scaling"), run.status().lastScaleTime, run.status().lastScaleResourceChange], [
    "True ScaleUp",
    "2026-11-20T11:00:10Z",
    "cpu.requests 100m -> 250m",
  ]);
});
