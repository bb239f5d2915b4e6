/**
 * How long a scale-down waits, and the usage that it is sized by.
 * Clauses: L1, L2, L4, L5.
 */
import { assert, assertEquals } from "#assert";
import { container, MI, MINUTE, pod, policy, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const WINDOW = 30 * MINUTE;
const memory = side("memory.requests", { cooldownMs: 0, down: { windowMs: WINDOW } });

/** 128Mi of memory are requested: up from 102Mi, down from 51Mi, target 60 %. */
function story(options: ConstructorParameters<typeof Story>[0] = {}): Story {
  return new Story({ contenders: [policy({ sides: [memory], cooldownMs: 0 })], load: { memory: 80 * MI }, ...options });
}

/** Polls for so long, whatever is requested; gives how many requests there were. */
function pollFor(story: Story, ms: number): number {
  const before = story.requests.length;
  const end = story.now + ms;
  while (story.now < end) story.poll();
  return story.requests.length - before;
}

Deno.test("decideSize() sizes a scale-down by the peak of its streak, not by the newest sample (L1)", () => {
  const rule = side("cpu.requests", { consecutiveSamples: 3, cooldownMs: 0 });
  const told = new Story({ contenders: [policy({ sides: [rule], cooldownMs: 0 })], load: { cpu: 60 } });
  told.poll(3);
  for (const cpu of [39, 38, 1]) {
    told.use({ cpu });
    told.poll();
  }
  assertEquals(told.requests.map(({ to }) => to["cpu.requests"]), [Math.ceil(39 / 0.6)]);
});

Deno.test("decideSize() sizes a scale-down by the peak of a streak that waited for long, as far as its last samples go (L1)", () => {
  const rule = side("cpu.requests", { consecutiveSamples: 2, cooldownMs: 10 * MINUTE });
  const cooling = pod({ resizes: [{ manager: "podfit.main", at: START, owned: [] }] });
  const told = new Story({ contenders: [policy({ sides: [rule] })], pod: cooling, load: { cpu: 39 } });
  pollFor(told, 5 * MINUTE);
  told.use({ cpu: 12 });
  const { to } = told.pollToRequest(100);
  assertEquals(to["cpu.requests"], 20);
});

Deno.test("decideSize() holds a scale-down until usage has been low for the whole window, and says so (L2)", () => {
  const told = story();
  pollFor(told, 20 * MINUTE);
  told.use({ memory: 30 * MI });
  assertEquals(pollFor(told, WINDOW - MINUTE), 0);
  const decision = told.decision();
  assert(decision?.kind === "blocked");
  assertEquals(decision.reason, "ScaleDownWindow");
  assertEquals(
    decision.message,
    "memory.requests would scale down, but up to 80Mi were used in the last 30m, above 40 % of its size",
  );
  assertEquals(pollFor(told, 3 * MINUTE), 1);
  assertEquals(told.requests[0]?.to["memory.requests"], 50 * MI);
});

Deno.test("decideSize() sizes a scale-down by the peak of its window (L2)", () => {
  const told = story({ load: { memory: 30 * MI } });
  pollFor(told, 5 * MINUTE);
  told.use({ memory: 45 * MI });
  told.poll(2);
  told.use({ memory: 20 * MI });
  pollFor(told, 15 * MINUTE);
  assertEquals(told.requests.map(({ to }) => to["memory.requests"]), [75 * MI]);
});

Deno.test("decideSize() wants a quarter of an hour watched before a longer window counts as seen (L2)", () => {
  const told = story({ load: { memory: 30 * MI } });
  told.poll(3);
  assertEquals(told.reason(), "ScaleDownWindow");
  assertEquals(pollFor(told, 14 * MINUTE), 0);
  assertEquals(pollFor(told, 2 * MINUTE), 1);
});

/** No usage for 75 s. */
function silence(told: Story): void {
  for (let polls = 0; polls < 15; polls++) {
    told.wait(5 * SECOND);
    told.observe({ kind: "tick" });
  }
}

Deno.test("decideSize() begins to watch anew after a silence (L2)", () => {
  const told = story({ load: { memory: 30 * MI } });
  pollFor(told, 14 * MINUTE);
  silence(told);
  assertEquals(pollFor(told, 14 * MINUTE), 0);
  assertEquals(told.reason(), "ScaleDownWindow");
  assertEquals(pollFor(told, 2 * MINUTE), 1);
});

Deno.test("decideSize() keeps the peaks from before a silence (L2)", () => {
  const told = story({ load: { memory: 80 * MI } });
  pollFor(told, 14 * MINUTE);
  told.use({ memory: 30 * MI });
  silence(told);
  assertEquals(pollFor(told, 28 * MINUTE), 0);
  assertEquals(pollFor(told, 3 * MINUTE), 1);
});

Deno.test("decideSize() counts what an instance before used (L2)", () => {
  const told = story();
  pollFor(told, 16 * MINUTE);
  told.restartContainer();
  told.use({ memory: 30 * MI });
  assertEquals(pollFor(told, 27 * MINUTE), 0);
  assertEquals(told.reason(), "ScaleDownWindow");
});

Deno.test("decideSize() shrinks no instance's memory in its first minute, unless the window is 0 (L2)", () => {
  const rules = (windowMs: number) => [side("memory.requests", { cooldownMs: 0, down: { windowMs } })];
  for (const [windowMs, expected] of [[10 * SECOND, 0], [0, 1]] as const) {
    const young = pod({ containers: [container({ runningAt: START })] });
    const contenders = [policy({ sides: rules(windowMs), cooldownMs: 0 })];
    const told = new Story({ contenders, pod: young, load: { memory: 30 * MI } });
    assertEquals(pollFor(told, 55 * SECOND), expected);
    assertEquals(pollFor(told, 30 * SECOND), 1 - expected);
  }
});

Deno.test("decideSize() goes by the longest of what several sides wait for (L2)", () => {
  const sides = [
    side("memory.requests", { down: { windowMs: 5 * MINUTE } }),
    side("memory.limits", { down: { windowMs: WINDOW } }),
  ];
  const told = story({ contenders: [policy({ sides })] });
  told.use({ memory: 30 * MI });
  told.poll(3);
  const decision = told.decision();
  assert(decision?.kind === "blocked" && decision.until !== undefined);
  assertEquals(decision.until - told.now > 14 * MINUTE, true);
});

Deno.test("decideSize() lets cpu go down while memory waits for its window (L2)", () => {
  const told = story({
    contenders: [policy({ sides: [side("cpu.requests", { cooldownMs: 0 }), memory], cooldownMs: 0 })],
  });
  told.use({ cpu: 10, memory: 30 * MI });
  const { changes } = told.pollToRequest(10);
  assertEquals(changes, ["cpu.requests"]);
});

Deno.test("decideSize() goes up at once, whatever the window (L2)", () => {
  const told = story();
  told.use({ memory: 120 * MI });
  assertEquals(told.pollToRequest(4).to["memory.requests"], 200 * MI);
});

Deno.test("decideSize() starts windows anew after a restart of podfit (L5)", () => {
  const told = story({ load: { memory: 30 * MI } });
  pollFor(told, 14 * MINUTE);
  told.restartPodfit();
  assertEquals(pollFor(told, 14 * MINUTE), 0);
  assertEquals(pollFor(told, 2 * MINUTE), 1);
});

Deno.test("decideSize() keeps windows over a changed spec (L5)", () => {
  const told = story({ load: { memory: 80 * MI } });
  pollFor(told, 20 * MINUTE);
  told.contend([policy({ sides: [memory], cooldownMs: 0, generation: 2 })]);
  told.use({ memory: 30 * MI });
  assertEquals(pollFor(told, 25 * MINUTE), 0);
});

Deno.test("decideSize() watches for a whole window that a changed spec brings, though it has watched another one (L2, L5)", () => {
  const cpu = side("cpu.requests", { down: { windowMs: 15 * MINUTE } });
  const told = story({ contenders: [policy({ sides: [cpu] })], load: { cpu: 60, memory: 30 * MI } });
  pollFor(told, 60 * MINUTE);
  const brief = side("memory.requests", { cooldownMs: 0, down: { windowMs: 10 * MINUTE } });
  told.contend([policy({ sides: [cpu, brief], cooldownMs: 0, generation: 2 })]);
  assertEquals(pollFor(told, 9 * MINUTE), 0);
  assertEquals(told.reason(), "ScaleDownWindow");
  assertEquals(pollFor(told, 3 * MINUTE), 1);
});

const percentile = side("cpu.requests", {
  cooldownMs: 0,
  consecutiveSamples: 1,
  down: { percentile: { percent: 90, halfLifeMs: 10 * MINUTE } },
});

Deno.test("decideSize() goes down by the percentile, not by a sample above it (L4)", () => {
  const told = new Story({ contenders: [policy({ sides: [percentile], cooldownMs: 0 })], load: { cpu: 20 } });
  assertEquals(pollFor(told, 10 * MINUTE), 0);
  // Above the lower threshold, and below the upper one.
  told.use({ cpu: 70 });
  const request = told.pollToRequest(2);
  const to = request.to["cpu.requests"] ?? 0;
  assert(to >= 20 / 0.6 * 0.9 && to <= 20 / 0.6 * 1.11, `${to}`);
});

Deno.test("decideSize() goes up by a sample, not by the percentile (L4)", () => {
  const told = new Story({ contenders: [policy({ sides: [percentile], cooldownMs: 0 })], load: { cpu: 50 } });
  pollFor(told, 20 * MINUTE);
  told.use({ cpu: 90 });
  assertEquals(told.pollToRequest(2).to["cpu.requests"], 150);
});

Deno.test("decideSize() wants a half-life watched before a percentile counts (L4)", () => {
  const told = new Story({ contenders: [policy({ sides: [percentile], cooldownMs: 0 })], load: { cpu: 20 } });
  assertEquals(pollFor(told, 10 * MINUTE), 0);
  assertEquals(told.reason(), "ScaleDownWindow");
  assertEquals(pollFor(told, MINUTE), 1);
});

Deno.test("decideSize() keeps one histogram for both sides of a resource (L4)", () => {
  const sides = [percentile, { ...percentile, key: "cpu.limits", side: "limits" } as const];
  const told = new Story({ contenders: [policy({ sides, cooldownMs: 0 })], load: { cpu: 50 } });
  told.poll(4);
  const evidence = told.state.views["uid-of-web"]?.evidence.sides ?? {};
  assert(evidence["cpu.requests"] !== undefined);
  assert(evidence["cpu.requests"] === evidence["cpu.limits"]);
  assertEquals(SIZE["cpu.limits"], 200);
});
