/**
 * `decideSize` while replicas of the pod's workload are about to be removed, and after it.
 * Clauses: R86.
 */
import { assert, assertEquals } from "#assert";
import { endScaleDownStreaks } from "../../lib/vertical/streaks.ts";
import type { ResourceField } from "../../lib/units/resources.ts";
import { parseRecord } from "../../lib/record/parse.ts";
import { formatRecord, toRecord } from "../../lib/record/record.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import { container, input, MI, MINUTE, pod, policy, resources, SECOND, side, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const CPU = { scaleInPending: { main: ["cpu.requests"] } } as const;

function streak(story: Story, key: ResourceField = "cpu.requests"): string | null {
  const one = story.state.views["uid-of-web"]?.streaks[key];
  return one === undefined ? null : `${one.direction} ${one.count}`;
}

Deno.test("decideSize() holds a scale-down while replicas are about to fall, and its streak stands (R86)", () => {
  const story = new Story({ load: { cpu: 20 }, surroundings: CPU });
  story.poll(6);
  assertEquals([story.requests.length, story.reason(), streak(story)], [0, "ScaleInPending", "down 5"]);
  const decision = story.decision();
  assertEquals(
    decision?.kind === "blocked" ? decision.message : null,
    "cpu.requests would scale down, but the number of replicas is about to fall first",
  );
  assertEquals(story.notices, []);
  story.surroundings = { ...story.surroundings, scaleInPending: {} };
  assertEquals(story.poll().request?.action, "scaleDown");
});

Deno.test("decideSize() holds no scale-up while replicas are about to fall (R86)", () => {
  const story = new Story({ load: { cpu: 90 }, surroundings: CPU });
  assertEquals(story.pollToRequest().action, "scaleUp");
});

Deno.test("decideSize() holds the sides that are coupled, and lets the others go down (R86)", () => {
  const contenders = [policy({ sides: [side("cpu.requests"), side("memory.requests")] })];
  const run = (scaleInPending: NonNullable<Story["surroundings"]["scaleInPending"]>) => {
    const story = new Story({ contenders, load: { cpu: 20, memory: 30 * MI }, surroundings: { scaleInPending } });
    story.poll(5);
    return story.requests[0]?.changes ?? story.reason();
  };
  assertEquals(run({ main: ["cpu.requests"] }), ["memory.requests"]);
  assertEquals(run({ main: ["cpu.requests", "memory.requests"] }), "ScaleInPending");
  assertEquals(run({ other: ["cpu.requests", "memory.requests"] }), ["cpu.requests", "memory.requests"]);
  assertEquals(run({ main: ["cpu.limits"] }), ["cpu.requests", "memory.requests"]);
});

Deno.test("decideSize() holds a Guaranteed pod's pair by either of its sides (L35, R86)", () => {
  const spec = resources({ "cpu.requests": 100, "cpu.limits": 100, "memory.requests": MI, "memory.limits": MI });
  const story = new Story({
    pod: pod({ qosClass: "Guaranteed", containers: [container({ spec })] }),
    contenders: [policy({ sides: [side("cpu.requests"), side("cpu.limits")] })],
    load: { cpu: 20, memory: 1000 },
    surroundings: CPU,
  });
  story.poll(5);
  assertEquals([story.requests.length, story.reason()], [0, "ScaleInPending"]);
});

Deno.test("decideSize() says Cooldown while that holds a scale-down too, and AtBound where there is nowhere to go (R86)", () => {
  const cooling = new Story({ load: { cpu: 90 } });
  cooling.pollToRequest();
  cooling.surroundings = { ...cooling.surroundings, ...CPU };
  cooling.use({ cpu: 10 });
  cooling.poll(4);
  assertEquals(cooling.reason(), "Cooldown");
  const least = policy({ sides: [side("cpu.requests", { bounds: { min: 100 } })] });
  const bound = new Story({ contenders: [least], load: { cpu: 20 }, surroundings: CPU });
  bound.poll(4);
  assertEquals(bound.reason(), "AtBound");
});

