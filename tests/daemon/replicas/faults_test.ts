/** Triggers do not answer and the API server refuses: nothing is lost, and other objects do not wait. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import type { AskTrigger } from "../../../lib/triggers/value.ts";
import type { Json } from "../../support/api_objects.ts";
import { CPU_50, hpa, ReplicasRun, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

const MAIN = { containers: [{ requests: { cpu: "100m" } }] };

function prometheus(metadata: Json = {}): Json {
  return {
    type: "prometheus",
    metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1", ...metadata },
  };
}

/** No trigger answers within an hour. `readClock`, because the run exists only later. */
function askInVain(readClock: () => Clock): AskTrigger {
  return async (_trigger, { signal }) => {
    await readClock().sleep(3_600_000, signal).catch(() => {});
    return { kind: "failed", message: "no answer", isEmpty: false };
  };
}

Deno.test("triggers that do not answer hold up no other object (R50)", async () => {
  const names = Array.from({ length: 40 }, (_, index) => `slow${index}`);
  const ask = askInVain(() => run.cluster.clock);
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    ...names.map((name) => deployment(name, { ...MAIN, replicas: 0 })),
    ...names.map((name) => scaledObject(name, [prometheus()], { target: name })),
    scaledObject("web", [workloadTrigger("app=none")], { spec: { minReplicaCount: 3 } }),
  ], { ask });
  await run.advance(120);
  assertEquals(await run.replicas(), 3);
  const ticks = run.passes.filter(({ input: { object, observation } }) =>
    object.name === "web" && observation.kind === "tick"
  );
  assertEquals(ticks.map(({ lateMs }) => Math.round(lateMs / 1000)), ticks.map(() => 0));
  assert(ticks.length >= 7);
});

Deno.test("of one object's triggers eight are asked at once, and of all of a namespace 32 (R50)", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `many${index}`);
  const triggers = Array.from({ length: 20 });
  const asking = new Map<string, number>();
  const most = { ofOne: 0, ofAll: 0 };
  const ask: AskTrigger = async (trigger, { signal }) => {
    const own = trigger.source.kind === "prometheus" ? trigger.source.query : "";
    const count = (by: number) => asking.set(own, (asking.get(own) ?? 0) + by);
    count(1);
    most.ofOne = Math.max(most.ofOne, asking.get(own) ?? 0);
    most.ofAll = Math.max(most.ofAll, [...asking.values()].reduce((sum, one) => sum + one, 0));
    await run.cluster.clock.sleep(100, signal).catch(() => {});
    count(-1);
    return { kind: "value", value: 0, isEmpty: false };
  };
  await using run = await ReplicasRun.start([
    ...names.map((name) => deployment(name, { ...MAIN, replicas: 0 })),
    ...names.map((name) => scaledObject(name, triggers.map(() => prometheus({ query: name })), { target: name })),
  ], { ask });
  await run.advance(10);
  assertEquals(most, { ofOne: 8, ofAll: 32 });
  const polled = run.passes.filter(({ input: { observation } }) => observation.kind === "poll");
  assertEquals(polled.length, names.length);
});

Deno.test("an object whose namespace is over its budget is asked late, and its Ready says so (R50)", async () => {
  let isLarge = true;
  const asked: number[] = [];
  const ask: AskTrigger = (_trigger, { work }) => {
    asked.push(run.cluster.clock.monotonic());
    work?.countBytes(isLarge ? 40 * 2 ** 20 : 1_000);
    return Promise.resolve({ kind: "value", value: 1, isEmpty: false });
  };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [prometheus()], { spec: { pollingInterval: 2, minReplicaCount: 0 } }),
  ], { ask });
  await run.advance(120);
  const gaps = asked.slice(1).map((atMs, index) => atMs - (asked[index] ?? 0));
  // 40 MiB at 2 MiB in a second.
  assertEquals(gaps.slice(2).every((ms) => ms >= 18_000), true, gaps.join());
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  assertStringIncludes(
    await run.message("web"),
    "use more of podfit's time than one namespace may, so their triggers are asked late: use fewer triggers",
  );
  isLarge = false;
  await run.advance(150);
  assertEquals((await run.message("web")).includes("asked late"), false);
});

