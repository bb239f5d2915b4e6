/** How `deno task noisy` measures and judges. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "#assert";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { PlainCluster } from "../chaos/plain_cluster.ts";
import { computePercentile, Meter } from "./meter.ts";
import { ATTACKS } from "./attacks.ts";
import { formatReport, parseRuns } from "./report.ts";
import type { NoisyResult, Window } from "./run.ts";
import { listMissed, writeTable } from "./table.ts";

const LIMIT = { memoryBytes: 256 * 2 ** 20 };

Deno.test("computePercentile() gives the value that this share does not exceed", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  assertEquals([50, 99, 100].map((percent) => computePercentile(values, percent)), [100, 198, 200]);
  assertEquals(computePercentile([5, Infinity], 99), Infinity);
  assertEquals(computePercentile([], 50), NaN);
});

Deno.test("Meter counts a step from its begin to the write that it must lead to, and a missing one as endless", async () => {
  const clock = new VirtualClock();
  const meter = new Meter(clock);
  const send = meter.through(() => Promise.resolve(new Response()));
  const write = (path: string) => send(new Request(`http://a/apis/x/namespaces/t/${path}`, { method: "PATCH" }));
  meter.begin("size", "web-1");
  meter.begin("replicas", "web-2");
  meter.begin("size", "web-3");
  await clock.advance(3000);
  await write("deployments/web-1/scale");
  await write("pods/web-1/status");
  assertEquals([meter.isPending("web-1"), meter.pending], [true, 3]);
  await write("pods/web-1/resize");
  await write("deployments/web-2/scale");
  await clock.advance(1000);
  assertEquals(meter.take().reactions, { size: [3000], replicas: [3000] });
  assertEquals(meter.take({ isLast: true }).reactions, { size: [Infinity], replicas: [] });
  assertEquals(meter.pending, 0);
});

Deno.test("Meter gives the longest time without a renewal of the Lease, and who held it", async () => {
  const clock = new VirtualClock();
  const cluster = await PlainCluster.open({ clock, random: () => 0.5, load: () => 0 });
  const meter = new Meter(clock);
  const stop = meter.watch(cluster);
  const renew = (holderIdentity: string) =>
    cluster.put("leases", { metadata: { name: "podfit", namespace: "podfit" }, spec: { holderIdentity } });
  renew("a");
  await clock.advance(2000);
  renew("a");
  await clock.advance(7000);
  renew("b");
  await clock.advance(4000);
  const { leaseGapMs, holders } = meter.take();
  assertEquals([leaseGapMs, holders], [7000, ["a", "b"]]);
  // The time since the last renewal counts too.
  await clock.advance(5000);
  assertEquals(meter.take().leaseGapMs, 9000);
  stop();
});

const QUIET: Window = {
  reactions: { size: [1000, 2000], replicas: [4000] },
  leaseGapMs: 2000,
  holders: ["a"],
  blockMs: 40,
  peakMiB: 200,
  cpuSeconds: 6,
  seconds: 60,
  waitedSeconds: 0.5,
  failedProbes: 0,
  probes: 60,
  worldBlockMs: 10,
};

function resultOf(attacked: Partial<Window>, own: Partial<NoisyResult> = {}): NoisyResult {
  const standby = { readyMs: 2000, peakMiB: 180 };
  const common = { name: "f1", alone: QUIET, ending: null, standby, leaks: 0, failures: [], bound: "256 MiB" };
  return { ...common, attacked: { ...QUIET, ...attacked }, ...own };
}

Deno.test("listMissed() names each goal that an attack misses, and none where all is well", () => {
  const twice = { size: [2000, 4000], replicas: [8000] };
  const cases: readonly (readonly [NoisyResult, readonly string[]])[] = [
    [resultOf({}), []],
    [resultOf({ reactions: twice, blockMs: 99, peakMiB: 255 }), []],
    [resultOf({ reactions: { size: [2000, 4100], replicas: [8000] } }), ["p99 of size is 2.05x of what it is alone"]],
    [resultOf({ reactions: { size: [1000, 2000], replicas: [Infinity] } }), [
      "p50 of replicas is none of what it is alone",
      "p99 of replicas is none of what it is alone",
    ]],
    [resultOf({ reactions: { size: [1000], replicas: [] } }), [
      "p50 of replicas is none of what it is alone",
      "p99 of replicas is none of what it is alone",
    ]],
    [resultOf({ blockMs: 100 }), ["its loop was blocked for 0.1 s"]],
    [resultOf({ blockMs: NaN }), ["its loop was blocked for a time that it could not tell"]],
    [resultOf({ peakMiB: 256 }), ["it held 256 MiB"]],
    [resultOf({ leaseGapMs: 10_000 }), ["its Lease was not renewed for 10.0 s"]],
    [resultOf({ holders: ["a", "b"] }), ["another one took the Lease"]],
    [resultOf({ failedProbes: 1 }), ["1 of 60 probes failed"]],
    [resultOf({}, { ending: "code 137" }), ["podfit ended: code 137"]],
    [resultOf({}, { standby: { readyMs: null, peakMiB: 300 } }), [
      "a podfit that starts then does not become ready",
      "a podfit that starts then held 300 MiB",
    ]],
    [resultOf({}, { leaks: 2 }), ["a hostile server got a credential 2 times"]],
    [resultOf({}, { failures: ["attack f1 failed: it hangs"] }), ["attack f1 failed: it hangs"]],
  ];
  for (const [result, missed] of cases) assertEquals(listMissed(result, LIMIT), missed);
});

Deno.test("writeTable() puts alone and attacked next to each other", () => {
  const [, , row] = writeTable([resultOf({ reactions: { size: [2000, 2000], replicas: [Infinity] } })]).split("\n");
  assertEquals(
    row,
    "| f1 | 1.0 → 2.0 (2.00x) | 2.0 → 2.0 (1.00x) | 4.0 → none (none) | 4.0 → none (none) | 40 → 40 | 200 → 200 | " +
      "6.0 → 6.0 | 0.5 → 0.5 | 2.0 → 2.0 | 0 → 0 | 2.0 (180) |",
  );
});

Deno.test("parseRuns() gives the attacks of each run, and names those that there are", () => {
  const names = Object.keys(ATTACKS);
  assertEquals(parseRuns("f1,f2+f3"), [["f1"], ["f2", "f3"]]);
  assertEquals(parseRuns("each,all"), [...names.map((name) => [name]), names]);
  assertThrows(() => parseRuns("f1,f99"), Error, 'Cannot attack by "f99": there are f1, ');
});

Deno.test("formatReport() keeps the runs that ended, names those that failed, and says how many are left", () => {
  const head = { taken: "Taken at commit 1", workloads: 2000, windowMs: 30_000, podfitArgs: [] };
  const missed = ["f1: the run failed: it hangs"];
  const none = formatReport({ ...head, results: [], missed, left: 8 });
  assertStringIncludes(none, "No run has ended.");
  assertStringIncludes(none, "- f1: the run failed: it hangs");
  assertStringIncludes(none, "8 more runs had not begun");
  const some = formatReport({ ...head, results: [resultOf({}, { name: "f2" })], missed, left: 0 });
  assertStringIncludes(some, "podfit has the limits of the chart: 256 MiB.");
  assert(some.includes("| f2 |") && some.includes("f1: the run failed") && !some.includes("had not begun"), some);
  const good = formatReport({ ...head, podfitArgs: ["--x"], results: [resultOf({})], missed: [], left: 0 });
  assert(good.includes("All goals are met.") && good.includes("More flags of podfit: `--x`."), good);
});