Deno.test("decideSize() ends streaks down once when replicas have fallen, and no others (R86)", () => {
  const contenders = [
    policy({ sides: [side("cpu.requests"), side("memory.requests", { bounds: { max: 128 * MI } })] }),
  ];
  const story = new Story({ contenders, load: { cpu: 20, memory: 120 * MI } });
  story.poll(4);
  assertEquals([streak(story), streak(story, "memory.requests")], ["down 3", "up 3"]);
  const scaledInAt = story.now + SECOND;
  story.surroundings = { ...story.surroundings, scaledInAt };
  const wantedSince = story.state.views["uid-of-web"]?.wantedSince;
  story.poll();
  assertEquals([streak(story), streak(story, "memory.requests")], ["down 1", "up 4"]);
  assertEquals(story.state.views["uid-of-web"]?.wantedSince, wantedSince, "the other side's wish stands");
  story.poll(2);
  assertEquals([streak(story), streak(story, "memory.requests")], ["down 3", "up 6"], "the same time is no other fall");
  story.surroundings = { ...story.surroundings, scaledInAt: story.now };
  story.poll();
  assertEquals(streak(story), "down 1");
});

Deno.test("decideSize() lets a down wait for a whole streak after a fall, though it was full before (R86)", () => {
  const story = new Story({ load: { cpu: 20 }, surroundings: CPU });
  story.poll(6);
  story.surroundings = { ...story.surroundings, scaleInPending: {}, scaledInAt: story.now };
  assertEquals([story.poll().request, story.reason()], [null, "StreakShort"]);
  assertEquals(story.poll().request?.action, "scaleDown");
});

Deno.test("decideSize() watches windows anew from a fall on, and keeps cooldowns as they are (L2, R86)", () => {
  const windowed = policy({ sides: [side("cpu.requests", { down: { windowMs: MINUTE } })] });
  const wait = (surroundings: Partial<Story["surroundings"]>) => {
    const story = new Story({ contenders: [windowed], load: { cpu: 20 } });
    story.poll(8);
    const from = story.now;
    story.surroundings = { ...story.surroundings, ...surroundings };
    story.pollToRequest();
    return story.now - from;
  };
  assertEquals(wait({}), 30 * SECOND);
  assertEquals(wait({ scaledInAt: START + 40 * SECOND }), MINUTE);
  assertEquals(wait({ scaledInAt: START + 30 * SECOND }), 50 * SECOND);
  const story = new Story({ contenders: [windowed], load: { cpu: 20 }, surroundings: { scaledInAt: START } });
  story.poll(6);
  const decision = story.decision();
  assertEquals(
    decision?.kind === "blocked" ? decision.message : null,
    "cpu.requests would scale down, but usage has been watched for 20s of 1m",
  );
  story.surroundings = { ...story.surroundings, scaledInAt: story.now };
  story.poll(3);
  const later = story.decision();
  assertEquals(
    later?.kind === "blocked" ? later.message : null,
    "cpu.requests would scale down, but usage has been watched for 15s of 1m since replicas fell",
  );
});

Deno.test("a fall lies never in the future (R86)", () => {
  const before = new Story({ load: { cpu: 20 } });
  before.poll(3);
  const told = input({ now: before.now, scaledInAt: before.now + MINUTE });
  const state = endScaleDownStreaks(before.state, told);
  assertEquals(state.scaledIn, { at: before.now + MINUTE, since: before.now });
  assert(endScaleDownStreaks(state, told) === state);
  assert(endScaleDownStreaks(state, input({ now: before.now })) === state);
});

Deno.test("what replicas tell a pod is part of its record (R86)", () => {
  const before = new Story({ load: { cpu: 20 } });
  before.poll(4);
  const told = input({ now: before.now, pod: before.pod, ...CPU, scaledInAt: before.now });
  const record = toRecord({ before: before.state, input: told, outcome: decideSize(before.state, told) });
  const parsed = parseRecord(JSON.parse(formatRecord(record)));
  assertEquals(parsed.ok ? parsed.value : parsed.problems, record);
});
