/** Is a resize seen, admitted, deferred, refused and written as a 1.36.3 kubelet was seen to do it? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { PodCondition } from "../../../lib/api/kubernetes.ts";
import type { StatusChange } from "../../../lib/embedded/model/node.ts";
import { constant, MI, ModelRun, SECOND } from "../../support/model_run.ts";

const SIZE = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "200m", memory: "256Mi" } };

function readResize(change: StatusChange): PodCondition | undefined {
  return change.status.conditions?.find(({ type }) => type.startsWith("PodResize"));
}

function readMain({ status }: StatusChange) {
  const found = status.containerStatuses?.find(({ name }) => name === "main");
  if (found === undefined) throw new Error("Cannot find container main");
  return found;
}

function last(run: ModelRun, name = "a"): StatusChange {
  return { at: run.state.at, uid: "", namespace: "rec", name, status: run.status(name) };
}

function reasons(run: ModelRun): readonly string[] {
  return run.events.map(({ reason }) => reason).filter((reason) => reason.startsWith("Resize"));
}

function runUntil(run: ModelRun, isMet: () => boolean, maxMs: number): number {
  const from = run.state.at;
  while (!isMet()) {
    assert(run.state.at - from < maxMs, `not within ${maxMs} ms`);
    run.run(10);
  }
  return run.state.at - from;
}

/** 100 MiB used, and a pod old enough to have been measured. */
function bigRun(seed = "test"): ModelRun {
  const run = new ModelRun({ seed });
  const after = { kind: "step", before: 100 * MI, after: 20 * MI, atMs: 300 * SECOND } as const;
  run.add({ containers: [{ ...SIZE, load: { workingSetBytes: after } }, { name: "sib", ...SIZE }] });
  run.run(30 * SECOND);
  return run;
}

Deno.test("nextNode() tells a resize in two steps within 120 ms: in progress, then done (C41, C45)", () => {
  const latencies: number[] = [];
  for (let seed = 0; seed < 40; seed++) {
    const run = new ModelRun({ seed: `${seed}` });
    run.add({ containers: [SIZE] });
    run.run(10 * SECOND);
    const told = run.changed.length;
    const at = run.state.at;
    run.resize("a", { requests: { cpu: "150m" }, limits: { memory: "300Mi" } });
    run.run(2 * SECOND);
    const [first, second, ...more] = run.changed.slice(told);
    assert(first !== undefined && second !== undefined && more.length === 0);
    assertEquals(readResize(first)?.type, "PodResizeInProgress");
    assertEquals([readResize(first)?.reason, readResize(first)?.observedGeneration], [undefined, 2]);
    assertEquals(first.status.observedGeneration, 2);
    assertEquals(readMain(first).allocatedResources, { cpu: "150m", memory: "64Mi" });
    assertEquals(readMain(first).resources, SIZE);
    assertEquals(readResize(second), undefined);
    assertEquals(readMain(second).resources?.limits?.memory, "300Mi");
    assertEquals(second.status.resources?.limits?.memory, "300Mi");
    assertEquals(reasons(run), ["ResizeStarted", "ResizeCompleted"]);
    latencies.push(second.at - at);
  }
  assert(Math.min(...latencies) >= 30 && Math.max(...latencies) <= 120, `${latencies}`);
  assert(new Set(latencies).size > 10);
});

Deno.test("nextNode() does nothing about another spelling of the same size", () => {
  const run = new ModelRun();
  run.add({ containers: [SIZE] });
  run.run(10 * SECOND);
  run.resize("a", { limits: { memory: `${256 * MI}` } });
  run.run(2 * SECOND);
  assertEquals(reasons(run), []);
  assertEquals(last(run).status.observedGeneration, 2);
});

