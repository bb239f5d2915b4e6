/** Does a CPU limit of the model hold a container back as the kernel does (L23)? */
import { assert, assertAlmostEquals, assertEquals } from "#assert";
import { computeSummary } from "../../lib/embedded/model/summary.ts";
import { computeHolding, type Meter, nextPressure, NO_PRESSURE } from "../../lib/simulate/model/meter.ts";
import { constant, ModelRun, SECOND } from "../support/model_run.ts";

const NODE = { nodeMillicores: 2000 };

Deno.test("computeHolding() gives PSI as it was published: 0.92 for two threads at 168m, 0.75 for four at 500m (L23)", () => {
  const two = computeHolding({ ...NODE, wanted: 2000, got: 168, limit: 168, threads: 2 });
  assertAlmostEquals(two.stalled, 0.92, 0.005);
  const four = computeHolding({ ...NODE, wanted: 4000, got: 500, limit: 500, threads: 4 });
  assertAlmostEquals(four.stalled, 0.75, 0.005);
  assertEquals([two.cpus, four.cpus], [2, 2]);
});

Deno.test("computeHolding() throttles by the limit alone, and stalls by a full node as well (L23)", () => {
  assertEquals(computeHolding({ ...NODE, wanted: 100, got: 100, limit: 300, threads: 1 }), {
    unmetMillicores: 0,
    stalled: 0,
    throttled: 0,
    cpus: 1,
  });
  const crowded = computeHolding({ ...NODE, wanted: 800, got: 200, limit: 400, threads: 1 });
  assertEquals([crowded.stalled, crowded.throttled, crowded.unmetMillicores], [0.75, 0, 600]);
  assertEquals(computeHolding({ ...NODE, wanted: 0, got: 0, limit: 100, threads: 1 }).stalled, 0);
});

interface Recorded {
  readonly name: string;
  readonly cpuMillicores: number;
  readonly limitMillicores: number | null;
  readonly reads: readonly { readonly atNs: number; readonly cpuStat: string; readonly usagePercpu: string }[];
}

const RECORDED: readonly Recorded[] = JSON.parse(
  await Deno.readTextFile(new URL("../testdata/throttling/cgroup_v1.json", import.meta.url)),
);
/** The load image burns by the clock on the wall: a thread that sleeps between is not always there to be throttled. */
const TOLERANCE: Readonly<Record<string, number>> = { "part-168m": 0.2, "two-part-500m": 0.4 };

for (const { name, cpuMillicores, limitMillicores, reads } of RECORDED) {
  Deno.test(`the model throttles as the kernel was recorded to: ${name} (L23)`, () => {
    const [first, last] = [reads[0], reads.at(-1)];
    assert(first !== undefined && last !== undefined);
    const ns = last.atNs - first.atNs;
    const throttled = (readThrottled(last.cpuStat) - readThrottled(first.cpuStat)) / ns;
    const used = (sum(last.usagePercpu) - sum(first.usagePercpu)) / ns * 1000;
    const meter = measure({ cpuMillicores, limit: limitMillicores, seconds: 20 });
    const modelled = meter.throttledNs / 20e9;
    assertAlmostEquals(modelled, throttled, throttled * (TOLERANCE[name] ?? 0.06), name);
    assertAlmostEquals(meter.cpuNs / 20e6, used, 0.03 * used + 1);
    assertEquals(modelled === 0, throttled === 0);
  });
}

/** What was measured of a container in its first seconds, by the model. */
function measure(
  { cpuMillicores, limit, seconds, threads = 1 }: {
    readonly cpuMillicores: number;
    readonly limit: number | null;
    readonly seconds: number;
    readonly threads?: number;
  },
): Meter {
  const run = new ModelRun();
  const limits = limit === null ? {} : { limits: { cpu: `${limit}m` } };
  run.add({ containers: [{ ...limits, load: { cpuMillicores: constant(cpuMillicores), threads } }] });
  while (run.pod("a").meters.main === undefined) run.run(10);
  const startedAt = run.pod("a").meters.main?.startedAt ?? 0;
  run.run(startedAt + seconds * SECOND - run.state.at);
  const meter = run.pod("a").meters.main;
  assert(meter !== undefined);
  return meter;
}

function readThrottled(cpuStat: string): number {
  return Number(/^throttled_time (\d+)$/m.exec(cpuStat)?.[1]);
}

function sum(percpu: string): number {
  return percpu.trim().split(/\s+/).reduce((all, one) => all + Number(one), 0);
}

Deno.test("a meter tells what the busiest CPU has run, and PSI of the same time (L23)", () => {
  const meter = measure({ cpuMillicores: 1000, limit: 250, seconds: 20, threads: 2 });
  assertAlmostEquals(meter.largestCpuNs, meter.cpuNs / 2, 1e4);
  assertAlmostEquals(meter.psi.fullNs, 0.75 * 20e9, 1e6);
  assertAlmostEquals(meter.throttledNs, 2 * meter.psi.fullNs, 1e6);
  assertAlmostEquals(meter.unmetNs, 0.75 * 20e9, 1e6);
});

Deno.test("nextPressure() fades the means over 10, 60 and 300 s, in steps of any length (L23)", () => {
  const once = nextPressure(NO_PRESSURE, 0.5, 10 * SECOND);
  assertAlmostEquals(once.avg10, 50 * (1 - Math.exp(-1)), 1e-9);
  assertAlmostEquals(once.avg60, 50 * (1 - Math.exp(-1 / 6)), 1e-9);
  assertAlmostEquals(once.avg300, 50 * (1 - Math.exp(-1 / 30)), 1e-9);
  let stepped = NO_PRESSURE;
  for (let step = 0; step < 10; step++) stepped = nextPressure(stepped, 0.5, SECOND);
  assertAlmostEquals(stepped.avg10, once.avg10, 1e-9);
  assertEquals(stepped.fullNs, once.fullNs);
  const over = nextPressure(once, 0, 60 * SECOND);
  assertEquals(over.fullNs, once.fullNs);
  assert(over.avg10 < 0.1 && over.avg60 < once.avg60 / 2);
});

Deno.test("a summary has PSI in the runtime's nanoseconds first, then in cAdvisor's microseconds (L20, L23)", () => {
  const run = new ModelRun();
  run.add({ containers: [{ limits: { cpu: "100m" }, load: { cpuMillicores: constant(400) } }] });
  const read = () => computeSummary(run.state, run.state.at).pods?.[0]?.containers?.[0]?.cpu?.psi;
  run.run(8 * SECOND);
  const young = read();
  assert((young?.full?.total ?? 0) > 4e9 && (young?.full?.total ?? 0) < 7e9, JSON.stringify(young));
  run.run(40 * SECOND);
  const old = read();
  assert((old?.full?.total ?? 0) > 15e6 && (old?.full?.total ?? 0) < 40e6, JSON.stringify(old));
  assert((old?.full?.avg10 ?? 0) > 60 && (old?.some?.total ?? 0) > (old?.full?.total ?? 0));
});

Deno.test("a summary of a node without PSI has none of the runtime and zeros of cAdvisor, as recorded (L20, L23)", () => {
  const run = new ModelRun({ hasPsi: false });
  run.add({ containers: [{ limits: { cpu: "100m" }, load: { cpuMillicores: constant(400) } }] });
  const read = () => computeSummary(run.state, run.state.at).pods?.[0]?.containers?.[0]?.cpu?.psi;
  run.run(8 * SECOND);
  assertEquals(read(), undefined);
  run.run(40 * SECOND);
  assertEquals([read()?.full?.total, read()?.some?.total], [0, 0]);
});
