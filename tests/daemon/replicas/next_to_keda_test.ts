/**
 * podfit next to KEDA, which is played by the test: its HPA, its annotations and the values that it serves.
 * Clauses: M1, M2, M3, M4, M5, M7, M11, M13, M22, M23.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { parseMetricAnswer } from "../../../lib/daemon/replicas/metrics_apis.ts";
import { milliToDouble } from "../../../lib/units/numbers.ts";
import type { Json } from "../../support/api_objects.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import {
  kafkaMetric,
  kedasHpa,
  refuseList,
  replicasBy,
  ReplicasRun,
  type ReplicasRunOptions,
  scaledObject,
} from "../../support/replicas_run.ts";

const SELECTED = { "podfit.dev/scale": "true" } as const;

const KEDAS_PAUSE = "autoscaling.keda.sh/paused";

const KAFKA: Json = {
  type: "kafka",
  metadata: { bootstrapServers: "kafka:9092", topic: "orders", lagThreshold: "10" },
};

/** What KEDA serves, by the name of the metric; a number of status is a refusal. */
class Keda {
  readonly values = new Map<string, string | number>([["s0-kafka-orders", "10"]]);
  readonly asked: string[] = [];

  readonly answer = (request: Request): Response | null => {
    const { pathname, searchParams } = new URL(request.url);
    if (!pathname.startsWith("/apis/external.metrics.k8s.io/")) return null;
    const metricName = pathname.split("/").at(-1) ?? "";
    this.asked.push(`${pathname.slice("/apis/external.metrics.k8s.io/v1beta1/".length)} ${searchParams}`);
    const value = this.values.get(metricName) ?? 404;
    if (typeof value === "number") {
      const message = `metric ${metricName} has no value`;
      return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code: value, message }, {
        status: value,
      });
    }
    return Response.json({ kind: "ExternalMetricValueList", items: [{ metricName, value }] });
  };
}

interface Given extends ReplicasRunOptions {
  readonly count?: number;
  readonly spec?: Json;
  readonly annotations?: Readonly<Record<string, string>>;
}

async function start(keda: Keda, { count = 3, spec = {}, annotations = SELECTED, ...options }: Given = {}) {
  const object = scaledObject("web", [KAFKA], { annotations, spec });
  return await ReplicasRun.start(
    [deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: count }), object],
    {
      answer: keda.answer,
      settings: { isNextToKeda: true },
      ...options,
    },
  );
}

/** KEDA's HPA, which its operator keeps while the object is not paused. */
async function makeHpa(run: ReplicasRun, target = "10"): Promise<void> {
  const { metadata: { uid } } = await run.cluster.get("scaledobjects/web");
  await run.cluster.create(kedasHpa(uid, [kafkaMetric(target)]));
}

async function setStatus(run: ReplicasRun, status: Json): Promise<void> {
  const path = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects/web/status";
  await run.cluster.cluster.client.patch(path, "merge", { status });
}

async function annotate(run: ReplicasRun, annotations: Json): Promise<void> {
  await run.cluster.patch("scaledobjects/web", { metadata: { annotations } });
}

/** As `podfit adopt` and KEDA do it: a record, a pause, and no HPA any more. */
async function adopt(run: ReplicasRun): Promise<void> {
  await makeHpa(run);
  await run.advance(5);
  await annotate(run, { [KEDAS_PAUSE]: "true" });
  await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  await run.advance(5);
}

const isWrite = (request: string) => !request.startsWith("GET ");

Deno.test("a ScaledObject that is not selected is KEDA's: nothing is written, asked or counted (M1)", async () => {
  const keda = new Keda();
  await using run = await start(keda, { annotations: { [KEDAS_PAUSE]: "true" } });
  await run.advance(120);
  const about = run.podfit.requests.filter((one) => isWrite(one) && /scaledobjects|scale$|events/.test(one));
  assertEquals([about, keda.asked, run.passes.length], [[], [], 0]);
  assertEquals((await run.podfit.series("keda_")).filter((line) => line.includes('"web"')), []);
  await annotate(run, SELECTED);
  await run.advance(5);
  assertEquals(await run.condition("web", "PodfitScaling"), "False NoRecord");
});

