/**
 * cron_scaler_test.go (6 tests), kubernetes_workload_scaler_test.go (5) and cpu_memory_scaler_test.go (3) in pkg/scalers of
 * KEDA 2.21.0 (Apache-2.0), as tables of inputs and outcomes. Each test here has the name of KEDA's.
 */
import { assertEquals } from "#assert";
import { parsePod } from "../../lib/daemon/cluster/parse_pod.ts";
import { SelectorIndex } from "../../lib/daemon/cluster/selector_index.ts";
import { createCountPods } from "../../lib/daemon/replicas/target_pods.ts";
import { fetchTriggerValue, UNCOUNTED } from "../../lib/triggers/value.ts";
import { accepted, assertParsed, getObject, getTrigger, type ParseCase, refused } from "./scalers.ts";

/** Thursdays. */
const WEEKLY = { timezone: "Etc/UTC", start: "0 0 * * Thu", end: "59 23 * * Thu", desiredReplicas: "10" };
/** Every even hour. */
const HOURLY = { timezone: "Etc/UTC", start: "0 */2 * * *", end: "0 1-23/2 * * *", desiredReplicas: "10" };
const QUARTERLY = { timezone: "Etc/UTC", start: "0,30 * * * *", end: "15,45 * * * *", desiredReplicas: "10" };
const INDIA = { timezone: "Asia/Kolkata", start: "30 * * * *", end: "45 * * * *", desiredReplicas: "10" };

const CRON: readonly ParseCase[] = [
  refused("nothing", {}),
  accepted("a day of the week", WEEKLY),
  accepted("steps", HOURLY),
  accepted("lists", QUARTERLY),
  refused("no desiredReplicas", { timezone: INDIA.timezone, start: INDIA.start, end: INDIA.end }),
  refused("no timezone", { start: INDIA.start, end: INDIA.end, desiredReplicas: "10" }),
  accepted("a range in start", { ...INDIA, start: "30-33 * * * *" }),
  accepted("a range in end", { ...INDIA, end: "45-50 * * * *" }),
  refused("a negative minute in start", { ...INDIA, start: "-30 * * * *" }),
  refused("a negative minute in end", { ...INDIA, end: "-50 * * * *" }),
  refused("a negative month in end", { ...INDIA, end: "50 * * -3 *" }),
  refused("the same start and end", { ...INDIA, end: "30 * * * *" }),
];

Deno.test("KEDA's TestCronParseMetadata (R11)", () => {
  assertEquals(CRON.length, 12);
  assertParsed("cron", CRON);
});

/** Each hour of a week: the days for `WEEKLY`, the hours for `HOURLY`. KEDA's tests look at the time when they run. */
async function listCronValues(metadata: ParseCase["metadata"]): Promise<readonly (readonly [Date, number | null])[]> {
  const times = Array.from({ length: 7 * 24 }, (_, hour) => new Date(Date.UTC(2026, 10, 23, hour, 30)));
  return await Promise.all(times.map(async (at) => [at, await valueAt(metadata, at)] as const));
}

Deno.test("KEDA's TestIsActive and TestGetMetrics: 10 on Thursdays, otherwise 0 (R11, R51)", async () => {
  for (const [at, value] of await listCronValues(WEEKLY)) {
    assertEquals(value, at.getUTCDay() === 4 ? 10 : 0, at.toISOString());
  }
});

Deno.test("KEDA's TestIsActiveRange and TestGetMetricsRange: 10 in even hours, otherwise 0 (R11, R51)", async () => {
  for (const [at, value] of await listCronValues(HOURLY)) {
    assertEquals(value, at.getUTCHours() % 2 === 0 ? 10 : 0, at.toISOString());
  }
});

Deno.test("KEDA's TestCronGetMetricSpecForScaling (R18)", () => {
  const names = [WEEKLY, HOURLY, QUARTERLY].map((metadata, index) =>
    getTrigger("cron", metadata, { index }).metricName
  );
  assertEquals(names, [
    "s0-cron-Etc-UTC-00xxThu-5923xxThu",
    "s1-cron-Etc-UTC-0xSl2xxx-01-23Sl2xxx",
    "s2-cron-Etc-UTC-0Cm30xxxx-15Cm45xxxx",
  ]);
});

const DEMO = { value: "1", podSelector: "app=demo" };
const [IN, IN_TWO] = ["app in (demo1, demo2)", "app in (demo1, demo2),deploy in (deploy1, deploy2)"];

/** Nearly all of KEDA's rows are there once for each of two namespaces. */
const WORKLOAD: readonly ParseCase[] = [
  ...["test", "default"].flatMap((namespace) => [
    accepted("a label", DEMO, { namespace }),
    refused("no value", { podSelector: "app=demo" }, { namespace }),
    refused("no podSelector", { value: "1" }, { namespace }),
    refused("a value that is not a number", { ...DEMO, value: "a" }, { namespace }),
    refused("a value of 0", { ...DEMO, value: "0" }, { namespace }),
  ]),
  accepted("a set of values", { ...DEMO, podSelector: IN }),
  accepted("two sets of values", { ...DEMO, podSelector: IN_TWO }),
  accepted("groupByNode", { ...DEMO, groupByNode: "true" }),
  refused("an activationValue that is not a number", { ...DEMO, activationValue: "aa" }),
  refused("groupByNode that is not a boolean", { ...DEMO, groupByNode: "invalid" }),
];

