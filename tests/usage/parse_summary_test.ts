import { assertEquals, assertStringIncludes } from "#assert";
import type { ContainerStats, PodStats, Summary } from "../../lib/api/summary.ts";
import type { Point } from "../../lib/api/usage.ts";
import { parseSummary, type SummaryOptions } from "../../lib/usage/kubelet/parse_summary.ts";

const AT = Date.UTC(2026, 10, 20, 11, 58, 35);
const ALL = () => true;

Deno.test("parseSummary() reads the points of tracked pods and of no others", () => {
  const uid = "274067a2-453d-46ad-a8ad-3c566e52304f";
  const reading = summary(recorded("cadvisor"), { tracked: new Set([uid, "unknown"]) });
  assertEquals([...reading.pods.keys()], [uid]);
  assertEquals(reading.node, { name: "node1", at: AT });
  assertEquals(reading.skipped, 0);
  assertEquals(reading.pods.get(uid)?.usageBytes, 64536576);
  assertEquals(reading.pods.get(uid)?.points[1], {
    container: "aux",
    instance: "2026-11-20T11:56:59Z",
    at: AT - 1000,
    resolutionMs: 1000,
    cpu: { kind: "counter", counterNs: 221001776 },
    workingSetBytes: 7172096,
    usageBytes: 7172096,
    pressure: null,
  });
});

Deno.test("parseSummary() reads sidecars and containers of a recorded node alike", () => {
  const { pods } = summary(recorded("steady-multi"), { tracked: ALL });
  const names = [...pods.values()].map((pod) => pod.points.map((point) => point.container));
  assertEquals(names, [["aux", "sidecar", "web"], ["load"], ["main"], ["main"], ["ok"]]);
});

Deno.test("parseSummary() reads the pressure of a recorded node with cgroup version 2 (L20)", () => {
  const pod = summary(recorded("cgroup2"), { tracked: ALL }).pods.get("df7bc27d-f14c-43f2-87ee-897f0e36e15c");
  const [point] = pod?.points ?? [];
  assertEquals(point?.pressure?.fullNs, 21_187_509_000);
  assertEquals(pod?.cpu?.pressure?.fullNs, 25_514_960_000);
});

Deno.test("parseSummary() reads the zero of a pod's first seconds as unknown usage", () => {
  const { pods, skipped } = summary(recorded("just-started"), { tracked: ALL });
  const multi = pods.get("af1300ee-2521-4ec1-a7af-4060893468ad");
  assertEquals(multi?.usageBytes, null);
  assertEquals(multi?.points.map((point) => point.usageBytes), [10383360, 18731008]);
  assertEquals(skipped, 0);
});

Deno.test("parseSummary() reads the pod's own counter, and not the zeros of its first seconds (L60)", () => {
  const { pods } = summary(recorded("cadvisor"), { tracked: ALL });
  const pod = pods.get("274067a2-453d-46ad-a8ad-3c566e52304f");
  assertEquals(pod?.cpu, { at: AT - 8000, resolutionMs: 1000, counterNs: 9519067602, pressure: null });
  const young = summary(recorded("just-started"), { tracked: ALL }).pods.get("af1300ee-2521-4ec1-a7af-4060893468ad");
  assertEquals([young?.cpu, young?.points.length], [undefined, 2]);
});

Deno.test("parseSummary() passes on the zeros of a container that has just exited", () => {
  const { main, skipped } = read({ cpu: { ...CPU, usageCoreNanoSeconds: 0 }, memory: { workingSetBytes: 0 } });
  assertEquals(skipped, 0);
  assertEquals(main?.cpu, { kind: "counter", counterNs: 0 });
  assertEquals(main?.workingSetBytes, 0);
});

Deno.test("parseSummary() takes a counter beyond 2^53, and usage that is absent", () => {
  const { main, skipped } = read({ cpu: { ...CPU, usageCoreNanoSeconds: 2 ** 60 }, memory: { workingSetBytes: 1 } });
  assertEquals(skipped, 0);
  assertEquals(main?.cpu, { kind: "counter", counterNs: 2 ** 60 });
  assertEquals(main?.usageBytes, null);
});

const CPU = { time: "2026-11-20T11:58:35Z", usageCoreNanoSeconds: 1_000_000 };
const MEMORY = { workingSetBytes: 1000, usageBytes: 2000 };
const SOUND = { startTime: "2026-11-20T11:56:58Z", cpu: CPU, memory: MEMORY };

const GARBAGE: Record<string, Record<string, unknown>> = {
  "a container without a name": { name: undefined },
  "an empty name": { name: "" },
  "an endless name": { name: "x".repeat(300) },
  "no start time": { startTime: null },
  "no cpu": { cpu: undefined },
  "cpu that is a list": { cpu: [] },
  "no memory": { memory: null },
  "no time": { cpu: { ...CPU, time: undefined } },
  "a time that is a number": { cpu: { ...CPU, time: 1 } },
  "a time that is no date": { cpu: { ...CPU, time: "2026-13-45T99:00:00Z" } },
  "a time in words": { cpu: { ...CPU, time: "20 November 2026 11:58:35" } },
  "a time without a zone": { cpu: { ...CPU, time: "2026-11-20T11:58:35.0" } },
  "a time before 1970": { cpu: { ...CPU, time: "1900-11-20T11:58:35Z" } },
  "a time in the far future": { cpu: { ...CPU, time: "2999-11-20T11:58:35Z" } },
  "no counter": { cpu: { ...CPU, usageCoreNanoSeconds: undefined } },
  "a negative counter": { cpu: { ...CPU, usageCoreNanoSeconds: -1 } },
  "a counter as text": { cpu: { ...CPU, usageCoreNanoSeconds: "1" } },
  "an absurd counter": { cpu: { ...CPU, usageCoreNanoSeconds: 1e30 } },
  "no working set": { memory: { usageBytes: 1 } },
  "a negative working set": { memory: { ...MEMORY, workingSetBytes: -1 } },
  "a fraction of a byte": { memory: { ...MEMORY, workingSetBytes: 0.5 } },
  "an absurd working set": { memory: { ...MEMORY, workingSetBytes: 2 ** 60 } },
  "negative usage": { memory: { ...MEMORY, usageBytes: -1 } },
  "the same container twice": { name: "other" },
};

