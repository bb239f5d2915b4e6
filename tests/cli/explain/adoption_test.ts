/** What `podfit explain` says of a ScaledObject that podfit scales next to KEDA. Clauses: M2, M4, M5, M7, M10, M11. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { explainFromSources } from "../../../lib/cli/explain/explain.ts";
import { createRecordsSource } from "../../../lib/cli/explain/without_daemon.ts";
import type { WorkloadExplanation } from "../../../lib/cli/explanation/explanation.ts";
import { formatAdoptionRecord, hashTriggers, toAdoptionRecord } from "../../../lib/resources/scaled_object/adoption.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { explainObject, toText } from "../../support/explain_run.ts";
import { assertScreens } from "../../support/pages.ts";
import { keepLines } from "../../support/record_lines.ts";
import { kedasHpa, ReplicasRun, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

const KAFKA: Json = {
  type: "kafka",
  metadata: { bootstrapServers: "kafka:9092", topic: "orders", lagThreshold: "10" },
};

/** KEDA serves a lag of 70. */
function answer(request: Request): Response | null {
  if (!request.url.includes("/apis/external.metrics.k8s.io/")) return null;
  const items = [{ metricName: "s0-kafka-orders", value: "70" }];
  return Response.json({ kind: "ExternalMetricValueList", items });
}

async function start(triggers: readonly Json[]) {
  const lines = keepLines();
  const run = await ReplicasRun.start(
    [
      deployment("web", { replicas: 3, containers: [{ requests: { cpu: "100m" } }] }),
      scaledObject("web", triggers, { annotations: { "podfit.dev/scale": "true" } }),
    ],
    { answer, settings: { isNextToKeda: true }, sinks: [lines.onEvaluation], onPass: lines.onPass },
  );
  const explain = () => explainObject(lines, "web", run.cluster.clock.now());
  const annotate = (annotations: Json) => run.cluster.patch("scaledobjects/web", { metadata: { annotations } });
  const adopt = async () => {
    const { metadata: { uid } } = await run.cluster.get("scaledobjects/web");
    await run.cluster.create(kedasHpa(uid));
    await run.advance(5);
    await annotate({ "autoscaling.keda.sh/paused": "true" });
    await run.cluster.delete("horizontalpodautoscalers/keda-hpa-web");
    await run.advance(5);
  };
  return { run, lines, explain, annotate, adopt };
}

/** The lines of the section about KEDA, without a width. */
function sayKeda(explained: WorkloadExplanation): readonly string[] {
  const lines = toText(explained, Infinity);
  const start = lines.indexOf("Next to KEDA");
  assert(start > 0, lines.join("\n"));
  return lines.slice(start + 1, lines.indexOf("", start)).map((line) => line.trim());
}

Deno.test("explain says of an adopted object who scales it, that its record fits, and where each value comes from (M10, M11)", async () => {
  const { run, explain, adopt } = await start([KAFKA, workloadTrigger("app=web")]);
  await using _run = run;
  await adopt();
  await run.advance(60);
  await assertScreens("workload-next-to-keda", (columns) => toText(explain(), columns));
  const narrow = toText(explain(), 60);
  const messages = narrow.slice(narrow.indexOf("Conditions") + 1).filter((line) => !/^ {2}\w/.test(line));
  assertEquals(messages.filter((line) => !/^ {4}\w/.test(line)), [], "no message of one word a line");
  assertEquals(explain().conditions.PodfitScaling?.reason, "Scaling");
  const { Ready, HPAActive, Paused } = explain().conditions;
  assertEquals([Ready, HPAActive, Paused], [undefined, undefined, undefined]);
});

Deno.test("explain says of a selected object that KEDA scales it until it is paused for KEDA (M2)", async () => {
  const { run, explain } = await start([KAFKA]);
  await using _run = run;
  await run.advance(30);
  const { answer, keda } = explain();
  assertEquals(
    answer,
    "deployment/web has an unknown number of replicas. podfit does not scale it: KEDA sets the replicas of this object. Run " +
      '"podfit adopt so/web -n default": it pauses the object for KEDA (KEDAIsScaling).',
  );
  assertEquals(keda?.isPaused, false);
  assertEquals(sayKeda(explain()), [
    "KEDA sets the replicas, because the object is not paused for KEDA: run `podfit adopt so/web -n default`",
    "adoption record: missing: podfit writes it when it sees KEDA's HPA",
    "values from KEDA, through external.metrics.k8s.io: s0-kafka",
  ]);
});

