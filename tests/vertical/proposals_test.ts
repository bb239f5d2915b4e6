/**
 * Proposals over time: what ends a streak, which field vetoes, which fields move.
 * Clauses: C31, C32, C36.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { MI, MINUTE, policy, SECOND, side, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const UID = "uid-of-web";
const streak = (story: Story, key: "cpu.requests" | "cpu.limits" = "cpu.requests") =>
  story.state.views[UID]?.streaks[key]?.count ?? 0;
const managing = (...sides: Autoscaler["sides"]) => [policy({ sides })];

Deno.test("decideSize() ends a streak by one sample in the band (C31)", () => {
  const story = new Story({ contenders: managing(side("cpu.requests", { consecutiveSamples: 3 })), load: { cpu: 90 } });
  story.poll(3);
  assertEquals(streak(story), 2);
  story.use({ cpu: 60 }).poll();
  assertEquals(streak(story), 0);
  story.use({ cpu: 90 }).poll(2);
  assertEquals([streak(story), story.reason()], [2, "StreakShort"]);
});

Deno.test("decideSize() ends the streaks with an accepted PATCH, and counts again once the size was in force (C31)", () => {
  const story = new Story({
    load: { cpu: 110 },
    contenders: [policy({
      cooldownMs: 0,
      sides: [side("cpu.requests", {
        cooldownMs: 0,
        bounds: { step: 10 },
      })],
    })],
  });
  story.pollToRequest();
  assertEquals(streak(story), 0);
  story.poll();
  assertEquals(streak(story), 1);
});

Deno.test("decideSize() ends the streaks with an accepted PATCH, before the size is in force (C31)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: "accept" });
  story.pollToRequest();
  assertEquals([streak(story), story.state.views[UID]?.wantedSince], [0, null]);
});

Deno.test("decideSize() does not count a sample of which more than half lies before the new size (C31)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.poll(2);
  story.wait(3 * SECOND).changeContainer({ reported: { ...SIZE, "cpu.requests": 101 } });
  assertEquals(streak(story), 0);
  // The point before is 3 s before the change: half of 3 + 2 s is not after it, all of the next 5 s is.
  story.wait(2 * SECOND).observe(story.read());
  assertEquals(streak(story), 0);
  story.poll();
  assertEquals(streak(story), 1);
});

Deno.test("decideSize() counts a sample of which half lies after the new size (C31)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.poll(2);
  story.wait(2500).changeContainer({ reported: { ...SIZE, "cpu.requests": 101 } });
  story.wait(2500).observe(story.read());
  assertEquals(streak(story), 1);
});

Deno.test("decideSize() compares with the size in force by the node's clock (C31)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.poll(2);
  story.wait(2500).changeContainer({ reported: { ...SIZE, "cpu.requests": 101 } });
  story.wait(2500).observe({ ...story.read(), clockOffsetMs: 2000 });
  assertEquals(streak(story), 0);
});

Deno.test("decideSize() ends the streaks when anybody changes the size in force (C31)", () => {
  const story = new Story({ load: { cpu: 90 }, dryRun: true });
  story.poll(5);
  assertEquals([streak(story), story.reason()], [4, "DryRun"]);
  story.changeContainer({ spec: { ...SIZE, "cpu.limits": 300 }, reported: { ...SIZE, "cpu.limits": 300 } });
  assertEquals([streak(story), story.state.views[UID]?.wantedSince], [0, null]);
});

Deno.test("decideSize() keeps the streak of a blocked proposal and acts as soon as the block ends (C31)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.change({ pending: { reason: "Deferred", message: "", since: null } });
  story.poll(6);
  assertEquals([story.reason(), streak(story)], ["ResizeDeferred", 5]);
  story.change({ pending: null });
  assertEquals(story.scaled.length, 1);
});

const LIMIT_UP = { scaleUpThresholdPercent: 45, scaleDownThresholdPercent: 5, targetUtilizationPercent: 40 };

Deno.test("decideSize() scales up the side that wants it and leaves the one that wants down (C32)", () => {
  const story = new Story({
    contenders: managing(side("cpu.requests"), side("memory.requests")),
    load: { cpu: 90, memory: 10 * MI },
  });
  const order = story.pollToRequest();
  assertEquals([order.action, order.changes], ["scaleUp", ["cpu.requests"]]);
});

Deno.test("decideSize() scales down when no side wants up (C32)", () => {
  const story = new Story({
    contenders: managing(side("cpu.requests"), side("memory.requests")),
    load: { cpu: 60, memory: 10 * MI },
  });
  const order = story.pollToRequest();
  assertEquals([order.action, order.changes], ["scaleDown", ["memory.requests"]]);
});

Deno.test("decideSize() moves no side whose streak is short (C32)", () => {
  const story = new Story({
    contenders: managing(side("cpu.requests"), side("cpu.limits", { ...LIMIT_UP, consecutiveSamples: 9 })),
    load: { cpu: 95 },
  });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
});

Deno.test("decideSize() lets a side at its bound veto scale-downs (C32)", () => {
  const story = new Story({
    contenders: managing(side("cpu.requests", { bounds: { max: 100 } }), side("memory.requests")),
    load: { cpu: 90, memory: 10 * MI },
  });
  story.poll(6);
  assertEquals([story.reason(), story.requests.length], ["AtBound", 0]);
});

Deno.test("decideSize() lets a cooling side veto scale-downs (C32, C36)", () => {
  const cpu = side("cpu.requests", { cooldownMs: 10 * MINUTE, bounds: { step: 10 } });
  const memory = side("memory.requests", { cooldownMs: 0, consecutiveSamples: 6 });
  const story = new Story({ contenders: managing(cpu, memory), load: { cpu: 120, memory: 10 * MI } });
  story.pollToRequest();
  story.poll(20);
  const [one] = story.last?.decisions ?? [];
  assertEquals([story.reason(), one?.candidates, story.requests.length], ["Cooldown", ["cpu.requests"], 1]);
});

Deno.test("decideSize() moves only the cooled of two full sides (C36)", () => {
  const quick = side("cpu.requests", { cooldownMs: 0, bounds: { step: 10 } });
  const slow = side("cpu.limits", { ...LIMIT_UP, cooldownMs: 10 * MINUTE, bounds: { step: 10 } });
  const story = new Story({ contenders: managing(quick, slow), load: { cpu: 150 } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests", "cpu.limits"]);
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  story.wait(10 * MINUTE);
  assertEquals(story.pollToRequest().changes, ["cpu.requests", "cpu.limits"]);
});

Deno.test("decideSize() runs a side's cooldown from the container's last resize, whichever side moved (C36)", () => {
  const cpu = side("cpu.requests", { bounds: { step: 10 }, cooldownMs: 0 });
  const memory = side("memory.requests", { cooldownMs: 2 * MINUTE });
  const story = new Story({ contenders: managing(cpu, memory), load: { cpu: 90 } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  const scaledAt = story.now;
  story.use({ cpu: 60, memory: 120 * MI });
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

Deno.test("decideSize() says how long the cooldown of the first side to cool lasts", () => {
  const cpu = side("cpu.requests", { cooldownMs: 60 * SECOND, bounds: { step: 10 } });
  const story = new Story({ contenders: managing(cpu), load: { cpu: 110 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.poll(3);
  const decision = story.decision();
  assertEquals(decision?.kind === "blocked" && [decision.action, decision.until], [
    "scaleUp",
    scaledAt + 60 * SECOND,
  ]);
});

Deno.test("decideSize() ends the cooldown on time", () => {
  const cpu = side("cpu.requests", { cooldownMs: 30 * SECOND, bounds: { step: 10 } });
  const story = new Story({ contenders: managing(cpu), load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 30 * SECOND);
});

Deno.test("decideSize() overrides consecutiveSamples per side (C36)", () => {
  const sides = [side("cpu.requests", { consecutiveSamples: 1 })];
  const story = new Story({ contenders: managing(...sides), load: { cpu: 90 } });
  story.poll(2);
  assertEquals(story.requests.length, 1);
});

Deno.test("decideSize() holds AtTarget when the target lies beyond the threshold (C33)", () => {
  const sides = [side("cpu.requests", { targetUtilizationPercent: 95 })];
  const story = new Story({ contenders: managing(...sides), load: { cpu: 85 } });
  story.poll(4);
  assertEquals(story.reason(), "AtTarget");
});

Deno.test("decideSize() gives the sides it would move, sent or blocked (C52)", () => {
  const story = new Story({ contenders: managing(side("cpu.requests")), load: { cpu: 90 }, dryRun: true });
  story.poll(4);
  const [one] = story.last?.decisions ?? [];
  assertEquals([one?.candidates, one?.isNewSample], [["cpu.requests"], true]);
});
