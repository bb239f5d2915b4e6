/**
 * Blocks of memory on its way down: a restart that is not allowed, and a container that ends repeatedly.
 * Clauses: L6, L7.
 */
import { assertEquals } from "#assert";
import type { Termination } from "../../lib/model/pod.ts";
import { container, MI, MINUTE, pod, policy, resizeEntry, restartsOn, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const SIDES = [side("cpu.requests"), side("memory.requests"), side("memory.limits")];
const RESTARTING = pod({ containers: [container({ restartsOn: restartsOn("memory") })] });
const IDLE = { cpu: 60, memory: 20 * MI };
const ADVICE = "set policy.memory.restartToShrink to allow it, or NotRequired in the pod template";

Deno.test("decideSize() never takes memory from a container that this restarts, and says so once (L6)", () => {
  const story = new Story({
    pod: RESTARTING,
    contenders: [policy({ sides: SIDES, restartToShrink: false })],
    load: IDLE,
  });
  story.poll(6);
  assertEquals([story.requests.length, story.reason()], [0, "RestartRequired"]);
  // In between another change is wanted, and none.
  story.use({ memory: 80 * MI }).poll(6);
  story.use(IDLE).poll(6);
  assertEquals(story.reason(), "RestartRequired");
  assertEquals(story.notices.map(({ name, message }) => [name, message]), [[
    "ResizeMayRestart",
    'scaleDown of container "main" of pod "web-1" is blocked (RestartRequired): less memory would restart container ' +
    `"main" (resizePolicy RestartContainer): ${ADVICE}`,
  ]]);
});

Deno.test("decideSize() takes cpu though memory stays for a restart's sake (L6)", () => {
  const contender = policy({ sides: SIDES, restartToShrink: false });
  const story = new Story({ pod: RESTARTING, contenders: [contender], load: { ...IDLE, cpu: 6 } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
});

const ALLOWED: readonly [string, Story, string][] = [
  [
    "down where policy.memory.restartToShrink is true",
    new Story({ pod: RESTARTING, contenders: [policy({ sides: SIDES, restartToShrink: true })], load: IDLE }),
    "scaleDown",
  ],
  [
    "down where it restarts nothing",
    new Story({ contenders: [policy({ sides: SIDES, restartToShrink: false })], load: IDLE }),
    "scaleDown",
  ],
  [
    "up",
    new Story({
      pod: RESTARTING,
      contenders: [policy({ sides: SIDES, restartToShrink: false })],
      load: { ...IDLE, memory: 250 * MI },
    }),
    "scaleUp",
  ],
];
for (const [sentence, story, action] of ALLOWED) {
  Deno.test(`decideSize() resizes memory ${sentence} (L6, C43)`, () => {
    assertEquals(story.pollToRequest().action, action);
  });
}

const KILLED = { reason: "OOMKilled", exitCode: 137 };
const CRASHED = { reason: "Error", exitCode: 1 };
const ENDED = { reason: "Completed", exitCode: 0 };

/** [sentence, the ends, how far apart, for how long memory stays] */
const ENDS: readonly [string, readonly Partial<Termination>[], number, number][] = [
  ["an OOM kill", [KILLED], 0, 10 * MINUTE],
  ["a crash", [CRASHED], 0, 10 * MINUTE],
  ["one end that is neither", [ENDED], 0, 0],
  ["two such ends within half an hour", [ENDED, ENDED], 5 * MINUTE, 25 * MINUTE],
  ["two such ends further apart", [ENDED, ENDED], 30 * MINUTE, 0],
];
for (const [sentence, ends, apartMs, forMs] of ENDS) {
  Deno.test(`decideSize() holds memory's way down after ${sentence} for ${forMs / MINUTE} minutes (L7)`, () => {
    const story = new Story({ contenders: [policy({ sides: [side("memory.limits")] })], load: { memory: 70 * MI } });
    story.poll();
    for (const [index, end] of ends.entries()) {
      story.wait(index === 0 ? SECOND : apartMs).endContainer(end);
      story.restartContainer();
    }
    const endedAt = story.now;
    story.use({ memory: 20 * MI });
    // A kill leaves a floor too, which lets this much go: none.
    const reasons = new Set<string>();
    while (story.now < endedAt + forMs + 30 * SECOND && story.requests.length === 0) {
      story.poll();
      reasons.add(story.reason());
    }
    assertEquals(reasons.has("CrashLoop"), forMs > 0 && !ends.includes(KILLED));
    const movedAt = story.requests.length === 0 ? Infinity : story.now;
    if (ends.includes(KILLED)) return assertEquals(movedAt, Infinity, "the floor of L12");
    assertEquals(movedAt >= endedAt + forMs && movedAt < Infinity, true, `moved after ${movedAt - endedAt} ms`);
  });
}

Deno.test("decideSize() says of a kill that memory stays, and for how long (L7)", () => {
  const story = new Story({ contenders: [policy({ sides: [side("memory.requests")] })], load: { memory: 70 * MI } });
  story.poll();
  story.wait(SECOND).endContainer();
  const killedAt = story.now;
  story.restartContainer();
  story.use({ memory: 20 * MI });
  story.poll(6);
  assertEquals(story.reason(), "CrashLoop");
  const decision = story.decision();
  assertEquals(decision?.kind === "blocked" ? decision.until : null, killedAt + 10 * MINUTE);
  assertEquals(
    decision?.kind === "blocked" ? decision.message : "",
    'container "main" was OOM-killed a short while ago: its memory stays for 9m30s',
  );
  assertEquals(story.notified().includes("ScaleFailed"), false);
  assertEquals(story.pollToRequest(200).changes, ["memory.requests"], "and then it goes");
  assertEquals(story.now >= killedAt + 10 * MINUTE, true);
});

Deno.test("decideSize() does not take the restart that a resize of podfit's asked for, for a crash (L7)", () => {
  for (const [sinceMs, kind] of [[30 * SECOND, "exit"], [90 * SECOND, "crash"]] as const) {
    const resized = new Story({ pod: RESTARTING, contenders: [policy({ sides: SIDES })], load: { memory: 250 * MI } });
    resized.pollToRequest();
    resized.wait(sinceMs).endContainer(CRASHED);
    assertEquals(resized.state.containers["main"]?.endings.map((one) => one.kind), [kind]);
  }
  const cpuOnly = new Story({ pod: RESTARTING, contenders: [policy()], load: { cpu: 90 } });
  cpuOnly.pollToRequest();
  cpuOnly.wait(30 * SECOND).endContainer(CRASHED);
  assertEquals(cpuOnly.state.containers["main"]?.endings.map((one) => one.kind), ["crash"], "cpu restarts nothing");
});

Deno.test("decideSize() takes at its start the entry of its own resize for the time of it (L7)", () => {
  const terminations = [{ id: "containerd://0", ...CRASHED, finishedAt: Date.UTC(2026, 10, 20, 10, 55) }];
  const kindAfter = (agoSeconds: number, wallAheadMs = 0) => {
    const at = Date.UTC(2026, 10, 20, 10, 55) - agoSeconds * SECOND;
    const resizes = [resizeEntry("podfit.main", at, { main: ["cpu.requests", "memory.limits"] })];
    const containers = [container({ restartsOn: restartsOn("memory"), terminations })];
    const story = new Story({ pod: pod({ containers, resizes }), contenders: [policy({ sides: SIDES })] });
    story.setWall(wallAheadMs).change();
    return story.state.containers["main"]?.endings[0]?.kind;
  };
  assertEquals({ soon: kindAfter(20), late: kindAfter(120) }, { soon: "exit", late: "crash" });
  const [soon, late] = [kindAfter(20, 2 * MINUTE), kindAfter(120, 2 * MINUTE)];
  assertEquals({ soon, late }, { soon: "exit", late: "crash" }, "both times are wall times");
});
