/**
 * Memory next to its limit goes up at once, since it may be killed before a streak or a cooldown ends.
 * Clauses: L11.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { MI, MINUTE, policy, side } from "../support/builders.ts";
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