Deno.test("nextNode() defers as a whole what the node has no room for, until room comes (C41)", () => {
  const run = new ModelRun();
  run.add({ name: "a", containers: [SIZE] });
  run.add({ name: "other", containers: [{ requests: { cpu: "1700m" } }] });
  run.run(10 * SECOND);
  run.resize("a", { requests: { cpu: "500m" }, limits: { cpu: "1", memory: "300Mi" } });
  run.run(200 * SECOND);
  const condition = readResize(last(run));
  const message = "Node didn't have enough resource: cpu, requested: 500, used: 1700, capacity: 2000";
  assertEquals([condition?.type, condition?.reason, condition?.message], ["PodResizePending", "Deferred", message]);
  assertEquals(readMain(last(run)).resources, SIZE);
  assertEquals(last(run).status.observedGeneration, 2);
  assertStringIncludes(
    run.events.find(({ reason }) => reason === "ResizeDeferred")?.message ?? "",
    "Pod resize OutOfcpu: {",
  );

  run.resize("other", { requests: { cpu: "1500m" } });
  const waited = runUntil(run, () => readResize(last(run)) === undefined, 500);
  assert(waited > 0);
  assertEquals(readMain(last(run)).resources?.limits, { cpu: "1", memory: "300Mi" });
});

Deno.test("nextNode() admits what is deferred when another pod is gone, by priority", () => {
  const run = new ModelRun();
  for (const [name, priority] of [["low", 0], ["high", 5]] as const) run.add({ name, priority, containers: [SIZE] });
  run.add({ name: "other", containers: [{ requests: { cpu: "1500m" } }] });
  run.run(5 * SECOND);
  for (const name of ["low", "high"]) {
    run.resize(name, { requests: { cpu: "1500m" }, limits: { cpu: "1500m" } });
    run.run(SECOND);
  }
  assertEquals(["low", "high"].map((name) => readResize(last(run, name))?.reason), ["Deferred", "Deferred"]);
  run.delete("other");
  run.run(SECOND);
  run.remove("other");
  run.run(SECOND);
  assertEquals(["low", "high"].map((name) => readResize(last(run, name))?.reason), ["Deferred", undefined]);
});

Deno.test("nextNode() forgets a deferred resize that is taken back, and starts none (C47)", () => {
  const run = new ModelRun();
  run.add({ name: "a", containers: [SIZE] });
  run.add({ name: "other", containers: [{ requests: { cpu: "1800m" } }] });
  run.run(5 * SECOND);
  run.resize("a", { requests: { cpu: "300m" }, limits: { cpu: "300m" } });
  run.run(SECOND);
  run.resize("a", { requests: { cpu: "100m" }, limits: { cpu: "200m" } });
  run.run(SECOND);
  assertEquals(readResize(last(run)), undefined);
  assertEquals(reasons(run), ["ResizeDeferred"]);
});

Deno.test("nextNode() keeps a memory limit that would fall below what is used, and the cpu with it (C46)", () => {
  const run = bigRun();
  run.resize("a", { requests: { cpu: "150m" }, limits: { memory: "64Mi" } });
  run.run(60 * SECOND);
  const { reason, message, observedGeneration } = readResize(last(run)) ?? {};
  assertEquals([reason, observedGeneration], ["Error", 2]);
  const usage = run.pod("a").meter.sample?.usageBytes;
  const limits = [64 * MI, (64 + 256) * MI];
  assertEquals(
    message,
    `cannot decrease memory limits: attempting to set container "main" memory limit (${
      limits[0]
    }) below current usage (${usage})`,
  );
  assertEquals(readMain(last(run)).resources, SIZE);
  assertEquals(readMain(last(run)).allocatedResources, { cpu: "150m", memory: "64Mi" });
  assertEquals(readMain(last(run)).restartCount, 0);

  // A sibling's resize is stuck with it, and takes the reason away until the next failure.
  run.resize("a", { limits: { cpu: "300m" } }, "sib");
  run.run(100);
  assertEquals([readResize(last(run))?.reason, readResize(last(run))?.observedGeneration], [undefined, 3]);
  run.run(30 * SECOND);
  assertEquals(readResize(last(run))?.reason, "Error");
  assertEquals(last(run).status.containerStatuses?.find(({ name }) => name === "sib")?.resources, SIZE);

  // It heals once the usage has fallen.
  run.run(300 * SECOND);
  assertEquals(readResize(last(run)), undefined);
  assertEquals(readMain(last(run)).resources?.limits?.memory, "64Mi");
  assertEquals(reasons(run).at(-1), "ResizeCompleted");
});