Deno.test("podfit leaves a selected object to KEDA until it is paused and the HPA is gone (M2)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", "70");
  await using run = await start(keda);
  await makeHpa(run);
  await run.advance(60);
  assertEquals([await run.condition("web", "PodfitScaling"), keda.asked], ["False KEDAIsScaling", []]);
  assertStringIncludes(await run.message("web", "PodfitScaling"), "podfit adopt so/web -n default");
  await annotate(run, { [KEDAS_PAUSE]: "true" });
  await run.advance(60);
  assertEquals(await run.condition("web", "PodfitScaling"), "False KEDAIsScaling");
  assertStringIncludes(await run.message("web", "PodfitScaling"), "keda-hpa-web");
  assertEquals([run.writes, keda.asked], [[], []]);
  await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  await run.advance(2);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
  await run.advance(30);
  assertEquals(await run.replicas(), 7);
});

Deno.test("at constant load the replicas stay when podfit takes over, and when it gives back (M2)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", "30");
  await using run = await start(keda);
  await adopt(run);
  await run.advance(400);
  assertEquals([await run.replicas(), run.writes], [3, []]);
  await annotate(run, { [KEDAS_PAUSE]: null });
  keda.values.set("s0-kafka-orders", "90");
  await run.advance(60);
  assertEquals([await run.condition("web", "PodfitScaling"), run.writes], ["False KEDAIsScaling", []]);
});

Deno.test("KEDA's metric is asked once for both loops, by its name and its object (M11)", async () => {
  const keda = new Keda();
  await using run = await start(keda, { spec: { pollingInterval: 15 } });
  await adopt(run);
  const before = keda.asked.length;
  await run.advance(60);
  const asked = keda.asked.slice(before);
  assertEquals(
    new Set(asked),
    new Set(["namespaces/default/s0-kafka-orders labelSelector=scaledobject.keda.sh%2Fname%3Dweb"]),
  );
  assert(asked.length <= 9, `${asked.length} questions in 60 s`);
});

Deno.test("the record is that of KEDA's HPA, and follows it while the object is not paused (M4)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await makeHpa(run);
  await run.advance(5);
  const recordOf = async () => {
    const { metadata } = await run.cluster.get("scaledobjects/web");
    return JSON.parse(metadata.annotations["podfit.dev/keda-metrics"]).metrics;
  };
  assertEquals(await recordOf(), [{ trigger: 0, name: "s0-kafka-orders", type: "AverageValue", target: "10000m" }]);
  await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  await makeHpa(run, "20");
  await run.advance(5);
  assertEquals((await recordOf())[0].target, "20000m");
  const patches = run.podfit.requests.filter((one) => one.startsWith("PATCH ") && /scaledobjects\/web\?/.test(one));
  await run.advance(60);
  assertEquals(patches.length, 2);
});

Deno.test("a dry run writes no record (M4)", async () => {
  await using run = await start(new Keda(), { dryRun: true });
  await makeHpa(run);
  await run.advance(30);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals(metadata.annotations["podfit.dev/keda-metrics"], undefined);
});

Deno.test("an object that was paused before podfit saw the HPA is left alone, with what to do (M4)", async () => {
  const keda = new Keda();
  await using run = await start(keda, { annotations: { ...SELECTED, [KEDAS_PAUSE]: "true" } });
  // That of the triggers before the pause, which may be others.
  await makeHpa(run);
  await run.advance(5);
  await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  await run.advance(60);
  assertEquals(await run.condition("web", "PodfitScaling"), "False NoRecord");
  assertStringIncludes(await run.message("web", "PodfitScaling"), "podfit release so/web -n default");
  assertEquals([run.writes.filter((one) => one.includes("/scale")), keda.asked], [[], []]);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals(metadata.annotations["podfit.dev/keda-metrics"], undefined);
});

