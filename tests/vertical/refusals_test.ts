/**
 * After a refusal by the API server: which fields wait how long, what may go at once, what is reported.
 * Clauses: C44.
 */
import { assertEquals } from "#assert";
import type { Answer } from "../../lib/model/resize_request.ts";
import type { RefusalReason } from "../../lib/model/reasons.ts";
import { MI, MINUTE, policy, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

type Refused = Extract<Answer, { kind: "refused" }>;

function refused(reason: RefusalReason, overrides: Partial<Refused> = {}): Refused {
  return { kind: "refused", reason, message: "", resources: [], waitMs: null, ...overrides };
}

const cpuAndMemory = [policy({ sides: [side("cpu.requests"), side("memory.requests")] })];

/** How long after each refusal the next attempt comes, in seconds. */
function gaps(story: Story, times: number): number[] {
  const seconds: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    const { now } = story;
    story.pollToRequest(200);
    seconds.push((story.now - now) / SECOND);
  }
  return seconds;
}

for (const reason of ["NodeCapacity", "Quota", "LimitRange", "Rights", "Invalid"] as const) {
  Deno.test(`decideSize() notifies of ${reason} once, and tries again after 30s, doubling to 10m (C44)`, () => {
    const story = new Story({ load: { cpu: 90 }, answer: refused(reason) });
    story.pollToRequest();
    story.poll();
    assertEquals(story.reason(), reason);
    assertEquals(gaps(story, 7), [25, 60, 120, 240, 480, 600, 600]);
    assertEquals(story.notified(), ["ScaleFailed"]);
  });
}

Deno.test("decideSize() notifies of Unsupported once and tries again every 5m (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("Unsupported") });
  story.pollToRequest();
  assertEquals(gaps(story, 3), [300, 300, 300]);
  assertEquals(story.notified(), ["ScaleFailed"]);
});

Deno.test("decideSize() waits at least as long as a busy server asked, and longer each time, silently (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("RetryLater", { waitMs: 20 * SECOND }) });
  story.pollToRequest();
  assertEquals(gaps(story, 4), [20, 40, 60, 60]);
  assertEquals(story.notified(), []);
});

Deno.test("decideSize() asks no more often where a busy server names a longer time (C44)", () => {
  const counts = [1, 5, 30].map((seconds) => {
    const story = new Story({ load: { cpu: 90 }, answer: refused("RetryLater", { waitMs: seconds * SECOND }) });
    story.pollToRequest();
    return gaps(story, 6).reduce((sum, gap) => sum + gap, 0);
  });
  assertEquals(counts.toSorted((a, b) => a - b), counts, counts.join());
});

Deno.test("decideSize() waits on its own when a busy server names no time, silently (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("RetryLater") });
  story.pollToRequest();
  assertEquals(gaps(story, 4), [5, 10, 20, 40]);
  assertEquals(story.notified(), []);
});

Deno.test("decideSize() waits on its own when a busy server names too short a time, growing to 60s (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("RetryLater", { waitMs: SECOND }) });
  story.pollToRequest();
  assertEquals(gaps(story, 6), [5, 10, 20, 40, 60, 60]);
});

Deno.test("decideSize() waits as a busy server asked, though the pod has changed (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("RetryLater", { waitMs: 40 * SECOND }) });
  story.pollToRequest();
  story.change({ generation: 2, observedGeneration: 2 });
  assertEquals([story.reason(), story.requests.length], ["RetryLater", 1]);
});

Deno.test("decideSize() lets a smaller size go at once, a larger one wait (C44)", () => {
  const story = new Story({ load: { cpu: 110 }, answer: refused("NodeCapacity") });
  assertEquals(story.pollToRequest().to["cpu.requests"], 184);
  story.use({ cpu: 115 }).poll(2);
  assertEquals(story.reason(), "NodeCapacity");
  story.use({ cpu: 84 });
  assertEquals(story.pollToRequest(1).to["cpu.requests"], 140);
});

Deno.test("decideSize() lets a smaller step down go at once, one as far wait (C44)", () => {
  const story = new Story({ load: { cpu: 20 }, answer: refused("LimitRange") });
  assertEquals(story.pollToRequest().to["cpu.requests"], 34);
  story.poll(2);
  assertEquals(story.reason(), "LimitRange");
  story.use({ cpu: 36 });
  assertEquals(story.pollToRequest(1).to["cpu.requests"], 60);
});

Deno.test("decideSize() lets the other direction go at once (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  story.use({ cpu: 20 });
  assertEquals(story.pollToRequest(2).action, "scaleDown");
});

for (const reason of ["Rights", "Unsupported"] as const) {
  Deno.test(`decideSize() lets no size pass ${reason}: it is not about the size (C44)`, () => {
    const story = new Story({ load: { cpu: 110 }, answer: refused(reason) });
    story.pollToRequest();
    story.use({ cpu: 20 }).poll(3);
    assertEquals([story.reason(), story.requests.length], [reason, 1]);
  });
}

