/** What cpu and memory triggers ask for (R21, R25, R33 to R37). */
import { assert, assertEquals } from "#assert";
import type { PodReading } from "../../../lib/model/replicas_decision.ts";
import { type JointInput, proposeByPods } from "../../../lib/horizontal/joint/proposal.ts";
import type { ResourceTrigger } from "../../../lib/model/scaled_object.ts";
import { NOW, reading, readings, TOLERANCE, trigger } from "../../support/tick_builders.ts";

type Pods = readonly PodReading[];

function input(pods: Pods, overrides: Partial<JointInput> = {}): JointInput {
  return { pods, replicas: pods.length, now: NOW, tolerance: TOLERANCE, ...overrides };
}

function propose(pods: Pods, overrides: Partial<JointInput> = {}, one: Partial<ResourceTrigger> = {}) {
  const proposal = proposeByPods(trigger(one), input(pods, overrides));
  assert(proposal.kind === "proposal", JSON.stringify(proposal));
  return proposal;
}

function fail(pods: Pods, one: Partial<ResourceTrigger> = {}) {
  const proposal = proposeByPods(trigger(one), input(pods));
  assert(proposal.kind === "failed");
  return proposal;
}

const percent = (value: number): Partial<ResourceTrigger> => ({ target: { kind: "Utilization", percent: value } });
const average = (milli: bigint): Partial<ResourceTrigger> => ({ target: { kind: "AverageValue", milli } });

Deno.test("proposeByPods() cuts utilization to a whole percent before it is held against the target (R34)", () => {
  // 559 of 1000 are 55 %, so 1.1 times the target and within tolerance.
  assertEquals(propose(readings(10, 559)), {
    ...{ kind: "proposal", replicas: 10, lo: 10, hi: 10 },
    ...{ ratio: 1.1, ready: 10, unready: 0, missing: 0 },
  });
  assertEquals(propose(readings(10, 560)).replicas, 12);
});

Deno.test("proposeByPods() holds the sum of usage against the sum of requests, not pod against pod (R34)", () => {
  const small = reading(100, { requests: { born: 100n, full: 100n } });
  assertEquals(propose([small, reading(450)]).ratio, 1);
});

Deno.test("proposeByPods() is exact where sums are beyond doubles (R21, R34)", () => {
  // Together 1 short of 55 %: as doubles the two sums would be the same.
  const born = 10n ** 17n;
  const pods = [56n * 10n ** 15n - 1n, 56n * 10n ** 15n].map((milli, at) =>
    reading(0, { name: `web-${at}`, metric: { milli, at: NOW, windowMs: 1 }, requests: { born, full: born } })
  );
  assertEquals(propose(pods, {}, { type: "memory" }).ratio, 1.1);
});

Deno.test("proposeByPods() cuts an average to a thousandth before it is held against the target (R35)", () => {
  assertEquals(propose([reading(10), reading(11), reading(11)], {}, average(10n)).ratio, 1);
  assertEquals(propose([reading(15), reading(15), reading(14)], {}, average(10n)).replicas, 5);
});

Deno.test("proposeByPods() leaves replicas where usage is at either end of the tolerance (R36)", () => {
  assertEquals([450, 550, 440, 560].map((used) => propose(readings(10, used)).replicas), [10, 10, 9, 12]);
});

Deno.test("proposeByPods() tells the tolerance up from that down (R36)", () => {
  const replicas = (used: number, tolerance: JointInput["tolerance"]) =>
    propose(readings(10, used), { tolerance }).replicas;
  assertEquals([replicas(600, { up: 0.2, down: 0 }), replicas(490, { up: 0.2, down: 0 })], [10, 10]);
  assertEquals([replicas(400, { up: 0, down: 0.2 }), replicas(510, { up: 0, down: 0.2 })], [10, 11]);
  assertEquals([replicas(610, { up: 0.2, down: 0 }), replicas(480, { up: 0.2, down: 0 })], [13, 10]);
});

Deno.test("proposeByPods() rounds up, from the pods that are ready: unready ones count for nothing on the way down (R37)", () => {
  assertEquals(propose([...readings(5, 300), ...readings(5, null, { phase: "Pending" })], {}, percent(60)).replicas, 3);
});

Deno.test("proposeByPods() takes unready pods to use nothing on the way up (R37)", () => {
  const pods = [...readings(3, 1000), ...readings(2, 1000, { phase: "Pending" })];
  const { replicas, ratio, ready, unready, missing } = propose(pods);
  assertEquals([replicas, ratio, ready, unready, missing], [6, 1.2, 3, 2, 0]);
});