Deno.test("triggers that change while the object is paused fail: replicas do not fall, and the condition says so (M5)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", "30");
  await using run = await start(keda);
  await adopt(run);
  await run.advance(30);
  keda.values.set("s0-kafka-orders", "0");
  const metadata = { ...KAFKA.metadata, lagThreshold: "20" };
  await run.cluster.patch("scaledobjects/web", { spec: { triggers: [{ ...KAFKA, metadata }] } });
  await run.advance(900);
  assertEquals([await run.replicas(), run.writes], [3, []]);
  assertEquals(await run.condition("web", "PodfitScaling"), "False RecordStale");
});

Deno.test("triggers that change with the pause get no record of the HPA that was made for others (M4, M5)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", "30");
  await using run = await start(keda);
  await makeHpa(run);
  await run.advance(5);
  const metadata = { ...KAFKA.metadata, lagThreshold: "100" };
  await run.cluster.patch("scaledobjects/web", {
    metadata: { annotations: { [KEDAS_PAUSE]: "true" } },
    spec: { triggers: [{ ...KAFKA, metadata }] },
  });
  await run.advance(5);
  await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  keda.values.set("s0-kafka-orders", "90");
  await run.advance(60);
  assertEquals([await run.condition("web", "PodfitScaling"), run.writes], ["False RecordStale", []]);
});

Deno.test("podfit writes its own conditions and leaves KEDA's as they are (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  const kedas = [
    { type: "Ready", status: "True", reason: "ScaledObjectReady", message: "by KEDA" },
    { type: "Paused", status: "True", reason: "ScaledObjectPaused", message: "by KEDA" },
  ];
  await setStatus(run, {
    conditions: kedas,
    lastActiveTime: "2026-01-01T00:00:00Z",
    externalMetricNames: ["s0-kafka-orders"],
  });
  await adopt(run);
  await run.advance(60);
  const { status, metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals(status.conditions.slice(0, 2), kedas);
  assertEquals(status.conditions.slice(2).map(({ type }: Json) => type), [
    "PodfitScaling",
    "PodfitActive",
    "PodfitFallback",
  ]);
  assertEquals([status.lastActiveTime, status.externalMetricNames], ["2026-01-01T00:00:00Z", ["s0-kafka-orders"]]);
  assertEquals(Object.keys(status).sort(), ["conditions", "externalMetricNames", "lastActiveTime"]);
  assertEquals(metadata.finalizers, undefined);
});

Deno.test("podfit's own conditions say that a list is stale, and KEDA's stay as they are (M7, R91)", async () => {
  const keda = new Keda();
  let isRefused = false;
  await using run = await start(keda, {
    answer: (request) => (isRefused ? refuseList(request, "horizontalpodautoscalers") : null) ?? keda.answer(request),
  });
  const kedas = [
    { type: "Ready", status: "True", reason: "ScaledObjectReady", message: "by KEDA" },
    { type: "Active", status: "True", reason: "ScalerActive", message: "by KEDA" },
    { type: "Fallback", status: "True", reason: "FallbackExists", message: "by KEDA" },
  ];
  await setStatus(run, { conditions: kedas });
  await adopt(run);
  await run.advance(60);
  const own = () =>
    Promise.all(["PodfitScaling", "PodfitActive", "PodfitFallback"].map((one) => run.condition("web", one)));
  const before = await own();
  assertEquals(before, ["True Scaling", "True ScalerActive", "True FallbackExists"]);
  isRefused = true;
  run.cluster.cluster.api.faults.closeWatches(/\/horizontalpodautoscalers$/);
  for (let minute = 0; minute < 6; minute++) await run.advance(60);
  assertEquals(await own(), ["Unknown UnknownState", "Unknown UnknownState", "True FallbackExists"]);
  const { status } = await run.cluster.get("scaledobjects/web");
  assertEquals(status.conditions.slice(0, 3), kedas);
  isRefused = false;
  await run.advance(120);
  assertEquals(await own(), before);
});

Deno.test("conditions that another writer drops are written again (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await adopt(run);
  await run.advance(30);
  await setStatus(run, { conditions: [] });
  await run.advance(120);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
});

