import { cpuUsage } from "node:process";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { createMetrics, type FieldChange, type Metrics } from "../../../lib/daemon/metrics/metrics.ts";

const CART = { namespace: "shop", name: "cart" };
const CPU_UP: FieldChange = { ...CART, resource: "cpu", side: "requests", direction: "up" };
const MEMORY_DOWN: FieldChange = { ...CART, resource: "memory", side: "limits", direction: "down" };

function read(metrics: Metrics): string {
  return [...metrics.render()].join("");
}

/** Sample lines (no comments) whose name begins with `prefix`, sorted. */
function samples(metrics: Metrics, prefix = "kedify_"): string[] {
  return read(metrics).split("\n").filter((line) => line.startsWith(prefix)).sort();
}

/** Tells of everything once, for `autoscaler`. */
function tellAll(metrics: Metrics, autoscaler = CART): void {
  metrics.reconciled();
  metrics.resourceUpdated();
  metrics.failed(autoscaler.namespace, "Quota");
  metrics.setTotals(new Map([[autoscaler.namespace, { total: 3, scalingActive: 1 }]]));
  metrics.setActive(autoscaler, true);
  metrics.blocked({ ...autoscaler, reason: "Cooldown" });
  metrics.blocked({ ...autoscaler, reason: "Quota" });
  metrics.evaluated(autoscaler, 0.0005);
  for (const change of [CPU_UP, MEMORY_DOWN]) {
    metrics.decided({ ...change, ...autoscaler });
    metrics.resized({ ...change, ...autoscaler, absolute: 120, percent: 20 });
    metrics.enacted({ ...autoscaler, direction: change.direction }, 2);
  }
}

