/** The table of `podfit top` on records of podfit beside an embedded cluster: rows, order, filter, width. */
import { assert, assertEquals } from "#assert";
import { filterRows, sortRows, type TopRow, toRows, toTopTable } from "../../../lib/cli/top/top.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { createStyle } from "../../../lib/cli/terminal/text.ts";
import { autoscaler, deployment, pod } from "../../e2e/support/workloads.ts";
import { ExplainRun, POLICY, SIDE } from "../../support/explain_run.ts";
import { readPage } from "../../support/pages.ts";
import { keepLines } from "../../support/record_lines.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

const BOTH = { ...POLICY, cpu: { requests: SIDE }, memory: { requests: SIDE } };

/** A Deployment of two at its maximum, a calm pod, and one that wants up. */
async function list(): Promise<readonly TopRow[]> {
  const size = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } };
  const lines = keepLines();
  await using run = await ReplicasRun.start([
    deployment("web", { replicas: 2, containers: [{ requests: { cpu: "100m" }, cpuMillicores: 90 }] }),
    scaledObject("web", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount: 2 } }),
    pod("calm", { containers: [{ ...size, cpuMillicores: 50, memoryMiB: 20 }], labels: { size: "yes" } }),
    pod("keen", { containers: [{ ...size, cpuMillicores: 50, memoryMiB: 20 }], labels: { size: "yes" } }),
    autoscaler("web", { selector: { matchLabels: { size: "yes" } }, containerName: "main", policy: BOTH }),
  ], { sinks: [lines.onEvaluation], onPass: lines.onPass });
  await run.advance(30);
  const use = (cpuMillicores: number) =>
    run.cluster.cluster.setLoad({ namespace: "default", name: "keen", port: 8080 }, { cpuMillicores });
  use(200);
  await run.advance(45);
  use(900);
  await run.advance(45);
  const ticks = lines.scaledObject("web").filter(({ record }) => record.outcome.report?.half === "tick");
  const newest = ["calm", "keen"].flatMap((name) => lines.pod(name).at(-1) ?? []);
  return toRows([...newest, ...ticks.slice(-1)], run.cluster.clock.now());
}

const toLines = (...args: Parameters<typeof toTopTable>) => toTopTable(...args).map(toCharacters);

Deno.test("top lists what containers use, have and want, what holds them, and workloads with replicas, by name", async () => {
  const rows = await list();
  assertEquals(
    toLines(sortRows(rows, "name"), { style: createStyle(false), columns: Infinity }),
    await readPage("top"),
  );

  const names = (sort: Parameters<typeof sortRows>[1]) => sortRows(rows, sort).map(({ name }) => name);
  assertEquals(names("cpu"), ["keen", "calm", "deployment/web"]);
  assertEquals(names("utilization"), ["keen", "calm", "deployment/web"]);
  assertEquals(names("wanted")[0], "keen");
  assertEquals(filterRows(rows, "COOLDOWN").map(({ name }) => name), ["keen"]);
  assertEquals(filterRows(rows, "deployment/").map(({ gate }) => gate), ["TooManyReplicas"]);

  for (const columns of [110, 100, 90, 80, 70, 60, 50]) {
    const table = toLines(sortRows(rows, "name"), { style: createStyle(false), columns });
    assert(table.every((line) => line.length <= columns), `${columns}:\n${table.join("\n")}`);
    assert(table.some((line) => line.endsWith("Cooldown")), table.join("\n"));
  }
});

Deno.test("top -o wide prints every column at any width, -A the namespace, and --no-headers rows alone", async () => {
  const rows = sortRows(await list(), "name");
  const plain = { style: createStyle(false), columns: 60 };
  const [heading = "", ...wide] = toLines(rows, { ...plain, isWide: true });
  assertEquals(heading.split(/ +/).slice(0, 3), ["NAMESPACE", "NAME", "CONTAINER"]);
  assertEquals(heading.split(/ +/).length, 14);
  assertEquals(toLines(rows, { ...plain, isWide: true, hasHeaders: false }), wide);
  const every = toLines(rows, { ...plain, columns: 140, hasNamespace: true });
  assertEquals(every.map((line) => line.split(/ +/)[0]), ["NAMESPACE", ...rows.map(({ namespace }) => namespace)]);
});

Deno.test("top paints the rows that wait for something, on a terminal with colour only", async () => {
  const rows = sortRows(await list(), "name");
  const [, calm = "", , keen = ""] = toLines(rows, { style: createStyle(true), columns: 200 });
  assertEquals([calm.startsWith("\x1b[35m"), keen.startsWith("\x1b[35m")], [false, true]);
  assert(toLines(rows, { style: createStyle(false), columns: 200 }).every((line) => !line.includes("\x1b")));
});

Deno.test("top cuts long names in the middle where the terminal is narrow", () => {
  const none = { used: 1, request: 100, limit: null, utilizationPercent: 1, wantedRequest: null, wantedLimit: null };
  const row: TopRow = {
    kind: "container",
    namespace: "shop",
    name: "a-deployment-with-a-long-name-7d9f86c5b4-x2x4k",
    container: "main",
    gate: "InBand",
    isHeld: false,
    usedAt: 0,
    cpu: none,
    memory: none,
  };
  const [, line = ""] = toLines([row], { style: createStyle(false), columns: 60 });
  assert(line.length <= 60 && line.includes("…") && line.includes("x2x4k "), line);
});

Deno.test("top lists of a pod whose autoscaler only recommends the size that it has, and wants what it would be", async () => {
  await using run = await ExplainRun.start({ spec: { mode: "recommend" } });
  run.use(300);
  await run.advance(60);
  const [row] = toRows(run.lines.pod("web").slice(-1), run.run.clock.now());
  assertEquals(
    row?.kind === "container" && [row.cpu.request, row.cpu.wantedRequest, row.cpu.limit, row.cpu.wantedLimit],
    [
      100,
      522,
      2000,
      null,
    ],
  );
});