Deno.test("decideSize() tries at once when the pod has changed (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  story.change({ labels: { tier: "web" } });
  assertEquals(story.requests.length, 1);
  story.change({ generation: 2, observedGeneration: 2 });
  assertEquals(story.requests.length, 2);
});

Deno.test("decideSize() tries at once when the autoscaler has changed (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  story.contend([policy({ generation: 2 })]);
  story.pollToRequest(2);
});

Deno.test("decideSize() waits 30s again after a change, not twice as long (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  assertEquals(gaps(story, 2), [30, 60]);
  story.change({ generation: 2, observedGeneration: 2 });
  assertEquals(gaps(story, 1), [30]);
});

Deno.test("decideSize() waits 30s again for a refusal that comes long after the last (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  story.use({ cpu: 60 }).wait(60 * MINUTE);
  story.poll(2);
  story.use({ cpu: 90 });
  story.pollToRequest();
  assertEquals(gaps(story, 1), [30]);
});

Deno.test("decideSize() does not wait longer when the wall clock steps back (C44)", () => {
  const waits = [0, -60 * MINUTE].map((byMs) => {
    const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity") });
    story.pollToRequest();
    return gaps(story.setWall(byMs), 2);
  });
  assertEquals(waits, [[30, 60], [30, 60]]);
});

Deno.test("decideSize() leaves out the resource a refusal names, so that the other still moves (C44)", () => {
  const story = new Story({
    contenders: cpuAndMemory,
    load: { cpu: 90, memory: 120 * MI },
    answer: refused("NodeCapacity", { resources: ["memory"] }),
  });
  assertEquals(story.pollToRequest().changes, ["cpu.requests", "memory.requests"]);
  story.answer = "enact";
  story.poll();
  assertEquals(story.requests.at(-1)?.changes, ["cpu.requests"]);
  assertEquals(story.scaled.length, 1);
});

Deno.test("decideSize() holds back every resource of a refusal that names none (C44)", () => {
  const story = new Story({ contenders: cpuAndMemory, load: { cpu: 90, memory: 120 * MI }, answer: refused("Quota") });
  story.pollToRequest();
  story.poll(3);
  assertEquals([story.reason(), story.requests.length], ["Quota", 1]);
});

Deno.test("decideSize() holds back what was asked when a refusal names something else (C44)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("NodeCapacity", { resources: ["memory"] }) });
  story.pollToRequest();
  story.poll(3);
  assertEquals([story.reason(), story.requests.length], ["NodeCapacity", 1]);
});

Deno.test("decideSize() says until when a refused size waits, and for which side", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("Quota") });
  story.pollToRequest();
  const { now } = story;
  story.poll();
  const [one] = story.last?.decisions ?? [];
  assertEquals(one?.decision.kind === "blocked" && one.decision.until, now + 30 * SECOND);
  assertEquals(one?.candidates, ["cpu.requests"]);
});

Deno.test("decideSize() notifies of a refusal again after the proposal had ended (C50)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: refused("Quota") });
  story.pollToRequest();
  story.use({ cpu: 60 }).poll(2);
  story.use({ cpu: 90 });
  story.pollToRequest();
  assertEquals(story.notified(), ["ScaleFailed", "ScaleFailed"]);
});

Deno.test("decideSize() forgets refusals with an accepted PATCH (C44)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0, bounds: { step: 10 } })];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 150 }, answer: refused("NodeCapacity") });
  story.pollToRequest();
  story.answer = "enact";
  story.pollToRequest();
  assertEquals(story.state.containers["main"]?.refusals, {});
});

Deno.test("decideSize() keeps a refused resource waiting while another one moves: its own resize frees nothing (C44)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 }), side("memory.requests", { cooldownMs: 0 })];
  const story = new Story({
    contenders: [policy({ cooldownMs: 0, sides })],
    load: { cpu: 90, memory: 120 * MI },
    answer: refused("Quota", { resources: ["memory"] }),
  });
  story.pollToRequest();
  const refusedAt = story.now;
  story.answer = "enact";
  const moved = story.pollToRequest();
  assertEquals([moved.changes, story.now - refusedAt < 30 * SECOND], [["cpu.requests"], true]);
  const again = story.pollToRequest();
  assertEquals([again.changes, story.now - refusedAt >= 30 * SECOND], [["memory.requests"], true]);
});

Deno.test("decideSize() notifies of a refusal once, however often another resource moves meanwhile (C44, C50)", () => {
  const memory = side("memory.requests", { cooldownMs: 20 * SECOND, bounds: { step: 10 * MI } });
  const story = new Story({
    contenders: [policy({ sides: [side("cpu.requests", { cooldownMs: 15 * SECOND }), memory] })],
    load: { cpu: 90, memory: 400 * MI },
    answer: refused("Quota", { resources: ["cpu"] }),
  });
  story.pollToRequest();
  story.answer = "enact";
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
  const between = [1, 2, 3].map(() => (story.poll(), story.reason()));
  assertEquals(between, ["StreakShort", "Cooldown", "Quota"]);
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
  assertEquals(story.notified(), ["ScaleFailed", "ScaleUp", "ScaleUp"]);
});
