/** Do pods come up, end, fail, are turned away and go as they were seen to on a real node? */
import { assert, assertEquals } from "#assert";
import { constant, MI, ModelRun, SECOND } from "../../support/model_run.ts";

const SMALL = { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "200m", memory: "64Mi" } };

function phases(run: ModelRun, name: string): readonly (string | undefined)[] {
  return run.statuses(name).map(({ status }) => status.phase).filter((phase, at, all) => phase !== all[at - 1]);
}

function waits(run: ModelRun, name: string): readonly string[] {
  return run.statuses(name).flatMap(({ status }) => status.containerStatuses?.[0]?.state?.waiting?.message ?? []);
}

Deno.test("nextNode() starts init containers one after the other, sidecars before containers", () => {
  const run = new ModelRun();
  run.add({
    containers: [
      { name: "init", kind: "init", load: { exits: { afterMs: 500, code: 0 } } },
      { name: "proxy", kind: "sidecar", ...SMALL },
      { name: "web", ...SMALL, load: { readyAfterMs: 3000 } },
      { name: "aux", ...SMALL },
    ],
  });
  run.run(20 * SECOND);
  const started = run.events.filter(({ reason }) => reason === "Started").map(({ fieldPath }) => fieldPath);
  assertEquals(started, [
    "spec.initContainers{init}",
    "spec.initContainers{proxy}",
    "spec.containers{web}",
    "spec.containers{aux}",
  ]);
  const [first] = run.statuses("a");
  assertEquals(
    first?.status.conditions?.find(({ type }) => type === "Initialized")?.message,
    "containers with incomplete status: [init proxy]",
  );
  assertEquals(
    first?.status.conditions?.find(({ type }) => type === "Ready")?.message,
    "containers with unready status: [proxy web aux]",
  );
  const status = run.status("a");
  assertEquals(status.phase, "Running");
  assertEquals(status.conditions?.filter((one) => one.status !== "True"), []);
  assertEquals(status.initContainerStatuses?.[0]?.state?.terminated?.reason, "Completed");
  assertEquals(status.containerStatuses?.map(({ name }) => name), ["aux", "web"]);
  const readyAt = run.statuses("a").find(({ status }) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
  )?.at;
  const webAt = run.events.find(({ reason, fieldPath }) => reason === "Started" && fieldPath === "spec.containers{web}")
    ?.at;
  assertEquals((readyAt ?? 0) - (webAt ?? 0), 3000);
});

Deno.test("nextNode() ends a job as Succeeded or Failed, and its sidecar with it", () => {
  for (const [code, phase] of [[0, "Succeeded"], [3, "Failed"]] as const) {
    const run = new ModelRun();
    const main = { ...SMALL, load: { exits: { afterMs: 2000, code } } };
    run.add({ restartPolicy: "Never", containers: [{ name: "proxy", kind: "sidecar" }, main] });
    run.run(20 * SECOND);
    assertEquals(phases(run, "a"), ["Pending", "Running", phase]);
    const status = run.status("a");
    assertEquals(status.containerStatuses?.[0]?.state?.terminated?.exitCode, code);
    assert(status.initContainerStatuses?.[0]?.state?.terminated !== undefined);
    const reasons = status.conditions?.filter(({ type }) => /Ready$/.test(type)).map(({ reason }) => reason);
    assertEquals(reasons, code === 0 ? ["PodCompleted", "PodCompleted"] : ["PodFailed", "PodFailed"]);
  }
});

Deno.test("nextNode() fails a pod whose init container fails for good, and never starts its containers", () => {
  const run = new ModelRun();
  const init = { name: "init", kind: "init", load: { exits: { afterMs: 100, code: 1 } } } as const;
  run.add({ restartPolicy: "Never", containers: [init, { name: "main", ...SMALL }] });
  run.run(20 * SECOND);
  assertEquals(phases(run, "a"), ["Pending", "Failed"]);
  assertEquals(run.events.filter(({ reason }) => reason === "Started").length, 1);
});