Deno.test("nextNode() shows a stuck resize's error 1 to 20 s after it began, and tries each 10 to 15 s (C46)", () => {
  const shown: number[] = [];
  for (let seed = 0; seed < 30; seed++) {
    const run = bigRun(`${seed}`);
    const at = run.state.at;
    run.resize("a", { limits: { memory: "64Mi" } });
    shown.push(runUntil(run, () => readResize(last(run))?.reason === "Error", 21 * SECOND));
    const first = readResize(last(run));
    run.run(100 * SECOND);
    const probes = run.statuses("a").filter((change) => change.at > at && readResize(change)?.reason === "Error").map((
      one,
    ) => one.at);
    const gaps = probes.map((probe, index) => probe - (probes[index - 1] ?? probe)).slice(1);
    assert(gaps.every((gap) => gap >= 10 * SECOND && gap <= 15 * SECOND), `${gaps}`);
    assertEquals(readResize(last(run))?.lastTransitionTime, first?.lastTransitionTime);
  }
  assert(Math.min(...shown) < 3 * SECOND && Math.max(...shown) > 9 * SECOND, `${shown}`);
});

Deno.test("nextNode() names the pod's usage too when its own limit would fall below it (C46)", () => {
  const run = new ModelRun();
  run.add({
    containers: [{ ...SIZE, load: { workingSetBytes: constant(60 * MI), pageCacheBytes: constant(40 * MI) } }],
  });
  run.run(10 * SECOND);
  run.resize("a", { limits: { memory: "80Mi" } });
  run.run(100);
  // The pod was not measured yet.
  assertStringIncludes(
    run.events.at(-1)?.message ?? "",
    'container \\"main\\" memory limit (83886080) below current usage (0)',
  );
  run.run(40 * SECOND);
  assertStringIncludes(
    readResize(last(run))?.message ?? "",
    "cannot decrease memory limits: [attempting to set pod memory limit (83886080)",
  );
});

Deno.test("nextNode() frees a stuck resize by a limit above the usage within 100 ms (C47)", () => {
  const run = bigRun();
  run.resize("a", { requests: { cpu: "150m" }, limits: { memory: "64Mi" } });
  run.run(20 * SECOND);
  run.resize("a", { limits: { memory: "160Mi" } });
  run.run(100);
  assertEquals(readResize(last(run)), undefined);
  assertEquals(readMain(last(run)).resources, {
    requests: { cpu: "150m", memory: "64Mi" },
    limits: { cpu: "200m", memory: "160Mi" },
  });
});

Deno.test("nextNode() restarts a container whose resizePolicy says so, for a request of memory too, and not for cpu (C43)", () => {
  const run = new ModelRun();
  run.add({ containers: [{ ...SIZE, restartsOn: ["memory"] }] });
  run.run(10 * SECOND);
  run.resize("a", { limits: { cpu: "300m" } });
  run.run(SECOND);
  const first = readMain(last(run));
  assertEquals(first.restartCount, 0);
  run.resize("a", { requests: { memory: "40Mi" } });
  const waited = runUntil(run, () => readMain(last(run)).restartCount > 0, 500);
  assert(waited >= 100, `${waited}`);
  const main = readMain(last(run));
  assertEquals([main.ready, main.state?.terminated, main.lastState?.terminated?.exitCode], [true, undefined, 2]);
  assertEquals(main.lastState?.terminated?.containerID, first.containerID);
  assertEquals(main.resources?.requests?.memory, "40Mi");
  assertEquals(readResize(last(run)), undefined);
  assert(
    run.events.some(({ reason, message }) =>
      reason === "Killing" && message === "Container main resize requires restart"
    ),
  );
});

