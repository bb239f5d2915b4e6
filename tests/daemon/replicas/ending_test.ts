/**
 * ScaledObjects that are deleted while something else happens: replicas are restored once or not at all, and the
 * object never stays for ever.
 * Clauses: R57.
 */
import { assertEquals, assertStringIncludes } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import type { PodfitRun } from "../../support/cluster_run.ts";
import { hpa, replicasBy, ReplicasRun, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

/** Replicas were 3 and are 5 now. */
async function start(): Promise<ReplicasRun> {
  const run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=none")], {
      spec: { minReplicaCount: 5, advanced: { restoreToOriginalReplicaCount: true } },
    }),
  ]);
  await run.advance(20);
  assertEquals([await run.replicas(), run.writes.length], [5, 1]);
  return run;
}

function startAnother({ cluster }: ReplicasRun): PodfitRun {
  const ask = () => Promise.reject(new Error("asked"));
  return cluster.startPodfit(WHOLE_CLUSTER, { replicas: replicasBy(ask) });
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

Deno.test("an object that restores nothing does not wait for its target at its end (R57)", async () => {
  const object = scaledObject("web", [workloadTrigger("app=none")], { spec: { minReplicaCount: 1 } });
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 1 }),
    { ...object, metadata: { ...object.metadata, finalizers: ["example.com/hold"] } },
  ]);
  await run.advance(20);
  run.cluster.cluster.api.faults.add({ method: "GET", path: /\/scale$/, effect: { kind: "refuse", code: 503 } });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(330);
  assertEquals(run.podfit.log.filter(({ level }) => level === "ERROR"), []);
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

Deno.test("a dry run keeps a deleted object that has the finalizer, and its Ready and the log say how it goes (R57)", async () => {
  await using run = await start();
  await run.podfit[Symbol.asyncDispose]();
  const { metadata } = await run.cluster.get("scaledobjects/web");
  await run.cluster.patch("scaledobjects/web", {
    metadata: { finalizers: ["example.com/hold", ...metadata.finalizers] },
  });
  const ask = () => Promise.reject(new Error("asked"));
  await using dry = run.cluster.startPodfit(WHOLE_CLUSTER, { replicas: replicasBy(ask), dryRun: true });
  await run.advance(20);
  // A dry run restores nothing, so it need not read the scale either.
  run.cluster.cluster.api.faults.add({ method: "GET", path: /\/scale$/, effect: { kind: "refuse", code: 503 } });
  await run.cluster.delete("scaledobjects/web");
  await run.advance(20);
  assertEquals([await run.condition("web", "Ready"), countWrites(dry)], ["Unknown UnknownState", 0]);
  const message = await run.message("web");
  assertStringIncludes(message, "podfit runs with --dry-run, so it does not remove the finalizer finalizer.keda.sh");
  const said = dry.log.filter((one) => one.message === "A deleted ScaledObject stays");
  assertEquals(said.map(({ level, scaledObject, why }) => ({ level, scaledObject, why })), [
    { level: "WARN", scaledObject: "default/web", why: message },
  ]);
  const [, patch = ""] = /kubectl patch scaledobject web -n default --type json --patch '(.+)'$/.exec(message) ?? [];
  assertEquals(JSON.parse(patch), [
    { op: "test", path: "/metadata/finalizers/1", value: "finalizer.keda.sh" },
    { op: "remove", path: "/metadata/finalizers/1" },
  ]);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: null } });
  await run.advance(10);
  assertEquals([await isGone(run), await run.replicas(), countWrites(dry)], [true, 5, 0]);
  assertEquals(dry.log.filter((one) => one.message === "A deleted ScaledObject stays").length, 1);
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
