/**
 * For how many samples a container has had too little, as the number of replicas uses it.
 * Clauses: R84, R85.
 */
import { assertEquals } from "#assert";
import type { LimitReason } from "../../lib/model/reasons.ts";
import { isSaturated, NO_SHORTAGE, type Shortage } from "../../lib/model/state.ts";
import type { Answer } from "../../lib/model/resize_request.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { container, MI, MINUTE, pod, policy, resources, SECOND, side } from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

function shortage({ state }: Story): Shortage {
  return state.views["uid-of-web"]?.shortage ?? NO_SHORTAGE;
}

function saturated({ state, contenders: [autoscaler] }: Story, key = "cpu.requests"): boolean {
  const rule = autoscaler?.sides.find((one) => one.key === key);
  const view = state.views["uid-of-web"];
  return rule !== undefined && view !== undefined && isSaturated(rule, view);
}

/** Whether the request is saturated after each of this many polls. */
function follow(story: Story, polls: number): boolean[] {
  return Array.from({ length: polls }, () => {
    story.poll();
    return saturated(story);
  });
}

function managing(overrides: Parameters<typeof side>[1] = {}, more: Partial<Autoscaler> = {}): Autoscaler {
  return policy({ sides: [side("cpu.requests", overrides)], ...more });
}

Deno.test("decideSize() has a request saturated once its scale-up was held for two samples, or for its streak if that is longer (R84)", () => {
  const most = { bounds: { max: 100 } };
  const story = new Story({ contenders: [managing(most)], load: { cpu: 90 } });
  // The first poll warms up, the third fills the streak.
  assertEquals(follow(story, 5), [false, false, false, true, true]);
  const quick = new Story({ contenders: [managing({ ...most, consecutiveSamples: 1 })], load: { cpu: 90 } });
  assertEquals(follow(quick, 4), [false, false, true, true]);
  const slow = new Story({ contenders: [managing({ ...most, consecutiveSamples: 3 })], load: { cpu: 90 } });
  assertEquals(follow(slow, 7), [false, false, false, false, false, true, true]);
});

Deno.test("decideSize() ends saturation with the wish, an accepted resize, silence, or a restart of podfit or container (R84)", () => {
  const start = (answer: StoryOptions["answer"] = "enact") => {
    const refused: Answer = { kind: "refused", reason: "Quota", message: "no", resources: [], waitMs: null };
    const story = new Story({ load: { cpu: 90 }, answer: refused });
    story.pollToRequest();
    assertEquals(follow(story, 3).at(-1), true);
    story.answer = answer;
    return story;
  };
  const idle = start();
  idle.use({ cpu: 60 });
  assertEquals([...follow(idle, 1), shortage(idle)], [false, NO_SHORTAGE]);
  const resized = start();
  resized.pollToRequest();
  assertEquals([saturated(resized), shortage(resized)], [false, NO_SHORTAGE]);
  const accepted = start("accept");
  accepted.pollToRequest();
  assertEquals(shortage(accepted), NO_SHORTAGE, "before it is in force");
  const restarted = start();
  restarted.restartContainer();
  assertEquals([saturated(restarted), shortage(restarted)], [false, NO_SHORTAGE]);
  const anew = start().restartPodfit();
  assertEquals(follow(anew, 1), [false]);
  const silent = start();
  silent.wait(2 * MINUTE).observe({ kind: "tick" });
  assertEquals([saturated(silent), shortage(silent)], [false, NO_SHORTAGE]);
});

Deno.test("decideSize() counts a refused size over its next tries, and nothing that passes by itself (R84)", () => {
  const refused: Answer = { kind: "refused", reason: "NodeCapacity", message: "no", resources: [], waitMs: null };
  const story = new Story({ load: { cpu: 90 }, answer: refused });
  story.pollToRequest();
  assertEquals([...new Set(follow(story, 30).slice(2))], [true], "tried again after 30 s and 60 s");
  const reasons: readonly [string, StoryOptions][] = [
    ["Delay", { contenders: [managing({}, { delayMs: 3600 * SECOND * 24 })] }],
    ["NotReady", { contenders: [managing({}, { after: "podReady" })], pod: pod({ ready: null, readyAt: null }) }],
    ["ResizeInProgress", { pod: pod({ inProgress: { reason: "", message: "", since: null } }) }],
    ["DryRun", { dryRun: true }],
    ["RetryLater", { answer: { ...refused, reason: "RetryLater", waitMs: 1e9 } }],
  ];
  for (const [reason, options] of reasons) {
    const waiting = new Story({ load: { cpu: 90 }, ...options });
    assertEquals([follow(waiting, 8).includes(true), waiting.reason()], [false, reason]);
  }
});

