/**
 * A scaling loop that would raise replicas does not wait until it is due.
 * Clauses: R7.
 */
import { assert, assertEquals } from "#assert";
import { SCALING_LOOP_MS } from "../../../lib/horizontal/pod_metrics.ts";
import { EarlyScalingCheck } from "../../../lib/daemon/replicas/schedule.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";
import { NEW_REPLICAS_STATE } from "../../../lib/model/replicas_state.ts";
import { pod } from "../../support/builders.ts";
import { scaledObjectWith } from "../../support/triggers.ts";
import { cpuTrigger, ratesOf, scalingReport } from "../../support/workload_pods.ts";

const WEB = { namespace: "default", labels: { app: "web" } };
const MAIN = { containers: [{ requests: { cpu: "100m" } }], replicas: 1 };

async function startWeb(spec: Readonly<Record<string, unknown>> = {}): Promise<ReplicasRun> {
  const run = await ReplicasRun.start([
    deployment("web", MAIN),
    scaledObject("web", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount: 6, ...spec } }),
  ]);
  run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 30 });
  await run.advance(90);
  return run;
}

interface Tick {
  readonly at: number;
  /** Ms since the scaling loop before. */
  readonly afterMs: number;
  readonly raises: boolean;
}

function listTicks({ passes }: ReplicasRun): readonly Tick[] {
  const ticks = passes.filter(({ input }) => input.observation.kind === "tick");
  return ticks.slice(1).map(({ input: { now }, outcome: { write } }, index) => ({
    at: now,
    afterMs: now - (ticks[index]?.input.now ?? now),
    raises: write !== null && write.replicas > write.from.replicas,
  }));
}

Deno.test("usage that raises replicas has a tick at once, and the next one comes 15 s after it (R7)", async () => {
  await using run = await startWeb();
  assert(listTicks(run).every(({ afterMs }) => afterMs === SCALING_LOOP_MS));
  // Just after a scaling loop, so that the sample with the load comes long before the next one.
  const before = listTicks(run).length;
  run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 80 });
  await run.advance(90);
  const later = listTicks(run).slice(before);
  const first = later.findIndex(({ raises }) => raises);
  const raising = later[first];
  assert(raising !== undefined && raising.afterMs < SCALING_LOOP_MS, JSON.stringify(later));
  assert(later.slice(0, first).every(({ afterMs }) => afterMs === SCALING_LOOP_MS));
  assertEquals(later[first + 1]?.afterMs, SCALING_LOOP_MS);
  assertEquals(await run.replicas(), 2);
});

/** Two pods, of which "a" uses CPU. */
function openCheck() {
  const clock = new VirtualClock();
  const object = scaledObjectWith([cpuTrigger({ target: { kind: "AverageValue", milli: 100n } })]);
  const all = ["a", "b"].map((uid) => pod({ uid }));
  let rates = ratesOf(0);
  const check = new EarlyScalingCheck({
    clock,
    preview: () => ({ state: NEW_REPLICAS_STATE, write: null, notices: [], report: null }),
    computeUsage: () => Promise.resolve({ triggers: new Map(), readyPods: 2, isCoupled: false }),
    pods: () => all,
    metered: { get: (uid) => ({ rates: uid === "a" ? rates : null, recorded: null }) },
  });
  const scale = { replicas: 2, statusReplicas: 2, resourceVersion: "1", uid: "u" };
  const unblock = () =>
    check.setUnblocked({ kind: "clear", object, scale, warnings: [], lack: null, transferred: null });
  /** A reading shows that "a" uses this much, millicores. */
  const read = (millicores: number) => {
    const before = rates;
    rates = ratesOf(millicores);
    return check.onFreshUsage(before, rates);
  };
  return { clock, check, unblock, read };
}

