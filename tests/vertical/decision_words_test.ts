/**
 * The exact messages of decisions that depend on usage: why no change is wanted, and why a resize is sent.
 * Clauses: C22, C31, C37, C46.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import { container, MI, pod, policy, resources, SECOND, side, SIZE } from "../support/builders.ts";
import { type Load, Story } from "../support/story.ts";

/** What is said of the first autoscaler. */
function messageOf(story: Story): string {
  const decision = story.decision();
  return decision?.kind === "hold" || decision?.kind === "blocked" ? decision.message : "it is resized";
}

const LIMIT = [side("memory.limits", { targetUtilizationPercent: 80 })];
const TALL = [container({ spec: resources({ "memory.requests": 10 * MI, "memory.limits": 1000 * MI }) })];
const BARE = [container({ spec: resources({ "memory.requests": 10 * MI }) })];

/** [sentence, fields, polls, load, containers, message] */
const DECISIONS: readonly [string, Autoscaler["sides"], number, Load, PodFacts["containers"], string][] = [
  [
    "how much memory is in use (C46)",
    LIMIT,
    6,
    { cache: 950 * MI },
    TALL,
    "memory.limits is not lowered: 1045Mi are in use",
  ],
  [
    "that page cache is not known (C46)",
    LIMIT,
    6,
    { cache: null },
    TALL,
    "memory.limits is not lowered: the usage source does not tell the page cache",
  ],
  ["that it warms up", [side("cpu.requests")], 1, { cpu: 60 }, [container()], "waiting for the first samples"],
  ["that usage is in band", [side("cpu.requests")], 3, { cpu: 60 }, [container()], "inside the thresholds"],
  [
    "that a streak is short",
    [side("cpu.requests")],
    2,
    { cpu: 90 },
    [container()],
    "outside the thresholds, but not for enough samples yet",
  ],
  [
    "that no side has a baseline (C37)",
    [side("cpu.requests")],
    3,
    { cpu: 90 },
    BARE,
    "no configured resource field has a request or limit to compare usage with",
  ],
  [
    "that the container does not run",
    [side("cpu.requests")],
    1,
    { cpu: 60 },
    [container({ runningAt: null })],
    "the container is not running",
  ],
];
for (const [sentence, sides, polls, load, containers, message] of DECISIONS) {
  Deno.test(`decideSize() says ${sentence}`, () => {
    const story = new Story({ pod: pod({ containers }), contenders: [policy({ sides })], load });
    story.poll(polls);
    assertEquals(messageOf(story), message);
  });
}

Deno.test("decideSize() says that usage of the new size is waited for, and that none is read (C22, C31)", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(3);
  story.wait(3 * SECOND).changeContainer({ reported: { ...SIZE, "cpu.requests": 101 } });
  story.wait(2 * SECOND).observe(story.read());
  assertEquals(messageOf(story), "waiting for a sample of the new size");
  for (let turn = 0; turn < 13; turn++) story.wait(5 * SECOND).observe({ kind: "tick" });
  assertEquals(messageOf(story), "no new usage is read");
});

const both = [side("cpu.requests"), side("memory.requests")];

/** [sentence, fields, load, why] */
const WHYS: readonly [string, Autoscaler["sides"], Load, string][] = [
  ["what is used of what", [side("cpu.requests")], { cpu: 90 }, "cpu.requests at 90 %"],
  [
    "what capped it",
    [side("cpu.requests", { bounds: { step: 10 } })],
    { cpu: 90 },
    "cpu.requests at 90 %, capped by step",
  ],
  ["all that moves", both, { cpu: 90, memory: 120 * MI }, "cpu.requests at 90 %; memory.requests at 94 %"],
  [
    "that memory in use capped it (C46)",
    [side("memory.limits")],
    { memory: 20 * MI, cache: 200 * MI },
    "memory.limits at 8 %, capped by memory in use",
  ],
];
for (const [sentence, sides, load, why] of WHYS) {
  Deno.test(`decideSize() says of a resize ${sentence}`, () => {
    assertEquals(new Story({ contenders: [policy({ sides })], load }).pollToRequest().why, why);
  });
}

Deno.test("decideSize() says which autoscaler goes first (C12)", () => {
  const story = new Story({ contenders: [policy({ name: "b" }), policy({ name: "a" })], load: { cpu: 60 } });
  story.poll();
  assertEquals(messageOf(story), 'autoscaler "a" goes first for this container');
});
