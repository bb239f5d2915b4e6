/**
 * Who resizes a container: priority, next-eligible time, name; and the effect of pausing and spec changes.
 * Clauses: C12, C13, C16.
 */
import { assertEquals } from "#assert";
import { chooseOwner, computeEligibleAt } from "../../lib/model/ownership.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { NO_ENDINGS } from "../../lib/model/container_history.ts";
import type { ContainerState } from "../../lib/model/state.ts";
import { container, MINUTE, pod, policy, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const STATE: ContainerState = {
  instance: "containerd://1",
  running: { at: START - 60 * MINUTE, since: START - 60 * MINUTE },
  podReady: { at: START - 60 * MINUTE, since: START - 60 * MINUTE },
  readySince: START - MINUTE,
  actual: SIZE,
  countsFrom: 0,
  resizedAt: null,
  raisedAt: null,
  entryAt: null,
  revertedAt: null,
  refusals: {},
  isInherited: false,
  endings: NO_ENDINGS,
  reflex: null,
  killFloor: null,
};

function context(containerState: Partial<ContainerState> = {}) {
  return { now: START, pod: pod(), container: container(), containerState: { ...STATE, ...containerState } };
}

const a = (overrides: Partial<Autoscaler> = {}) => policy({ name: "a", ...overrides });
const b = (overrides: Partial<Autoscaler> = {}) => policy({ name: "b", ...overrides });
const EVERY = { isWildcard: true };
const late = { after: "containerReady", delayMs: 10 * MINUTE } as const;
const resized = { resizedAt: START - MINUTE };

const OWNERS: readonly [string, Autoscaler, Autoscaler, Partial<ContainerState>, string][] = [
  ["the higher priority", a(), b({ priority: 1 }), {}, "b"],
  ["the higher priority though it is eligible later", a(), b({ priority: 1, ...late }), {}, "b"],
  ["an exact name before every container, though it is eligible later (L50)", a(EVERY), b(late), {}, "b"],
  ["every container before an exact name of a lower priority (L50)", a({ ...EVERY, priority: 1 }), b(), {}, "a"],
  ["the smaller name of two of every container (L50)", b(EVERY), a(EVERY), {}, "a"],
  ["the one eligible earlier", a(late), b(), {}, "b"],
  ["the one whose cooldown ends earlier", a({ cooldownMs: 5 * MINUTE }), b({ cooldownMs: 2 * MINUTE }), resized, "b"],
  ["the smaller name when both are eligible now", a({ cooldownMs: 30 * SECOND }), b({ cooldownMs: 0 }), resized, "a"],
  ["the smaller name when nothing differs", b(), a(), {}, "a"],
  ["the one whose gate has opened", a({ after: "containerReady" }), b({ after: "running" }), { readySince: null }, "b"],
  ["the smaller name as text, not as a number", a({ name: "web-9" }), b({ name: "web-10" }), {}, "web-10"],
  ["the shorter of two names that begin alike", a({ name: "web-a" }), b({ name: "web" }), {}, "web"],
  ["the higher of two negative priorities", a({ priority: -2 }), b({ priority: -1 }), {}, "b"],
  ["the smaller name when both have been eligible, one longer than the other", a({ cooldownMs: 50 * SECOND }), b(), {
    resizedAt: START - 60 * MINUTE,
  }, "a"],
  [
    "the one whose gate opens before the other's cooldown ends",
    a(),
    b({
      after: "containerReady",
      delayMs: 90 * SECOND,
      cooldownMs: 0,
    }),
    { ...resized, readySince: START - 60 * SECOND },
    "b",
  ],
  [
    "the one eligible at all, however late",
    a({ after: "containerReady" }),
    b({ delayMs: 24 * 60 * MINUTE, after: "podReady" }),
    {
      readySince: null,
      podReady: { at: START, since: START },
    },
    "b",
  ],
  [
    "the smaller name when gate and cooldown end at the same moment",
    b({ delayMs: 2 * MINUTE, after: "containerReady" }),
    a({
      cooldownMs: 2 * MINUTE,
    }),
    { readySince: START - MINUTE, resizedAt: START - MINUTE },
    "a",
  ],
  ["the smaller name when no gate has opened", b({ after: "containerReady" }), a({ after: "containerReady" }), {
    readySince: null,
  }, "a"],
];
for (const [sentence, one, other, state, name] of OWNERS) {
  Deno.test(`chooseOwner() takes ${sentence} (C12)`, () => {
    assertEquals(chooseOwner([one, other], context(state))?.name, name);
    assertEquals(chooseOwner([other, one], context(state))?.name, name);
  });
}

Deno.test("chooseOwner() is null without contenders", () => assertEquals(chooseOwner([], context()), null));

Deno.test("computeEligibleAt() is never before now, and the later of gate and cooldown (C12)", () => {
  assertEquals(computeEligibleAt(a(), context()), START);
  assertEquals(computeEligibleAt(a({ ...late, cooldownMs: 2 * MINUTE }), context(resized)), START + 9 * MINUTE);
  assertEquals(computeEligibleAt(a({ cooldownMs: 20 * MINUTE }), context(resized)), START + 19 * MINUTE);
});

Deno.test("decideSize() has one owner act, and the others are NotOwner (C12)", () => {
  const story = new Story({ contenders: [b(), a()], load: { cpu: 90 } });
  const order = story.pollToRequest();
  assertEquals([order.autoscaler, story.reason("b")], ["uid-of-a", "NotOwner"]);
});

Deno.test("decideSize() gives a paused owner's container to the lower contender at once, with its streak (C12, C13)", () => {
  const story = new Story({ contenders: [a({ priority: 1, delayMs: 600 * MINUTE }), b()], load: { cpu: 90 } });
  story.poll(4);
  assertEquals([story.reason("a"), story.reason("b")], ["Delay", "NotOwner"]);
  const outcome = story.contend([b()]);
  assertEquals(outcome.request?.autoscaler, "uid-of-b");
});

Deno.test("decideSize() resumes with fresh streaks after a pause, and past cooldowns hold (C13)", () => {
  const sides = [side("cpu.requests", { bounds: { step: 10 } })];
  const story = new Story({ contenders: [a({ sides })], load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.poll(3);
  story.contend([]);
  assertEquals(story.state.views, {});
  story.wait(20 * SECOND).contend([a({ sides })]);
  story.poll(2);
  assertEquals(story.reason("a"), "StreakShort");
  story.poll(2);
  assertEquals(story.reason("a"), "Cooldown");
  story.pollToRequest();
  const cooledMs = story.now - scaledAt;
  assertEquals(cooledMs >= 2 * MINUTE && cooledMs <= 2 * MINUTE + 5 * SECOND, true, `${cooledMs}ms`);
});

Deno.test("decideSize() restarts the streaks of an autoscaler whose spec changed, not the others' (C16)", () => {
  const story = new Story({ contenders: [a(), b()], load: { cpu: 90 }, dryRun: true });
  story.poll(4);
  story.contend([a({ generation: 2 }), b()]);
  assertEquals(story.state.views["uid-of-a"]?.streaks, {});
  assertEquals(story.state.views["uid-of-b"]?.streaks["cpu.requests"]?.count, 3);
  story.poll();
  assertEquals(story.reason("a"), "StreakShort");
});

Deno.test("decideSize() takes the cooldown as it reads now (C16)", () => {
  const stepping = (cooldownMs: number) => [side("cpu.requests", { cooldownMs, bounds: { step: 10 } })];
  const story = new Story({ contenders: [a({ sides: stepping(60 * MINUTE) })], load: { cpu: 150 } });
  story.pollToRequest();
  story.poll(4);
  assertEquals(story.reason("a"), "Cooldown");
  story.contend([a({ generation: 2, sides: stepping(30 * SECOND) })]);
  story.pollToRequest(4);
});

Deno.test("decideSize() starts anew for an autoscaler that turned to another container", () => {
  const two = pod({ containers: [container(), container({ name: "aux", instance: "containerd://2" })] });
  const story = new Story({ pod: two, contenders: [a()], load: { cpu: 90 }, dryRun: true }).use({ cpu: 60 }, "aux");
  story.poll(4);
  story.contend([a({ containerName: "aux" })]);
  story.poll(4);
  assertEquals([story.reason("a"), Object.keys(story.state.containers)], ["InBand", ["aux"]]);
});

Deno.test("decideSize() has nothing to say of a container that the pod lacks (C15)", () => {
  const story = new Story({ contenders: [a({ containerName: "gone" }), b()], load: { cpu: 90 } });
  story.poll(2);
  assertEquals(story.last?.decisions.map((one) => one.autoscaler), ["uid-of-b"]);
});

Deno.test("decideSize() resizes a native sidecar and never a plain init container (C15)", () => {
  const kinds = (kind: "sidecar" | "init") =>
    new Story({ pod: pod({ containers: [container({ kind })] }), load: { cpu: 90 } });
  assertEquals(kinds("sidecar").pollToRequest().kind, "sidecar");
  const story = kinds("init");
  story.poll(4);
  assertEquals([story.last?.decisions, story.requests], [[], []]);
});

Deno.test("decideSize() chooses the owner anew at each evaluation: one whose delay ends takes over (C12)", () => {
  const names = [a({ after: "containerReady", delayMs: 60 * SECOND }), b()];
  const ready = pod({ containersReadyAt: START, containers: [container()] });
  const story = new Story({ pod: ready, contenders: names, load: { cpu: 90 }, dryRun: true });
  story.poll(11);
  assertEquals([story.reason("a"), story.reason("b")], ["NotOwner", "DryRun"]);
  story.poll();
  assertEquals([story.reason("a"), story.reason("b")], ["DryRun", "NotOwner"], "with the streak it has gathered");
});

Deno.test("decideSize() lets the contender with the shorter cooldown act first after a resize, whoever made it (C12)", () => {
  const sides = (cooldownMs: number) => [side("cpu.requests", { cooldownMs, bounds: { step: 10 } })];
  const slow = a({ cooldownMs: 5 * MINUTE, sides: sides(5 * MINUTE) });
  const quick = b({ cooldownMs: MINUTE, sides: sides(MINUTE) });
  const story = new Story({ contenders: [slow, quick], load: { cpu: 170 } });
  const names = [1, 2, 3].map(() => story.pollToRequest(80).autoscaler);
  assertEquals(names, ["uid-of-a", "uid-of-b", "uid-of-b"]);
});

Deno.test("decideSize() keeps a streak per autoscaler, not per container, when the owner changes (C12)", () => {
  const thrice = b({ sides: [side("cpu.requests", { consecutiveSamples: 5 })] });
  const story = new Story({ contenders: [a(), thrice], load: { cpu: 90 }, dryRun: true });
  story.poll(4);
  assertEquals(story.reason("a"), "DryRun");
  story.contend([thrice]);
  story.poll();
  assertEquals(story.reason("b"), "StreakShort", "four of five, though the other's was full");
  story.poll();
  assertEquals(story.reason("b"), "DryRun");
});
