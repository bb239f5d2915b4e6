/**
 * Refusals at the same time: of different kinds on one field, and of different fields of one resource.
 * Clauses: C44, C47.
 */
import { assertEquals } from "#assert";
import type { RefusalReason } from "../../lib/model/reasons.ts";
import type { Refused, ResizeRequest } from "../../lib/model/resize_request.ts";
import { NO_REFUSALS, type Refusals } from "../../lib/model/container_history.ts";
import { RESOURCE_FIELDS, type Resources } from "../../lib/units/resources.ts";
import { addGivenUp, addRefusals, dropAcceptedRefusals } from "../../lib/vertical/answers.ts";
import { container, pod, policy, request, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

function refused(reason: RefusalReason, waitMs: number | null = null): Refused {
  return { kind: "refused", reason, message: "", resources: [], waitMs };
}

const REQUEST = request();
const LIMIT = request({ to: { ...SIZE, "cpu.limits": 300 }, changes: ["cpu.limits"] });
const REVERT = request({ action: "revert", from: REQUEST.to, to: REQUEST.from, stuck: "ResizeInfeasible" });

/** By field and kind, how many seconds after START each wait ends. */
function endsOf(refusals: Refusals): string[] {
  return Object.entries(refusals).flatMap(([key, kinds]) =>
    Object.values(kinds).map(({ kind, until }) => `${key} ${kind} ${(until - START) / SECOND}`)
  ).toSorted();
}

/** One after the other, 5 s apart. */
function refuse(...steps: readonly (readonly [ResizeRequest, Refused])[]): Refusals {
  let refusals = NO_REFUSALS;
  for (const [index, [request, answer]] of steps.entries()) {
    refusals = addRefusals(refusals, request, { answer, now: START + index * 5 * SECOND });
  }
  return refusals;
}

Deno.test("addRefusals() keeps a refused size beside a busy server (C44)", () => {
  const refusals = refuse([REQUEST, refused("Quota")], [REQUEST, refused("RetryLater", 20 * SECOND)]);
  assertEquals(endsOf(refusals), [
    "cpu.limits everything 25",
    "cpu.requests everything 25",
    "cpu.requests size 30",
    "memory.limits everything 25",
    "memory.requests everything 25",
  ]);
});

Deno.test("addRefusals() lets the wait for a busy server grow on over another refusal (C44)", () => {
  const busy = refused("RetryLater");
  const refusals = refuse([REQUEST, busy], [REQUEST, refused("Quota")], [REQUEST, busy]);
  assertEquals(refusals["cpu.requests"]?.busy?.waitMs, 10 * SECOND);
});

Deno.test("addRefusals() keeps a missing right, and its growing wait, beside a busy server (C44)", () => {
  const [busy, rights] = [refused("RetryLater"), refused("Rights")];
  const once = refuse([REQUEST, rights], [REQUEST, busy]);
  assertEquals(endsOf(once).filter((one) => one.startsWith("cpu.requests")), [
    "cpu.requests everything 10",
    "cpu.requests everything 30",
  ]);
  const twice = refuse([REQUEST, rights], [REQUEST, busy], [REQUEST, rights]);
  assertEquals(twice["cpu.requests"]?.everything?.waitMs, 60 * SECOND);
});

Deno.test("decideSize() waits on for what the server does not support when it is busy with another container (C44)", () => {
  const sides = [side("cpu.requests", { consecutiveSamples: 1, cooldownMs: 0 })];
  const contenders = ["main", "side"].map((containerName) =>
    policy({ name: containerName, uid: `uid-of-${containerName}`, key: containerName, containerName, sides })
  );
  const containers = ["main", "side"].map((name) => container({ name }));
  const story = new Story({ pod: pod({ containers }), contenders, load: { cpu: 90 }, answer: refused("Unsupported") });
  story.use({ cpu: 60 }, "side");
  story.pollToRequest();
  const refusedAt = story.now;
  story.use({ cpu: 90 }, "side").answer = refused("RetryLater");
  assertEquals(story.pollToRequest().container, "side");
  story.answer = "hold";
  while (story.now - refusedAt < 290 * SECOND) assertEquals(story.poll().request?.container !== "main", true);
});

Deno.test("addRefusals() keeps a refused limit when the request of the resource is refused later (C44)", () => {
  const refusals = refuse([LIMIT, refused("Quota")], [REQUEST, refused("LimitRange")]);
  assertEquals(refusals["cpu.limits"]?.size?.to, 300);
  assertEquals(endsOf(refusals), ["cpu.limits size 30", "cpu.requests size 35"]);
});

Deno.test("dropAcceptedRefusals() forgets what was refused of the resource, and keeps what was given up of it (C44, C47)", () => {
  const refusals = addGivenUp(NO_REFUSALS, REVERT, { generation: 2, now: START });
  const both = addRefusals(refusals, { ...LIMIT, generation: 2 }, { answer: refused("Quota"), now: START });
  const next = dropAcceptedRefusals(both, { ...LIMIT, generation: 2 }, 3);
  assertEquals(endsOf(next), ["cpu.requests givenUp 30"]);
  // podfit's own resize frees nothing.
  assertEquals(next["cpu.requests"]?.givenUp?.podGeneration, 3);
});

Deno.test("addGivenUp() keeps what waits of other resources (C44, C47)", () => {
  const memory = request({ changes: ["memory.requests"] });
  const refusals = addGivenUp(refuse([memory, refused("Quota")]), REVERT, { generation: 2, now: START });
  assertEquals(endsOf(refusals), ["cpu.requests givenUp 30", "memory.requests size 30"]);
});

Deno.test("addGivenUp() takes for a scale-up what falls back, by resource, and what rises for a scale-down (C47)", () => {
  const actionsOf = (from: Partial<Resources>, to: Partial<Resources>) => {
    const changes = RESOURCE_FIELDS.filter((key) => key in from);
    const revert = { ...REVERT, changes, from: { ...SIZE, ...from }, to: { ...SIZE, ...to } };
    const refusals = addGivenUp(NO_REFUSALS, revert, { generation: 2, now: START });
    return changes.map((key) => refusals[key]?.givenUp?.action);
  };
  const [cpu, memory] = [{ "cpu.requests": 180, "cpu.limits": 300 }, { "memory.requests": 50 }];
  assertEquals(actionsOf({ ...cpu, ...memory }, { "cpu.requests": 100, "cpu.limits": 250, "memory.requests": 90 }), [
    "scaleUp",
    "scaleUp",
    "scaleDown",
  ]);
  assertEquals(actionsOf(cpu, { "cpu.requests": 200, "cpu.limits": 250 }), ["scaleUp", "scaleUp"], "one of two falls");
  assertEquals(actionsOf(cpu, { "cpu.requests": 200, "cpu.limits": 350 }), ["scaleDown", "scaleDown"]);
});

Deno.test("addGivenUp() lets nothing wait that was not stuck, and no field that had no size (C47)", () => {
  const giveUp = (revert: Partial<ResizeRequest>) =>
    addGivenUp(NO_REFUSALS, { ...REVERT, ...revert }, { generation: 2, now: START });
  assertEquals(giveUp({ stuck: null }), {});
  const changes = ["cpu.requests", "cpu.limits"] as const;
  assertEquals(endsOf(giveUp({ changes, from: { ...REVERT.from, "cpu.limits": null } })), ["cpu.requests givenUp 30"]);
});

Deno.test("decideSize() does not forget a quota's wait because the server is busy later (C44)", () => {
  const story = new Story({ load: { cpu: 110 }, answer: refused("Quota") });
  assertEquals(story.pollToRequest().to["cpu.requests"], 184);
  const refusedAt = story.now;
  story.answer = refused("RetryLater", 15 * SECOND);
  story.use({ cpu: 84 });
  assertEquals(story.pollToRequest(1).to["cpu.requests"], 140, "a smaller size may go");
  story.use({ cpu: 110 });
  const reasons = [1, 2, 3, 4].map(() => (story.poll(), story.reason()));
  assertEquals(reasons, ["Quota", "Quota", "Quota", "Quota"], "the longer of two waits counts");
  assertEquals([story.pollToRequest(1).to["cpu.requests"], story.now - refusedAt], [184, 30 * SECOND]);
});

Deno.test("decideSize() holds a smaller size back too while the server is busy, and no longer (C44)", () => {
  const story = new Story({ load: { cpu: 110 }, answer: refused("Quota") });
  story.pollToRequest();
  story.answer = refused("RetryLater", 15 * SECOND);
  story.use({ cpu: 84 }).pollToRequest(1);
  const busyAt = story.now;
  story.poll(2);
  assertEquals(story.reason(), "RetryLater");
  assertEquals([story.pollToRequest().to["cpu.requests"], story.now - busyAt], [140, 15 * SECOND]);
});

Deno.test("decideSize() lets a refused limit wait no longer because its request is refused later (C44)", () => {
  const sides = [side("cpu.requests", { consecutiveSamples: 4 }), side("cpu.limits")];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 170 }, answer: refused("Quota") });
  assertEquals(story.pollToRequest().changes, ["cpu.limits"]);
  const refusedAt = story.now;
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  assertEquals(story.now - refusedAt, 10 * SECOND);
  story.poll();
  assertEquals([story.reason(), story.last?.decisions[0]?.candidates], ["Quota", ["cpu.limits", "cpu.requests"]]);
  assertEquals([story.pollToRequest().changes, story.now - refusedAt], [["cpu.limits"], 30 * SECOND]);
});

for (const reason of ["Rights", "Unsupported"] as const) {
  Deno.test(`decideSize() tries at once after ${reason} when the pod has changed (C44)`, () => {
    const story = new Story({ load: { cpu: 90 }, answer: refused(reason) });
    story.pollToRequest();
    story.change({ generation: 2, observedGeneration: 2 });
    assertEquals(story.requests.length, 2);
  });
}
