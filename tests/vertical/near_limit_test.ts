/**
 * Memory next to its limit goes up at once, since it may be killed before a streak or a cooldown ends.
 * Clauses: L11, L15.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { container, MI, MINUTE, pod, policy, side, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

/** 256Mi of limit, up from 80 %. */
function newStory(overrides: Partial<Autoscaler> = {}): Story {
  const sides = [side("memory.limits", { consecutiveSamples: 5, cooldownMs: 10 * MINUTE, bounds: { step: 64 * MI } })];
  const story = new Story({ contenders: [policy({ oom: "raise", sides, ...overrides })], load: { memory: 80 * MI } });
  story.poll(3);
  return story;
}

const limits = ({ requests }: Story) => requests.map(({ to }) => (to["memory.limits"] ?? 0) / MI);

Deno.test("decideSize() raises a limit that memory is next to by one sample, and within the cooldown, by a step (L11)", () => {
  const story = newStory();
  story.use({ memory: 244 * MI }).poll();
  assertEquals(limits(story), [320]);
  story.poll(3);
  story.use({ memory: 304 * MI });
  story.poll(3);
  assertEquals(limits(story), [320, 384]);
});

Deno.test("decideSize() waits with a limit that memory is not yet next to (L11)", () => {
  const story = newStory();
  story.use({ memory: 243 * MI }).poll(4);
  assertEquals([limits(story), story.reason()], [[], "StreakShort"]);
  assertEquals(story.poll().request?.to["memory.limits"], 320 * MI);
  story.use({ memory: 300 * MI });
  for (let polls = 0; polls < 10; polls++) story.poll();
  assertEquals([limits(story), story.reason()], [[320], "Cooldown"]);
});

Deno.test("decideSize() has no such hurry with a request, nor where oom is ignored (L11)", () => {
  const ignoring = newStory({ oom: "ignore" });
  ignoring.use({ memory: 250 * MI }).poll(4);
  assertEquals(limits(ignoring), []);
  const request = newStory({ sides: [side("memory.requests", { consecutiveSamples: 5 })] });
  request.use({ memory: 127 * MI }).poll(4);
  assertEquals(request.requests, []);
});

Deno.test("decideSize() has the same hurry with the pair of a Guaranteed pod (L11, L35)", () => {
  const size = { ...SIZE, "memory.requests": 256 * MI, "memory.limits": 256 * MI, "cpu.limits": SIZE["cpu.requests"] };
  const rule = { consecutiveSamples: 5, cooldownMs: 10 * MINUTE, bounds: { step: 64 * MI } };
  const sides = [side("memory.requests", rule), side("memory.limits", rule)];
  const story = new Story({
    pod: pod({ qosClass: "Guaranteed", containers: [container({ spec: size })] }),
    contenders: [policy({ oom: "raise", sides })],
    load: { memory: 150 * MI },
  });
  story.poll(3);
  story.use({ memory: 244 * MI }).poll();
  story.use({ memory: 310 * MI }).poll(3);
  assertEquals(story.requests.map(({ to }) => [to["memory.requests"], to["memory.limits"]]), [
    [320 * MI, 320 * MI],
    [384 * MI, 384 * MI],
  ]);
});

Deno.test("decideSize() takes memory that is waited for as next to its limit from 75 % on (L15)", () => {
  const story = newStory();
  story.use({ memory: 192 * MI, stall: 10 }).poll();
  assertEquals(limits(story), [320], "one sample, below the threshold");
  assertEquals(story.requests[0]?.why, "memory.limits at 75 %, and waits for memory");
  story.poll(3);
  story.use({ memory: 240 * MI, stall: 60 });
  story.poll(3);
  assertEquals(limits(story), [320, 384], "within the cooldown");
  assertEquals(story.state.containers["main"]?.killFloor?.bytes, 384 * MI, "and that is the floor of a day");
});

Deno.test("decideSize() waits with memory that is hardly waited for, or far from its limit (L15)", () => {
  const idle = newStory();
  idle.use({ memory: 243 * MI, stall: 9.9 }).poll(4);
  assertEquals([limits(idle), idle.reason()], [[], "StreakShort"]);
  const small = newStory();
  small.use({ memory: 191 * MI, stall: 90 }).poll(8);
  assertEquals(limits(small), [], "the node may have too little memory");
});

Deno.test("decideSize() raises by the target what waits below a threshold that it cannot reach (L15)", () => {
  const sides = [
    side("memory.limits", { scaleUpThresholdPercent: 98, scaleDownThresholdPercent: 1, targetUtilizationPercent: 75 }),
  ];
  const story = newStory({ sides });
  story.use({ memory: 232 * MI, stall: 80 }).poll();
  assertEquals(limits(story), [310]);
});

Deno.test("decideSize() has no such hurry where memory is waited for and oom is ignored (L15)", () => {
  const story = newStory({ oom: "ignore" });
  story.use({ memory: 240 * MI, stall: 90 }).poll(4);
  assertEquals(limits(story), []);
});
