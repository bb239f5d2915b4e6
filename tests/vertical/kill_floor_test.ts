/**
 * How an OOM kill limits scale-downs of a memory limit: for a day, for siblings too, and over a restart of podfit.
 * Clauses: L12, L14.
 */
import { assertEquals } from "#assert";
import type { ContainerCase } from "../../lib/model/decision.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import { computeKillFloor } from "../../lib/vertical/oom.ts";
import {
  container,
  input,
  MI,
  MINUTE,
  pod,
  policy,
  resizeEntry,
  SECOND,
  side,
  SIZE,
  START,
} from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

const HOUR = 60 * MINUTE;
const LIMITS = policy({ oom: "raise", sides: [side("memory.limits")] });
const IDLE = { memory: 20 * MI };

/** The limit in Mi, after so long with next to no usage. */
function settleIdle(story: Story, ms: number): number {
  story.use(IDLE).wait(ms);
  for (let i = 0; i < 4; i++) story.poll(12);
  return (story.pod.containers[0]?.spec["memory.limits"] ?? 0) / MI;
}

Deno.test("decideSize() keeps a fifth more than the limit that killed for 24 hours, and then no more (L12)", () => {
  const story = new Story({ contenders: [LIMITS], load: { memory: 150 * MI } });
  story.poll();
  story.wait(SECOND).endContainer();
  story.restartContainer();
  assertEquals(settleIdle(story, 31 * MINUTE), Math.ceil(256 * 1.2));
  assertEquals(story.reason(), "AtBound");
  const decision = story.decision();
  const message = "memory.limits stays at 308Mi: it was OOM-killed, or next to it, less than 24h ago";
  assertEquals(decision?.kind === "hold" ? decision.message : "", message);
  assertEquals(settleIdle(story, 23 * HOUR), 308);
  assertEquals(settleIdle(story, HOUR), 128, "as the request lets it");
});

Deno.test("decideSize() keeps the floor for a day from the last usage that reached the limit which killed (L12)", () => {
  for (const [mebibytes, expected] of [[256, 308], [255, 128]] as const) {
    const story = new Story({ contenders: [LIMITS], load: { memory: 150 * MI } });
    story.poll();
    story.wait(SECOND).endContainer();
    story.restartContainer();
    settleIdle(story, 31 * MINUTE);
    story.use({ memory: mebibytes * MI }).wait(20 * HOUR).poll(3);
    story.poll(3);
    assertEquals(settleIdle(story, 20 * HOUR), expected, `${mebibytes}Mi were used`);
  }
});

Deno.test("decideSize() keeps a floor of memory that was next to its limit, as a kill leaves one (L12)", () => {
  for (const [oom, mebibytes, expected] of [["raise", 244, 256], ["raise", 243, 128], ["ignore", 244, 128]] as const) {
    const rule = side("memory.limits", { scaleUpThresholdPercent: 99 });
    const story = new Story({ contenders: [{ ...LIMITS, oom, sides: [rule] }], load: { memory: mebibytes * MI } });
    story.poll(3);
    story.poll(3);
    assertEquals(settleIdle(story, 31 * MINUTE), expected, `${mebibytes}Mi of 256Mi were used, oom: ${oom}`);
  }
});

Deno.test("decideSize() keeps the higher of two floors (L12)", () => {
  const story = new Story({ contenders: [LIMITS], load: { memory: 150 * MI } });
  story.poll();
  for (let kill = 0; kill < 2; kill++) {
    story.wait(SECOND).endContainer();
    story.restartContainer();
  }
  assertEquals(settleIdle(story, 31 * MINUTE), Math.ceil(356 * 1.2));
});

Deno.test("decideSize() names the kill in the event of a scale-down that it stops (L12)", () => {
  const story = new Story({ contenders: [LIMITS], load: { memory: 150 * MI } });
  story.poll();
  story.wait(SECOND).endContainer();
  story.restartContainer();
  settleIdle(story, 31 * MINUTE);
  assertEquals(story.requests.at(-1)?.why, "memory.limits at 6 %, capped by OOM kill");
});

