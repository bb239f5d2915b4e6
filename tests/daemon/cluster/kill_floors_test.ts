/** Two pods of one revision killed within ten minutes raise the floor of all (L14). */
import { assertEquals } from "#assert";
import { createOomFloorSink, OomFloors } from "../../../lib/daemon/pods/siblings.ts";
import { Story } from "../../support/story.ts";
import { MI, MINUTE, pod, policy, side, START } from "../../support/builders.ts";

const A = { namespace: "shop", revision: "rs/1", uid: "a" };
const B = { ...A, uid: "b" };
const DAY = 24 * 60 * MINUTE;

function kill(minute: number, limitMi = 100, container = "main") {
  return { container, at: START + minute * MINUTE, limitBytes: limitMi * MI };
}

function noted(...kills: readonly (readonly [typeof A, ReturnType<typeof kill>])[]): OomFloors {
  const floors = new OomFloors();
  for (const [pod, one] of kills) floors.record(pod, one, one.at);
  return floors;
}

Deno.test("two pods killed within ten minutes raise the floor of all pods of their revision (L14)", () => {
  const floors = noted([A, kill(0)], [B, kill(10)]);
  const now = START + 10 * MINUTE;
  assertEquals(floors.find(A, now), { main: 120 * MI });
  assertEquals([floors.find({ ...A, revision: "rs/2" }, now), floors.find({ ...A, revision: null }, now)], [
    undefined,
    undefined,
  ]);
});

Deno.test("one pod killed twice, or two with longer in between, raise no floor of others (L14)", () => {
  const now = START + 12 * MINUTE;
  assertEquals(noted([A, kill(0)], [A, kill(5)]).find(A, now), undefined);
  assertEquals(noted([A, kill(0)], [B, kill(10.1)]).find(A, now), undefined);
  assertEquals(noted([A, kill(0)], [B, kill(1, 100, "side")]).find(A, now), undefined);
  assertEquals(noted([A, kill(0)], [{ ...B, revision: "rs/2" }, kill(1)]).find(A, now), undefined);
});

Deno.test("the floor follows the larger limit that has killed, and lasts a day (L14)", () => {
  const floors = noted([A, kill(0, 200)], [B, kill(5, 100)]);
  assertEquals(floors.find(A, START + DAY), { main: 240 * MI });
  assertEquals(floors.find(A, START + 5 * MINUTE + DAY), undefined);
  // A day later it counts anew.
  floors.record(A, { ...kill(0, 50), at: START + 2 * DAY }, START + 2 * DAY);
  floors.record(B, { ...kill(0, 50), at: START + 2 * DAY }, START + 2 * DAY);
  assertEquals(floors.find(A, START + 2 * DAY), { main: 60 * MI });
});

Deno.test("kills that podfit finds at its start raise the floor as those that it sees (L14)", () => {
  const floors = new OomFloors();
  const now = START + 60 * MINUTE;
  floors.record(A, kill(0), now);
  floors.record(B, kill(2), now);
  assertEquals(floors.find(A, now), { main: 120 * MI });
});

Deno.test("pods without a controller, and kills of the day before, raise nothing (L14)", () => {
  const bare = new OomFloors();
  for (const uid of ["a", "b"]) bare.record({ ...A, revision: null, uid }, kill(0), START);
  assertEquals(bare.find({ ...A, revision: null }, START), undefined);
  const old = new OomFloors();
  for (const uid of ["a", "b"]) old.record({ ...A, uid }, kill(0), START + DAY + MINUTE);
  assertEquals(old.find(A, START + DAY + MINUTE), undefined);
});

Deno.test("kills of one namespace raise no floor in another, whatever revision its pods name (L14)", () => {
  const forged = { ...A, namespace: "other" };
  const floors = noted([forged, kill(0)], [{ ...forged, uid: "b" }, kill(1)], [B, kill(2)]);
  const now = START + 3 * MINUTE;
  assertEquals([floors.find(A, now), floors.find(forged, now)], [undefined, { main: 120 * MI }]);
});

for (const byMs of [25 * 60 * MINUTE, -25 * 60 * MINUTE]) {
  Deno.test(`a wall clock set by ${byMs / MINUTE} minutes moves no kill and no floor (L14)`, () => {
    const floors = new OomFloors();
    const sink = createOomFloorSink(floors);
    const [first, second] = ["a", "b"].map((uid) => {
      const facts = pod({ namespace: "shop", revision: "rs/1", uid });
      const story = new Story({ pod: facts, contenders: [policy({ sides: [side("memory.limits")] })] });
      const decideAs = story.decide.bind(story);
      story.decide = (before, input) => {
        const outcome = decideAs(before, input);
        sink({ before, input, outcome, tookMs: 0 });
        return outcome;
      };
      story.use({ cpu: 60 }).poll();
      return story;
    });
    const die = (story: Story | undefined) =>
      story?.changeContainer({
        instance: "next",
        terminations: [{
          id: "one",
          reason: "OOMKilled",
          exitCode: 137,
          finishedAt: story.now + story.wallAheadMs,
        }],
      });
    die(first);
    // podfit shares the node's clock here, so the next kill has a time by the clock that was set.
    second?.setWall(byMs).wait(MINUTE);
    die(second);
    const now = second?.now ?? 0;
    const floor = { main: 256 * MI * 1.2 };
    assertEquals(floors.find(A, now), floor);
    assertEquals(floors.find(A, now + DAY - 1), floor);
    assertEquals(floors.find(A, now + DAY), undefined);
  });
}

Deno.test("createOomFloorSink() notes each kill at a limit once, and no other end (L14)", () => {
  const seen: [string, number][] = [];
  const floors = new OomFloors();
  floors.record = ({ uid }, { limitBytes }) => void seen.push([uid, limitBytes]);
  const sink = createOomFloorSink(floors);
  const story = new Story({ contenders: [policy({ sides: [side("memory.limits")] })], load: { cpu: 60 } });
  const decideAs = story.decide.bind(story);
  story.decide = (before, input) => {
    const outcome = decideAs(before, input);
    sink({ before, input, outcome, tookMs: 0 });
    return outcome;
  };
  story.pod = pod({ revision: "rs/1" });
  story.poll();
  const ends = (id: string, reason: string) =>
    story.changeContainer({
      instance: `${id}-next`,
      terminations: [{ id, reason, exitCode: 137, finishedAt: story.now }],
    });
  ends("one", "Error");
  ends("two", "OOMKilled");
  for (let poll = 0; poll < 3; poll++) story.poll();
  assertEquals(seen, [["pod-1", 256 * MI]]);
  ends("three", "OOMKilled");
  assertEquals(seen.length, 2);
});
