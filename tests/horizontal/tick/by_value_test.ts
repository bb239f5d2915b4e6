/** What external triggers and formulas ask for (R38, R39). */
import { assert, assertEquals } from "#assert";
import { proposeByValue, type ValueInput } from "../../../lib/horizontal/replica_calculator.ts";
import { TOLERANCE } from "../../support/tick_builders.ts";

/** A target of 10, and all 10 replicas ready. */
function propose(value: number | bigint, overrides: Partial<ValueInput> = {}) {
  const valueMilli = typeof value === "bigint" ? value : BigInt(value * 1000);
  const scale = { replicas: 10, statusReplicas: 10, readyPods: 10, tolerance: TOLERANCE };
  return proposeByValue({ valueMilli, targetMilli: 10_000n, metricType: "AverageValue", ...scale, ...overrides });
}

function replicas(value: number | bigint, overrides: Partial<ValueInput> = {}): number {
  const proposal = propose(value, overrides);
  assert(proposal.kind === "proposal");
  return proposal.replicas;
}

const whole = { metricType: "Value" } as const;

Deno.test("proposeByValue() divides the value by the target and rounds up, without a tolerance of that (R38)", () => {
  assertEquals([replicas(111), replicas(121), replicas(80), replicas(0)], [12, 13, 8, 0]);
});

Deno.test("proposeByValue() compares with the pods that there are, and within tolerance proposes these (R38, E12)", () => {
  assertEquals(replicas(100, { statusReplicas: 9 }), 10);
  assertEquals(replicas(88, { replicas: 12, statusReplicas: 8 }), 8);
  assertEquals([replicas(110), replicas(90), replicas(110.001), replicas(89.999)], [10, 10, 12, 9]);
});

Deno.test("proposeByValue() is never within tolerance of no pods (R38)", () => {
  assertEquals([replicas(10, { statusReplicas: 0 }), replicas(0, { statusReplicas: 0 })], [1, 0]);
  const proposal = propose(10, { statusReplicas: 0 });
  assert(proposal.kind === "proposal");
  assertEquals(proposal.ratio, null);
});

Deno.test("proposeByValue() proposes at most 2^31 - 1 (R38, R39)", () => {
  assertEquals(replicas(2n ** 63n - 1n, { targetMilli: 1n }), 2 ** 31 - 1);
  assertEquals(replicas(2n ** 63n - 1n, { ...whole, targetMilli: 1n }), 2 ** 31 - 1);
});

Deno.test("proposeByValue() takes a negative average for the largest value there is, as the controller does (R38)", () => {
  assertEquals(replicas(-1n), 2 ** 31 - 1);
});

Deno.test("proposeByValue() of a whole value multiplies the pods that are ready, not those that shall be (R39, E13)", () => {
  assertEquals([4, 2, 0].map((readyPods) => replicas(15, { ...whole, replicas: 6, readyPods })), [6, 3, 0]);
  assertEquals(replicas(12, { ...whole, readyPods: 4 }), 5);
});

Deno.test("proposeByValue() of a whole value within tolerance proposes what shall be, whatever is ready (R39)", () => {
  for (const readyPods of [0, 3, null]) assertEquals(replicas(11, { ...whole, replicas: 6, readyPods }), 6);
  assertEquals(replicas(9, { ...whole, replicas: 6, statusReplicas: 3 }), 6);
});

Deno.test("proposeByValue() of a whole value may be negative, and never -0 (R39)", () => {
  assertEquals(replicas(-15, { ...whole, readyPods: 2 }), -3);
  assert(Object.is(replicas(-1, { ...whole, readyPods: 1 }), 0));
});

Deno.test("proposeByValue() of a whole value fails where the selector lists no pod (R39)", () => {
  const proposal = propose(15, { ...whole, readyPods: null });
  assert(proposal.kind === "failed");
  assertEquals(proposal.reason, "FailedGetExternalMetric");
});
