/**
 * Which scale-downs a wanted scale-up blocks: of the whole container, or only of its resource.
 * Clauses: C32, L34.
 */
import { assertEquals, assertMatch } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { MI, MINUTE, policy, SECOND, side, type SideOverrides } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const FREE: SideOverrides = { cooldownMs: 30 * SECOND };

/** The cpu request wants up and is at its max, the memory request wants down. */
function tell(veto: Autoscaler["veto"], cpu: SideOverrides = { ...FREE, bounds: { max: 100 } }): Story {
  const sides = [side("cpu.requests", cpu), side("cpu.limits", FREE), side("memory.requests", FREE)];
  return new Story({ contenders: [policy({ veto, sides })], load: { cpu: 120, memory: 20 * MI } });
}

Deno.test("decideSize() lets a side at its bound hold every scale-down by default (C32, L34)", () => {
  const story = tell("all");
  story.poll(30);
  assertEquals([story.requests, story.reason()], [[], "AtBound"]);
});

Deno.test("decideSize() with veto: resource scales another resource down past a side at its bound (L34)", () => {
  const order = tell("resource").pollToRequest();
  assertEquals([order.action, order.changes], ["scaleDown", ["memory.requests"]]);
});

Deno.test("decideSize() with veto: resource goes up first, then down: two actions, each with its cooldown (L34, C42)", () => {
  const story = tell("resource", { ...FREE, bounds: { max: 130 } });
  const up = story.pollToRequest();
  const upAt = story.now;
  const down = story.pollToRequest();
  assertEquals([up, down].map(({ action, changes }) => [action, ...changes]), [
    ["scaleUp", "cpu.requests"],
    ["scaleDown", "memory.requests"],
  ]);
  assertEquals(story.now - upAt, 30 * SECOND);
});

Deno.test("decideSize() with veto: resource keeps a limit where its request wants up (L34)", () => {
  const sides = [
    side("cpu.requests", { bounds: { max: 100 } }),
    side("cpu.limits", { scaleDownThresholdPercent: 70, targetUtilizationPercent: 75 }),
  ];
  const story = new Story({ contenders: [policy({ veto: "resource", sides })], load: { cpu: 100 } });
  story.poll(20);
  assertEquals([story.requests, story.reason()], [[], "AtBound"]);
});

Deno.test("decideSize() with veto: resource says what blocks the one action rather than what holds the other (L34)", () => {
  const story = tell("resource");
  story.pollToRequest();
  // The memory request is cooling now, the cpu request still at its bound.
  story.use({ memory: 4 * MI }).poll(4);
  assertEquals([story.reason(), story.last?.decisions[0]?.candidates], ["Cooldown", ["memory.requests"]]);
  const up = tell("resource", { cooldownMs: 10 * MINUTE, bounds: { step: 5 } });
  up.pollToRequest();
  up.use({ memory: 200 * MI }).poll(4);
  assertEquals([up.reason(), up.last?.decisions[0]?.decision.kind], ["Cooldown", "blocked"]);
});

Deno.test("decideSize() names a veto that has stood for 10 minutes, and what takes it away (L34)", () => {
  const story = tell("all");
  const words = () => {
    const decision = story.decision();
    return decision?.kind === "hold" ? decision.message : "";
  };
  story.poll(3);
  const since = story.now;
  for (let poll = 0; story.now - since < 10 * MINUTE - 5 * SECOND; poll++) story.poll();
  assertEquals(words(), "cpu.requests stays at 100m: max leaves no room");
  story.poll();
  assertMatch(
    words(),
    /max leaves no room; it has held .* for 10m: with policy\.veto: resource it would hold its own only/,
  );
  // It ends with the wanted scale-up, and counts again.
  story.use({ cpu: 60 }).poll(3);
  story.use({ cpu: 120 }).poll(3);
  assertEquals(words(), "cpu.requests stays at 100m: max leaves no room");
});

Deno.test("decideSize() names no veto where only the side's own resource would go down (L34)", () => {
  const sides = [
    side("cpu.requests", { bounds: { max: 100 } }),
    side("cpu.limits", { scaleDownThresholdPercent: 70, targetUtilizationPercent: 75 }),
  ];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 100 } });
  for (let poll = 0; poll < 150; poll++) story.poll();
  const decision = story.decision();
  assertEquals(decision?.kind === "hold" && decision.message, "cpu.requests stays at 100m: max leaves no room");
});
