import { assertEquals } from "#assert";
import { fetchPrometheusLoads, type PrometheusRange } from "../../../lib/simulate/load/prometheus.ts";

const RANGE: PrometheusRange = { url: "http://prom:9090/", query: "cpu", from: 1_000_000, to: 1_600_000 };

function matrix(...series: readonly (readonly [Readonly<Record<string, string>>, readonly unknown[]])[]): string {
  const result = series.map(([metric, values]) => ({ metric, values }));
  return JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
}

function answer(text: string, status = 200) {
  return () => Promise.resolve({ status, text });
}

Deno.test("fetchPrometheusLoads() asks query_range for the time, in steps that stay below 11,000 points", async () => {
  const asked: URL[] = [];
  const get = (url: string) => {
    asked.push(new URL(url));
    return Promise.resolve({ status: 200, text: matrix([{ container: "app" }, [[1000, "0.5"]]]) });
  };
  await fetchPrometheusLoads({ ...RANGE, query: "sum(x)", memoryQuery: "m", to: 1_000_000 + 86_400_000 * 30 }, get);
  assertEquals(asked.map(({ origin, pathname }) => origin + pathname), [
    "http://prom:9090/api/v1/query_range",
    "http://prom:9090/api/v1/query_range",
  ]);
  assertEquals(Object.fromEntries(asked[0]?.searchParams ?? []), {
    query: "sum(x)",
    start: "1000",
    end: "2593000",
    step: "236",
  });
  assertEquals(asked[1]?.searchParams.get("query"), "m");
});

Deno.test("fetchPrometheusLoads() makes both queries of a selector", async () => {
  const asked: (string | null)[] = [];
  const get = (url: string) => {
    asked.push(new URL(url).searchParams.get("query"));
    return Promise.resolve({ status: 200, text: matrix([{ container: "app" }, [[1000, "1"]]]) });
  };
  await fetchPrometheusLoads({ ...RANGE, query: '{namespace="shop",}' }, get);
  const selector = '{namespace="shop",container!="",container!="POD"}';
  assertEquals(asked, [
    `avg by (container) (rate(container_cpu_usage_seconds_total${selector}[1m]))`,
    `avg by (container) (container_memory_working_set_bytes${selector})`,
  ]);
});

Deno.test("fetchPrometheusLoads() gives a load for each container, in millicores and bytes, and passes over NaN", async () => {
  const get = (url: string) =>
    answer(
      url.includes("query=cpu")
        ? matrix([{ container: "web" }, [[1000, "0.1"], [1010, "NaN"], [1020, "0.3"], [1005, "9"], 7]], [{}, [[
          1000,
          "1",
        ]]])
        : matrix([{ container: "web" }, [[1000, "100"], [1020, "200"]]]),
    )();
  const read = await fetchPrometheusLoads({ ...RANGE, memoryQuery: "memory" }, get);
  assertEquals(read.ok && read.loads.map(({ container, load }) => [container, load.seconds]), [[null, 0], ["web", 20]]);
  const middle = read.ok ? read.loads[1]?.load.at(10) : null;
  assertEquals(middle, { cpuMillicores: 200, workingSetBytes: 150 });
});

Deno.test("fetchPrometheusLoads() says what is wrong with the address, the answer or the query", async () => {
  const cases: readonly (readonly [string, () => Promise<{ status: number; text: string }>])[] = [
    ["status 404, and the answer is no JSON: is it Prometheus' address?", answer("<html>", 404)],
    ['Prometheus answers status 400: "parse error"', answer('{"status":"error","error":"parse error"}', 400)],
    [
      "the answer is no matrix; the query has to give an instant vector",
      answer('{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}'),
    ],
    ["it gives no series in that time; try it in Prometheus' own page", answer(matrix())],
    [
      'it gives several series of container "a"; write avg by (container) (...)',
      answer(matrix([{ container: "a", pod: "1" }, [[1, "1"]]], [{ container: "a", pod: "2" }, [[1, "1"]]])),
    ],
    [
      "it gives 65 series; aggregate them by container",
      answer(matrix(...Array.from({ length: 65 }, (_, at) => [{ container: `c${at}` }, [[1, "1"]]] as const))),
    ],
    ["connection refused", () => Promise.reject(new Error("connection refused"))],
  ];
  for (const [cause, get] of cases) {
    const read = await fetchPrometheusLoads(RANGE, get);
    assertEquals(read, { ok: false, message: `Cannot read a load by query "cpu": ${cause}` });
  }
  assertEquals(await fetchPrometheusLoads({ ...RANGE, url: "file:///etc" }, answer("")), {
    ok: false,
    message: 'Cannot ask Prometheus at "file:///etc": write its http or https URL',
  });
});