Deno.test("an older list of conditions that KEDA writes back is replaced within 20 s (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await adopt(run);
  await run.advance(30);
  const { status: { conditions: older } } = await run.cluster.get("scaledobjects/web");
  await annotate(run, { [KEDAS_PAUSE]: null });
  await run.advance(2);
  assertEquals(await run.condition("web", "PodfitScaling"), "False KEDAIsScaling");
  await setStatus(run, { conditions: older });
  await run.advance(20);
  assertEquals(await run.condition("web", "PodfitScaling"), "False KEDAIsScaling");
  assertEquals(run.podfit.lines("Another writer changes the status").length, 0);
});

Deno.test("an object that is no longer selected loses podfit's conditions, and keeps the others (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await setStatus(run, { conditions: [{ type: "Ready", status: "True" }] });
  await adopt(run);
  await run.advance(30);
  await annotate(run, { "podfit.dev/scale": null });
  await run.advance(10);
  const { status } = await run.cluster.get("scaledobjects/web");
  assertEquals(status.conditions, [{ type: "Ready", status: "True" }]);
  assert(!(await run.cluster.events("web")).includes("ScaledObjectDeleted"));
});

Deno.test("podfit's conditions that KEDA writes back after a release are removed within 35 s (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await adopt(run);
  await run.advance(30);
  const { status: { conditions: older } } = await run.cluster.get("scaledobjects/web");
  await annotate(run, { "podfit.dev/scale": null });
  for (const [before, after] of [[2, 5], [3, 30]] as const) {
    await run.advance(before);
    await setStatus(run, { conditions: [{ type: "Ready", status: "True" }, ...older] });
    await run.advance(after);
    assertEquals((await run.cluster.get("scaledobjects/web")).status.conditions, [{ type: "Ready", status: "True" }]);
  }
});

Deno.test("an object that is selected again at once keeps podfit's conditions (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await adopt(run);
  await run.advance(30);
  await annotate(run, { "podfit.dev/scale": null });
  await run.advance(1);
  await annotate(run, SELECTED);
  await run.advance(3);
  const patches = run.podfit.requests.filter((one) => one.startsWith("PATCH ") && one.includes("web/status"));
  for (const seconds of [3, 54, 60]) {
    await run.advance(seconds);
    assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
  }
  const after = run.podfit.requests.filter((one) => one.startsWith("PATCH ") && one.includes("web/status"));
  assertEquals(after.length, patches.length);
});

Deno.test("KEDA's finalizer stays, and podfit neither restores nor reports the end of the object (M7)", async () => {
  const keda = new Keda();
  await using run = await start(keda, { spec: { advanced: { restoreToOriginalReplicaCount: true } } });
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: ["finalizer.keda.sh"] } });
  await adopt(run);
  await run.advance(30);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(60);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals(metadata.finalizers, ["finalizer.keda.sh"]);
  assert(!(await run.cluster.events("web")).includes("ScaledObjectDeleted"));
});

Deno.test("an adopted object goes to zero and back by its activation, and not at once after podfit's start (M7)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", "0");
  await using run = await start(keda, { count: 1, spec: { cooldownPeriod: 60, pollingInterval: 10 } });
  await setStatus(run, { lastActiveTime: "2020-01-01T00:00:00Z" });
  await adopt(run);
  await run.advance(30);
  assertEquals(await run.replicas(), 1);
  await run.advance(90);
  assertEquals(await run.replicas(), 0);
  keda.values.set("s0-kafka-orders", "25");
  await run.advance(45);
  const writes = run.passes.flatMap(({ outcome: { write } }) => write === null ? [] : [[write.reason, write.replicas]]);
  assertEquals([writes, await run.replicas()], [[["Deactivated", 0], ["Activated", 1], ["ScaledOut", 3]], 3]);
});