Deno.test("KEDA's TestParseWorkloadMetadata (R12)", () => {
  assertEquals(WORKLOAD.length, 15);
  assertParsed("kubernetes-workload", WORKLOAD);
});

Deno.test("KEDA's TestWorkloadIsActive: pods of another namespace do not count (R12, R51)", async () => {
  for (const count of [0, 1, 15]) {
    const pods = Array.from({ length: count }, (_, index) => pod(`demo-pod-v${index}`));
    assertEquals(await countPods(DEMO, pods, "test"), 0, `${count} pods in default`);
    assertEquals(await countPods(DEMO, pods), count);
  }
});

Deno.test("KEDA's TestWorkloadGetMetricSpecForScaling (R18)", () => {
  const rows = [["app=demo", "test"], ["app=demo", "default"], [IN, "test"], [IN_TWO, "test"]] as const;
  const names = rows.map(([podSelector, namespace], index) =>
    getTrigger("kubernetes-workload", { ...DEMO, podSelector }, { index, namespace }).metricName
  );
  assertEquals(names, ["s0-workload-test", "s1-workload-default", "s2-workload-test", "s3-workload-test"]);
});

const PHASES = ["Running", "Succeeded", "Failed", "Unknown", "Pending"] as const;

Deno.test("KEDA's TestWorkloadPhase: a pod that has ended does not count (R12)", async () => {
  for (const phase of PHASES) {
    const count = phase === "Succeeded" || phase === "Failed" ? 0 : 1;
    assertEquals(await countPods(DEMO, [pod("web", { phase })]), count, phase);
  }
});

Deno.test("KEDA's TestWorkloadGroupByNode (R12)", async () => {
  const pods = [
    pod("demo-pod-node-a-1", { nodeName: "node-a" }),
    pod("demo-pod-node-a-2", { nodeName: "node-a" }),
    pod("demo-pod-node-b", { nodeName: "node-b" }),
    pod("demo-pod-pending", { phase: "Pending" }),
    pod("demo-pod-failed", { phase: "Failed", nodeName: "node-c" }),
  ];
  assertEquals(await countPods(DEMO, pods), 4);
  assertEquals(await countPods({ ...DEMO, groupByNode: "true" }, pods), 2);
});

const CPU: readonly ParseCase[] = [
  refused("nothing", {}),
  accepted("a share of the request", { value: "50" }, { metricType: "Utilization" }),
  accepted("an amount", { value: "50" }, { metricType: "AverageValue" }),
  refused("metricType Value", { value: "50" }, { metricType: "Value" }),
  refused("an empty value", { value: "" }),
  refused("nothing, again", {}),
];

Deno.test("KEDA's TestCPUMemoryParseMetadata (R10)", () => {
  assertEquals(CPU.length, 6);
  for (const type of ["cpu", "memory"]) assertParsed(type, CPU);
});

Deno.test("KEDA's TestGetMetricSpecForScaling and TestGetContainerMetricSpecForScaling (R10)", () => {
  const metricType = "Utilization";
  const [pods] = getObject("cpu", { value: "50" }, { metricType }).triggers;
  const [container] = getObject("cpu", { value: "50", containerName: "foo" }, { metricType }).triggers;
  const target = { kind: "Utilization", percent: 50 } as const;
  for (const [trigger, name] of [[pods, null], [container, "foo"]] as const) {
    assertEquals(trigger?.kind === "resource" && [trigger.type, trigger.target, trigger.container], [
      "cpu",
      target,
      name,
    ]);
  }
});

interface PodState {
  readonly phase?: typeof PHASES[number];
  readonly nodeName?: string;
}

function pod(name: string, { phase = "Running", nodeName }: PodState = {}) {
  return parsePod({
    metadata: { name, uid: name, namespace: "default", labels: { app: "demo" } },
    spec: { containers: [], ...(nodeName !== undefined && { nodeName }) },
    status: { phase },
  });
}

const NOT_ASKED = () => Promise.reject(new Error("nothing is asked"));

async function valueAt(metadata: ParseCase["metadata"], at: Date): Promise<number | null> {
  const sources = { ask: NOT_ASKED, countPods: NOT_ASKED, run: UNCOUNTED.run };
  const options = { namespace: "default", credentials: {}, now: at.getTime(), signal: new AbortController().signal };
  const answer = await fetchTriggerValue(getTrigger("cron", metadata), sources, options);
  return answer.kind === "value" ? answer.value : null;
}

/** The value for an object of that namespace, with pods of `default`. */
async function countPods(
  metadata: ParseCase["metadata"],
  pods: readonly ReturnType<typeof pod>[],
  namespace = "default",
) {
  const sets = new SelectorIndex({ listPods: (of) => pods.filter((one) => one.namespace === of) });
  const sources = { ask: NOT_ASKED, countPods: createCountPods(sets), run: UNCOUNTED.run };
  const options = { namespace, credentials: {}, now: 0, signal: new AbortController().signal };
  const answer = await fetchTriggerValue(getTrigger("kubernetes-workload", metadata), sources, options);
  return answer.kind === "value" ? answer.value : null;
}
