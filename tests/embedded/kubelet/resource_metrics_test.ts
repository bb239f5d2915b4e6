/** `/metrics/resource`: the summary's numbers in the text that metrics-server reads of a real kubelet. */
import { assertEquals } from "#assert";
import { compressMetrics, writeResourceMetrics } from "../../support/embedded/resource_metrics.ts";
import { KubeletRun, load } from "../../support/kubelet_run.ts";

const TIME = "2026-11-20T11:00:05Z";
const AT = Date.parse(TIME);

Deno.test("writeResourceMetrics() writes families and series by name, counters in seconds, each with its time", () => {
  const usage = (counterNs: number, workingSetBytes: number) => ({
    cpu: { time: TIME, usageCoreNanoSeconds: counterNs },
    memory: { time: TIME, workingSetBytes },
  });
  const pod = (name: string, counterNs: number) => ({
    podRef: { name, namespace: "shop", uid: name },
    ...usage(counterNs, 14_934_016),
    containers: [{ name: "main", startTime: TIME, ...usage(counterNs, 999_999) }],
  });
  const node = { nodeName: "node1", ...usage(357_354_910_000, 1_000_000) };
  const text = writeResourceMetrics({ node, pods: [pod("web", 4_710_169_000), pod("api", 12_000)] });
  const series = text.split("\n").filter((line) => !line.startsWith("#"));
  assertEquals(series, [
    `container_cpu_usage_seconds_total{container="main",namespace="shop",pod="api"} 1.2e-05 ${AT}`,
    `container_cpu_usage_seconds_total{container="main",namespace="shop",pod="web"} 4.710169 ${AT}`,
    `container_memory_working_set_bytes{container="main",namespace="shop",pod="api"} 999999 ${AT}`,
    `container_memory_working_set_bytes{container="main",namespace="shop",pod="web"} 999999 ${AT}`,
    `container_start_time_seconds{container="main",namespace="shop",pod="api"} 1.795172405e+09`,
    `container_start_time_seconds{container="main",namespace="shop",pod="web"} 1.795172405e+09`,
    `node_cpu_usage_seconds_total 357.35491 ${AT}`,
    `node_memory_working_set_bytes 1e+06 ${AT}`,
    `pod_cpu_usage_seconds_total{namespace="shop",pod="api"} 1.2e-05 ${AT}`,
    `pod_cpu_usage_seconds_total{namespace="shop",pod="web"} 4.710169 ${AT}`,
    `pod_memory_working_set_bytes{namespace="shop",pod="api"} 1.4934016e+07 ${AT}`,
    `pod_memory_working_set_bytes{namespace="shop",pod="web"} 1.4934016e+07 ${AT}`,
    "resource_scrape_error 0",
    "scrape_error 0",
    "",
  ]);
  const heads = text.split("\n").filter((line) => line.includes("node_cpu"));
  assertEquals(heads.slice(0, 2), [
    "# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds",
    "# TYPE node_cpu_usage_seconds_total counter",
  ]);
});

Deno.test("writeResourceMetrics() leaves out what the summary does not say", () => {
  const text = writeResourceMetrics({ pods: [{ podRef: { name: "web", namespace: "shop" }, containers: [{}] }] });
  assertEquals(text.split("\n").filter((line) => !line.startsWith("#")), [
    "resource_scrape_error 0",
    "scrape_error 0",
    "",
  ]);
});

Deno.test("a kubelet answers /metrics/resource with what its summary says at the same time", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ cpu: 500, memory: 20 })] });
  await run.advance(60);
  const response = await run.ask("/metrics/resource");
  assertEquals(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n");
  const { pods: [{ containers: [{ cpu, memory }] }] } = await run.summary();
  const read = (family: string) => lines.find((line) => line.startsWith(`${family}{container="main"`))?.split(" ");
  const [, seconds, at] = read("container_cpu_usage_seconds_total") ?? [];
  assertEquals([Number(seconds), Number(at)], [cpu.usageCoreNanoSeconds / 1e9, Date.parse(cpu.time)]);
  assertEquals(Number(read("container_memory_working_set_bytes")?.[1]), memory.workingSetBytes);
});

Deno.test("compressMetrics() compresses this page alone, and only for clients that accept gzip", async () => {
  await using run = new KubeletRun();
  await run.advance(5);
  const ask = async (path: string, accepted: string) => {
    const headers = new Headers({ "accept-encoding": accepted });
    const answer = compressMetrics(await run.ask(path), headers);
    return { encoding: answer.headers.get("content-encoding"), bytes: await answer.bytes() };
  };
  const plain = await ask("/metrics/resource", "identity");
  const packed = await ask("/metrics/resource", "gzip");
  assertEquals([plain.encoding, packed.encoding], [null, "gzip"]);
  const unpacked = new Blob([packed.bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(unpacked).bytes(), plain.bytes);
  assertEquals((await ask("/stats/summary", "gzip, br")).encoding, null);
});