Deno.test("usage above its target is looked at 5 s after a tick at the soonest, then at once (R7)", async () => {
  const { clock, check, unblock, read } = openCheck();
  // Before the first scaling loop.
  assertEquals([read(90), check.dueAt], [null, Infinity]);
  unblock();
  assertEquals([read(90), check.dueAt], [null, Infinity]);
  const tickedAt = clock.now();
  check.onScalingLoop(scalingReport(0.9));
  await clock.advance(1_000);
  assertEquals([read(110), read(110), check.dueAt - tickedAt], ["raises", null, 5_000]);
  await clock.advance(7_000);
  assertEquals(await check.wouldRaise(new AbortController().signal), false);
  assertEquals([read(110), check.dueAt - tickedAt], ["raises", 13_000]);
  clock.setNow(clock.now() + 60_000);
  assertEquals(check.dueAt - tickedAt, 13_000);
  check.setUnblocked(null);
  assertEquals(await check.wouldRaise(new AbortController().signal), false);
  assertEquals(read(120), null);
});

Deno.test("usage below what raises replicas has nothing computed (R7)", () => {
  const { check, unblock, read } = openCheck();
  unblock();
  read(90);
  check.onScalingLoop(scalingReport(0.9));
  // The ratio is 0.9 at 90m, and half of the tolerance above 1 at 105m.
  assertEquals([read(97), read(90), check.dueAt], [null, null, Infinity]);
  assertEquals(read(106), "raises");
});

Deno.test("usage grows from half of the way on between that of the last tick and what raises replicas (R20)", () => {
  const { check, unblock, read } = openCheck();
  unblock();
  const seen = (before: number, ratio: number, after: number) => {
    read(before);
    check.onScalingLoop(scalingReport(ratio));
    return read(after);
  };
  // Replicas are raised from 105m on.
  assertEquals([seen(90, 0.9, 97), seen(90, 0.9, 98), check.dueAt], [null, "grows", Infinity]);
  assertEquals([seen(10, 0.1, 57), seen(10, 0.1, 58)], [null, "grows"]);
});

Deno.test("ticks are 5 s apart at least, however fast a load grows (R7)", async () => {
  const scaleUp = { policies: [{ type: "Pods", value: 1, periodSeconds: 5 }] };
  await using run = await startWeb({ advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleUp } } } });
  run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 500 });
  await run.advance(120);
  const distances = listTicks(run).map(({ afterMs }) => afterMs);
  assertEquals(Math.min(...distances) >= 5_000, true, distances.join());
  assert(distances.some((ms) => ms < SCALING_LOOP_MS));
  assertEquals(await run.replicas(), 6);
});

Deno.test("usage that asks for no more pods, or for more than there may be, has no tick of its own (R7)", async () => {
  await using low = await startWeb();
  low.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 52 });
  await low.advance(60);
  assert(listTicks(low).every(({ afterMs }) => afterMs === SCALING_LOOP_MS));
  await using most = await startWeb({ maxReplicaCount: 1 });
  most.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 400 });
  await most.advance(60);
  assert(listTicks(most).every(({ afterMs }) => afterMs === SCALING_LOOP_MS));
});

/** Ms from a step of load, from 0.8 to 1.6 of the target, to more replicas; the mean of ten. */
async function measureStep(nodes: number): Promise<number> {
  const tookMs: number[] = [];
  for (let trial = 0; trial < 10; trial++) {
    await using run = await ReplicasRun.start([
      deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 12 }),
      scaledObject("web", [CPU_50], { spec: { minReplicaCount: 12, maxReplicaCount: 40 } }),
    ], { nodes: Array.from({ length: nodes }, (_, index) => ({ name: `node-${index}` })) });
    run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 12 * 40 });
    await run.advance(120 + trial);
    const startedMs = run.cluster.clock.monotonic();
    run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 12 * 80 });
    while (await run.replicas() === 12 && tookMs.length <= trial) {
      await run.advance(1);
      if (run.cluster.clock.monotonic() - startedMs > 120_000) break;
    }
    tookMs.push(run.cluster.clock.monotonic() - startedMs);
  }
  return tookMs.reduce((sum, ms) => sum + ms, 0) / tookMs.length;
}

Deno.test("a step of load on many nodes, read every 15 s until they show growth, raises replicas hardly later than on one (R20)", async () => {
  const [one, many] = [await measureStep(1), await measureStep(12)];
  assert(one < 20_000 && many < one + 4_000, `${one} ms on one node, ${many} ms on twelve`);
});
