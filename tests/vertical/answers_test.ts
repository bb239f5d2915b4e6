/**
 * The state after an answer to a PATCH: accepted, conflict, gone. A commanded size is not yet in force.
 * Clauses: C40, C42, C45.
 */
import { assertEquals } from "#assert";
import { container, MI, MINUTE, pod, policy, resizeEntry, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

Deno.test("decideSize() requests one PATCH of what changes, guarded by uid and resourceVersion (C40)", () => {
  const story = new Story({ load: { cpu: 90 } });
  const { why: _, ...order } = story.pollToRequest();
  assertEquals(order, {
    autoscaler: "uid-of-web",
    autoscalerGeneration: 1,
    action: "scaleUp",
    container: "main",
    kind: "container",
    uid: "pod-1",
    resourceVersion: "100",
    generation: 1,
    from: SIZE,
    to: { ...SIZE, "cpu.requests": 150 },
    changes: ["cpu.requests"],
    stuck: null,
    reason: null,
    givesUp: null,
    reflex: null,
  });
});

Deno.test("decideSize() notifies of an accepted PATCH once, with before and after (C45)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.pollToRequest();
  assertEquals(story.scaled.map(({ change: _, ...scaled }) => scaled), [{
    autoscaler: "uid-of-web",
    container: "main",
    action: "scaleUp",
    at: story.now,
    deltas: [{ key: "cpu.requests", from: 100, to: 150 }],
  }]);
  assertEquals(story.notices.map(({ autoscaler, name }) => [autoscaler, name]), [["uid-of-web", "ScaleUp"]]);
});

Deno.test("decideSize() notifies of a scale-down as such (C45)", () => {
  const story = new Story({ load: { cpu: 30 } });
  story.pollToRequest();
  assertEquals([story.notified(), story.scaled[0]?.action], [["ScaleDown"], "scaleDown"]);
});

Deno.test("decideSize() holds everything from the answer until the pod shows it enacted (C41, C45)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0, bounds: { step: 10 } })];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 150 }, answer: "hold" });
  const order = story.pollToRequest();
  story.observe({ kind: "answered", request: order, answer: { kind: "accepted", generation: 2 } });
  story.poll(4);
  assertEquals([story.reason(), story.requests.length], ["ResizeInProgress", 1]);
  story.change({ generation: 2, containers: [container({ spec: order.to, reported: SIZE })] });
  story.poll(4);
  assertEquals([story.reason(), story.enacted.length], ["ResizeInProgress", 0]);
  story.enact();
  assertEquals(story.enacted.map(({ action, tookMs }) => [action, tookMs]), [["scaleUp", 40 * SECOND]]);
  story.pollToRequest(2);
});

Deno.test("decideSize() yields the time to apply once (C45)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.pollToRequest();
  story.poll(3);
  assertEquals(story.enacted.map(({ tookMs }) => tookMs), [0]);
});

const UNENACTED: readonly [string, (story: Story) => void][] = [
  ["replaced by another's size", (story) => {
    story.change({ generation: 3, containers: [container({ spec: { ...SIZE, "cpu.requests": 170 } })] });
  }],
  ["reverted", (story) => void story.change({ generation: 3, containers: [container()] })],
  ["gone with its container", (story) => void story.change({ containers: [] })],
  ["of an autoscaler that went", (story) => void story.contend([])],
];
for (const [sentence, happens] of UNENACTED) {
  Deno.test(`decideSize() yields no time to apply for a resize ${sentence} (C45)`, () => {
    const story = new Story({ load: { cpu: 90 }, answer: "accept" });
    story.pollToRequest();
    happens(story);
    story.enact();
    assertEquals([story.enacted, story.state.command], [[], null]);
  });
}

Deno.test("decideSize() yields the time of the later of two resizes, one replacing the other (C41, C45)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 30 * SECOND })];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 90 }, answer: "accept" });
  story.pollToRequest();
  story.change({ observedGeneration: 2, pending: { reason: "Deferred", message: "", since: story.now } });
  story.use({ cpu: 30 });
  const order = story.pollToRequest();
  assertEquals(order.to["cpu.requests"], 50);
  story.wait(3 * SECOND).enact();
  assertEquals(story.enacted.map(({ action, tookMs }) => [action, tookMs]), [["scaleDown", 3 * SECOND]]);
});

