/** What pods use together, to tell whether a look is worth it (R7). */
import { assertEquals } from "#assert";
import { type ContainerRates, type PodRates, sumUsage } from "../../lib/horizontal/pod_metrics.ts";

function rates(containers: Readonly<Record<string, readonly [nanocores: number | null, bytes: number]>>): PodRates {
  const of = ([nanocores, workingSetBytes]: readonly [number | null, number]): ContainerRates => ({
    instance: "i",
    at: 0,
    seenAt: 0,
    counterNs: 0,
    workingSetBytes,
    rate: nanocores === null ? null : { nanocores, windowMs: 10_000 },
  });
  return { containers: Object.fromEntries(Object.entries(containers).map(([name, one]) => [name, of(one)])) };
}

const PODS = [rates({ app: [100, 10], proxy: [7, 3] }), null, rates({ app: [null, 20] })];

Deno.test("sumUsage() adds what is known of all pods, of the container that is named or of all", () => {
  assertEquals(sumUsage({ type: "cpu", container: null }, PODS), 107);
  assertEquals(sumUsage({ type: "cpu", container: "proxy" }, PODS), 7);
  assertEquals(sumUsage({ type: "memory", container: null }, PODS), 33);
  assertEquals(sumUsage({ type: "memory", container: "app" }, PODS), 30);
  assertEquals(sumUsage({ type: "memory", container: "constructor" }, PODS), 0);
});
