/**
 * ScaledObjects that are deleted while something else happens: replicas are restored once or not at all, and the
 * object never stays for ever.
 * Clauses: R57.
 */
import { assertEquals } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { FINALIZER } from "../../../lib/model/scaled_object.ts";
import type { PodfitOptions, PodfitRun } from "../../support/cluster_run.ts";
import {
  hpa,
  refuseList,
  replicasBy,
  ReplicasRun,
  type ReplicasRunOptions,
  scaledObject,
  workloadTrigger,
} from "../../support/replicas_run.ts";

/** Replicas were 3 and are 5 now. */
async function start(options: ReplicasRunOptions = {}): Promise<ReplicasRun> {
  const run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=none")], {
      spec: { minReplicaCount: 5, advanced: { restoreToOriginalReplicaCount: true } },
    }),
  ], options);
  await run.advance(20);
  assertEquals([await run.replicas(), run.writes.length], [5, 1]);
  return run;
}

function startAnother({ cluster }: ReplicasRun, options: PodfitOptions = {}): PodfitRun {
  const ask = () => Promise.reject(new Error("asked"));
  return cluster.startPodfit(WHOLE_CLUSTER, { ...options, replicas: replicasBy(ask) });
}

function countWrites({ requests }: PodfitRun): number {
  return requests.filter((one) => one.startsWith("PUT ") && one.includes("/scale")).length;
}

async function isGone({ cluster }: ReplicasRun): Promise<boolean> {
  return await cluster.find("scaledobjects/web") === null;
}

Deno.test("an object that is deleted while no podfit runs is restored once by the next (R57)", async () => {
  await using run = await start();
  await run.podfit[Symbol.asyncDispose]();
  await run.cluster.delete("scaledobjects/web");
  await run.advance(60);
  assertEquals([await run.replicas(), await isGone(run)], [5, false]);
  await using next = startAnother(run);
  await run.advance(10);
  assertEquals([await run.replicas(), await isGone(run), countWrites(next)], [3, true, 1]);
});

Deno.test("a podfit that ends between restoring and letting the object go leaves the next no write (R57)", async () => {
  await using run = await start();
  run.podfit.process.onSend = ({ method, url }) => {
    if (method === "PATCH" && /scaledobjects\/web\?/.test(url)) run.podfit.cut();
  };
  await run.cluster.delete("scaledobjects/web");
  await run.advance(20);
  assertEquals([await run.replicas(), await isGone(run), run.writes.length], [3, false, 2]);
  await using next = startAnother(run);
  await run.advance(10);
  assertEquals([await run.replicas(), await isGone(run), countWrites(next)], [3, true, 0]);
});

Deno.test("an object that is deleted while an HPA has its target restores nothing, and goes (R57, R75)", async () => {
  await using run = await start();
  await run.cluster.create(hpa("other"));
  await run.advance(3);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(20);
  assertEquals([await isGone(run), run.writes.length], [true, 1]);
});

Deno.test("an object that is invalid when it is deleted restores its replicas too (R57)", async () => {
  await using run = await start();
  await run.cluster.patch("scaledobjects/web", { spec: { triggers: [{ type: "kafka", metadata: {} }] } });
  await run.advance(20);
  assertEquals([await run.condition("web", "Ready"), await run.replicas()], ["False ScaledObjectCheckFailed", 5]);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(10);
  assertEquals([await run.replicas(), await isGone(run), run.writes.length], [3, true, 2]);
});

Deno.test("an object is kept while its replicas cannot be restored for now, and let go where that is refused (R57)", async () => {
  for (const [code, restored] of [[503, 3], [403, 5]] as const) {
    await using run = await start();
    const { faults } = run.cluster.cluster.api;
    faults.add({ method: "PUT", path: /\/scale$/, times: 1, effect: { kind: "refuse", code } });
    await run.cluster.delete("scaledobjects/web");
    await run.advance(60);
    assertEquals([await run.replicas(), await isGone(run)], [restored, true], String(code));
  }
});

