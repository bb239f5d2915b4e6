/** What the scale bench prints and when it calls a goal missed. */
import { assert, assertEquals } from "#assert";
import { type Cost, type SizeResult, writeReport } from "./scale_table.ts";

function cost(cpuSeconds: number, rssMiB: number): Cost {
  return { cpuSeconds, rssMiB, peakMiB: rssMiB + 10 };
}

function size(nodes: number, podfit: Cost, metricsServer: Cost | null = null): SizeResult {
  const warmUp = { seconds: 180, podfit: cost(6, 80), metricsServer: metricsServer && cost(3, 60) };
  const punctuality = { readings: 20 * nodes, late: 0 };
  const measured = { windowSeconds: 300, resizes: 20, warmUp, blockMs: 30, punctuality, replicas: null };
  return { nodes, pods: nodes * 30, ...measured, podfit, metricsServer };
}

Deno.test("writeReport() prints cost per node and per pod, growth from size to size, and the ratio to metrics-server", () => {
  const { text, missed } = writeReport([
    size(10, cost(3, 90), cost(3, 60)),
    size(100, cost(15, 90), cost(20, 100)),
    size(1000, cost(165, 300), cost(220, 600)),
  ]);
  assertEquals(text.split("\n"), [
    "| nodes | pods | process | CPU s/min | CPU per node (m) | CPU per pod (m) | memory MiB | peak MiB | KiB per node | KiB per pod |",
    "|---|---|---|---|---|---|---|---|---|---|",
    "| 10 | 300 | podfit | 0.60 | 1.000 | 0.0333 | 90.0 | 100.0 | 9216 | 307.2 |",
    "| 10 | 300 | metrics-server | 0.60 | 1.000 | 0.0333 | 60.0 | 70.0 | 6144 | 204.8 |",
    "| 100 | 3000 | podfit | 3.00 | 0.500 | 0.0167 | 90.0 | 100.0 | 922 | 30.7 |",
    "| 100 | 3000 | metrics-server | 4.00 | 0.667 | 0.0222 | 100.0 | 110.0 | 1024 | 34.1 |",
    "| 1000 | 30000 | podfit | 33.00 | 0.550 | 0.0183 | 300.0 | 310.0 | 307 | 10.2 |",
    "| 1000 | 30000 | metrics-server | 44.00 | 0.733 | 0.0244 | 600.0 | 610.0 | 614 | 20.5 |",
    "",
    "10 to 100 nodes: CPU per pod x 0.50, memory per pod x 0.10",
    "100 to 1000 nodes: CPU per pod x 1.10, memory per pod x 0.33 (goal: CPU at most 1.2)",
    "10 nodes, podfit to metrics-server: CPU 1.00, memory 1.50",
    "100 nodes, podfit to metrics-server: CPU 0.75, memory 0.90 (goals: at most 1.2 and 1.0)",
    "1000 nodes, podfit to metrics-server: CPU 0.75, memory 0.50 (goals: at most 1.0 and 0.5)",
    ...[10, 100, 1000].flatMap((nodes) => [
      `${nodes} nodes: 4.0 resizes/min in the window; warm-up of 180 s before it: podfit 2.00 CPU s/min, ` +
      "metrics-server 1.00 CPU s/min",
      `${nodes} nodes: longest block of the event loop 30.0 ms (goal: below 50); 0.00 % of ${
        20 * nodes
      } readings more than ` +
      "a second late (goal: below 1 %)",
    ]),
  ]);
  assertEquals(missed, []);
});

Deno.test("writeReport() names each goal that is missed", () => {
  const cases: Record<string, readonly SizeResult[]> = {
    "CPU per pod at 1000 nodes": [size(100, cost(10, 90)), size(1000, cost(121, 90))],
    "CPU beside metrics-server at 1000 nodes": [size(1000, cost(3.1, 30), cost(3, 60))],
    "memory beside metrics-server at 1000 nodes": [size(1000, cost(3, 31), cost(3, 60))],
    "CPU beside metrics-server at 100 nodes": [size(100, cost(3.7, 60), cost(3, 60))],
    "memory beside metrics-server at 100 nodes": [size(100, cost(3, 61), cost(3, 60))],
    "longest block at 10 nodes": [{ ...size(10, cost(3, 90)), blockMs: 50 }],
    "late readings at 10 nodes": [{ ...size(10, cost(3, 90)), punctuality: { readings: 200, late: 2 } }],
  };
  for (const [goal, results] of Object.entries(cases)) assertEquals(writeReport(results).missed, [goal]);
  // Between small sizes a start's share is all that shows.
  assertEquals(writeReport([size(10, cost(1, 90)), size(100, cost(15, 90))]).missed, []);
});

Deno.test("writeReport() says so where metrics-server was not measured, and compares windows of other lengths", () => {
  const { text } = writeReport([size(10, cost(3, 90)), { ...size(100, cost(3, 90)), windowSeconds: 30 }]);
  assertEquals(text.split("\n").filter((line) => !line.includes("longest block")).slice(-4), [
    "10 to 100 nodes: CPU per pod x 1.00, memory per pod x 0.10",
    "metrics-server: not measured",
    "10 nodes: 4.0 resizes/min in the window; warm-up of 180 s before it: podfit 2.00 CPU s/min",
    "100 nodes: 40.0 resizes/min in the window; warm-up of 180 s before it: podfit 2.00 CPU s/min",
  ]);
});

Deno.test("writeReport() shows passes of ScaledObjects, and misses one above 5 ms, or none at all", () => {
  const figures = { evaluations: 4000, meanMs: 0.25, above5Ms: 0, writes: 0 };
  const report = (replicas: typeof figures) => writeReport([{ ...size(10, cost(1, 50)), replicas }]);
  const { text, missed } = report(figures);
  assert(text.includes("10 nodes: 4000 passes of ScaledObjects, 0.250 ms each, 0 above 5 ms"), text);
  assertEquals(missed, []);
  for (const slow of [{ above5Ms: 1 }, { evaluations: 0 }]) {
    assertEquals(report({ ...figures, ...slow }).missed, ["passes of ScaledObjects at 10 nodes"]);
  }
});