Deno.test("explain says what is wrong with the record of an adopted object, and what to run (M4, M5)", async () => {
  const { run, explain, annotate, adopt } = await start([KAFKA]);
  await using _run = run;
  await annotate({ "autoscaling.keda.sh/paused": "true" });
  await run.advance(30);
  assertEquals(
    sayKeda(explain())[1],
    "adoption record: missing, so podfit does not know what KEDA asks of the triggers: run " +
      "`podfit release so/web -n default`, then `podfit adopt so/web -n default`",
  );
  await annotate({ "autoscaling.keda.sh/paused": null });
  await run.advance(5);
  await adopt();
  await run.advance(30);
  assertEquals(sayKeda(explain())[1], "adoption record: fits the triggers");
  const lag = { ...KAFKA, metadata: { ...KAFKA.metadata, lagThreshold: "20" } };
  await run.cluster.patch("scaledobjects/web", { spec: { triggers: [lag] } });
  await run.advance(30);
  assertEquals(
    sayKeda(explain())[1],
    "adoption record: made for other triggers, so replicas may grow and do not fall: run " +
      "`podfit adopt so/web -n default` again",
  );
  assertStringIncludes(explain().answer, "podfit does not lower its replicas: The triggers have changed");
  await annotate({ "podfit.dev/keda-metrics": "{" });
  await run.advance(30);
  assertEquals(
    sayKeda(explain())[1],
    "adoption record: of no use, because the annotation podfit.dev/keda-metrics is not JSON: run " +
      "`podfit adopt so/web -n default` again",
  );
});

Deno.test("explain says which triggers KEDA answers where podfit cannot use their authentication (M10)", async () => {
  const prometheus = {
    type: "prometheus",
    metadata: { serverAddress: "http://prometheus:9090", query: "up", threshold: "10", authModes: "bearer" },
    authenticationRef: { name: "prom" },
  };
  const { run, explain, annotate } = await start([{ ...prometheus }]);
  await using _run = run;
  const record = formatAdoptionRecord(
    toAdoptionRecord(
      [{ name: "s0-prometheus", type: "AverageValue", target: "10" }],
      hashTriggers({ triggers: [prometheus] }),
    ),
  );
  await annotate({ "autoscaling.keda.sh/paused": "true", "podfit.dev/keda-metrics": record });
  await run.advance(30);
  assertEquals(sayKeda(explain()).slice(1), [
    "adoption record: fits the triggers",
    "values from podfit, or from KEDA where podfit cannot use the authentication: s0-prometheus",
  ]);
});

Deno.test("explain shows podfit's own pause next to KEDA, and not that of KEDA (M2)", async () => {
  const { run, explain, adopt, annotate } = await start([KAFKA]);
  await using _run = run;
  await adopt();
  await annotate({ "podfit.dev/paused": "true" });
  await run.advance(30);
  assertEquals(explain().conditions.Paused?.reason, "ScaledObjectPaused");
});

Deno.test("explain says which trigger has no metric in the record (M4)", async () => {
  const { run, explain, annotate } = await start([KAFKA]);
  await using _run = run;
  const { spec } = await run.cluster.get("scaledobjects/web");
  const record = formatAdoptionRecord(toAdoptionRecord([], hashTriggers(spec)));
  await annotate({ "autoscaling.keda.sh/paused": "true", "podfit.dev/keda-metrics": record });
  await run.advance(30);
  assertEquals(sayKeda(explain()).slice(1), [
    "adoption record: fits the triggers",
    "values from KEDA, through external.metrics.k8s.io: s0-kafka",
    'no value of s0-kafka: the record has no metric of this trigger; run "podfit release" and then "podfit adopt"',
  ]);
  // podfit's own finding, so it is shown under the HPA's name.
  assertEquals(explain().conditions.HPAActive?.reason, "FailedGetExternalMetric");
});

Deno.test("explain says that an object whose triggers podfit measures needs no record (M10)", async () => {
  const { run, explain, annotate } = await start([workloadTrigger("app=web")]);
  await using _run = run;
  await annotate({ "autoscaling.keda.sh/paused": "true" });
  await run.advance(30);
  assertEquals(sayKeda(explain()), [
    "podfit sets the replicas, and KEDA is paused for the object",
    "adoption record: not needed, because podfit measures every trigger itself",
    "values from podfit itself: s0-workload-default",
  ]);
});

Deno.test("explain says of a ScaledObject without a record that it may be KEDA's, and how podfit gets it (M1)", async () => {
  const { signal } = new AbortController();
  const ask = async (kind: "scaledobject" | "deployment") => {
    const options = { namespace: "shop", signal, now: () => 0 };
    const asked = explainFromSources([createRecordsSource([])], { kind, name: "web" }, options);
    return await asked.then(() => "", (cause) => String(cause.message));
  };
  assertStringIncludes(
    await ask("scaledobject"),
    "podfit leaves it to KEDA, if scaledObjects.mode is selected; give it to podfit with `podfit adopt so/web -n shop`",
  );
  assertStringIncludes(await ask("deployment"), "no PodResourceAutoscaler or ScaledObject is about it");
});
