/** What pods use together since the last scaling loop, to tell whether a look is worth it (R7). */
import { assertEquals } from "#assert";
import { type ContainerRates, type PodRates, TargetUsage } from "../../lib/horizontal/pod_metrics.ts";
import type { ResourceTrigger } from "../../lib/model/scaled_object.ts";
import { cpuTrigger, scalingReport } from "../support/workload_pods.ts";

type Amounts = readonly [nanocores: number | null, bytes: number];

function ratesOf(containers: Readonly<Record<string, Amounts>>): PodRates {
  const of = ([nanocores, workingSetBytes]: Amounts): ContainerRates => ({
    instance: "i",
    at: 0,
    seenAt: 0,
    counterNs: 0,
    workingSetBytes,
    rate: nanocores === null ? null : { nanocores, windowMs: 10_000 },
  });
  return { containers: Object.fromEntries(Object.entries(containers).map(([name, one]) => [name, of(one)])) };
}

const APP = ratesOf({ app: [100, 10], proxy: [7, 3] });
const OTHER = ratesOf({ app: [null, 20] });

/** Replicas are raised above 1.05 of the usage at the scaling loop, which was as wanted. */
function openUsage(trigger: Partial<ResourceTrigger>, ratio: number | null = 1): TargetUsage {
  const resource = { ...cpuTrigger({ target: { kind: "AverageValue", milli: 100n } }), ...trigger };
  const report = scalingReport(ratio, resource);
  return new TargetUsage({ resources: [resource], rates: [APP, null, OTHER], report, tolerance: 0.1 });
}

/** Of which total on does the usage of the trigger raise replicas? Found by a third pod that begins to use something. */
function findRaise(trigger: Partial<ResourceTrigger>, addOf: (amount: number) => PodRates): number {
  for (let amount = 1; amount < 1_000; amount++) {
    const usage = openUsage(trigger);
    usage.replace(null, addOf(amount));
    if (usage.compare() === "raises") return amount;
  }
  return Infinity;
}

Deno.test("TargetUsage adds what is known of all pods, of the container that is named or of all", () => {
  const cpu = (amount: number) => ratesOf({ app: [amount, 0] });
  const memory = (amount: number) => ratesOf({ app: [0, amount] });
  // 5 % of 107, 7, 33 and 30.
  assertEquals(findRaise({ type: "cpu" }, cpu), 6);
  assertEquals(findRaise({ type: "cpu", container: "proxy" }, (amount) => ratesOf({ proxy: [amount, 0] })), 1);
  assertEquals(findRaise({ type: "cpu", container: "proxy" }, cpu), Infinity);
  assertEquals(findRaise({ type: "memory" }, memory), 2);
  assertEquals(findRaise({ type: "memory", container: "app" }, memory), 2);
  assertEquals(findRaise({ type: "memory", container: "constructor" }, memory), Infinity);
});

Deno.test("TargetUsage replaces a pod's usage, and a pod whose usage falls makes up for another (R7)", () => {
  const usage = openUsage({ type: "cpu" });
  usage.replace(APP, ratesOf({ app: [113, 10] }));
  assertEquals(usage.compare(), "raises");
  usage.replace(OTHER, ratesOf({ app: [0, 20] }));
  assertEquals(usage.compare(), "raises");
  usage.replace(ratesOf({ app: [113, 10] }), ratesOf({ app: [108, 10] }));
  assertEquals(usage.compare(), null);
});

Deno.test("TargetUsage without a ratio of its trigger lets any usage raise replicas", () => {
  assertEquals(openUsage({ type: "cpu" }, null).compare(), "raises");
});

Deno.test("TargetUsage of a utilization looks at a scale-out from idle, though its percent is cut to a whole one (R7)", () => {
  for (const idle of [0, 5, 19, 29, 50, 300, 590]) {
    const millicores = (amount: number) => ratesOf({ app: [amount * 1e6, 0] });
    const resource = cpuTrigger();
    // The target is 60 % of a request of 1000m.
    const report = scalingReport(Math.trunc(idle / 10) / 60, resource);
    const usage = new TargetUsage({ resources: [resource], rates: [millicores(idle)], report, tolerance: 0.1 });
    assertEquals([idle, usage.compare()], [idle, null]);
    usage.replace(millicores(idle), millicores(661));
    assertEquals([idle, usage.compare()], [idle, "raises"], "the HPA raises above 660m");
  }
});