/** [sentence, hours since the kill, a resize of podfit's after it, Mi that stay] */
const FOUND: readonly [string, number, boolean, number][] = [
  ["the limit in force, which answered a kill of an hour ago", 1, true, 256],
  ["a fifth more than it where nothing answered the kill", 1, false, 256],
  ["nothing of a kill of over a day ago", 25, true, 128],
];
for (const [sentence, hours, isAnswered, expected] of FOUND) {
  Deno.test(`decideSize() keeps at podfit's start ${sentence} (L12)`, () => {
    const finishedAt = START - hours * HOUR;
    const terminations = [{ id: "containerd://0", reason: "OOMKilled", exitCode: 137, finishedAt }];
    const resizes = isAnswered ? [resizeEntry("podfit.main", finishedAt + 2 * SECOND)] : [];
    const options: StoryOptions = {
      pod: pod({ resizes, containers: [container({ terminations })] }),
      contenders: [LIMITS],
    };
    const story = new Story({ ...options, load: IDLE });
    assertEquals(settleIdle(story, 0), expected);
    const bytes = story.state.containers["main"]?.killFloor?.bytes ?? 0;
    assertEquals(bytes, hours > 24 ? 0 : 256 * MI * (isAnswered ? 1 : 1.2));
  });
}

/** [sentence, hours since the kill, a resize after it, minutes until memory shrinks] */
const SAMPLED: readonly [string, number, boolean, number][] = [
  ["at the time of the kill", 1, false, 64],
  ["which the window has left behind", 72, false, 17],
  ["unless a resize followed, which may have changed the limit", 1, true, 17],
];
for (const [sentence, hours, isFollowed, expected] of SAMPLED) {
  Deno.test(`decideSize() at podfit's start takes a kill for a sample ${sentence} (L2, L10)`, () => {
    const finishedAt = START - hours * HOUR;
    const terminations = [{ id: "containerd://0", reason: "OOMKilled", exitCode: 137, finishedAt }];
    const resizes = isFollowed ? [resizeEntry("podfit.main", finishedAt + 2 * SECOND)] : [];
    // A peak counts for up to a thirtieth longer than the window.
    const requests = side("memory.requests", { down: { windowMs: 2 * HOUR } });
    const story = new Story({
      pod: pod({ resizes, containers: [container({ terminations })] }),
      contenders: [policy({ oom: "raise", sides: [requests], pollIntervalMs: MINUTE })],
      everyMs: MINUTE,
      load: IDLE,
    });
    story.pollToRequest(200);
    assertEquals((story.now - START) / MINUTE, expected);
  });
}

Deno.test("computeKillFloor() ends a floor at its time, and not after it (L12)", () => {
  const found = [-1, 0, 1].map((afterMs) => {
    const containerState = { killFloor: { bytes: 200 * MI, until: START } };
    const given = { containerState, container: { name: "main" }, input: { now: START + afterMs } };
    return computeKillFloor(given as unknown as ContainerCase);
  });
  assertEquals(found, [200 * MI, 0, 0]);
});

Deno.test("computeKillFloor() takes a container by its name alone, whatever else an object has by it (L12, L14)", () => {
  const floorOf = (name: string) => {
    const input = { now: START, killFloors: { main: 200 * MI } };
    return computeKillFloor(
      { containerState: { killFloor: null }, container: { name }, input } as unknown as ContainerCase,
    );
  };
  assertEquals([floorOf("main"), floorOf("constructor"), floorOf("valueOf")], [200 * MI, 0, 0]);
});

Deno.test("decideSize() keeps of a limit what siblings that were killed need (L14)", () => {
  const story = new Story({ contenders: [LIMITS], load: IDLE });
  story.decide = (before, given) => decideSize(before, { ...given, killFloors: { main: 200.5 * MI } });
  assertEquals(settleIdle(story, 0), 201);
  const other = new Story({ contenders: [LIMITS], load: IDLE });
  other.decide = (before, given) => decideSize(before, { ...given, killFloors: { proxy: 200 * MI } });
  assertEquals(settleIdle(other, 0), 128);
});

Deno.test("decideSize() lets a request go below the floor of its limit (L12)", () => {
  const requests = policy({ oom: "raise", sides: [side("memory.requests")] });
  const story = new Story({ contenders: [requests], load: { memory: 70 * MI } });
  story.poll();
  story.wait(SECOND).endContainer();
  story.restartContainer();
  story.use(IDLE).wait(31 * MINUTE);
  for (let i = 0; i < 3; i++) story.poll(6);
  assertEquals((story.pod.containers[0]?.spec["memory.requests"] ?? 0) < 128 * MI, true);
});

Deno.test("decideSize() takes in a state without kills as it is, at no cost (L10)", () => {
  const outcome = decideSize(decideSize(new Story().state, input()).state, input({ now: START + SECOND }));
  const [main] = Object.values(outcome.state.containers);
  assertEquals([main?.endings, main?.reflex, main?.killFloor], [[], null, null]);
  assertEquals(main?.actual, SIZE);
});