function giveValue(value: number): AskTrigger {
  return () => Promise.resolve({ kind: "value", value, isEmpty: false });
}

/** The first requests of these are refused. */
function refuse({ method, times = Infinity, code = 500 }: { readonly method: string; times?: number; code?: number }) {
  let left = times;
  return (request: Request) => {
    if (request.method !== method || !/\/scale($|\?)/.test(request.url) || left-- <= 0) return null;
    const status = { kind: "Status", status: "Failure", code, message: "no" };
    return Response.json(status, { status: code });
  };
}

const PAUSED_AT_3 = { annotations: { "autoscaling.keda.sh/paused-replicas": "3" }, spec: { minReplicaCount: 1 } };

Deno.test("a paused-replicas that is refused once is written 15 s later (R46, R55)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [CPU_50], PAUSED_AT_3),
  ], { answer: refuse({ method: "PUT", times: 1 }) });
  await run.advance(5);
  assertEquals(await run.replicas(), 1);
  await run.advance(20);
  assertEquals([await run.replicas(), run.writes.length], [3, 2]);
});

Deno.test("an obstacle that came and went leaves what was set by hand while paused (R55)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [CPU_50], PAUSED_AT_3),
  ]);
  await run.advance(20);
  await run.cluster.patch("deployments/web", { spec: { replicas: 5 } });
  await run.cluster.create(hpa("other"));
  await run.advance(30);
  await run.cluster.delete("horizontalpodautoscalers/other");
  await run.advance(30);
  assertEquals([await run.replicas(), run.writes.length], [5, 1]);
});

Deno.test("a question without an answer holds up neither an edit nor the end of its object (R50, R57)", async () => {
  const asked: string[] = [];
  const wait = askInVain(() => run.cluster.clock);
  const ask: AskTrigger = (trigger, options) => {
    asked.push(trigger.source.kind === "prometheus" ? trigger.source.query : "");
    return wait(trigger, options);
  };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [prometheus()], { spec: RESTORED }),
  ], { ask });
  await run.advance(5);
  await run.cluster.patch("scaledobjects/web", { spec: { triggers: [prometheus({ query: "down" })] } });
  await run.advance(5);
  assertEquals(asked, ["up", "down"]);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(5);
  assertEquals(await run.cluster.find("scaledobjects/web"), null);
});

const RESTORED = { minReplicaCount: 5, advanced: { restoreToOriginalReplicaCount: true } };

Deno.test("an object whose replicas may not be restored is let go at once, and where that may pass after 5 min (R57)", async () => {
  for (const [method, code, seconds] of [["PUT", 403, 2], ["PUT", 500, 300], ["GET", 503, 300]] as const) {
    let isRefused = false;
    const refusal = refuse({ method, code });
    await using run = await ReplicasRun.start([
      deployment("web", { ...MAIN, replicas: 3 }),
      scaledObject("web", [workloadTrigger("app=none")], { spec: RESTORED }),
    ], { answer: (request) => isRefused && request.url.includes("/deployments/") ? refusal(request) : null });
    await run.advance(60);
    assertEquals(await run.replicas(), 5);
    isRefused = true;
    await run.cluster.delete("scaledobjects/web");
    await run.advance(seconds - 1);
    if (code !== 403) assert(await run.cluster.find("scaledobjects/web") !== null, `${method} ${code}`);
    await run.advance(20);
    assertEquals(await run.cluster.find("scaledobjects/web"), null, `${method} ${code}`);
    assertEquals(await run.replicas(), 5);
    const said = run.podfit.log.filter(({ message }) => String(message).startsWith("Cannot restore replicas"));
    assertEquals(said.map(({ level }) => level), ["ERROR"]);
    assert((await run.cluster.events("web")).includes("ScaledObjectDeleted"));
  }
});

Deno.test("a poll that an edit has cut short is made up at once (R7)", async () => {
  let asked = 0;
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    scaledObject("web", [prometheus()], { spec: { pollingInterval: 600 } }),
  ], {
    async ask() {
      if (asked++ > 0) return { kind: "value", value: 5, isEmpty: false };
      const annotations = { "autoscaling.keda.sh/paused-scale-in": "true" };
      await run.cluster.patch("scaledobjects/web", { metadata: { annotations } });
      await run.cluster.clock.sleep(1500);
      return { kind: "value", value: 0, isEmpty: false };
    },
  });
  await run.advance(10);
  assertEquals(await run.replicas(), 1);
});