Deno.test("replicas that are not put back as podfit may not read them are said, and those of another autoscaler are not (R57)", async () => {
  for (const what of ["no right", "an HPA"]) {
    await using run = await start();
    if (what === "an HPA") await run.cluster.create(hpa("other"));
    else {
      const effect = { kind: "refuse", code: 403 } as const;
      run.cluster.cluster.api.faults.add({ method: "GET", path: /\/scale$/, effect });
    }
    await run.advance(3);
    await run.cluster.delete("scaledobjects/web");
    await run.advance(20);
    const said = run.podfit.log.filter(({ message }) => String(message).startsWith("Cannot restore replicas"));
    assertEquals([what, await isGone(run), said.length], [what, true, what === "an HPA" ? 0 : 1]);
  }
});

function listUnrestored({ log }: PodfitRun): readonly string[] {
  return log.filter(({ message }) => String(message).startsWith("Cannot restore replicas"))
    .map(({ level, error }) => `${level} ${error.message}`);
}

/** A run in which one list is stale. `heal` makes it fresh again. */
async function startStale(list: string, options: ReplicasRunOptions = {}) {
  let isRefused = false;
  const run = await start({ ...options, answer: (request) => isRefused ? refuseList(request, list) : null });
  isRefused = true;
  run.cluster.cluster.api.faults.closeWatches(new RegExp(`/${list}$`));
  for (let minute = 0; minute < 6; minute++) await run.advance(60);
  return { run, heal: () => void (isRefused = false) };
}

for (const list of ["triggerauthentications", "horizontalpodautoscalers", "podresourceautoscalers"]) {
  Deno.test(`an object that is deleted while the list of ${list} is stale waits 5 min for it, and is let go (R57)`, async () => {
    const { run } = await startStale(list);
    await using _run = run;
    await run.cluster.delete("scaledobjects/web");
    await run.advance(298);
    assertEquals([await isGone(run), await run.condition("web", "Ready")], [false, "Unknown UnknownState"]);
    await run.advance(5);
    assertEquals([await isGone(run), await run.replicas(), run.writes.length], [true, 5, 1]);
    assertEquals(listUnrestored(run.podfit), [
      `ERROR the list of ${list} cannot be read; set them by hand`,
    ]);
    assertEquals((await run.cluster.events("web")).filter((one) => one === "ScaledObjectDeleted").length, 1);
  });
}

Deno.test("an object that is deleted while a list is stale is restored once the list is fresh (R57)", async () => {
  const { run, heal } = await startStale("horizontalpodautoscalers");
  await using _run = run;
  await run.cluster.delete("scaledobjects/web");
  await run.advance(200);
  assertEquals(await isGone(run), false);
  heal();
  await run.advance(120);
  assertEquals([await isGone(run), await run.replicas(), listUnrestored(run.podfit)], [true, 3, []]);
});

Deno.test("a podfit whose first lists have not come yet keeps a deleted object, for 5 min (R57)", async () => {
  for (const waited of [200, 310]) {
    await using run = await start();
    await run.podfit[Symbol.asyncDispose]();
    await run.cluster.delete("scaledobjects/web");
    let isRefused = true;
    await using next = startAnother(run, {
      answer: (request) => isRefused ? refuseList(request, "podresourceautoscalers") : null,
    });
    await run.advance(waited);
    assertEquals(await isGone(run), waited > 300);
    isRefused = false;
    await run.advance(120);
    assertEquals([await isGone(run), await run.replicas()], [true, waited > 300 ? 5 : 3]);
    const cause = "ERROR a list that podfit needs was never read; set them by hand";
    assertEquals(listUnrestored(next), waited > 300 ? [cause] : []);
  }
});

Deno.test("an object that restores nothing does not wait for lists at its end (R57)", async () => {
  const { run } = await startStale("horizontalpodautoscalers");
  await using _run = run;
  const object = scaledObject("other", [workloadTrigger("app=none")], { target: "other" });
  await run.cluster.create({ ...object, metadata: { ...object.metadata, finalizers: [FINALIZER] } });
  await run.advance(5);
  await run.cluster.delete("scaledobjects/other");
  await run.advance(5);
  assertEquals(await run.cluster.find("scaledobjects/other"), null);
});