Deno.test("decideSize() has a side saturated by what holds that side, not by what holds another (R84)", () => {
  const contender = policy({
    sides: [
      side("cpu.requests", { cooldownMs: 3600 * SECOND }),
      side("memory.requests", { bounds: { max: 128 * MI } }),
    ],
  });
  const story = new Story({ contenders: [contender], load: { cpu: 90, memory: 120 * MI } });
  story.poll(3);
  assertEquals(story.requests.map(({ changes }) => changes), [["cpu.requests"]], "memory is at its bound");
  story.use({ cpu: 150 });
  story.poll(4);
  const view = story.state.views["uid-of-web"];
  assertEquals(view?.streaks["cpu.requests"]?.direction, "up");
  assertEquals(["cpu.requests", "memory.requests"].map((key) => saturated(story, key)), [false, true]);
});

/** With a limit of 200m that is not managed, and a cooldown that has just begun. */
function cooling(cpu: number, overrides: Parameters<typeof side>[1] = {}): Story {
  const story = new Story({ contenders: [managing({ bounds: { stepPercent: 10 }, ...overrides })], load: { cpu: 90 } });
  story.pollToRequest();
  return story.use({ cpu });
}

Deno.test("a cooldown saturates after as many samples with usage at 95 % of the limit, and not below (R84)", () => {
  const held = cooling(190);
  assertEquals(follow(held, 4), [false, true, true, true]);
  assertEquals(held.reason(), "Cooldown");
  assertEquals(follow(cooling(189), 6).includes(true), false);
  assertEquals(follow(cooling(190, { consecutiveSamples: 3 }), 4), [false, false, true, true]);
});

Deno.test("a cooldown saturates nothing while usage is at the limit only now and then (R84)", () => {
  const story = cooling(190);
  for (let turn = 0; turn < 5; turn++) {
    assertEquals(follow(story.use({ cpu: 190 }), 1), [false]);
    assertEquals(follow(story.use({ cpu: 150 }), 1), [false]);
  }
});

Deno.test("decideSize() counts samples in a row at 95 % of the CPU limit in force, and those that were held back (R85)", () => {
  const story = new Story({ contenders: [managing({ bounds: { max: 100 } })], load: { cpu: 190 } });
  const clipped = (polls: number) => Array.from({ length: polls }, () => (story.poll(), shortage(story).clipped));
  assertEquals(clipped(4), [0, 1, 2, 3]);
  story.use({ cpu: 189 });
  assertEquals(clipped(2), [0, 0]);
  story.use({ cpu: 190 });
  assertEquals([clipped(2), shortage(story).atLimit], [[1, 2], { cpu: 2, memory: 0 }]);
  const spec = resources({ "cpu.requests": 100, "cpu.limits": 400 });
  story.changeContainer({ spec, reported: spec });
  assertEquals([shortage(story).clipped, ...clipped(2)], [0, 0, 0], "another limit is in force");
});

Deno.test("decideSize() counts throttled CPU as clipped below the limit, but not as usage at the limit (R84, R85)", () => {
  const contender = managing({ bounds: { max: 100 } }, { throttling: "measure" });
  const story = new Story({ contenders: [contender], load: { cpu: 150 } });
  const throttledNs = (now: number) => (now % 1e9) * 1e6 * 0.5 * 8;
  for (let poll = 0; poll < 4; poll++) {
    story.wait(5 * SECOND);
    const { usage: { points }, ...rest } = story.read();
    const pressure = { fullNs: null, throttledNs: throttledNs(story.now), largestCpuNs: null };
    story.observe({ ...rest, usage: { points: points.map((one) => ({ ...one, pressure })), usageBytes: null } });
  }
  assertEquals(shortage(story), { ...shortage(story), clipped: 3, atLimit: { cpu: 0, memory: 0 } });
});

Deno.test("decideSize() counts memory at 95 % of its limit, and none without a limit (R84)", () => {
  const contender = policy({ sides: [side("memory.requests", { bounds: { max: 128 * MI } })] });
  const run = (memory: number, limit: number | null) => {
    const spec = resources({ "memory.requests": 128 * MI, "memory.limits": limit });
    const story = new Story({
      contenders: [contender],
      pod: pod({ containers: [container({ spec })] }),
      load: { memory },
    });
    story.poll(4);
    return shortage(story).atLimit.memory;
  };
  assertEquals([run(250 * MI, 256 * MI), run(240 * MI, 256 * MI), run(250 * MI, null)], [3, 0, 0]);
});

Deno.test("decideSize() has a request saturated by each reason that does not pass by itself, by L53's list (L53, R84)", () => {
  const by = (reason: Extract<LimitReason, "Quota" | "Rights" | "Invalid" | "LimitRange" | "Unsupported">): boolean => {
    const answer: Answer = { kind: "refused", reason, message: "no", resources: [], waitMs: null };
    const story = new Story({ load: { cpu: 90 }, answer });
    story.pollToRequest();
    return follow(story, 4).at(-1) === true;
  };
  assertEquals((["Quota", "Rights", "Invalid", "LimitRange", "Unsupported"] as const).map(by), [
    true,
    true,
    true,
    true,
    true,
  ]);
  const waiting = { reason: "Infeasible", message: "no room", since: null };
  const infeasible = new Story({ load: { cpu: 90 }, pod: pod({ pending: waiting }) });
  assertEquals(follow(infeasible, 6).at(-1), true);
});
