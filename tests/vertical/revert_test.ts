/**
 * Stuck resizes that are taken back: which, when, for which fields, how often.
 * Clauses: C47.
 */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../lib/model/pod.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import {
  container,
  MI,
  MINUTE,
  pod,
  policy,
  resizeEntry,
  restartsOn,
  SECOND,
  side,
  SIZE,
  START,
} from "../support/builders.ts";
import { Story } from "../support/story.ts";

const BIG = { ...SIZE, "cpu.requests": 180, "memory.requests": 200 * MI };
const condition = (reason: string, since = START) => ({ reason, message: "no room", since });
const OURS = [resizeEntry("podfit.main", START - 5 * MINUTE, { main: ["cpu.requests", "memory.requests"] })];

/** podfit has commanded BIG 5m before START; the pod says this of it. In band by what is in force. */
function stuck(facts: Partial<PodFacts>, contender: Partial<Autoscaler> = {}, dryRun = false): Story {
  return new Story({
    pod: pod({ containers: [container({ spec: BIG, reported: SIZE })], resizes: OURS, ...facts }),
    contenders: [policy(contender)],
    load: { cpu: 60 },
    dryRun,
  });
}

/** [sentence, facts, seconds after START of the return] */
const WAYS: readonly [string, Partial<PodFacts>, number][] = [
  ["gives up an infeasible resize at once", { pending: condition("Infeasible") }, 5],
  ["gives up a deferred resize after 5m", { pending: condition("Deferred") }, 300],
  ["gives up a failing resize after 30s", { inProgress: condition("Error") }, 30],
  ["counts from the condition's own time", { pending: condition("Deferred", START - 4 * MINUTE) }, 60],
  ["counts from its own PATCH where the condition is older", {
    pending: condition("Deferred", START - 10 * MINUTE),
    resizes: [resizeEntry("podfit.main", START - SECOND, { main: ["cpu.requests", "memory.requests"] })],
  }, 300],
];
for (const [sentence, facts, seconds] of WAYS) {
  Deno.test(`decideSize() ${sentence}, back to what is in force (C47)`, () => {
    const story = stuck(facts);
    const order = story.pollToRequest(100);
    assertEquals([order.action, order.to, (story.now - START) / SECOND], ["revert", SIZE, seconds]);
    assertEquals(order.changes, ["cpu.requests", "memory.requests"]);
  });
}

Deno.test("decideSize() reports a revert, starts the cooldown with it, and counts it as no scale action (C47)", () => {
  const story = stuck({ pending: condition("Infeasible") });
  const outcome = story.poll();
  assertEquals(outcome.decisions.map(({ decision }) => decision.kind), ["hold", "revert"]);
  assertEquals([story.scaled, story.enacted, story.state.containers["main"]?.resizedAt], [[], [], story.now]);
  assertEquals(story.notified(), ["ResizePending", "ResizePending"]);
  story.use({ cpu: 90 }).poll(4);
  assertEquals(story.reason(), "Cooldown");
});

const HELD: readonly [string, Partial<PodFacts>, Partial<Autoscaler>][] = [
  ["a foreign resize", {
    pending: condition("Infeasible"),
    resizes: [resizeEntry("kubectl", START, { main: ["cpu.requests"] })],
  }, {}],
  ["a resize that podfit made for another container", {
    pending: condition("Infeasible"),
    resizes: [resizeEntry("podfit.proxy", START, { proxy: ["cpu.requests"] })],
  }, {}],
  ["a resize in progress without error", { inProgress: condition("") }, {}],
  ["what is not un-enacted", { pending: condition("Infeasible"), containers: [container()] }, {}],
  ["a resize whose container does not run", {
    pending: condition("Infeasible"),
    containers: [container({ spec: BIG, reported: SIZE, runningAt: null })],
  }, {}],
];
for (const [sentence, facts, contender] of HELD) {
  Deno.test(`decideSize() does not give up ${sentence} (C47)`, () => {
    const story = stuck(facts, contender);
    story.poll(80);
    assertEquals(story.requests, []);
  });
}

Deno.test("decideSize() only reports a foreign stuck resize, once (C47)", () => {
  const story = stuck({ pending: condition("Infeasible"), resizes: [] });
  story.poll(10);
  assertEquals(story.notified(), ["ResizePending"]);
});

Deno.test("decideSize() only reports a stuck resize in a dry run (C47)", () => {
  const story = stuck({ pending: condition("Infeasible") }, {}, true);
  story.poll(10);
  assertEquals([story.requests, story.notified()], [[], ["ResizePending"]]);
});

