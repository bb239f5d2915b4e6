/** `podfit adopt` and `podfit release` beside a podfit, on an embedded cluster. The test plays KEDA. Clauses: M6. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { changeHands } from "../../../lib/cli/adoption/change_hands.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import {
  CPU_50,
  kafkaMetric,
  kedasHpa,
  ReplicasRun,
  type ReplicasRunOptions,
  scaledObject,
} from "../../support/replicas_run.ts";

const PAUSED = "autoscaling.keda.sh/paused";

const SCALE = "podfit.dev/scale";

const RECORD = "podfit.dev/keda-metrics";

function kafka(lagThreshold = "10"): Json {
  return { type: "kafka", metadata: { bootstrapServers: "kafka:9092", topic: "orders", lagThreshold } };
}

/** KEDA serves 30 for the target 10, so 3 replicas are right. */
function answer(request: Request): Response | null {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith("/apis/external.metrics.k8s.io/")) return null;
  const items = [{ metricName: pathname.split("/").at(-1), value: "30" }];
  return Response.json({ kind: "ExternalMetricValueList", items });
}

interface Given extends ReplicasRunOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly triggers?: readonly Json[];
  readonly count?: number;
}

async function start(
  { annotations = {}, triggers = [kafka()], count = 3, ...options }: Given = {},
): Promise<ReplicasRun> {
  return await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: count }),
    scaledObject("web", triggers, { annotations }),
  ], { answer, settings: { isNextToKeda: true }, ...options });
}

/** KEDA's operator: the HPA is there while the object is not paused. */
async function actAsKeda(run: ReplicasRun): Promise<void> {
  const { metadata: { uid, annotations = {} }, spec } = await run.cluster.get("scaledobjects/web");
  const isThere = await run.cluster.find("horizontalpodautoscalers/keda-hpa-web") !== null;
  const isPaused = annotations[PAUSED] === "true";
  if (isPaused && isThere) await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
  if (isPaused || isThere) return;
  const [trigger] = spec.triggers;
  const metrics = trigger.type === "cpu" ? [] : [kafkaMetric(trigger.metadata.lagThreshold)];
  await run.cluster.create(kedasHpa(uid, metrics));
}

/** KEDA's operator, whose HPA has these external metrics, of any trigger. */
function createKedaWith(metrics: readonly Json[]) {
  return async (run: ReplicasRun): Promise<void> => {
    const { metadata: { uid, annotations = {} } } = await run.cluster.get("scaledobjects/web");
    const isThere = await run.cluster.find("horizontalpodautoscalers/keda-hpa-web") !== null;
    const isPaused = annotations[PAUSED] === "true";
    if (isPaused && isThere) await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
    if (!isPaused && !isThere) {
      await run.cluster.create(kedasHpa(uid, metrics.map((external) => ({ type: "External", external }))));
    }
  };
}

interface Asked {
  readonly keda?: (run: ReplicasRun) => Promise<void>;
  /** Answers instead of the API server. */
  readonly refuse?: (request: Request) => Response | null | Promise<Response | null>;
  readonly isDryRun?: boolean;
  readonly names?: readonly string[];
  readonly selector?: string | null;
  readonly seconds?: number;
  readonly stopAfter?: number;
}

async function ask(verb: "adopt" | "release", run: ReplicasRun, asked: Asked = {}) {
  const { keda = actAsKeda, refuse = () => null, isDryRun = false, names = ["web"], selector = null } = asked;
  const { stopAfter = Infinity } = asked;
  const server = run.cluster.cluster.connect();
  const [lines, errors, writes]: string[][] = [[], [], []];
  const ending = new AbortController();
  const transport = async (request: Request) => {
    if (request.method !== "GET") writes?.push(request.method);
    return await refuse(request) ?? await server.transport(request);
  };
  let code: number | null = null;
  const done = changeHands(verb, {
    server: { ...server, transport },
    options: { namespace: null, isEveryNamespace: false, names, selector, isDryRun, timeoutMs: 30_000 },
    signal: ending.signal,
    clock: run.cluster.clock,
    write: (line) => void lines?.push(line),
    complain: (line) => void errors?.push(line),
  }).then((ended) => code = ended);
  done.catch(() => code = -1);
  for (let second = 0; second < 120 && code === null; second++) {
    if (second === stopAfter) ending.abort();
    await keda(run);
    await run.advance(1);
  }
  await done;
  return { code, lines: lines ?? [], error: errors?.join("\n") ?? "", writes: writes ?? [] };
}