Deno.test("nextNode() restarts what crashes at once, then after 10, 20, 40 s up to 5 min", () => {
  const run = new ModelRun();
  run.add({ containers: [{ ...SMALL, load: { exits: { afterMs: 200, code: 2 } } }] });
  run.run(1500 * SECOND);
  const pod = "restarting failed container=main pod=a_rec(uid-a)";
  assertEquals(
    waits(run, "a").slice(0, 7),
    ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"].map((wait) => `back-off ${wait} ${pod}`),
  );
  const started = run.events.filter(({ reason }) => reason === "Started").map(({ at }) => at);
  const gaps = started.map((at, index) => at - (started[index - 1] ?? at)).slice(1);
  for (const [index, wait] of [0, 10, 20, 40, 80, 160, 300, 300].entries()) {
    const gap = gaps[index] ?? 0;
    assert(gap >= wait * SECOND && gap <= (wait + 7) * SECOND, `restart ${index} after ${gap} ms`);
  }
  assertEquals(run.status("a").containerStatuses?.[0]?.restartCount, started.length - 1);
});

Deno.test("nextNode() forgets the back-off of who ran for ten minutes", () => {
  const run = new ModelRun();
  run.add({ containers: [{ ...SMALL, load: { exits: { afterMs: 601 * SECOND, code: 2 } } }] });
  run.run(2000 * SECOND);
  assertEquals(run.status("a").containerStatuses?.[0]?.restartCount, 3);
  assertEquals(waits(run, "a"), []);
});

Deno.test("nextNode() kills what passes its memory limit, and tells it a moment later", () => {
  const run = new ModelRun();
  const workingSetBytes = { kind: "step", before: 20 * MI, after: 65 * MI, atMs: 5000, clock: "container" } as const;
  run.add({ containers: [{ ...SMALL, load: { workingSetBytes } }] });
  run.run(9 * SECOND);
  const told = run.statuses("a").find(({ status }) => status.containerStatuses?.[0]?.state?.terminated !== undefined);
  const ended = told?.status.containerStatuses?.[0];
  assertEquals([ended?.state?.terminated?.exitCode, ended?.state?.terminated?.reason], [137, "OOMKilled"]);
  assertEquals([ended?.restartCount, ended?.ready, ended?.started], [0, false, false]);
  const after = run.status("a").containerStatuses?.[0];
  assertEquals([after?.restartCount, after?.ready], [1, true]);
  assertEquals(after?.lastState?.terminated, ended?.state?.terminated);
  assert(after?.containerID !== ended?.containerID);
});

Deno.test("nextNode() reclaims page cache before it kills", () => {
  const run = new ModelRun();
  run.add({
    containers: [{ ...SMALL, load: { workingSetBytes: constant(40 * MI), pageCacheBytes: constant(90 * MI) } }],
  });
  run.run(10 * SECOND);
  assertEquals(run.status("a").containerStatuses?.[0]?.restartCount, 0);
  assertEquals(run.pod("a").meters.main?.cacheBytes, 24 * MI);
});

Deno.test("nextNode() turns away a pod that the node has no room for", () => {
  const run = new ModelRun();
  run.add({ name: "a", containers: [{ requests: { cpu: "230m" } }] });
  run.add({ name: "big", containers: [{ requests: { cpu: "5" } }] });
  run.run(SECOND);
  const { phase, reason, message } = run.status("big");
  const shortage = "Node didn't have enough resource: cpu, requested: 5000, used: 230, capacity: 2000";
  assertEquals([phase, reason, message], ["Failed", "OutOfcpu", `Pod was rejected: ${shortage}`]);
  assertEquals(run.events.filter((event) => event.reason === "OutOfcpu").map((event) => event.message), [shortage]);
  run.delete("big");
  run.run(SECOND);
  assertEquals(run.gone, ["uid-big"]);
});

Deno.test("nextNode() stops a deleted pod within its grace, kills what does not stop, and says when it is gone", () => {
  const run = new ModelRun();
  run.add({ name: "quick", containers: [SMALL] });
  run.add({ name: "deaf", containers: [{ ...SMALL, load: { stops: { afterMs: 60_000, code: 0 } } }] });
  run.run(5 * SECOND);
  const at = run.state.at;
  run.delete("quick");
  run.delete("deaf", 3);
  run.run(5 * SECOND);
  assertEquals(run.gone, ["uid-quick", "uid-deaf"]);
  const codes = ["quick", "deaf"].map((name) => run.status(name).containerStatuses?.[0]?.state?.terminated?.exitCode);
  assertEquals(codes, [2, 137]);
  const endedAt = Date.parse(run.status("deaf").containerStatuses?.[0]?.state?.terminated?.finishedAt ?? "");
  assert(endedAt >= at + 2000 && endedAt <= at + 3100);
  assertEquals(run.status("quick").phase, "Failed");
  assertEquals(run.status("quick").observedGeneration, 2);
  run.run(5 * SECOND);
  assertEquals(run.gone.length, 2);
});