Deno.test("while KEDA does not answer, replicas neither fall nor go to zero, and the cause is said (M13)", async () => {
  const keda = new Keda();
  await using run = await start(keda, { spec: { cooldownPeriod: 30, pollingInterval: 10 } });
  keda.values.set("s0-kafka-orders", "30");
  await adopt(run);
  await run.advance(30);
  for (
    const [status, cause] of [[404, "is installed"], [500, "KEDA could not read"], [503, "does not answer"]] as const
  ) {
    keda.values.set("s0-kafka-orders", status);
    await run.advance(120);
    assertEquals([status, await run.replicas()], [status, 3]);
    const events = await run.cluster.list("events");
    const texts = events.filter(({ involvedObject }: Json) => involvedObject.name === "web").map(({ message }) =>
      message
    );
    assert(texts.some((text: string) => text.includes(cause)), `${cause}: ${texts.join(" | ")}`);
  }
});

Deno.test("an object with a fallback is asked no more often than the HPA would, and podfit applies none (M13)", async () => {
  const keda = new Keda();
  keda.values.set("s0-kafka-orders", 500);
  const spec = { pollingInterval: 5, fallback: { failureThreshold: 1, replicas: 9 } };
  await using run = await start(keda, { spec });
  await adopt(run);
  const before = keda.asked.length;
  await run.advance(150);
  const asked = keda.asked.length - before;
  // A question that fails fast is asked once more.
  assert(asked <= 2 * 11, `${asked} questions in 150 s`);
  assertEquals([await run.replicas(), await run.condition("web", "PodfitFallback")], [3, "False NoFallbackFound"]);
  const { status } = await run.cluster.get("scaledobjects/web");
  const Fallback = { type: "Fallback", status: "True", reason: "FallbackExists", message: "by KEDA" };
  await setStatus(run, { conditions: [...status.conditions, Fallback] });
  keda.values.set("s0-kafka-orders", "90");
  await run.advance(120);
  assertEquals([await run.replicas(), await run.condition("web", "PodfitFallback")], [9, "True FallbackExists"]);
});

const METRIC = { kind: "metric", metric: "m", selector: "", of: { kind: "external" } } as const;

Deno.test("parseMetricAnswer() adds up the items, and refuses what is no value of this metric (M11, M23)", () => {
  const item = (value: unknown, metricName = "m") => ({ metricName, value });
  const valueOf = (items: unknown) => {
    const parsed = parseMetricAnswer({ items }, METRIC);
    return parsed.ok ? milliToDouble(parsed.milli) : parsed.cause;
  };
  assertEquals(valueOf([item("3500m"), item("2"), item("1k", "")]), 1005.5);
  assertEquals(valueOf([item("0")]), 0);
  assertEquals(valueOf([item(5.5)]), 5.5, "the HPA's client accepts a JSON number");
  const cases: readonly (readonly [unknown, string])[] = [
    [null, "no list"],
    [{}, "no list"],
    [[], "no item"],
    [[item("1", "other")], "another metric"],
    [[item("NaN")], "no quantity"],
    [[item({})], "no quantity"],
    [[item(null)], "no quantity"],
    [["1"], "no quantity"],
    [[item("-1")], "negative"],
    [[item(String(2n ** 70n))], "too large"],
    [Array(3).fill(item("4E")), "too large"],
  ];
  for (const [items, cause] of cases) assertStringIncludes(String(valueOf(items)), cause);
  for (const answer of [null, 5, [], "x"]) assertEquals(parseMetricAnswer(answer, METRIC).ok, false);
});

Deno.test("in mode all KEDA's HPA blocks the object, and nobody asks KEDA for values (M8, M22)", async () => {
  const keda = new Keda();
  const object = scaledObject("web", [{
    type: "cron",
    metadata: { timezone: "UTC", start: "0 8 * * *", end: "0 9 * * *", desiredReplicas: "5" },
  }], {
    annotations: { ...SELECTED, "podfit.dev/metrics": "keda" },
  });
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    object,
  ], { answer: keda.answer });
  await makeHpa(run);
  await run.advance(60);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), "stop KEDA");
  assertEquals([keda.asked, await run.condition("web", "PodfitScaling")], [[], "-"]);
});

