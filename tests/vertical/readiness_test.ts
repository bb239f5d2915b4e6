/**
 * When the gate `after` opens and closes over a container's life, and what a restart starts again.
 * Clauses: C24, C43.
 */
import { assertEquals } from "#assert";
import { container, MINUTE, pod, policy, restartsOn, SECOND, side, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const READY = [policy({ after: "containerReady", delayMs: 30 * SECOND })];
const seen = (story: Story) => story.state.containers["main"]?.readySince;

Deno.test("decideSize() takes ContainersReady's time for the container's at podfit's start (C24)", () => {
  const story = new Story({
    pod: pod({ containersReadyAt: START - 20 * SECOND }),
    contenders: READY,
    load: { cpu: 90 },
  });
  story.poll();
  assertEquals(seen(story), START - 20 * SECOND);
  story.pollToRequest();
  assertEquals(story.now, START + 15 * SECOND);
});

Deno.test("decideSize() counts a ready container from now where ContainersReady is not True (C24)", () => {
  const story = new Story({ pod: pod({ containersReadyAt: null }), contenders: READY, load: { cpu: 90 } });
  story.pollToRequest();
  assertEquals(story.now, START + 35 * SECOND);
});

Deno.test("decideSize() starts the delay when it sees the container turn ready, and again when it lost it (C24)", () => {
  const story = new Story({
    pod: pod({ containers: [container({ ready: false })] }),
    contenders: READY,
    load: { cpu: 90 },
  });
  story.poll(4);
  assertEquals([story.reason(), seen(story)], ["NotReady", null]);
  story.changeContainer({ ready: true });
  story.poll(4);
  assertEquals([story.reason(), seen(story)], ["Delay", START + 20 * SECOND]);
  story.changeContainer({ ready: false });
  story.poll();
  assertEquals(story.reason(), "NotReady");
  story.changeContainer({ ready: true });
  const readyAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - readyAt, 30 * SECOND);
});

Deno.test("decideSize() believes no readiness of the future (C24)", () => {
  const story = new Story({
    pod: pod({ containersReadyAt: START + 60 * MINUTE }),
    contenders: READY,
    load: { cpu: 90 },
  });
  story.poll();
  assertEquals(seen(story), START + 5 * SECOND);
});

for (const after of ["running", "containerReady", "podReady"] as const) {
  Deno.test(`decideSize() begins delay, warm-up and streaks anew after a restart, after: ${after} (C24, C43)`, () => {
    const story = new Story({ contenders: [policy({ after, delayMs: 30 * SECOND })], load: { cpu: 90 }, dryRun: true });
    story.poll(4);
    assertEquals(story.reason(), "DryRun");
    story.restartContainer();
    const { streaks, wantedSince: wishSince } = story.state.views["uid-of-web"] ?? {};
    assertEquals([streaks, wishSince], [{}, null], "at once, whenever usage shows it");
    const restartedAt = story.now;
    const reasons = [1, 2, 3].map(() => (story.poll(), story.reason()));
    assertEquals(reasons, ["Warmup", "StreakShort", "Delay"]);
    while (story.reason() === "Delay") story.poll();
    assertEquals([story.reason(), story.now - restartedAt], ["DryRun", 30 * SECOND]);
  });
}

Deno.test("decideSize() warms up once more when usage is still of the run before (C22)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.poll(2);
  const stale = story.read();
  story.restartContainer();
  story.wait(5 * SECOND).observe(stale);
  story.poll();
  assertEquals(story.reason(), "Warmup");
  story.poll();
  assertEquals(story.reason(), "StreakShort");
});

Deno.test("decideSize() warms up again when usage shows a new run before the pod does (C22)", () => {
  const story = new Story({ load: { cpu: 90 }, dryRun: true });
  story.poll(3);
  const [of] = story.read().usage.points;
  if (of === undefined) throw new Error("Cannot read a point");
  const next = { ...of, instance: "run-2", cpu: { kind: "counter" as const, counterNs: 1e6 } };
  story.wait(5 * SECOND).observe({
    ...story.read(),
    usage: { points: [{ ...next, at: story.now }], usageBytes: null },
  });
  assertEquals([story.reason(), story.state.views["uid-of-web"]?.streaks], ["Warmup", {}]);
});

Deno.test("decideSize() holds NotRunning while the container waits for its restart (C46)", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(3);
  story.changeContainer({ runningAt: null, ready: false });
  story.poll();
  assertEquals(story.reason(), "NotRunning");
});

Deno.test("decideSize() sends nothing while the container is not running, though its streak is full (C46)", () => {
  const story = new Story({ load: { cpu: 90 }, contenders: [policy({ delayMs: 30 * 60 * MINUTE })] });
  story.poll(4);
  assertEquals(story.reason(), "Delay");
  story.changeContainer({ runningAt: null });
  assertEquals([story.reason(), story.requests], ["NotRunning", []]);
});

Deno.test("decideSize() lets the cooldown run on over a restart (C43)", () => {
  const sides = [side("cpu.requests", { bounds: { step: 10 } })];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.wait(10 * SECOND).restartContainer();
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

/** [sentence, restarting resources, field that moves, whether it is reported] */
const RESTARTS: readonly [string, ReturnType<typeof restartsOn>, "cpu.requests" | "memory.requests", boolean][] = [
  ["notifies of a restart for a limit or request of that resource", restartsOn("memory"), "memory.requests", true],
  ["notifies of no restart for another resource", restartsOn("memory"), "cpu.requests", false],
  ["tells of no restart where nothing restarts", restartsOn(), "memory.requests", false],
];
for (const [sentence, policies, key, isTold] of RESTARTS) {
  Deno.test(`decideSize() ${sentence} (C43)`, () => {
    const story = new Story({
      pod: pod({ containers: [container({ restartsOn: policies })] }),
      contenders: [policy({ sides: [side(key)] })],
      load: { cpu: 90, memory: 120 * 1024 * 1024 },
    });
    story.pollToRequest();
    assertEquals(story.notified(), isTold ? ["ResizeMayRestart", "ScaleUp"] : ["ScaleUp"]);
  });
}

Deno.test("decideSize() notifies of a restart once per action, not once per attempt (C43)", () => {
  const sides = [side("cpu.requests", { bounds: { step: 10 }, cooldownMs: 30 * SECOND })];
  const story = new Story({
    pod: pod({ containers: [container({ restartsOn: restartsOn("cpu") })] }),
    contenders: [policy({ sides })],
    load: { cpu: 150 },
    answer: { kind: "conflict" },
  });
  story.pollToRequest();
  story.wait(SECOND).change();
  assertEquals([story.requests.length, story.notified()], [2, ["ResizeMayRestart"]]);
  story.answer = "enact";
  story.change();
  assertEquals(story.notified(), ["ResizeMayRestart", "ScaleUp"]);
  story.pollToRequest();
  assertEquals(story.notified(), ["ResizeMayRestart", "ScaleUp", "ResizeMayRestart", "ScaleUp"]);
});

for (const after of ["running", "podReady"] as const) {
  Deno.test(`decideSize() waits the delay of ${after} once, though the node's clock is ahead (C24)`, () => {
    const story = new Story({
      pod: pod({ readyAt: START + 10 * MINUTE, containers: [container({ runningAt: START + 10 * MINUTE })] }),
      contenders: [policy({ after, delayMs: 15 * SECOND })],
      load: { cpu: 90 },
    });
    story.poll();
    const seenAt = story.now;
    story.poll();
    story.change();
    story.pollToRequest();
    assertEquals(story.now - seenAt, 15 * SECOND, "though the pod has changed meanwhile");
  });
}
