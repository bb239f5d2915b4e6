/** Objects that are too large or too many: their own condition says so, and the others work as before (L57). */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { NO_OPERATOR_LIMITS } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import { deployment } from "../e2e/support/workloads.ts";
import { autoscalerObject, type Json } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";
import { ReplicasRun, scaledObject, workloadTrigger } from "../support/replicas_run.ts";

/** Created in this second of the day. */
function autoscalerOf(name: string, second: number, metadata: Json = {}): Json {
  const object = autoscalerObject({ name });
  const creationTimestamp = `2026-11-20T10:00:${String(second).padStart(2, "0")}Z`;
  return { ...object, metadata: { ...object.metadata, creationTimestamp, ...metadata } };
}

function limitsOf(objects: Partial<{ maxAutoscalers: number; maxScaledObjects: number; maxBytes: number }>) {
  return {
    ...NO_OPERATOR_LIMITS,
    objects: { maxAutoscalers: null, maxScaledObjects: null, maxBytes: null, ...objects },
  };
}

function readyOf(run: Run, ...names: readonly string[]): readonly string[] {
  return names.map((name) => `${name} ${run.condition("Ready", name)}`);
}

Deno.test("createDaemon() uses no object of more than 64 KiB, says so in its condition, and uses the others (L57)", async () => {
  const large = autoscalerOf("large", 1, { annotations: { note: "x".repeat(64 * 1024) } });
  const nearly = autoscalerOf("nearly", 2, { annotations: { note: "x".repeat(60 * 1024) } });
  await using run = new Run({ autoscalers: [large, nearly] });
  await run.advance(30);
  assertEquals(readyOf(run, "large", "nearly"), ["large False TooLarge", "nearly True Valid"]);
  const { message } = run.status("large").conditions.find(({ type }: Json) => type === "Ready");
  assertStringIncludes(message, "this object has more than 64 KiB");
  run.api.put("podresourceautoscalers", autoscalerOf("large", 1, { generation: 2 }));
  await run.advance(30);
  assertEquals(readyOf(run, "large"), ["large True Valid"]);
});

Deno.test("createDaemon() counts the oldest autoscalers, also after a restart, and the next one when one is deleted (L57)", async () => {
  const limits = limitsOf({ maxAutoscalers: 2 });
  const first = new Run({
    limits,
    autoscalers: [autoscalerOf("a-new", 3), autoscalerOf("b", 2), autoscalerOf("c", 1)],
  });
  await first.advance(30);
  const ready = ["a-new False TooMany", "b True Valid", "c True Valid"];
  assertEquals(readyOf(first, "a-new", "b", "c"), ready);
  await first.stop();
  await using second = new Run({ after: first, limits });
  await second.advance(30);
  assertEquals(readyOf(second, "a-new", "b", "c"), ready);
  second.api.remove("podresourceautoscalers", "c");
  await second.advance(30);
  assertEquals(readyOf(second, "a-new", "b"), ["a-new True Valid", "b True Valid"]);
  const lists = second.api.calls.filter(({ query }) => query.fieldSelector === "metadata.name=a-new");
  assertEquals(lists.length, 1, "one list of one object");
});

Deno.test("createDaemon() keeps the oldest bytes of a namespace, and publishes how many it has (L57)", async () => {
  const note = { annotations: { note: "x".repeat(3000) } };
  const limits = limitsOf({ maxBytes: 8 * 1024 });
  await using run = new Run({
    limits,
    autoscalers: [1, 2, 3].map((second) => autoscalerOf(`web-${second}`, second, note)),
  });
  await run.advance(30);
  assertEquals(readyOf(run, "web-1", "web-2", "web-3"), [
    "web-1 True Valid",
    "web-2 True Valid",
    "web-3 False OverBudget",
  ]);
  const [series = ""] = await run.series("podfit_objects_bytes");
  const bytes = Number(series.split(" ").at(-1));
  assert(series.startsWith('podfit_objects_bytes{namespace="shop"}') && bytes > 9000 && bytes < 15_000, series);
  run.api.put("podresourceautoscalers", autoscalerOf("web-1", 1, { generation: 2 }));
  await run.advance(30);
  assertEquals(readyOf(run, "web-3"), ["web-3 True Valid"]);
});

Deno.test("createDaemon() forgets an autoscaler that a new list does not have (L57)", async () => {
  const limits = limitsOf({ maxAutoscalers: 1 });
  await using run = new Run({ limits, autoscalers: [autoscalerOf("old", 1), autoscalerOf("web", 2)] });
  await run.advance(30);
  assertEquals(readyOf(run, "web"), ["web False TooMany"]);
  run.api.expire(() => run.api.remove("podresourceautoscalers", "old"));
  await run.advance(60);
  assertEquals(readyOf(run, "web"), ["web True Valid"]);
});

Deno.test("createDaemon() counts no autoscaler twice that was made again while no watch showed it (L57)", async () => {
  const old = [autoscalerOf("a", 1), autoscalerOf("b", 2)];
  await using run = new Run({ limits: limitsOf({ maxAutoscalers: 2 }), autoscalers: old });
  await run.advance(30);
  run.api.expire(() => {
    for (const { metadata: { name } } of old) {
      run.api.remove("podresourceautoscalers", name);
      run.api.put("podresourceautoscalers", autoscalerOf(name, 50, { uid: `uid-${name}-again` }));
    }
  });
  for (let second = 0; second < 30; second++) {
    await run.advance(1);
    for (const ready of readyOf(run, "a", "b")) assert(!ready.includes("TooMany"), `${ready} after ${second} s`);
  }
  assertEquals(readyOf(run, "a", "b"), ["a True Valid", "b True Valid"]);
  assertEquals(run.events.filter((event) => event.startsWith("TooMany")), []);
});

Deno.test("createDaemon() scales the oldest ScaledObjects of a namespace, and the message of the others says what to do (L57)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 1 }),
    deployment("api", { containers: [{ requests: { cpu: "100m" } }], replicas: 1 }),
    deployment("jobs", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=jobs")]),
    scaledObject("zeta", [workloadTrigger("app=jobs")], { target: "api" }),
  ], { limits: limitsOf({ maxScaledObjects: 1 }) });
  await run.advance(90);
  assertEquals([await run.replicas("web"), await run.replicas("api")], [3, 1]);
  const message = await run.message("zeta");
  assertStringIncludes(message, "TooMany: metadata.namespace: podfit keeps the oldest 1 ScaledObjects");
  await run.cluster.delete("scaledobjects/web");
  await run.advance(90);
  assertEquals(await run.replicas("api"), 3);
});