Deno.test("nextNode() leaves the pod's cgroup behind when nothing that is resized runs, until a sibling's resize (C46)", () => {
  const run = new ModelRun();
  const load = { workingSetBytes: constant(100 * MI) };
  run.add({
    containers: [{ requests: { memory: "32Mi" }, limits: { memory: "64Mi" }, load }, {
      name: "sib",
      limits: { memory: "16Mi" },
    }],
  });
  runUntil(
    run,
    () => readMain(last(run)).restartCount === 3 && readMain(last(run)).state?.terminated !== undefined,
    100 * SECOND,
  );
  const at = run.state.at;
  run.resize("a", { limits: { memory: "256Mi" } });
  run.run(50);
  assertEquals(readResize(last(run)), undefined);
  assertEquals(readMain(last(run)).resources?.limits?.memory, "256Mi");
  assertEquals(reasons(run), ["ResizeStarted", "ResizeCompleted"]);
  // The only trace, and the kills go on.
  assertEquals(last(run).status.resources?.limits?.memory, "80Mi");
  run.run(60 * SECOND);
  assert(
    run.statuses("a").some((change) =>
      change.at > at + SECOND && readMain(change).state?.terminated?.reason === "OOMKilled"
    ),
  );
  assertEquals(last(run).status.resources?.limits?.memory, "80Mi");

  run.resize("a", { limits: { memory: "17Mi" } }, "sib");
  run.run(400 * SECOND);
  assertEquals(last(run).status.resources?.limits?.memory, "273Mi");
  assertEquals(readMain(last(run)).ready, true);
});

Deno.test("nextNode() shows 2m for a request of 1m while a resize replaces it, and none for the pod", () => {
  const run = new ModelRun();
  run.add({ containers: [{ requests: { cpu: "1m" }, limits: { cpu: "1" } }] });
  run.run(10 * SECOND);
  assertEquals([readMain(last(run)).resources?.requests?.cpu, last(run).status.resources?.requests?.cpu], [
    "1m",
    undefined,
  ]);
  const told = run.changed.length;
  run.resize("a", { requests: { cpu: "301m" } });
  run.run(SECOND);
  const seen = run.changed.slice(told).map((
    change,
  ) => [readMain(change).resources?.requests?.cpu, change.status.resources?.requests?.cpu]);
  assertEquals(seen, [["2m", undefined], ["301m", "301m"]]);
});

Deno.test("nextNode() lets the status of an ended pod follow a resize, and makes a starting pod in its new size", () => {
  const run = new ModelRun();
  run.add({
    name: "ended",
    restartPolicy: "Never",
    containers: [{ ...SIZE, load: { exits: { afterMs: 10, code: 0 } } }],
  });
  run.run(10 * SECOND);
  run.resize("ended", { requests: { cpu: "150m" } });
  run.run(SECOND);
  const { status } = last(run, "ended");
  assertEquals([status.phase, status.observedGeneration, status.allocatedResources?.cpu], ["Succeeded", 2, "150m"]);

  run.add({ name: "starting", containers: [SIZE] });
  run.resize("starting", { limits: { memory: "300Mi" } });
  run.run(5 * SECOND);
  assertEquals(last(run, "starting").status.resources?.limits?.memory, "300Mi");
  assertEquals(readMain(last(run, "starting")).resources?.limits?.memory, "300Mi");
});

Deno.test("nextNode() restarts at once what is resized in its back-off, and begins its waits anew", () => {
  const run = new ModelRun();
  run.add({ containers: [{ ...SIZE, load: { exits: { afterMs: 20, code: 2 } } }] });
  runUntil(
    run,
    () => readMain(last(run)).restartCount === 3 && readMain(last(run)).state?.terminated !== undefined,
    60 * SECOND,
  );
  run.run(3 * SECOND);
  run.resize("a", { requests: { cpu: "110m" } });
  const told = run.changed.length;
  // Recorded: of its 40 s the container had waited 5.
  assert(runUntil(run, () => readMain(last(run)).restartCount === 4, SECOND) < 300);
  assertStringIncludes(readMain(run.changed[told] ?? last(run)).state?.waiting?.message ?? "", "back-off 40s");
  runUntil(run, () => readMain(last(run)).restartCount === 5, 20 * SECOND);
  const waits = run.statuses("a").flatMap((change) => readMain(change).state?.waiting?.message ?? []);
  assertStringIncludes(waits.at(-1) ?? "", "back-off 10s");
});