Deno.test("an object is polled at once when what stood in its way is gone (R7, R16, R30)", async () => {
  const TOKEN = { name: "token", namespace: "default" };
  const authentication = {
    apiVersion: "keda.sh/v1alpha1",
    kind: "TriggerAuthentication",
    metadata: { name: "auth", namespace: "default" },
    spec: { secretTargetRef: [{ parameter: "bearerToken", name: "token", key: "value" }] },
  };
  const trigger = {
    ...prometheus({ serverAddress: "https://prometheus", authModes: "bearer" }),
    authenticationRef: { name: "auth" },
  };
  const polled = (run: ReplicasRun) =>
    run.passes.filter(({ input: { observation } }) => observation.kind === "poll").length;
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    scaledObject("web", [trigger], { spec: { pollingInterval: 600 } }),
  ], { ask: giveValue(5), answer: refuse({ method: "GET", times: 2, code: 503 }) });
  await run.advance(20);
  await run.cluster.create(authentication);
  await run.advance(20);
  assertEquals([await run.condition("web", "Ready"), polled(run)], ["False ScaledObjectCheckFailed", 0]);
  await run.cluster.create({ apiVersion: "v1", kind: "Secret", metadata: TOKEN, data: { value: btoa("abc") } });
  await run.advance(20);
  assertEquals([await run.replicas() > 0, polled(run)], [true, 1]);
});

Deno.test("an object whose scale could not be read is polled as soon as it is (R7, R30)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    scaledObject("web", [prometheus()], { spec: { pollingInterval: 600, maxReplicaCount: 1 } }),
  ], { ask: giveValue(5), answer: refuse({ method: "GET", times: 1, code: 503 }) });
  await run.advance(10);
  assertEquals(await run.replicas(), 0);
  await run.advance(10);
  assertEquals(await run.replicas(), 1);
});

Deno.test("an activation that is refused as the API server is busy is tried again 15 s later, one that is forbidden at the next poll (R46)", async () => {
  for (const [code, replicas] of [[429, 1], [500, 1], [403, 0]] as const) {
    await using run = await ReplicasRun.start([
      deployment("web", { ...MAIN, replicas: 0 }),
      scaledObject("web", [prometheus()], { spec: { pollingInterval: 600, maxReplicaCount: 1 } }),
    ], { ask: giveValue(5), answer: refuse({ method: "PUT", times: 1, code }) });
    await run.advance(40);
    assertEquals(await run.replicas(), replicas, String(code));
  }
});

Deno.test("at zero replicas triggers are asked at pollingInterval, and failures count at it too (R32, R70)", async () => {
  for (const kind of ["value", "failed"] as const) {
    let asked = 0;
    const ask: AskTrigger = () => {
      asked++;
      const value = { kind: "value", value: 0, isEmpty: false } as const;
      return Promise.resolve(kind === "value" ? value : { kind, message: "no", isEmpty: false, isSlow: true });
    };
    await using run = await ReplicasRun.start([
      deployment("web", { ...MAIN, replicas: 0 }),
      scaledObject("web", [prometheus()], {
        spec: { pollingInterval: 300, fallback: { failureThreshold: 3, replicas: 6 } },
      }),
    ], { ask });
    await run.advance(290);
    assertEquals([kind, asked], [kind, 1]);
    await run.advance(30);
    assertEquals([kind, asked, await run.replicas()], [kind, 2, 0]);
  }
});

Deno.test("replicas beyond the maximum are written without a question (R32)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 7 }),
    scaledObject("web", [prometheus()], { spec: { minReplicaCount: 1, maxReplicaCount: 2 } }),
  ], { ask: giveValue(9) });
  await run.advance(60);
  assertEquals(await run.replicas(), 2);
  const read = run.passes.flatMap(({ input: { observation } }) =>
    observation.kind === "tick" ? [[observation.scale.replicas, observation.triggers.size]] : []
  );
  assertEquals(read.slice(0, 2), [[7, 0], [2, 1]]);
});