Deno.test("createMetrics() has exactly the families of C52, by name and type", () => {
  const text = read(createMetrics({ version: "1" }));
  const types = [...text.matchAll(/^# TYPE (kedify_\S+ \S+)$/gm)].map(([, nameAndType]) => nameAndType).sort();
  assertEquals(types, [
    "kedify_agent_pod_resource_autoscaler_active gauge",
    "kedify_agent_pra_error_total counter",
    "kedify_agent_pra_evaluation_duration_seconds histogram",
    "kedify_agent_pra_reconcile_count counter",
    "kedify_agent_pra_resource_updates counter",
    "kedify_agent_pra_scale_blocked_total counter",
    "kedify_agent_pra_scale_decisions_total counter",
    "kedify_agent_pra_scale_delta_absolute histogram",
    "kedify_agent_pra_scale_delta_percent histogram",
    "kedify_agent_pra_scaling_active gauge",
    "kedify_agent_pra_time_to_apply_seconds histogram",
    "kedify_agent_pra_total gauge",
  ]);
});

Deno.test("series appear on first use, under the names and labels of C52", () => {
  const metrics = createMetrics({ version: "1" });
  assertEquals(samples(metrics), []);
  tellAll(metrics);
  const side = (change: FieldChange) =>
    `namespace="shop",name="cart",resource="${change.resource}",side="${change.side}",direction="${change.direction}"`;
  const counted = samples(metrics).filter((line) => !/_bucket|_sum/.test(line));
  assertEquals(counted, [
    'kedify_agent_pod_resource_autoscaler_active{namespace="shop",name="cart"} 1',
    'kedify_agent_pra_error_total{namespace="shop",reason="Quota"} 1',
    'kedify_agent_pra_evaluation_duration_seconds_count{namespace="shop",name="cart"} 1',
    "kedify_agent_pra_reconcile_count 1",
    "kedify_agent_pra_resource_updates 1",
    'kedify_agent_pra_scale_blocked_total{namespace="shop",name="cart",reason="Cooldown"} 1',
    'kedify_agent_pra_scale_blocked_total{namespace="shop",name="cart",reason="Quota"} 1',
    `kedify_agent_pra_scale_decisions_total{${side(CPU_UP)}} 1`,
    `kedify_agent_pra_scale_decisions_total{${side(MEMORY_DOWN)}} 1`,
    `kedify_agent_pra_scale_delta_absolute_count{${side(CPU_UP)}} 1`,
    `kedify_agent_pra_scale_delta_absolute_count{${side(MEMORY_DOWN)}} 1`,
    `kedify_agent_pra_scale_delta_percent_count{${side(CPU_UP)}} 1`,
    `kedify_agent_pra_scale_delta_percent_count{${side(MEMORY_DOWN)}} 1`,
    'kedify_agent_pra_scaling_active{namespace="shop"} 1',
    'kedify_agent_pra_time_to_apply_seconds_count{namespace="shop",name="cart",direction="down"} 1',
    'kedify_agent_pra_time_to_apply_seconds_count{namespace="shop",name="cart",direction="up"} 1',
    'kedify_agent_pra_total{namespace="shop"} 3',
  ]);
});

Deno.test("histograms have the buckets of C52", () => {
  const metrics = createMetrics({ version: "1" });
  tellAll(metrics);
  const lines = read(metrics).split("\n");
  const cases: readonly (readonly [string, string])[] = [
    ["scale_delta_absolute", "10 50 100 250 500 1000 2000 +Inf"],
    ["scale_delta_percent", "1 5 10 25 50 100 200 +Inf"],
    ["evaluation_duration_seconds", "0.0001 0.001 0.01 0.1 1 +Inf"],
    ["time_to_apply_seconds", "0.1 0.5 1 5 15 60 300 +Inf"],
  ];
  for (const [name, expected] of cases) {
    const bounds = lines.filter((line) => line.startsWith(`kedify_agent_pra_${name}_bucket`))
      .map((line) => /le="([^"]+)"/.exec(line)?.[1]);
    assertEquals([...new Set(bounds)].join(" "), expected, name);
  }
});

Deno.test("resized() counts a decrease by its size", () => {
  const metrics = createMetrics({ version: "1" });
  metrics.resized({ ...CPU_UP, absolute: 100, percent: 10 });
  metrics.resized({ ...CPU_UP, absolute: -300, percent: -50 });
  const lines = samples(metrics, "kedify_agent_pra_scale_delta_absolute");
  assertEquals(lines.map((line) => line.replace(/\{.*(le="[^"]+").*\}|\{.*\}/, " $1").slice(37)), [
    '_bucket le="+Inf" 2',
    '_bucket le="10" 0',
    '_bucket le="100" 1',
    '_bucket le="1000" 2',
    '_bucket le="2000" 2',
    '_bucket le="250" 1',
    '_bucket le="50" 0',
    '_bucket le="500" 2',
    "_count  2",
    "_sum  400",
  ]);
});

Deno.test("every kedify_ series carries kedify_agent_id when one is configured, and no podfit_ series does (C52)", () => {
  const metrics = createMetrics({ version: "1", agentId: "agent-7" });
  tellAll(metrics);
  metrics.watchFailed("pods");
  const kedify = samples(metrics);
  assertEquals(kedify.length, 78);
  assertEquals(kedify.filter((line) => !line.includes('kedify_agent_id="agent-7"')), []);
  assertEquals((samples(metrics, "podfit_")).filter((line) => line.includes("kedify_agent_id")), []);
});

for (const agentId of ["", "agent-7"]) {
  Deno.test(`forget() removes every series of a deleted autoscaler and no other (agent id "${agentId}")`, () => {
    const metrics = createMetrics({ version: "1", agentId });
    const other = { namespace: "shop", name: "cart-2" };
    tellAll(metrics, other);
    const before = samples(metrics).filter((line) => line.includes("name="));
    tellAll(metrics, CART);
    tellAll(metrics, { namespace: "stage", name: "cart" });
    metrics.forget(CART);
    metrics.forget({ namespace: "stage", name: "cart" });
    metrics.forget({ namespace: "shop", name: "never-seen" });
    const after = samples(metrics).filter((line) => line.includes(",name="));
    assertEquals(after, before.filter((line) => line.includes(",name=")));
    assertEquals(after.length > 50, true);
  });
}

Deno.test("every series of a namespace goes with its last autoscaler; errors of no namespace stay (C52)", () => {
  const metrics = createMetrics({ version: "1" });
  for (const namespace of ["a", "b", ""]) metrics.failed(namespace, "Evaluation");
  metrics.setTotals(new Map([["a", { total: 1, scalingActive: 1 }], ["b", { total: 2, scalingActive: 0 }]]));
  metrics.setTotals(new Map([["b", { total: 1, scalingActive: 0 }]]));
  metrics.keepErrors(new Set(["b"]));
  assertEquals(samples(metrics), [
    'kedify_agent_pra_error_total{namespace="",reason="Evaluation"} 1',
    'kedify_agent_pra_error_total{namespace="b",reason="Evaluation"} 1',
    'kedify_agent_pra_scaling_active{namespace="b"} 0',
    'kedify_agent_pra_total{namespace="b"} 1',
  ]);
});

Deno.test("a figure that is no finite number is dropped and stops nothing", () => {
  const metrics = createMetrics({ version: "1" });
  metrics.resized({ ...CPU_UP, absolute: NaN, percent: Infinity });
  metrics.evaluated(CART, NaN);
  assertEquals(samples(metrics), []);
});

Deno.test("podfit's own figures show what they were told", () => {
  const metrics = createMetrics({ version: "1.2.3", commit: "0123abc", startedAt: 1_500, takeLoopBlockMs: () => 250 });
  metrics.apiAnswered({ verb: "patch", resource: "pods/resize", code: 200 });
  metrics.watchEvent({ resource: "pods", type: "added" });
  metrics.watchFailed("pods");
  metrics.kubeletRead("ok", 0.02);
  metrics.usageSkipped("malformed", 1);
  metrics.setUsageSource("kubelet");
  metrics.setUsageSource("proxy");
  metrics.eventPublished("dropped");
  metrics.setTracked({ pods: 110, nodePollers: 2 });
  for (let line = 0; line < 3; line++) metrics.logLineDropped();
  const text = read(metrics);
  for (
    const line of [
      `podfit_build_info{version="1.2.3",commit="0123abc",deno="${Deno.version.deno}"} 1`,
      "process_start_time_seconds 1.5",
      "podfit_log_lines_dropped_total 3",
      "podfit_loop_block_seconds 0.25",
      'podfit_api_requests_total{verb="patch",resource="pods/resize",code="200"} 1',
      'podfit_watch_events_total{resource="pods",type="added"} 1',
      'podfit_watch_errors_total{resource="pods"} 1',
      'podfit_kubelet_reads_total{result="ok"} 1',
      'podfit_kubelet_read_duration_seconds_bucket{le="0.025"} 1',
      'podfit_usage_skipped_total{reason="malformed"} 1',
      'podfit_usage_source{source="proxy"} 1',
      'podfit_events_total{result="dropped"} 1',
      "podfit_tracked_pods 110",
      "podfit_node_pollers 2",
    ]
  ) assertStringIncludes(text, `\n${line}\n`);
  assertEquals(text.includes('source="kubelet"'), false);
  assertMatch(text, /^process_resident_memory_bytes [1-9]\d{6,}$/m);
  assertMatch(text, /^podfit_heap_bytes [1-9]\d{5,}$/m);
});

Deno.test("process_cpu_seconds_total is the CPU time of the process since it started, at each scrape", () => {
  const metrics = createMetrics({ version: "1.2.3" });
  const scrape = () => Number(/^process_cpu_seconds_total (.+)$/m.exec(read(metrics))?.[1]);
  const ofProcess = () => (cpuUsage().user + cpuUsage().system) / 1e6;
  for (let scrapes = 0; scrapes < 3; scrapes++) {
    const [before, shown, after] = [ofProcess(), scrape(), ofProcess()];
    assert(before <= shown + 1e-6 && shown <= after + 1e-6, `${before} <= ${shown} <= ${after}`);
    let busy = 0;
    for (let i = 0; i < 1e6; i++) busy += Math.sqrt(i);
    assert(busy > 0);
  }
});

Deno.test("createMetrics() keeps figures apart from those of another", () => {
  const [a, b] = [createMetrics({ version: "1" }), createMetrics({ version: "1" })];
  a.reconciled();
  assertEquals([(samples(a)).length, (samples(b)).length], [1, 0]);
});