Deno.test("a podfit that has lost the lead meanwhile neither gives up a deleted object nor says so (R57, C55)", async () => {
  const { run } = await startStale("horizontalpodautoscalers", { identity: "a" });
  await using _run = run;
  const other = "example.com/other";
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: [FINALIZER, other] } });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(120);
  run.podfit.process.pause();
  await using next = startAnother(run, { identity: "b" });
  for (let minute = 0; minute < 6; minute++) await run.advance(60);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals([metadata.finalizers, await run.replicas(), countWrites(next)], [[other], 3, 1]);
  run.podfit.process.resume();
  await run.advance(60);
  assertEquals([listUnrestored(run.podfit), await run.replicas()], [[], 3]);
});

Deno.test("an object that restores nothing does not wait for its target at its end (R57)", async () => {
  const object = scaledObject("web", [workloadTrigger("app=none")], { spec: { minReplicaCount: 1 } });
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 1 }),
    { ...object, metadata: { ...object.metadata, finalizers: ["finalizer.keda.sh"] } },
  ]);
  const { faults } = run.cluster.cluster.api;
  // So the finalizer is still there when it is deleted.
  faults.add({ method: "PATCH", path: /scaledobjects\/web$/, effect: { kind: "refuse", code: 403 } });
  await run.advance(20);
  faults.add({ method: "GET", path: /\/scale$/, effect: { kind: "refuse", code: 503 } });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(330);
  assertEquals(await isGone(run), false);
  assertEquals(run.podfit.log.filter(({ message }) => String(message).startsWith("Cannot restore replicas")), []);
});

Deno.test("an object that is gone before its last PATCH is answered is no failure (R57)", async () => {
  await using run = await start();
  const { process } = run.podfit;
  process.onSend = ({ method, url }) => {
    process.isCut = method === "PATCH" && /scaledobjects\/web\?/.test(url);
  };
  await run.cluster.delete("scaledobjects/web");
  await run.advance(5);
  assertEquals(await isGone(run), false);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: [] } });
  await run.advance(30);
  assertEquals([await isGone(run), run.podfit.log.filter(({ level }) => level === "ERROR")], [true, []]);
});

/** Replaces podfit by one that runs dry. The object has these finalizers before podfit's own. */
async function startDry(run: ReplicasRun, others: readonly string[]): Promise<PodfitRun> {
  await run.podfit[Symbol.asyncDispose]();
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: [...others, FINALIZER] } });
  const ask = () => Promise.reject(new Error("asked"));
  const dry = run.cluster.startPodfit(WHOLE_CLUSTER, { replicas: replicasBy(ask), dryRun: true });
  await run.advance(20);
  return dry;
}

async function deleteKept(run: ReplicasRun): Promise<void> {
  await run.cluster.delete("scaledobjects/web");
  await run.advance(20);
  assertEquals([await run.condition("web", "Ready"), await run.message("web")], ["Unknown UnknownState", KEPT]);
}

/** It is true of every deleted object, whatever its finalizers are and however podfit runs now. */
const KEPT =
  "ScaledObject is being deleted, and stays while metadata.finalizers has an entry. With --dry-run, podfit " +
  "does not remove the entry finalizer.keda.sh: if it is there, run podfit without --dry-run (chart value dryRun=false), " +
  "or remove the entry, which restores no replicas: kubectl edit scaledobject web -n default";

Deno.test("a dry run keeps a deleted object that has the finalizer, and its Ready and the log say how it goes (R57)", async () => {
  await using run = await start();
  await using dry = await startDry(run, []);
  // A dry run restores nothing, so it need not read the scale either.
  run.cluster.cluster.api.faults.add({ method: "GET", path: /\/scale$/, effect: { kind: "refuse", code: 503 } });
  await deleteKept(run);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: null } });
  await run.advance(10);
  assertEquals([await isGone(run), await run.replicas(), countWrites(dry)], [true, 5, 0]);
  const said = dry.log.filter(({ message }) => message === "A dry run leaves the finalizer of a deleted ScaledObject");
  assertEquals(said.map(({ level, scaledObject, why }) => ({ level, scaledObject, why })), [
    { level: "WARN", scaledObject: "default/web", why: KEPT },
  ]);
});