async function annotationsOf(run: ReplicasRun): Promise<Readonly<Record<string, string>>> {
  return (await run.cluster.get("scaledobjects/web")).metadata.annotations ?? {};
}

async function annotate(run: ReplicasRun, annotations: Json): Promise<void> {
  await run.cluster.patch("scaledobjects/web", { metadata: { annotations } });
}

Deno.test("adopt selects, waits for the record, pauses and waits for podfit; release goes back; replicas stay (M6)", async () => {
  await using run = await start();
  await actAsKeda(run);
  const adopted = await ask("adopt", run);
  assertEquals([adopted.code, adopted.error], [0, ""]);
  assertEquals(adopted.lines, [
    "default/web: selected for podfit (podfit.dev/scale=true)",
    "default/web: podfit has recorded 1 metric",
    "default/web: paused for KEDA (autoscaling.keda.sh/paused=true)",
    "default/web: podfit sets the replicas, and KEDA measures",
  ]);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
  assertEquals(await run.cluster.find("horizontalpodautoscalers/keda-hpa-web"), null);
  await run.advance(400);
  const again = await ask("adopt", run);
  assertEquals([again.lines, again.writes], [["default/web: podfit sets the replicas already"], []]);
  const released = await ask("release", run);
  assertEquals([released.code, released.error], [0, ""]);
  assertEquals(released.lines, [
    "default/web: not paused for KEDA any more",
    `default/web: KEDA's HPA "keda-hpa-web" is there`,
    "default/web: podfit's annotations are removed: KEDA sets the replicas",
  ]);
  await run.advance(30);
  assertEquals([await annotationsOf(run), await run.condition("web", "PodfitScaling")], [{}, "-"]);
  assertEquals([await run.replicas(), run.writes], [3, []]);
});

Deno.test("a dry run prints the steps and writes nothing (M6)", async () => {
  await using run = await start();
  const { code, lines, writes } = await ask("adopt", run, { isDryRun: true });
  assertEquals([code, lines.length, writes], [0, 4, []]);
  for (const line of lines) assert(/: would .*\(dry run\)$/.test(line), line);
  await annotate(run, { [SCALE]: "true", [PAUSED]: "true" });
  const released = await ask("release", run, { isDryRun: true });
  assertEquals([released.code, released.lines.length, released.writes], [0, 3, []]);
});

for (const key of [PAUSED, "autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused-scale-in"]) {
  Deno.test(`adopt leaves an object alone that a user has paused: ${key} (M6)`, async () => {
    const annotations = { [key]: key.endsWith("replicas") ? "2" : "true" };
    await using run = await start({ annotations });
    const { code, error, writes } = await ask("adopt", run, { keda: () => Promise.resolve() });
    assertEquals([code, writes, await annotationsOf(run)], [2, [], annotations]);
    assertStringIncludes(error, `paused already by the annotation ${key}; remove`);
  });
}

Deno.test("adopt undoes the selection where podfit is not in mode selected, and says so (M6)", async () => {
  await using run = await start({ settings: { isNextToKeda: false }, triggers: [kafka()], annotations: { a: "b" } });
  const { code, error } = await ask("adopt", run);
  assertEquals([code, await annotationsOf(run)], [2, { a: "b" }]);
  assertStringIncludes(error, "Cannot adopt default/web: waited 30s: podfit says nothing about the object");
  assertStringIncludes(error, "scaledObjects.mode=selected");
  assertStringIncludes(error, "The steps are undone");
});

Deno.test("adopt undoes the selection where KEDA makes no HPA (M6)", async () => {
  await using run = await start();
  const { code, error } = await ask("adopt", run, { keda: () => Promise.resolve() });
  assertEquals([code, await annotationsOf(run)], [2, {}]);
  assertStringIncludes(error, 'KEDA has made no HPA "keda-hpa-web"');
});

Deno.test("adopt undoes selection, record and pause where podfit does not begin to scale (M6)", async () => {
  await using run = await start();
  const stuck = async (one: ReplicasRun) => {
    if ((await annotationsOf(one))[PAUSED] === undefined) await actAsKeda(one);
  };
  await actAsKeda(run);
  const { code, error, lines } = await ask("adopt", run, { keda: stuck });
  assertEquals([code, lines.length], [2, 3]);
  assertStringIncludes(error, "podfit does not set the replicas: KEDAIsScaling");
  await run.advance(30);
  assertEquals([await annotationsOf(run), await run.condition("web", "PodfitScaling")], [{}, "-"]);
});

