import { assertEquals } from "#assert";
import { computeQosClass, type QosClass, type Resources } from "../../lib/units/resources.ts";

type Size = readonly [
  cpuRequest: number | null,
  cpuLimit: number | null,
  memoryRequest: number | null,
  memoryLimit: number | null,
];

const EQUAL: Size = [100, 100, 64, 64];
const NONE: Size = [null, null, null, null];

const CASES: readonly [sentence: string, sizes: readonly Size[], expected: QosClass][] = [
  ["all requests equal their limits", [EQUAL], "Guaranteed"],
  ["all of several containers are equal", [EQUAL, [1, 1, 2, 2]], "Guaranteed"],
  ["containers differ but the sums are equal", [[100, 200, 64, 64], [300, 200, 64, 64]], "Guaranteed"],
  ["a container has no request but the sums are equal", [[null, 100, 64, 64], [300, 200, 64, 64]], "Guaranteed"],
  ["one container is without limits", [EQUAL, NONE], "Burstable"],
  ["one container is without a memory limit", [EQUAL, [100, 100, 64, null]], "Burstable"],
  ["cpu differs", [[100, 200, 64, 64]], "Burstable"],
  ["memory differs", [[100, 100, 32, 64]], "Burstable"],
  ["there are limits only, as before the API's defaults", [[null, 100, null, 64]], "Burstable"],
  ["there are requests only", [[100, null, 64, null]], "Burstable"],
  ["there is a single cpu request", [[1, null, null, null]], "Burstable"],
  ["there is a single memory limit", [[null, null, null, 1]], "Burstable"],
  ["only memory is set and equal", [[null, null, 64, 64]], "Burstable"],
  ["a limit of zero counts as absent", [[0, 0, 64, 64]], "Burstable"],
  ["a request of zero does not equal its limit", [[0, 100, 64, 64]], "Burstable"],
  ["a second container has zeros only", [EQUAL, [0, 0, 0, 0]], "Burstable"],
  ["nothing is set", [NONE, NONE], "BestEffort"],
  ["everything is zero", [[0, 0, 0, 0]], "BestEffort"],
  ["there is no container", [], "BestEffort"],
];

Deno.test("computeQosClass() gives the class of Kubernetes (C35)", async (t) => {
  for (const [sentence, sizes, expected] of CASES) {
    await t.step(`${expected} when ${sentence}`, () => {
      assertEquals(computeQosClass({ podResources: null, containers: sizes.map(toResources) }), expected);
    });
  }
});

Deno.test("computeQosClass() looks at pod-level resources alone when they are set (C35)", () => {
  const containers = [toResources(EQUAL)];
  assertEquals(computeQosClass({ podResources: toResources([100, 200, 64, 64]), containers }), "Burstable");
  assertEquals(computeQosClass({ podResources: toResources([100, null, null, null]), containers }), "Burstable");
  assertEquals(computeQosClass({ podResources: toResources(NONE), containers }), "BestEffort");
  assertEquals(computeQosClass({ podResources: toResources(EQUAL), containers: [toResources(NONE)] }), "Guaranteed");
});

function toResources([cpuRequest, cpuLimit, memoryRequest, memoryLimit]: Size): Resources {
  return {
    "cpu.requests": cpuRequest,
    "cpu.limits": cpuLimit,
    "memory.requests": memoryRequest,
    "memory.limits": memoryLimit,
  };
}
