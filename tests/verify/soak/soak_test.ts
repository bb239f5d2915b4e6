/** The short form of `deno task soak`: five virtual minutes of 50 pods, with one fault. */
import { assert, assertEquals } from "#assert";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { PlainCluster } from "../chaos/plain_cluster.ts";
import { formatReport, listWrong } from "./report.ts";
import { ScaledWorkloads } from "./scaled.ts";
import { growth, soak, type SoakResult } from "./soak.ts";

Deno.test("podfit's counters agree with what the API server saw, through pods that come and go and a fault", async () => {
  const { faults, disagreements, complaints, timers, scales, scaledObjects } = await soak({
    minutes: 5,
    pods: 50,
    seed: "short",
  });
  assertEquals({ faults, disagreements, complaints }, { faults: 1, disagreements: [], complaints: [] });
  assert(scales >= scaledObjects, `${scales} writes of replicas`);
  assert(timers > 0);
});

Deno.test("growth() is that from the second quarter to the last, and none where nothing was measured", () => {
  assertEquals(growth([1, 10, 99, 11]), 10.000000000000009);
  assertEquals(growth([500, 8, 8, 8]), 0);
  assertEquals(growth([NaN, NaN, NaN, NaN]), null);
});

Deno.test("ScaledWorkloads names each workload whose replicas are not those of its values", async () => {
  const clock = new VirtualClock();
  const cluster = await PlainCluster.open({ clock, random: () => 0.5, load: () => 0 });
  const scaled = new ScaledWorkloads({ seed: "a", levelMs: 1000, now: () => clock.monotonic() });
  scaled.fill(cluster, 6);
  const replicas = new Map<string, number>();
  for (const text of scaled.listUnfit(cluster)) {
    const [, name = "", needed] = /^(\S+) has 1 replicas and needs (\d+)$/.exec(text) ?? [];
    replicas.set(name, Number(needed));
  }
  assert(replicas.size >= 2, `${[...replicas.keys()]}`);
  for (const [name, needed] of replicas) {
    const deployment = cluster.find("deployments", name);
    cluster.put("deployments", { ...deployment, spec: { ...deployment?.spec, replicas: needed } });
  }
  assertEquals(scaled.listUnfit(cluster), []);
});

const RESULT: SoakResult = {
  minutes: 60,
  pods: 100,
  scaledObjects: 6,
  faults: 6,
  scales: 12,
  heapGrowthPercent: 4.9,
  timerGrowthPercent: 0,
  timers: 47,
  disagreements: [],
  complaints: [],
};

Deno.test("listWrong() names growth, disagreements and complaints, and nothing of a good run", () => {
  assertEquals(listWrong(RESULT), []);
  assertEquals(listWrong({ ...RESULT, heapGrowthPercent: 5.1 }), ["the heap grows by 5.1 %"]);
  assertEquals(listWrong({ ...RESULT, timerGrowthPercent: 6, complaints: ["it hangs"] }), [
    "it hangs",
    "timers grow by 6.0 %",
  ]);
});

Deno.test("formatReport() of a soak says how its memory was bounded, and what is in that bound", () => {
  const run = {
    taken: "Taken at commit 1234567 on 2026-11-25",
    seed: "a",
    seconds: 61,
    lines: ["hour 0: x"],
    result: RESULT,
  };
  const text = formatReport({ ...run, bound: "256 MiB and 1 CPU by cgroups", peakMiB: 180.4 });
  assert(
    text.includes("Its limits are those of the chart: 256 MiB and 1 CPU by cgroups. At most 180 MiB were resident"),
    text,
  );
  assert(text.includes("One process has podfit's daemon, the embedded cluster and the suite."), text);
  assert(text.includes("hours: 1, pods: 100, ScaledObjects: 6, faults: 6, scales: 12, heap growth: 4.9 %"), text);
  assert(formatReport({ ...run, bound: null, peakMiB: null }).includes("Its memory was not bounded."));
});
