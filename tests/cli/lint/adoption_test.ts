/** What lint says of annotations about podfit next to KEDA, in files and in a cluster. Clauses: M1, M2, M3, M4, M5, M10. */
import { assertEquals, assertStringIncludes } from "#assert";
import { stringify } from "yaml";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import { lintServer } from "../../../lib/cli/lint/lint_cluster.ts";
import { formatAdoptionRecord, hashTriggers, toAdoptionRecord } from "../../../lib/resources/scaled_object/adoption.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { CPU_50, scaledObject } from "../../support/replicas_run.ts";

const KAFKA: Json = {
  type: "kafka",
  metadata: { bootstrapServers: "kafka:9092", topic: "orders", lagThreshold: "10" },
};
const SELECTED = { "podfit.dev/scale": "true" };
const PAUSED = { "autoscaling.keda.sh/paused": "true" };
const ADOPTED = { ...SELECTED, ...PAUSED };
const AT = "metadata.annotations.";

/** Each finding as its path and its message; every one has the level and the rule of adoption. */
function lint(annotations: Json, { triggers = [KAFKA], uid }: { triggers?: readonly Json[]; uid?: string } = {}) {
  const object = scaledObject("web", triggers, { annotations });
  if (uid !== undefined) object.metadata.uid = uid;
  const { findings } = lintManifests([{ name: "a.yaml", text: stringify(object) }]);
  const own = findings.filter(({ rule }) => rule === "adoption");
  assertEquals(own.filter(({ level }) => level !== "warning"), []);
  return own.map(({ path, message }) => [path, message] as const);
}

/** Of KEDA's HPA for the triggers. */
function recordFor(triggers: readonly Json[], names: readonly string[]): string {
  const metrics = names.map((name) => ({ name, type: "AverageValue", target: "10" }));
  return formatAdoptionRecord(toAdoptionRecord(metrics, hashTriggers({ triggers })));
}

Deno.test("lint is silent about objects that KEDA has alone, and about adopted ones (M1, M2)", () => {
  for (const annotations of [{}, PAUSED, { "podfit.dev/scale": "false" }, ADOPTED]) {
    assertEquals(lint(annotations, { triggers: [CPU_50] }), [], JSON.stringify(annotations));
  }
  const record = { "podfit.dev/keda-metrics": recordFor([KAFKA], ["s0-kafka-orders"]) };
  const all = { ...ADOPTED, ...record, "podfit.dev/metrics": "keda", "podfit.dev/paused-scale-in": "true" };
  assertEquals(lint(all, { uid: "one" }), []);
});

Deno.test("lint warns of a selected object that is not paused for KEDA, with the command to run (M2)", () => {
  for (const pause of [{}, { "autoscaling.keda.sh/paused": "false" }]) {
    assertEquals(lint({ ...SELECTED, ...pause }), [[
      `${AT}podfit.dev/scale`,
      "KEDA sets the replicas, and podfit sets none, until the object is paused for KEDA: run `podfit adopt so/web -n default`, " +
      'and add autoscaling.keda.sh/paused: "true" to its file',
    ]]);
  }
});

Deno.test("lint warns of KEDA's pause annotations on a selected object, and names podfit's (M2, M3)", () => {
  assertEquals(lint({ ...ADOPTED, "autoscaling.keda.sh/paused-replicas": "2" }), [[
    `${AT}autoscaling.keda.sh/paused-replicas`,
    "KEDA sets the replicas to this number, and podfit sets none: write podfit.dev/paused-replicas",
  ]]);
  assertEquals(
    lint({
      ...ADOPTED,
      "autoscaling.keda.sh/paused-scale-in": "true",
      "autoscaling.keda.sh/paused-scale-out": "false",
    }),
    [[
      `${AT}autoscaling.keda.sh/paused-scale-in`,
      "it is for KEDA, and podfit does not follow it: write podfit.dev/paused-scale-in",
    ]],
  );
});

