/** What is believed of metrics.k8s.io, and what is left out (C54). */
import { assert, assertEquals, assertThrows } from "#assert";
import {
  parsePodMetrics,
  parsePodMetricsList,
  type PodMetrics,
} from "../../../lib/usage/metrics_api/parse_pod_metrics.ts";

const NOW = Date.parse("2026-11-20T11:00:20Z");
/** As metrics-server 0.8 writes it. */
const WEB = {
  metadata: {
    name: "web-1",
    namespace: "shop",
    creationTimestamp: "2026-11-20T11:00:05Z",
    labels: { app: "web", "pod-template-hash": "5f" },
  },
  timestamp: "2026-11-20T10:59:58Z",
  window: "16.591s",
  containers: [
    { name: "main", usage: { cpu: "1234567n", memory: "12Ki" } },
    { name: "proxy", usage: { cpu: "5m", memory: "64Mi" } },
  ],
};

function parse(body: unknown, isWanted = (_namespace: string, _name: string) => true): readonly PodMetrics[] {
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  return [...parsePodMetricsList(bytes, { isWanted, now: NOW })].filter((one) => one !== null);
}

const toList = (...items: readonly unknown[]) => ({ kind: "PodMetricsList", metadata: {}, items });

Deno.test("a list of metrics.k8s.io is read pod by pod, amounts in millicores and bytes", () => {
  assertEquals(parse(toList(WEB)), [{
    namespace: "shop",
    name: "web-1",
    at: Date.parse("2026-11-20T10:59:58Z"),
    windowMs: 16_591,
    containers: new Map([
      ["main", { millicores: 1.234567, workingSetBytes: 12_288 }],
      ["proxy", { millicores: 5, workingSetBytes: 64 * 2 ** 20 }],
    ]),
    skipped: 0,
  }]);
  assertEquals(parsePodMetrics(new TextEncoder().encode(JSON.stringify(WEB)), { now: NOW }), parse(toList(WEB))[0]);
});

const AMOUNTS: readonly (readonly [cpu: unknown, memory: unknown, expected: [number, number] | null])[] = [
  ["0", "0", [0, 0]],
  ["250u", "12345", [0.25, 12_345]],
  ["2", "1Gi", [2000, 2 ** 30]],
  ["1500m", "500M", [1500, 5e8]],
  ["999999999999999n", "1Ki", [999_999_999.999999, 1024]],
  ["-5m", "12Ki", null],
  ["5m", "-12Ki", null],
  ["1e30", "12Ki", null],
  ["5m", "9E", null],
  ["", "12Ki", null],
  ["5 m", "12Ki", null],
  ["12Q", "12Ki", null],
  [null, "12Ki", null],
  [{}, "12Ki", null],
  ["5m", [], null],
  ["NaN", "12Ki", null],
  ["5m", undefined, null],
];
for (const [cpu, memory, expected] of AMOUNTS) {
  Deno.test(`usage of cpu ${JSON.stringify(cpu)} and memory ${JSON.stringify(memory)} is ${expected ?? "left out and counted"}`, () => {
    const [pod] = parse(toList({ ...WEB, containers: [{ name: "main", usage: { cpu, memory } }] }));
    const main = pod?.containers.get("main");
    assertEquals(main === undefined ? null : [main.millicores, main.workingSetBytes], expected);
    assertEquals(pod?.skipped, expected === null ? 1 : 0);
  });
}

const IMPLAUSIBLE: Readonly<Record<string, unknown>> = {
  "a time that is none": { ...WEB, timestamp: "yesterday" },
  "no time": { ...WEB, timestamp: null },
  "a time two hours ahead": { ...WEB, timestamp: "2026-11-20T13:00:20Z" },
  "a time before 1970": { ...WEB, timestamp: "1960-01-01T00:00:00Z" },
  "no window": { ...WEB, window: undefined },
  "a window of nothing": { ...WEB, window: "0s" },
  "a negative window": { ...WEB, window: "-15s" },
  "a window of a day": { ...WEB, window: "24h" },
  "a window that is a number": { ...WEB, window: 15 },
  "containers that are no list": { ...WEB, containers: { main: 1 } },
};
for (const [what, pod] of Object.entries(IMPLAUSIBLE)) {
  Deno.test(`a pod with ${what} is left out and counted`, () => {
    const [read, ...others] = parse(toList(pod));
    assertEquals([read?.name, read?.containers.size, read?.skipped, others], ["web-1", 0, 1, []]);
  });
}

Deno.test("of a container that is there twice the first counts, and one without a name is left out", () => {
  const usage = { cpu: "5m", memory: "1Mi" };
  const containers = [{ name: "main", usage }, { name: "main", usage: { cpu: "9m", memory: "1Mi" } }, {
    name: "",
    usage,
  }];
  const [pod] = parse(toList({ ...WEB, containers }));
  assertEquals([pod?.containers.get("main")?.millicores, pod?.containers.size, pod?.skipped], [5, 1, 2]);
});

Deno.test("pods that nobody wants, and what has no name, are passed over", () => {
  const nameless = [{ ...WEB, metadata: {} }, { ...WEB, metadata: { name: 1, namespace: "shop" } }, null, 7, {}];
  const other = { ...WEB, metadata: { name: "db-1", namespace: "shop" } };
  const read = parse(toList(other, ...nameless, WEB), (namespace, name) => `${namespace}/${name}` === "shop/web-1");
  assertEquals(read.map(({ name }) => name), ["web-1"]);
});

Deno.test("an empty list is one, and what is no list says why", () => {
  assertEquals(parse({ items: [] }), []);
  assertEquals(parse({ items: null }), []);
  for (
    const [body, why] of [["{}", 'no list "items"'], ['{"items":{}}', 'no list "items"'], ["<html>", "<"], ["[]", "["]]
  ) {
    assertThrows(() => parse(body ?? ""), SyntaxError, why);
  }
  assertThrows(() => parse('{"items":[{]}'), SyntaxError);
  assertThrows(() => parse('{"items":[]} x'), SyntaxError);
  assertThrows(() => parse('{"items":['), SyntaxError, "ends too early");
});

Deno.test("no list is longer than any cluster's, and no pod has more containers than there can be", () => {
  const usage = { cpu: "1m", memory: "1Ki" };
  const containers = Array.from({ length: 2000 }, (_, index) => ({ name: `c${index}`, usage }));
  assertEquals(parse(toList({ ...WEB, containers }))[0]?.containers.size, 500);
  const many = `{"items":[${"{},".repeat(250_000)}{}]}`;
  let count = 0;
  for (const one of parsePodMetricsList(new TextEncoder().encode(many), { isWanted: () => true, now: NOW })) {
    assert(one === null);
    count++;
  }
  assertEquals(count, 200_000);
});