Deno.test("adopt undoes the selection where the pause is refused, and names the right (M6)", async () => {
  await using run = await start();
  let patches = 0;
  const refuse = (request: Request) => {
    if (request.method !== "PATCH" || ++patches !== 2) return null;
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
    return Response.json({ ...status, message: "scaledobjects is forbidden: not you" }, { status: 403 });
  };
  const { code, error } = await ask("adopt", run, { refuse });
  assertEquals([code, patches, await annotationsOf(run)], [2, 3, {}]);
  assertStringIncludes(error, "scaledobjects is forbidden: not you; ask an administrator");
});

Deno.test("adopt says what to run where it cannot undo (M6)", async () => {
  await using run = await start();
  let patches = 0;
  const refuse = (request: Request) => {
    if (request.method !== "PATCH" || ++patches === 1) return null;
    return Response.json({ kind: "Status", code: 500, message: "down" }, { status: 500 });
  };
  const { code, error } = await ask("adopt", run, { refuse });
  assertEquals(code, 2);
  const command = `kubectl annotate so web -n default --overwrite ${SCALE}- ${PAUSED}- ${RECORD}-`;
  assert(error.endsWith(`run: ${command}`), error);
});

Deno.test("adopt that is interrupted undoes what it did (M6)", async () => {
  await using run = await start();
  const { code, error } = await ask("adopt", run, { keda: () => Promise.resolve(), stopAfter: 5 });
  assertEquals([code, await annotationsOf(run)], [2, {}]);
  assertStringIncludes(error, "interrupted. The steps are undone");
});

Deno.test("adopt makes a new record for triggers that changed during the pause (M6)", async () => {
  await using run = await start();
  await actAsKeda(run);
  await ask("adopt", run);
  const before = (await annotationsOf(run))[RECORD];
  await run.cluster.patch("scaledobjects/web", { spec: { triggers: [kafka("15")] } });
  await run.advance(60);
  const { code, lines } = await ask("adopt", run);
  assertEquals([code, lines.length], [0, 5]);
  assertStringIncludes(lines[1] ?? "", "its record does not fit its triggers");
  const after = (await annotationsOf(run))[RECORD] ?? "";
  assert(after !== before && after.includes("15000m"), after);
  assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
});

for (
  const [record, left] of [["of triggers that are gone", null], ["that nobody can read", "broken"]] as const
) {
  Deno.test(`adopt needs no record of an object with cpu alone, and takes one that has a record ${record} (M5, M6)`, async () => {
    await using run = await start();
    await actAsKeda(run);
    await ask("adopt", run);
    await run.cluster.patch("scaledobjects/web", { spec: { triggers: [CPU_50], minReplicaCount: 1 } });
    if (left !== null) await annotate(run, { [RECORD]: left });
    await run.advance(60);
    assertEquals(await run.condition("web", "PodfitScaling"), "True Scaling");
    const again = await ask("adopt", run);
    assertEquals([again.code, again.error], [0, ""]);
    assertEquals([again.lines, again.writes], [["default/web: podfit sets the replicas already"], []]);
    await annotate(run, { [PAUSED]: null });
    const anew = await ask("adopt", run);
    assertEquals([anew.code, anew.error], [0, ""]);
    assertStringIncludes(anew.lines[1] ?? "", "it needs no record");
  });
}

/** KEDA's operator, which follows the triggers so many seconds late. */
function createSlowKeda(lateSeconds: number) {
  let seconds = 0;
  return async (run: ReplicasRun): Promise<void> => {
    if (seconds++ < lateSeconds) return;
    const { spec: { triggers } } = await run.cluster.get("scaledobjects/web");
    const hpa = await run.cluster.find("horizontalpodautoscalers/keda-hpa-web");
    const metrics = triggers.map((one: Json, index: number) => kafkaMetric(one.metadata.lagThreshold, index));
    if (hpa === null || JSON.stringify(hpa.spec.metrics) === JSON.stringify(metrics)) return await actAsKeda(run);
    await run.cluster.patch("horizontalpodautoscalers/keda-hpa-web", { spec: { metrics } });
  };
}

/** KEDA has its HPA, and then a user changes the spec of the object. */
async function startChanged(spec: Json): Promise<ReplicasRun> {
  const run = await start();
  await actAsKeda(run);
  await run.advance(30);
  await run.cluster.patch("scaledobjects/web", { spec });
  return run;
}

Deno.test("adopt right after a change of the triggers takes what KEDA's HPA asks after that change (M4, M6)", async () => {
  await using run = await startChanged({ triggers: [kafka("15")] });
  const { code, error } = await ask("adopt", run, { keda: createSlowKeda(4) });
  assertEquals([code, error], [0, ""]);
  const record = (await annotationsOf(run))[RECORD] ?? "";
  assert(record.includes("15000m"), record);
});