Deno.test("Ready of a deleted object that a dry run keeps stays true when other finalizers go (R57, R91)", async () => {
  await using run = await start();
  await using _dry = await startDry(run, ["a.com/one", "example.com/hold"]);
  await deleteKept(run);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: ["example.com/hold", FINALIZER] } });
  await run.advance(120);
  assertEquals(await run.message("web"), KEPT);
});

Deno.test("Ready of a deleted object stays true when a podfit that does not run dry has let it go (R57, R91)", async () => {
  await using run = await start();
  const dry = await startDry(run, ["example.com/hold"]);
  await deleteKept(run);
  await dry[Symbol.asyncDispose]();
  await using _next = startAnother(run);
  await run.advance(600);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals([metadata.finalizers, await run.replicas()], [["example.com/hold"], 3]);
  assertEquals(await run.message("web"), "ScaledObject is being deleted");
});

Deno.test("a podfit that does not run dry says nothing of a dry run when it lets an object go that one kept (R57)", async () => {
  await using run = await start();
  const dry = await startDry(run, []);
  await deleteKept(run);
  await dry[Symbol.asyncDispose]();
  await using next = startAnother(run);
  await run.advance(30);
  const said = next.log.filter(({ message }) => String(message).startsWith("A dry run"));
  assertEquals([await isGone(run), said], [true, []]);
});

Deno.test("no condition of a deleted object that another finalizer keeps says that it scales (R57, R91)", async () => {
  await using run = await start();
  const { metadata } = await run.cluster.get("scaledobjects/web");
  await run.cluster.patch("scaledobjects/web", {
    metadata: { finalizers: ["example.com/hold", ...metadata.finalizers] },
  });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(60);
  const names = ["Ready", "Active", "HPAActive", "AbleToScale", "ScalingLimited"];
  const said = await Promise.all(names.map((name) => run.condition("web", name)));
  const unknown = "Unknown UnknownState";
  assertEquals([await run.replicas(), said], [3, [unknown, unknown, unknown, "True SucceededRescale", "-"]]);
});

Deno.test("no condition of a deleted object says that it scales while its target's scale cannot be read (R57, R91)", async () => {
  await using run = await start();
  const fault = run.cluster.cluster.api.faults.add({
    method: "GET",
    path: /\/scale$/,
    effect: { kind: "refuse", code: 503 },
  });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(30);
  const said = await Promise.all(["Ready", "Active", "HPAActive"].map((name) => run.condition("web", name)));
  assertEquals(said, ["Unknown UnknownState", "Unknown UnknownState", "Unknown UnknownState"]);
  assertEquals([await isGone(run), await run.replicas()], [false, 5]);
  fault[Symbol.dispose]();
  await run.advance(20);
  assertEquals([await isGone(run), await run.replicas()], [true, 3]);
});

Deno.test("Ready of a deleted object stays true when a person has removed the finalizer in a dry run (R57, R91)", async () => {
  await using run = await start();
  await using _dry = await startDry(run, ["example.com/hold"]);
  await deleteKept(run);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: ["example.com/hold"] } });
  await run.advance(600);
  assertEquals([await run.replicas(), await run.message("web")], [5, KEPT]);
});

Deno.test("replicas that a person sets after the end of an object stay, also where its deletion waits for others (R57)", async () => {
  await using run = await start();
  const { metadata } = await run.cluster.get("scaledobjects/web");
  const finalizers = ["example.com/hold", ...metadata.finalizers];
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers } });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(20);
  assertEquals([await run.replicas(), (await run.cluster.get("scaledobjects/web")).metadata.finalizers], [3, [
    "example.com/hold",
  ]]);
  await run.cluster.patch("deployments/web", { spec: { replicas: 4 } });
  await run.cluster.patch("scaledobjects/web", { metadata: { annotations: { edited: "true" } } });
  await run.advance(40);
  assertEquals([await run.replicas(), run.writes.length], [4, 2]);
  await run.podfit[Symbol.asyncDispose]();
  await using next = startAnother(run);
  await run.advance(40);
  assertEquals([await run.replicas(), countWrites(next)], [4, 0]);
});