Deno.test("lint warns of podfit's annotations on an object that is not selected (M1, M3, M10)", () => {
  assertEquals(lint({ "podfit.dev/paused": "true" }), [[
    `${AT}podfit.dev/paused`,
    'it has no effect, because the object is not selected: add podfit.dev/scale: "true", or write autoscaling.keda.sh/paused ' +
    "where KEDA does not run",
  ]]);
  assertEquals(lint({ "podfit.dev/metrics": "keda", "podfit.dev/scale": "false" }), [[
    `${AT}podfit.dev/metrics`,
    'it has no effect, because the object is not selected: add podfit.dev/scale: "true", or remove it',
  ]]);
  assertEquals(lint({ "podfit.dev/scale": "enabled", "podfit.dev/metrics": "keda" }), [[
    `${AT}podfit.dev/scale`,
    '"enabled" does not select the object for podfit: write "true"',
  ]]);
});

Deno.test("lint warns of podfit's annotations with a wrong name or value (M3, M10)", () => {
  const [[path, message] = []] = lint({ ...ADOPTED, "podfit.dev/pause": "true" });
  assertEquals(path, `${AT}podfit.dev/pause`);
  assertStringIncludes(
    message ?? "",
    "podfit does not know this annotation of a ScaledObject: write one of podfit.dev/scale, ",
  );
  assertStringIncludes(message ?? "", "podfit.dev/paused, ");
  assertEquals(lint({ ...ADOPTED, "podfit.dev/metrics": "Keda" }), [[
    `${AT}podfit.dev/metrics`,
    '"Keda" has no effect: write podfit or keda',
  ]]);
});

Deno.test("lint names what is wrong with an adoption record: its shape, other triggers, a missing metric (M4, M5)", () => {
  const key = "podfit.dev/keda-metrics";
  assertEquals(lint({ ...ADOPTED, [key]: "{" }), [[
    `${AT}${key}`,
    "annotation podfit.dev/keda-metrics is not JSON: run `podfit adopt so/web -n default` again",
  ]]);
  assertEquals(lint({ ...ADOPTED, [key]: recordFor([KAFKA, KAFKA], ["s0-kafka-orders"]) }), [[
    `${AT}${key}`,
    "it was made for other triggers, so replicas may grow and do not fall: run `podfit adopt so/web -n default` again",
  ]]);
  assertEquals(lint({ ...ADOPTED, [key]: recordFor([CPU_50, KAFKA], ["s0-cpu"]) }, { triggers: [CPU_50, KAFKA] }), [[
    "spec.triggers[1]",
    'the record has no metric of this trigger; run "podfit release" and then "podfit adopt"',
  ]]);
});

Deno.test("lint misses a record only where podfit would have written it: in a cluster, once KEDA is paused (M4)", () => {
  const missing: ReturnType<typeof lint> = [[
    "metadata.annotations",
    "podfit does not know what KEDA asks of the triggers, and sets no replicas: run `podfit release so/web -n default`, then " +
    "`podfit adopt so/web -n default`",
  ]];
  assertEquals(lint(ADOPTED, { uid: "one" }), missing);
  assertEquals(lint(ADOPTED), []);
  assertEquals(lint(ADOPTED, { uid: "one", triggers: [CPU_50] }), []);
  assertEquals(lint(SELECTED, { uid: "one" }).map(([path]) => path), [`${AT}podfit.dev/scale`]);
});

Deno.test("lint --cluster says the same of an object in the cluster, where it also knows that the record is missing (M4)", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" } }] }),
    scaledObject("web", [KAFKA], { annotations: ADOPTED }),
  );
  const { findings } = await lintServer({
    server: run.cluster.connect(),
    sources: [],
    options: { namespace: null, isEveryNamespace: false },
    clock: run.clock,
    signal: new AbortController().signal,
  });
  assertEquals(findings.map(({ level, rule, kind, object, path }) => [level, rule, kind, object, path]), [
    ["warning", "adoption", "ScaledObject", "default/web", "metadata.annotations"],
  ]);
});
