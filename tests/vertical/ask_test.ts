/**
 * If several objections concern different fields, the one from furthest down the list counts.
 * Clauses: C36, C44, C46.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { RefusalReason } from "../../lib/model/reasons.ts";
import type { Refused } from "../../lib/model/resize_request.ts";
import { container, MI, MINUTE, pod, policy, resources, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

function refused(reason: RefusalReason): Refused {
  return { kind: "refused", reason, message: "", resources: [], waitMs: null };
}

const managing = (...sides: Autoscaler["sides"]) => [policy({ sides })];
const atMax = (overrides: Parameters<typeof side>[1] = {}) =>
  side("memory.requests", { cooldownMs: 0, bounds: { max: 128 * MI }, ...overrides });
const candidatesOf = (story: Story) => story.last?.decisions[0]?.candidates;

Deno.test("ask() says Cooldown, of the cooling side alone, where another is at its bound (C36)", () => {
  const cooling = side("cpu.requests", { cooldownMs: 10 * MINUTE, bounds: { step: 10 } });
  const story = new Story({ contenders: managing(cooling, atMax()), load: { cpu: 150, memory: 120 * MI } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  story.poll(4);
  assertEquals([story.reason(), candidatesOf(story)], ["Cooldown", ["cpu.requests"]]);
});

Deno.test("ask() says AtBound of a side at its max, cooling or not: nothing is blocked that could not go anyway (C33, C36)", () => {
  const bound = side("cpu.requests", { cooldownMs: 10 * MINUTE, bounds: { max: 110 } });
  const story = new Story({ contenders: managing(bound), load: { cpu: 150 } });
  story.pollToRequest();
  story.poll(4);
  assertEquals([story.reason(), candidatesOf(story)], ["AtBound", []]);
});

Deno.test("ask() says the refusal where one side was refused and another is at its bound (C44)", () => {
  const contenders = managing(side("cpu.requests"), atMax());
  const story = new Story({ contenders, load: { cpu: 90, memory: 120 * MI }, answer: refused("Quota") });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  story.poll(2);
  assertEquals([story.reason(), candidatesOf(story)], ["Quota", ["cpu.requests"]]);
});

Deno.test("ask() says the refusal of a limit that leaves its request no room (C44)", () => {
  const spec = resources({ "cpu.requests": 200, "cpu.limits": 200, "memory.requests": 128 * MI });
  const story = new Story({
    pod: pod({ containers: [container({ spec })] }),
    contenders: managing(side("cpu.requests", { consecutiveSamples: 4 }), side("cpu.limits")),
    load: { cpu: 190 },
    answer: refused("Quota"),
  });
  assertEquals(story.pollToRequest().changes, ["cpu.limits"]);
  story.poll(3);
  // The request alone is at its bound, which is its limit.
  assertEquals([story.reason(), candidatesOf(story)], ["Quota", ["cpu.limits"]]);
});

Deno.test("ask() says the refusal where another side's memory is in use (C46)", () => {
  const contenders = managing(side("cpu.requests"), side("memory.limits"));
  const story = new Story({
    contenders,
    load: { cpu: 20, memory: 40 * MI, cache: 250 * MI },
    answer: refused("Quota"),
  });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  story.poll(2);
  assertEquals([story.reason(), candidatesOf(story)], ["Quota", ["cpu.requests"]]);
});

Deno.test("ask() says MemoryInUse where another side is at its bound (C46)", () => {
  const bound = side("cpu.requests", { bounds: { min: 100 } });
  const contenders = managing(bound, side("memory.limits"));
  const story = new Story({ contenders, load: { cpu: 20, memory: 40 * MI, cache: 250 * MI } });
  story.poll(4);
  assertEquals([story.reason(), candidatesOf(story)], ["MemoryInUse", ["memory.limits"]]);
});

Deno.test("ask() goes on with the sides that no gate objects to (C36, C44, C46)", () => {
  const cooling = side("cpu.requests", { cooldownMs: 10 * MINUTE, bounds: { step: 10 } });
  const free = side("memory.requests", { cooldownMs: 30 * SECOND });
  const story = new Story({ contenders: managing(cooling, free), load: { cpu: 150 } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  story.use({ memory: 120 * MI });
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
});