Deno.test("adopt waits for a KEDA that is 20 s late, also where the triggers changed 12 s before (M4, M6)", async () => {
  await using run = await startChanged({ triggers: [kafka("15")] });
  await run.advance(12);
  const { code, error } = await ask("adopt", run, { keda: createSlowKeda(8), refuse: answerWithTime(run, 0) });
  assertEquals([code, error], [0, ""]);
  const record = (await annotationsOf(run))[RECORD] ?? "";
  assert(record.includes("15000m"), record);
});

Deno.test("adopt waits for KEDA a third of the time where KEDA's HPA asks the same after a change (M6)", async () => {
  await using run = await startChanged({ cooldownPeriod: 100 });
  const from = run.cluster.clock.monotonic();
  const { code, error } = await ask("adopt", run);
  assertEquals([code, error], [0, ""]);
  const waitedMs = run.cluster.clock.monotonic() - from;
  assert(waitedMs >= 10_000 && waitedMs < 20_000, `${waitedMs}`);
});

/** The API server says a time that is so far ahead of this computer's; `null` = it says none. */
function answerWithTime(run: ReplicasRun, aheadMs: number | null) {
  return async ({ method, url }: Request): Promise<Response | null> => {
    if (method !== "GET" || !url.endsWith("/horizontalpodautoscalers/keda-hpa-web")) return null;
    const hpa = await run.cluster.find("horizontalpodautoscalers/keda-hpa-web");
    const date = aheadMs === null ? "" : new Date(run.cluster.clock.now() + aheadMs).toUTCString();
    return hpa === null ? null : Response.json(hpa, { headers: { date } });
  };
}

for (
  const [time, agoSeconds, aheadMs, waits] of [
    ["2 s ago", 2, 0, true],
    ["50 s ago", 50, 0, true],
    ["70 s ago", 70, 0, false],
    ["an hour ago by the API server's clock alone", 2, 3_600_000, false],
    ["20 s ago, and the API server says no time", 20, null, true],
    ["150 s ago, and the API server says no time", 150, null, false],
  ] as const
) {
  Deno.test(`adopt ${waits ? "waits for KEDA" : "does not wait for KEDA"} where the spec changed ${time} (M6)`, async () => {
    await using run = await startChanged({ cooldownPeriod: 100 });
    await run.advance(agoSeconds);
    const from = run.cluster.clock.monotonic();
    const { code, error } = await ask("adopt", run, { refuse: answerWithTime(run, aheadMs) });
    assertEquals([code, error], [0, ""]);
    const waitedMs = run.cluster.clock.monotonic() - from;
    assert(waits === waitedMs > 7_000, `${waitedMs}`);
  });
}

Deno.test("adopt takes a trigger whose scaler sets the type of its metric, whatever its metricType (M6)", async () => {
  const metadata = { query: "data('x').publish()", duration: "10", targetValue: "10", queryAggregator: "avg" };
  await using run = await start({ triggers: [{ type: "splunk-observability", metadata }] });
  const keda = createKedaWith([{ metric: { name: "s0-signalfx" }, target: { type: "Value", value: "10" } }]);
  await keda(run);
  const { code, error } = await ask("adopt", run, { keda });
  assertEquals([code, error], [0, ""]);
  const record = (await annotationsOf(run))[RECORD] ?? "";
  assert(record.includes('"type":"Value"'), record);
});

Deno.test("adopt undoes the selection where KEDA's HPA has not the metrics of the triggers, and says so (M6)", async () => {
  await using run = await startChanged({ triggers: [kafka(), kafka()] });
  const { code, error } = await ask("adopt", run);
  assertEquals([code, await annotationsOf(run)], [2, {}]);
  assertStringIncludes(
    error,
    'KEDA has not changed its HPA "keda-hpa-web" since the object changed, and it has no usable metric of trigger 1 ("kafka"); try',
  );
});

Deno.test("adopt does not blame a change of long ago where KEDA's HPA has no metric of a trigger (M6)", async () => {
  await using run = await startChanged({ triggers: [kafka(), kafka()] });
  await run.advance(300);
  const { error } = await ask("adopt", run, { refuse: answerWithTime(run, 0) });
  assertStringIncludes(error, `KEDA's HPA "keda-hpa-web" has no usable metric of trigger 1 ("kafka"); look at`);
});