Deno.test("decideSize() reverts the fields it owns and no other (C47)", () => {
  const story = stuck({
    pending: condition("Infeasible"),
    resizes: [
      resizeEntry("podfit.main", START, { main: ["cpu.requests"] }),
      resizeEntry("vpa", START, { main: ["memory.requests"] }),
    ],
  });
  assertEquals(story.pollToRequest().to, { ...BIG, "cpu.requests": 100 });
});

Deno.test("decideSize() reverts nothing that would lift a request over its limit", () => {
  const spec = { ...SIZE, "cpu.requests": 40, "cpu.limits": 60 };
  const story = stuck({
    pending: condition("Infeasible"),
    containers: [container({ spec, reported: SIZE })],
    resizes: [
      resizeEntry("podfit.main", START, { main: ["cpu.requests"] }),
      resizeEntry("vpa", START, { main: ["cpu.limits"] }),
    ],
  });
  story.poll(10);
  assertEquals(story.requests, []);
});

Deno.test("decideSize() reverts nothing that would change the QoS class (C35)", () => {
  const equal = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  const story = stuck({
    pending: condition("Infeasible"),
    containers: [container({ spec: { ...equal, "cpu.requests": 150 }, reported: equal })],
  });
  story.use({ cpu: 120 }).poll(10);
  assertEquals(story.requests, []);
});

Deno.test("decideSize() gives up at most once per cooldown (C47)", () => {
  const story = stuck({ pending: condition("Infeasible") });
  story.answer = { kind: "accepted", generation: 2 };
  story.pollToRequest();
  const returnedAt = story.now;
  // The kubelet observes it, and another client sends the same resize again.
  story.change({ generation: 3, observedGeneration: 3 });
  story.pollToRequest();
  assertEquals(story.now - returnedAt, 2 * MINUTE);
});

Deno.test("decideSize() gives up by the cooldown of the container's own autoscaler, not by that of another (C47)", () => {
  const proxy = container({ name: "proxy", instance: "containerd://2", spec: BIG, reported: SIZE });
  const story = new Story({
    pod: pod({
      containers: [container(), proxy],
      resizes: [resizeEntry("podfit.proxy", START - 5 * MINUTE, { proxy: ["cpu.requests", "memory.requests"] })],
      pending: condition("Infeasible"),
    }),
    contenders: [policy(), policy({ name: "proxy", containerName: "proxy", cooldownMs: 10 * MINUTE })],
    answer: { kind: "accepted", generation: 2 },
  }).use({ cpu: 60 }).use({ cpu: 60 }, "proxy");
  story.pollToRequest();
  const returnedAt = story.now;
  story.change({ generation: 3, observedGeneration: 3 });
  story.pollToRequest(200);
  assertEquals([story.requests.map(({ container }) => container), story.now - returnedAt], [
    ["proxy", "proxy"],
    10 * MINUTE,
  ]);
});

Deno.test("decideSize() waits after a refused revert as after any refusal, 30s and doubling (C44, C47)", () => {
  const story = stuck({ pending: condition("Infeasible") }, { cooldownMs: 0 });
  story.answer = { kind: "refused", reason: "Quota", message: "no", resources: [], waitMs: null };
  const times = [1, 2, 3].map(() => {
    story.pollToRequest();
    return story.now - START;
  });
  assertEquals(times.map((at) => at / SECOND), [5, 35, 95]);
});

Deno.test("decideSize() waits only as long as asked when a busy server refuses a revert (C44, C47)", () => {
  const story = stuck({ pending: condition("Infeasible") }, { cooldownMs: 10 * MINUTE });
  story.answer = { kind: "refused", reason: "RetryLater", message: "busy", resources: [], waitMs: 20 * SECOND };
  story.pollToRequest();
  const refusedAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - refusedAt, 20 * SECOND);
});

Deno.test("decideSize() gives up a stuck resize though a scale was refused meanwhile (C44, C47)", () => {
  const story = stuck({ inProgress: condition("") }, { sides: [side("cpu.requests", { cooldownMs: 0 })] });
  story.use({ cpu: 30 }).poll(4);
  story.answer = { kind: "refused", reason: "Quota", message: "", resources: [], waitMs: null };
  story.change({ inProgress: null, pending: condition("Infeasible") });
  story.poll();
  assertEquals(story.requests.map(({ action }) => action), ["scaleDown", "revert"]);
});