Deno.test("while a secret is missing no cached value is scaled on (R16, R19)", async () => {
  let isDenied = false;
  const ask: AskTrigger = () => {
    const value = { kind: "value", value: 9, isEmpty: false } as const;
    return Promise.resolve(isDenied ? { kind: "failed", message: "401", isEmpty: false } : value);
  };
  const trigger = {
    ...prometheus({ serverAddress: "https://prometheus", authModes: "bearer" }),
    useCachedMetrics: true,
    authenticationRef: { name: "auth" },
  };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "token", namespace: "default" },
      data: { value: btoa("abc") },
    },
    {
      apiVersion: "keda.sh/v1alpha1",
      kind: "TriggerAuthentication",
      metadata: { name: "auth", namespace: "default" },
      spec: { secretTargetRef: [{ parameter: "bearerToken", name: "token", key: "value" }] },
    },
    scaledObject("web", [trigger], { spec: { minReplicaCount: 1, maxReplicaCount: 20 } }),
  ], { ask });
  await run.advance(60);
  assertEquals(await run.replicas(), 9);
  isDenied = true;
  await run.cluster.delete("secrets/token");
  await run.advance(31);
  await run.cluster.patch("deployments/web", { spec: { replicas: 3 } });
  const from = run.passes.length;
  await run.advance(120);
  assertEquals(await run.replicas(), 3);
  const ready = run.passes.slice(from).map(({ outcome: { state } }) => state.conditions.Ready?.reason);
  assertEquals(new Set(ready), new Set(["ScaledObjectCheckFailed"]));
});

Deno.test("an object whose formula fails keeps no other object from the target (R72, R78)", async () => {
  const trigger = { ...workloadTrigger("app=jobs"), name: "jobs" };
  const advanced = { scalingModifiers: { formula: "[1, 2][int(jobs) + 100]", target: "1" } };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    deployment("jobs", { ...MAIN, replicas: 3 }),
    scaledObject("older", [trigger], { spec: { minReplicaCount: 1, maxReplicaCount: 9, advanced } }),
    scaledObject("younger", [trigger], { spec: { minReplicaCount: 1, maxReplicaCount: 9 } }),
  ]);
  await run.advance(60);
  assertStringIncludes(await run.message("older"), "InvalidSpec");
  assertEquals([await run.condition("younger", "Ready"), await run.replicas()], ["True ScaledObjectReady", 3]);
});

Deno.test("podfit's end while a write is under way is no failure of the write (R46)", async () => {
  let isHeld = false;
  const run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    deployment("jobs", { ...MAIN, replicas: 0 }),
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { pollingInterval: 5 } }),
  ], {
    answer(request) {
      if (!isHeld || request.method !== "PUT" || !request.url.includes("/scale")) return null;
      const { promise, reject } = Promise.withResolvers<Response>();
      request.signal.addEventListener("abort", () => reject(request.signal.reason));
      return promise;
    },
  });
  await using cluster = run.cluster;
  await run.advance(20);
  isHeld = true;
  await cluster.patch("deployments/jobs", { spec: { replicas: 3 } });
  await run.advance(7);
  assertEquals(run.passes.at(-1)?.outcome.write?.replicas, 1);
  await run.podfit[Symbol.asyncDispose]();
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  const warned = run.podfit.log.filter(({ message }) => String(message).startsWith("Cannot set replicas"));
  assertEquals(warned, []);
});

Deno.test("a finalizer that podfit may not change is an error in the log once a minute at most (R57)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [workloadTrigger("app=none")], { spec: RESTORED }),
  ]);
  run.cluster.cluster.api.faults.add({
    method: "PATCH",
    path: /scaledobjects\/web$/,
    effect: { kind: "refuse", code: 403 },
  });
  await run.advance(200);
  const said = run.podfit.log.filter(({ message }) => String(message).startsWith("Cannot change the finalizer"));
  const errors = said.filter(({ level }) => level === "ERROR");
  assert(said.length > 10 && errors.length > 0 && errors.length <= 4, `${errors.length} of ${said.length}`);
});
