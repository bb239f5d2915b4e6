/** Is the summary as fresh, as old, as full of zeros and as random as a kubelet's? */
import { assert, assertEquals } from "#assert";
import type { ContainerStats } from "../../../lib/api/summary.ts";
import { computeSummary } from "../../../lib/embedded/model/summary.ts";
import type { Json } from "../../support/api_objects.ts";
import { constant, MI, ModelRun, SECOND } from "../../support/model_run.ts";

const SIZE = { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "500m", memory: "64Mi" } };

function read(run: ModelRun, name = "main", pod = "a", now = run.state.at): ContainerStats | undefined {
  const found = computeSummary(run.state, now).pods?.find(({ podRef }) => podRef?.name === pod);
  return found?.containers?.find((one) => one.name === name);
}

function timeOf(stats: ContainerStats | undefined): number {
  return Date.parse(stats?.cpu?.time ?? "");
}

/** Polls each `everyMs`; gives what was read. */
function poll(
  run: ModelRun,
  everyMs: number,
  count: number,
): readonly { at: number; stats: ContainerStats | undefined }[] {
  return Array.from({ length: count }, () => {
    run.run(everyMs);
    return { at: run.state.at, stats: read(run) };
  });
}

Deno.test("computeSummary() reads a young container at each request, later as cAdvisor did each 10 to 19 s (C22)", () => {
  const takeovers: number[] = [];
  for (let seed = 0; seed < 30; seed++) {
    const run = new ModelRun({ seed: `${seed}` });
    run.add({ containers: [{ ...SIZE, load: { cpuMillicores: constant(100) } }] });
    run.run(SECOND);
    const polls = poll(run, SECOND, 120);
    const startedAt = run.pod("a").meters.main?.startedAt ?? NaN;
    const first = polls.findIndex(({ at, stats }) => at - timeOf(stats) >= 2 * SECOND);
    takeovers.push((polls[first]?.at ?? 0) - startedAt);
    for (const { at, stats } of polls.slice(0, first - 1)) assert(at - timeOf(stats) < 2 * SECOND);
    const times = [...new Set(polls.slice(first).map(({ stats }) => timeOf(stats)))];
    const gaps = times.map((time, index) => time - (times[index - 1] ?? time)).slice(1);
    assert(gaps.length >= 4 && gaps.every((gap) => gap >= 9 * SECOND && gap <= 20 * SECOND), `${gaps}`);
    for (const { at, stats } of polls) assert(at - timeOf(stats) <= 20 * SECOND);
    // 100m, except for the rounding to whole seconds.
    const rates = polls.slice(first).map(({ stats }) =>
      [timeOf(stats), stats?.cpu?.usageCoreNanoSeconds ?? 0] as const
    );
    const [from, to] = [rates[0] ?? [0, 0], rates.at(-1) ?? [0, 0]];
    const rate = (to[1] - from[1]) / (to[0] - from[0]) / 1000;
    assert(Math.abs(rate - 100) < 3, `${rate}m`);
  }
  assert(Math.min(...takeovers) < 16 * SECOND && Math.max(...takeovers) > 20 * SECOND, `${takeovers}`);
});

Deno.test("computeSummary() lets time stand still while the counter grows when cAdvisor takes over (C22)", () => {
  let still = 0;
  for (let seed = 0; seed < 30; seed++) {
    const run = new ModelRun({ seed: `${seed}` });
    run.add({ containers: [{ ...SIZE, load: { cpuMillicores: constant(100) } }] });
    run.run(5300);
    const polls = poll(run, SECOND, 30);
    for (const [index, { stats }] of polls.entries()) {
      const before = polls[index - 1]?.stats;
      if (before === undefined || timeOf(before) !== timeOf(stats)) continue;
      if ((before.cpu?.usageCoreNanoSeconds ?? 0) < (stats?.cpu?.usageCoreNanoSeconds ?? 0)) still++;
    }
  }
  assert(still > 3, `${still}`);
});

Deno.test("computeSummary() may step back a second at the switch: cAdvisor takes the time before it reads (C22)", () => {
  let back = 0;
  for (let seed = 0; seed < 400 && back === 0; seed++) {
    const run = new ModelRun({ seed: `${seed}` });
    run.add({ containers: [SIZE] });
    run.run(5 * SECOND);
    const at = run.pod("a").meters.main?.nextSampleAt ?? NaN;
    // The last fresh look falls between cAdvisor's stamp and its reading.
    run.run(at - 1 - run.state.at);
    const before = read(run);
    run.run(2);
    const after = read(run);
    if (timeOf(after) < timeOf(before)) {
      assert((after?.cpu?.usageCoreNanoSeconds ?? 0) >= (before?.cpu?.usageCoreNanoSeconds ?? 0));
      back++;
    }
  }
  assertEquals(back, 1);
});

Deno.test("computeSummary() stays fresh for ever on a node whose cAdvisor sees no containers (C21)", () => {
  const run = new ModelRun({ hasCadvisor: false });
  run.add({ containers: [SIZE] });
  run.run(100 * SECOND);
  const times = poll(run, 500, 40).map(({ at, stats }) => at - timeOf(stats));
  assert(times.every((lag) => lag < SECOND), `${times}`);
});