Deno.test("decideSize() does not command the size it gave up again and again: each time it waits longer (C44, C47)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 })];
  const story = new Story({ contenders: [policy({ cooldownMs: 0, sides })], load: { cpu: 90 }, answer: "accept" });
  const ups: number[] = [];
  for (let generation = 2; ups.length < 4; generation += 2) {
    while (story.pollToRequest(200).action !== "scaleUp");
    ups.push((story.now - START) / SECOND);
    // A node whose CPUs are pinned: whatever is commanded is infeasible.
    story.change({ observedGeneration: generation, pending: condition("Infeasible") });
    while (story.requests.at(-1)?.action !== "revert") story.poll();
    story.change({ observedGeneration: generation + 1, pending: null });
  }
  const waits = ups.slice(1).map((at, index) => at - (ups[index] ?? 0));
  assertEquals(waits.every((wait, index) => wait >= 30 * 2 ** index), true, `${waits}`);
});

Deno.test("decideSize() waits for the newer pod when a revert met a conflict (C40)", () => {
  const story = stuck({ pending: condition("Infeasible") });
  story.answer = { kind: "conflict" };
  story.pollToRequest();
  story.poll(3);
  assertEquals(story.requests.length, 1);
  story.change();
  assertEquals(story.requests.length, 2);
});

Deno.test("decideSize() writes the next wanted size over a failing resize rather than revert (C47)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 })];
  const story = stuck({ inProgress: condition("Error"), resizes: OURS }, { sides, cooldownMs: 0 });
  story.use({ cpu: 90 }).poll(5);
  assertEquals(story.reason(), "ResizeError");
  const order = story.pollToRequest();
  assertEquals([order.action, story.now - START], ["scaleUp", 30 * SECOND]);
  assertEquals(order.to, { ...SIZE, "cpu.requests": 150 });
});

Deno.test("decideSize() never writes a wanted size over a foreign failing resize (C47)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 })];
  const story = stuck({ inProgress: condition("Error"), resizes: [] }, { sides, cooldownMs: 0 });
  story.use({ cpu: 90 }).poll(30);
  assertEquals([story.reason(), story.requests, story.notified()], ["ResizeError", [], ["ResizePending"]]);
});

Deno.test("decideSize() scales down over a deferred resize before it gives it up (C41, C47)", () => {
  const story = stuck({ pending: condition("Deferred") }, { sides: [side("cpu.requests", { cooldownMs: 0 })] });
  story.use({ cpu: 30 });
  const order = story.pollToRequest();
  assertEquals([order.action, order.to], ["scaleDown", { ...SIZE, "cpu.requests": 50 }]);
});

Deno.test("decideSize() notifies of a stuck resize again after it had ended, and nothing in between", () => {
  const story = stuck({ pending: condition("Deferred"), resizes: [] });
  story.poll(3);
  story.change({ pending: null, inProgress: condition("") });
  story.poll(2);
  story.change({ inProgress: condition("Error") });
  story.change({ inProgress: condition("") });
  story.change({ inProgress: condition("Error") });
  assertEquals(story.notified(), ["ResizePending", "ResizePending"]);
  story.change({ inProgress: null, containers: [container()] });
  story.change({ pending: condition("Deferred") });
  assertEquals(story.notified(), ["ResizePending", "ResizePending", "ResizePending"]);
});

Deno.test("decideSize() holds only what it gave up, not the resource's other side (C47)", () => {
  const spec = { ...SIZE, "memory.limits": 160 * MI };
  const story = new Story({
    pod: pod({
      containers: [container({ spec, reported: SIZE })],
      inProgress: { reason: "Error", message: "memory in use", since: START - MINUTE },
      resizes: [resizeEntry("podfit.main", START - MINUTE, { main: ["memory.limits"] })],
    }),
    contenders: [policy({ cooldownMs: 0, sides: [side("memory.requests", { cooldownMs: 0 })] })],
    load: { memory: 20 * MI },
    answer: "enact",
  });
  assertEquals(story.pollToRequest().action, "revert");
  story.change({ inProgress: null });
  const order = story.pollToRequest();
  assertEquals([order.action, order.changes, story.now < START + 30 * SECOND], [
    "scaleDown",
    ["memory.requests"],
    true,
  ]);
});

Deno.test("decideSize() announces the restart of one revert once, however often it has to be sent (C43)", () => {
  const story = stuck({
    pending: condition("Infeasible"),
    containers: [container({ spec: BIG, reported: SIZE, restartsOn: restartsOn("memory") })],
  });
  story.answer = { kind: "conflict" };
  story.pollToRequest();
  for (let turn = 0; turn < 3; turn++) story.change();
  assertEquals(story.requests.length > 1, true);
  assertEquals(story.notified().filter((name) => name === "ResizeMayRestart"), ["ResizeMayRestart"]);
});