for (const [what, differs] of Object.entries(GARBAGE)) {
  Deno.test(`parseSummary() leaves out and counts ${what}, and keeps the container beside it (C22)`, () => {
    const { names, skipped } = read(differs);
    assertEquals(names, ["other"]);
    assertEquals(skipped, 1);
  });
}

Deno.test("parseSummary() reads infinity and NaN as garbage", () => {
  for (const text of ["1e999", "null"]) {
    const { skipped } = summary(
      bodyOf({}).replace(`"usageCoreNanoSeconds":1000000`, `"usageCoreNanoSeconds":${text}`),
      { tracked: ALL },
    );
    assertEquals(skipped, 1, text);
  }
});

const PODS: Record<string, { readonly pods: unknown; readonly uids: readonly string[]; readonly skipped: number }> = {
  "no list of pods": { pods: undefined, uids: [], skipped: 0 },
  "null for pods": { pods: null, uids: [], skipped: 0 },
  "a pod that is a number": { pods: [1, pod("b")], uids: ["b"], skipped: 1 },
  "a pod without a reference": { pods: [{}, pod("b")], uids: ["b"], skipped: 1 },
  "a UID that is an object": { pods: [{ podRef: { uid: {} } }, pod("b")], uids: ["b"], skipped: 1 },
  "the same pod twice": { pods: [pod("a"), pod("b"), pod("a")], uids: ["a", "b"], skipped: 1 },
  "containers that are text": { pods: [{ ...pod("a"), containers: "x" }, pod("b")], uids: ["a", "b"], skipped: 1 },
  "null for containers": { pods: [{ ...pod("a"), containers: null }], uids: ["a"], skipped: 0 },
  "a flood of containers": {
    pods: [pod("a", Array.from({ length: 20_000 }, (_, i) => ({ ...SOUND, name: `c${i}` })))],
    uids: ["a"],
    skipped: 19_500,
  },
  "negative usage of a pod": { pods: [{ ...pod("a"), memory: { usageBytes: -1 } }], uids: ["a"], skipped: 1 },
};

for (const [what, { pods, uids, skipped }] of Object.entries(PODS)) {
  Deno.test(`parseSummary() survives ${what}`, () => {
    const reading = summary(JSON.stringify({ node: NODE, pods }), { tracked: ALL });
    assertEquals([...reading.pods.keys()], uids);
    assertEquals(reading.skipped, skipped);
  });
}

Deno.test("parseSummary() believes a node whose clock is a day ahead when its own numbers are too", () => {
  const time = "2026-11-21T11:58:35Z";
  const container = { name: "main", startTime: time, cpu: { ...CPU, time }, memory: MEMORY };
  const body = JSON.stringify({ node: { cpu: { time } }, pods: [pod("a", [container])] });
  assertEquals(summary(body, { tracked: ALL, nodeNow: AT }).skipped, 0);
});

Deno.test("parseSummary() calls malformed what is not a summary", () => {
  const cases: Record<string, string> = {
    "<html>502 Bad Gateway</html>": "not JSON",
    "": "not JSON",
    "[]": "not a JSON object",
    "7": "not a JSON object",
    '{"pods":{}}': `"pods" is not a list`,
  };
  for (const [body, cause] of Object.entries(cases)) {
    const reading = parseSummary(toBytes(body), { tracked: ALL });
    assertEquals(reading.kind, "malformed", body);
    if (reading.kind === "malformed") assertStringIncludes(reading.message, cause);
  }
});

const NODE = { nodeName: "node1", cpu: { time: "2026-11-20T11:58:30Z" } };

function pod(uid: string, containers: readonly unknown[] = []): PodStats {
  return { podRef: { uid }, containers: containers as ContainerStats[] };
}

/** One pod of two containers: "other" is sound, and "main" differs as told. */
function bodyOf(differs: Record<string, unknown>): string {
  const containers = [{ ...SOUND, name: "other", cpu: { ...CPU, usageCoreNanoSeconds: 7 } }];
  const body: Summary = { node: NODE, pods: [pod("a", [...containers, { ...SOUND, name: "main", ...differs }])] };
  return JSON.stringify(body);
}

function read(differs: Record<string, unknown>): { main: Point | undefined; names: string[]; skipped: number } {
  const { pods, skipped } = summary(bodyOf(differs), { tracked: ALL });
  const points = pods.get("a")?.points ?? [];
  const main = points.find((point) => point.container === "main");
  return { main, names: points.map((point) => point.container), skipped };
}

function summary(body: string, options: SummaryOptions) {
  const reading = parseSummary(toBytes(body), options);
  if (reading.kind !== "summary") throw new Error(reading.message);
  return reading;
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function recorded(name: string): string {
  return Deno.readTextFileSync(new URL(`../testdata/summary/${name}.json`, import.meta.url));
}