Deno.test("decideSize() is silent on a conflict, waits for the newer pod, then decides on its change (C40)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: { kind: "conflict" } });
  story.pollToRequest();
  story.poll(2);
  assertEquals([story.reason(), story.requests.length, story.notified()], ["RetryLater", 1, []]);
  const outcome = story.change();
  assertEquals([outcome.request?.resourceVersion, story.reason()], ["101", "scaleUp"]);
});

Deno.test("decideSize() decides anew on the newer pod: another process may have resized it (C40)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: { kind: "conflict" } });
  story.pollToRequest();
  const spec = { ...SIZE, "cpu.requests": 150 };
  story.change({ containers: [container({ spec })] });
  story.poll(4);
  assertEquals(story.requests.length, 1);
  assertEquals(story.reason(), "InBand");
});

Deno.test("decideSize() does not wait for ever for a newer pod that never comes (C40)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: { kind: "conflict" } });
  story.pollToRequest();
  const metAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - metAt, 30 * SECOND);
});

Deno.test("decideSize() is silent when the pod is gone (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: { kind: "gone" } });
  story.pollToRequest();
  assertEquals([story.notified(), story.scaled], [[], []]);
});

Deno.test("decideSize() notifies of an accepted PATCH though its autoscaler went before the answer came (C45)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: "hold" });
  const order = story.pollToRequest();
  story.contend([]);
  story.observe({ kind: "answered", request: order, answer: { kind: "accepted", generation: 2 } });
  assertEquals([story.notified(), story.scaled.length, story.state.generation], [["ScaleUp"], 1, 2]);
});

Deno.test("decideSize() is silent on a refusal whose autoscaler has gone", () => {
  const story = new Story({ load: { cpu: 90 }, answer: "hold" });
  const order = story.pollToRequest();
  story.contend([]);
  const answer = { kind: "refused", reason: "Quota", message: "no", resources: [], waitMs: null } as const;
  story.observe({ kind: "answered", request: order, answer });
  assertEquals([story.notified(), story.state.containers], [[], {}]);
});

Deno.test("decideSize() in a dry run requests nothing", () => {
  const story = new Story({ load: { cpu: 90 }, dryRun: true });
  story.poll(8);
  assertEquals([story.requests, story.notified(), story.reason()], [[], [], "DryRun"]);
});

Deno.test("decideSize() moves several sides in one PATCH (C40)", () => {
  const sides = [side("cpu.requests"), side("memory.requests")];
  const story = new Story({ contenders: [policy({ sides, cooldownMs: MINUTE })], load: { cpu: 90, memory: 120 * MI } });
  const order = story.pollToRequest();
  assertEquals(order.changes, ["cpu.requests", "memory.requests"]);
  assertEquals(story.scaled[0]?.deltas, [
    { key: "cpu.requests", from: 100, to: 150 },
    { key: "memory.requests", from: 128 * MI, to: 200 * MI },
  ]);
});

Deno.test("decideSize() starts from what a pod without reported sizes specifies (C30)", () => {
  const story = new Story({ pod: pod({ containers: [container({ reported: null })] }), load: { cpu: 90 } });
  assertEquals(story.pollToRequest().to["cpu.requests"], 150);
});

Deno.test("decideSize() measures utilization against the size in force, not the commanded one (C30)", () => {
  const facts = pod({ containers: [container({ spec: { ...SIZE, "cpu.requests": 180 }, reported: SIZE })] });
  const story = new Story({ pod: facts, load: { cpu: 90 } });
  story.poll(3);
  const [assessment] = story.assessments();
  assertEquals([assessment?.baseline, assessment?.wanted], [100, "up"]);
});

Deno.test("decideSize() notifies of an action over a failed resize from what is in force, not from what never was (C45, C47)", () => {
  const spec = { ...SIZE, "cpu.requests": 180, "memory.limits": 64 * MI };
  const story = new Story({
    pod: pod({
      containers: [container({ spec, reported: SIZE })],
      inProgress: { reason: "Error", message: "memory in use", since: START },
      resizes: [resizeEntry("podfit.main", START - MINUTE, { main: ["cpu.requests", "memory.limits"] })],
    }),
    contenders: [policy({ cooldownMs: 0, sides: [side("cpu.requests", { cooldownMs: 0 })] })],
    load: { cpu: 90 },
    answer: "accept",
  });
  const order = story.pollToRequest();
  assertEquals([order.action, order.changes], ["scaleUp", ["cpu.requests", "memory.limits"]]);
  assertEquals(story.scaled.map(({ deltas }) => deltas), [[{ key: "cpu.requests", from: 100, to: 150 }]]);
});