Deno.test("computeSummary() shows an exited process once as zeros with its old start, then not at all, and its pod neither (C22)", () => {
  const run = new ModelRun({ hasCadvisor: false });
  const workingSetBytes = { kind: "step", before: 20 * MI, after: 90 * MI, atMs: 60 * SECOND } as const;
  run.add({ containers: [{ ...SIZE, load: { workingSetBytes } }] });
  run.run(59 * SECOND);
  const startTime = read(run)?.startTime;
  const polls = poll(run, 100, 60).map(({ stats }) => stats);
  const zeros = polls.filter((stats) => stats?.memory?.usageBytes === 0);
  assert(zeros.length >= 3 && zeros[0]?.startTime === startTime);
  const time = zeros[0]?.cpu?.time ?? "";
  const memory = { availableBytes: 0, usageBytes: 0, workingSetBytes: 0, rssBytes: 0 };
  const whole: Json = {
    name: "main",
    startTime: startTime ?? "",
    cpu: { time, usageNanoCores: 0, usageCoreNanoSeconds: 0 },
    memory: { time, ...memory, pageFaults: 0, majorPageFaults: 0 },
    swap: { time, swapAvailableBytes: 0, swapUsageBytes: 0 },
  };
  assertEquals(zeros[0], whole);
  // In back-off.
  assertEquals(polls.at(-1), undefined);
  assertEquals(computeSummary(run.state, run.state.at).pods, []);
});

Deno.test("computeSummary() counts each instance from zero, and the pod's cgroup on (C22)", () => {
  const run = new ModelRun();
  run.add({
    containers: [{ ...SIZE, load: { cpuMillicores: constant(200), exits: { afterMs: 60 * SECOND, code: 1 } } }],
  });
  run.run(59 * SECOND);
  const before = computeSummary(run.state, run.state.at).pods?.[0];
  run.run(5 * SECOND);
  const after = computeSummary(run.state, run.state.at).pods?.[0];
  const [old, fresh] = [before?.containers?.[0], after?.containers?.[0]];
  assert((old?.startTime ?? "") < (fresh?.startTime ?? ""));
  assert((old?.cpu?.usageCoreNanoSeconds ?? 0) > 5e9 && (fresh?.cpu?.usageCoreNanoSeconds ?? 9e9) < 2e9);
  assert((after?.cpu?.usageCoreNanoSeconds ?? 0) >= (before?.cpu?.usageCoreNanoSeconds ?? 0));
});

Deno.test("computeSummary() has no rate at first, and says that nothing is available where there is no limit", () => {
  const run = new ModelRun();
  run.add({ containers: [{ requests: { cpu: "10m" } }] });
  for (let passed = 0; run.pod("a").meters.main === undefined && passed < 2000; passed += 10) run.run(10);
  const [first, second] = [read(run), (run.run(1500), read(run))];
  assert(first !== undefined && !("usageNanoCores" in (first.cpu ?? {})));
  assert("usageNanoCores" in (second?.cpu ?? {}));
  assertEquals(second?.memory?.availableBytes, 0);
  run.run(60 * SECOND);
  assert(!("availableBytes" in (read(run)?.memory ?? {})));
});

Deno.test("computeSummary() lists a running init container, and no finished one", () => {
  const run = new ModelRun();
  run.add({ containers: [{ name: "init", kind: "init", load: { exits: { afterMs: 3000, code: 0 } } }, SIZE] });
  run.run(2 * SECOND);
  assertEquals([read(run, "init")?.name, read(run)?.name], ["init", undefined]);
  run.run(10 * SECOND);
  assertEquals([read(run, "init")?.name, read(run)?.name], [undefined, "main"]);
});

Deno.test("computeSummary() gives pods and containers in another order each time, and the same for the same moment", () => {
  const run = new ModelRun();
  for (const name of ["a", "b", "c", "d"]) run.add({ name, containers: [SIZE, { name: "aux" }, { name: "log" }] });
  const orders = new Set<string>();
  for (let index = 0; index < 20; index++) {
    run.run(SECOND);
    const names = () =>
      JSON.stringify(
        computeSummary(run.state, run.state.at).pods?.map((
          { podRef, containers },
        ) => [podRef?.name, containers?.map((one) => one.name)]),
      );
    assertEquals(names(), names());
    orders.add(names());
  }
  assert(orders.size > 10);
});

Deno.test("computeSummary() reads the node's own numbers, with what is no pod", () => {
  const run = new ModelRun({ system: { cpuMillicores: 300, memoryBytes: 1000 * MI } });
  run.add({ containers: [{ ...SIZE, load: { cpuMillicores: constant(200) } }] });
  run.run(100 * SECOND);
  const node = computeSummary(run.state, run.state.at).node;
  const used = (node?.cpu?.usageCoreNanoSeconds ?? 0) / (Date.parse(node?.cpu?.time ?? "") - run.state.startedAt) /
    1000;
  assert(used > 480 && used < 520, `${used}m`);
  assert((node?.memory?.workingSetBytes ?? 0) > 1000 * MI);
});