Deno.test("proposeByPods() takes missing pods to use all of their request on the way down, or the target above 100 % (R37)", () => {
  const pods = [...readings(3, 200), reading(null)];
  assertEquals(propose(pods, {}, percent(60)).replicas, 3);
  assertEquals(propose(pods, {}, percent(150)).replicas, 2);
  // 600 and 2000 are 65 % of 4000: 1.3.
  assertEquals(propose(pods, {}, percent(200)).replicas, 2);
});

Deno.test("proposeByPods() takes missing pods to use the target on the way down of an average (R37)", () => {
  // 200, 200, 200 and 600: the average is 300 of 600.
  assertEquals(propose([...readings(3, 200), reading(null)], {}, average(600n)).replicas, 2);
});

Deno.test("proposeByPods() takes missing pods to use nothing on the way up (R37)", () => {
  const { replicas, ratio, missing } = propose([...readings(3, 1000), reading(null)]);
  assertEquals([replicas, ratio, missing], [6, 1.5, 1]);
});

Deno.test("proposeByPods() leaves unready pods out where missing ones are filled in on the way down (R37)", () => {
  const pods = [...readings(6, 100), reading(null), ...readings(5, null, { phase: "Pending" })];
  // 600 and 1000 of 7000 are 22 %, 0.44 * 7.
  assertEquals(propose(pods).replicas, 4);
});

Deno.test("proposeByPods() fills nobody in where usage is exactly at the target (R37)", () => {
  const { replicas, ratio } = propose([...readings(3, 500), reading(null)], { replicas: 9 });
  assertEquals([replicas, ratio], [9, 1]);
});

Deno.test("proposeByPods() leaves replicas where those filled in bring usage within tolerance, or turn it round (R37)", () => {
  assertEquals(propose([...readings(11, 400), ...readings(1, null)]).replicas, 12);
  assertEquals(propose([...readings(2, 400), ...readings(2, null)]).replicas, 4);
  assertEquals(propose([...readings(2, 600), ...readings(2, null)]).replicas, 4);
});

Deno.test("proposeByPods() leaves replicas where the number of pods alone would turn the direction (R37)", () => {
  // 12 pods stand where 5 shall be: 0.77 of 12 are more than 5.
  assertEquals(propose([...readings(11, 330), reading(null)], { replicas: 5 }).replicas, 5);
  // 1.5 of 4 are fewer than 20.
  assertEquals(propose([...readings(3, 1000), reading(null)], { replicas: 20 }).replicas, 20);
});

Deno.test("proposeByPods() may ask for more below the target, where more pods stand than shall be (R37)", () => {
  assertEquals(propose(readings(12, 860), { replicas: 10 }, percent(100)).replicas, 11);
});

Deno.test("proposeByPods() fails without pods, and with none left (R37)", () => {
  const message = "failed to get cpu utilization: no pods returned by selector while calculating replica count";
  assertEquals(fail([]), { kind: "failed", reason: "FailedGetResourceMetric", message });
  for (const overrides of [{ phase: "Pending" }, { isDeleting: true }, { metric: null }]) {
    assertEquals(fail(readings(2, 1, overrides), average(1n)), {
      kind: "failed",
      reason: "FailedGetResourceMetric",
      message: "failed to get cpu usage: did not receive metrics for targeted pods (pods might be unready)",
    });
  }
});

Deno.test("proposeByPods() has the HPA's word for the metric of one container (R37)", () => {
  assertEquals(fail([], { container: "app" }).reason, "FailedGetContainerResourceMetric");
});

Deno.test("proposeByPods() fails by one pod without a request, of any that the selector lists, but not for an average (R25)", () => {
  const requests = { problem: { reason: "NoRequest", message: "missing request" } } as const;
  for (const overrides of [{}, { isDeleting: true }, { phase: "Failed" }, { phase: "Pending" }]) {
    const pods = [...readings(3, 500), reading(500, { ...overrides, requests })];
    assertEquals(fail(pods).message, "failed to get cpu utilization: missing request");
    assertEquals(propose(pods, {}, average(500n)).ratio, 1);
  }
});

Deno.test("proposeByPods() fails where requests add up to nothing (R34)", () => {
  const { message } = fail(readings(2, 500, { requests: { born: 0n, full: 0n } }));
  assertEquals(message, "failed to get cpu utilization: no metrics returned matched known pods");
});