for (
  const [cause, trigger, metric] of [
    ["an external scaler that does not answer", { type: "external", metadata: { scalerAddress: "a:1" } }, null],
    ["the Datadog Cluster Agent", { type: "datadog", metadata: { useClusterAgentProxy: "true" } }, "datadogmetric@a:b"],
    ["a name that is too long", { type: "external", metadata: { scalerAddress: "a:1" } }, `s1-${"a".repeat(251)}`],
    ["a name with a blank", { type: "artemis-queue", metadata: { queueName: "my queue" } }, "s1-artemis-my queue"],
  ] as const
) {
  Deno.test(`adopt names the trigger of which KEDA's HPA has no metric: ${cause} (M6)`, async () => {
    await using run = await start({ triggers: [kafka(), trigger] });
    const target = { type: "AverageValue", averageValue: "10" };
    const names = ["s0-kafka-orders", ...metric === null ? [] : [metric]];
    const keda = createKedaWith(names.map((name) => ({ metric: { name }, target })));
    await keda(run);
    const { code, error } = await ask("adopt", run, { keda });
    assertEquals([code, await annotationsOf(run)], [2, {}]);
    const has =
      `KEDA's HPA "keda-hpa-web" has no usable metric of trigger 1 ("${trigger.type}"); look at \`kubectl describe so\` and at \`kubectl describe hpa keda-hpa-web\``;
    assertStringIncludes(error, has);
  });
}

Deno.test("adopt names the trigger of which KEDA's HPA has two metrics, and does not pause the object (M6)", async () => {
  await using run = await start();
  const target = { type: "AverageValue", averageValue: "10" };
  const keda = createKedaWith(["s0-kafka-orders", "s0-kafka-other"].map((name) => ({ metric: { name }, target })));
  await keda(run);
  const { code, error, lines } = await ask("adopt", run, { keda });
  assertEquals([code, await annotationsOf(run), lines.some((line) => line.includes("paused"))], [2, {}, false]);
  assertStringIncludes(
    error,
    `KEDA's HPA "keda-hpa-web" has 2 metrics of trigger 0 ("kafka"), and podfit can use one; look`,
  );
});

Deno.test("adopt does not take a record that podfit made of KEDA's HPA before its last change (M4, M6)", async () => {
  await using run = await start();
  await actAsKeda(run);
  const { metadata: { uid } } = await run.cluster.get("scaledobjects/web");
  const newer = kedasHpa(uid, [kafkaMetric("15")]);
  // podfit's watch does not show the change yet.
  const refuse = ({ method, url }: Request) =>
    method === "GET" && url.endsWith("/horizontalpodautoscalers/keda-hpa-web") ? Response.json(newer) : null;
  const { code, error } = await ask("adopt", run, { refuse });
  assertEquals([code, await annotationsOf(run)], [2, {}]);
  assertStringIncludes(error, "podfit has written no record of KEDA's HPA");
});

Deno.test("release pauses the object again where KEDA makes no HPA, so podfit goes on (M6)", async () => {
  await using run = await start();
  await actAsKeda(run);
  await ask("adopt", run);
  const before = await annotationsOf(run);
  const { code, error } = await ask("release", run, { keda: () => Promise.resolve() });
  assertEquals([code, await annotationsOf(run)], [2, before]);
  assertStringIncludes(error, 'KEDA has made no HPA "keda-hpa-web"');
  await run.advance(30);
  assertEquals([await run.condition("web", "PodfitScaling"), run.writes], ["True Scaling", []]);
});

Deno.test("release leaves objects alone that podfit does not scale (M6)", async () => {
  await using run = await start();
  const free = await ask("release", run);
  assertEquals([free.code, free.lines, free.writes], [0, ["default/web: podfit does not scale it"], []]);
  await annotate(run, { [PAUSED]: "true" });
  const paused = await ask("release", run);
  assertEquals([paused.code, paused.writes], [2, []]);
});

Deno.test("one object that is not there does not hold up the others (M6)", async () => {
  await using run = await start();
  const { code, lines, error } = await ask("adopt", run, { names: ["no", "web"] });
  assertEquals([code, lines.length], [2, 4]);
  assertStringIncludes(error, "Cannot adopt default/no: there is no such ScaledObject");
});

Deno.test("labels choose objects, and release takes only those that podfit scales (M6)", async () => {
  await using run = await start();
  await run.cluster.patch("scaledobjects/web", { metadata: { labels: { team: "a" } } });
  assertEquals((await ask("adopt", run, { names: [], selector: "team=a" })).code, 0);
  await run.cluster.create(scaledObject("other", [kafka()], { target: "other" }));
  const { code, lines } = await ask("release", run, { names: [] });
  assertEquals([code, lines.every((line) => line.startsWith("default/web: "))], [0, true]);
});