Deno.test("an adopted object goes to zero one cooldown after podfit took it over, not sooner (M7, R58)", async (t) => {
  const spec = { minReplicaCount: 0, cooldownPeriod: 300, pollingInterval: 30 };
  for (const kedaDeactivation of [false, true]) {
    for (const selectedForSeconds of [30, 900]) {
      await t.step(`selected for ${selectedForSeconds} s, keda-deactivation ${kedaDeactivation}`, async () => {
        const keda = new Keda();
        keda.values.set("s0-kafka-orders", "0");
        await using run = await start(keda, { spec, settings: { isNextToKeda: true, kedaDeactivation } });
        await run.advance(selectedForSeconds);
        await adopt(run);
        await run.advance(280);
        assertEquals(await run.replicas(), 3);
        await run.advance(40);
        assertEquals(await run.replicas(), 0);
      });
    }
  }
  await t.step("after KEDA had it again", async () => {
    const keda = new Keda();
    await using run = await start(keda, { spec });
    await adopt(run);
    await run.advance(100);
    await annotate(run, { [KEDAS_PAUSE]: null });
    await makeHpa(run);
    await run.advance(900);
    keda.values.set("s0-kafka-orders", "0");
    await annotate(run, { [KEDAS_PAUSE]: "true" });
    await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
    await run.advance(280);
    assertEquals(await run.replicas() > 0, true);
    await run.advance(60);
    assertEquals(await run.replicas(), 0);
  });
});

Deno.test("podfit's conditions of a deleted object that KEDA does not let go say so, without KEDA's event (M7, R91)", async () => {
  const keda = new Keda();
  await using run = await start(keda);
  await adopt(run);
  await run.advance(60);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: ["finalizer.keda.sh"] } });
  await run.advance(5);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(5);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling", "KEDA has its time");
  await run.advance(30);
  const own = await Promise.all(["PodfitScaling", "PodfitActive"].map((one) => run.condition("web", one)));
  assertEquals([own, await run.message("web", "PodfitScaling")], [
    ["Unknown UnknownState", "Unknown UnknownState"],
    "ScaledObject is being deleted",
  ]);
  assertEquals((await run.cluster.events("web")).filter((one) => one === "ScaledObjectDeleted"), []);
  const { metadata } = await run.cluster.get("scaledobjects/web");
  assertEquals(metadata.finalizers, ["finalizer.keda.sh"]);
});

Deno.test("podfit's own conditions say that a list is stale, also after a write that the watch did not show (M7, R91)", async () => {
  const keda = new Keda();
  let isRefused = false;
  await using run = await start(keda, {
    answer: (request) => (isRefused ? refuseList(request, "scaledobjects") : null) ?? keda.answer(request),
  });
  await adopt(run);
  await run.advance(60);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
  isRefused = true;
  run.cluster.cluster.api.faults.closeWatches(/\/scaledobjects$/);
  await run.advance(10);
  keda.values.set("s0-kafka-orders", 404);
  await run.advance(200);
  assertEquals(await run.condition("web", "PodfitScaling") === "True Scaling", false, "podfit has written");
  for (let minute = 0; minute < 6; minute++) await run.advance(60);
  assertEquals(await run.message("web", "PodfitScaling"), STALE_OBJECTS);
});

const STALE_OBJECTS =
  "nothing was heard of scaledobjects from the API server for minutes, and replicas are left as they " +
  "are until something is: podfit's log says why";

Deno.test("a dry run says of a deleted object that KEDA does not let go that it is being deleted, and no more (M7, R57)", async () => {
  await using run = await start(new Keda());
  await adopt(run);
  await run.podfit[Symbol.asyncDispose]();
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: ["finalizer.keda.sh"] } });
  const replicas = { ...replicasBy(() => Promise.reject(new Error("asked"))), isNextToKeda: true };
  await using dry = run.cluster.startPodfit(WHOLE_CLUSTER, { replicas, dryRun: true });
  await run.advance(30);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(60);
  assertEquals(await run.message("web", "PodfitScaling"), "ScaledObject is being deleted");
  assertEquals(dry.log.filter(({ message }) => String(message).includes("finalizer")), []);
});
