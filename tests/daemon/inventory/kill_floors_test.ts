/** Two pods of one revision killed within ten minutes raise the floor of all (L14). */
import { assertEquals } from "@std/assert";
import { createKillSink, KillFloors } from "../../../lib/daemon/inventory/kill_floors.ts";
import { Story } from "../../support/story.ts";
import { MI, MINUTE, pod, policy, side, START } from "../../support/builders.ts";

const A = { revision: "rs/1", uid: "a" };
const B = { revision: "rs/1", uid: "b" };
const DAY = 24 * 60 * MINUTE;

function kill(minute: number, limitMi = 100, container = "main") {
  return { container, at: START + minute * MINUTE, limitBytes: limitMi * MI };
}

function noted(...kills: readonly (readonly [typeof A, ReturnType<typeof kill>])[]): KillFloors {
  const floors = new KillFloors();
  for (const [pod, one] of kills) floors.note(pod, one, one.at);
  return floors;
}

Deno.test("two pods killed within ten minutes raise the floor of all pods of their revision (L14)", () => {
  const floors = noted([A, kill(0)], [B, kill(10)]);
  const now = START + 10 * MINUTE;
  assertEquals(floors.read("rs/1", now), { main: 120 * MI });
  assertEquals([floors.read("rs/2", now), floors.read(null, now)], [undefined, undefined]);
});

Deno.test("one pod killed twice, or two with longer in between, raise no floor of others (L14)", () => {
  const now = START + 12 * MINUTE;
  assertEquals(noted([A, kill(0)], [A, kill(5)]).read("rs/1", now), undefined);
  assertEquals(noted([A, kill(0)], [B, kill(10.1)]).read("rs/1", now), undefined);
  assertEquals(noted([A, kill(0)], [B, kill(1, 100, "side")]).read("rs/1", now), undefined);
  assertEquals(noted([A, kill(0)], [{ ...B, revision: "rs/2" }, kill(1)]).read("rs/1", now), undefined);
});

Deno.test("the floor follows the larger limit that has killed, and lasts a day (L14)", () => {
  const floors = noted([A, kill(0, 200)], [B, kill(5, 100)]);
  assertEquals(floors.read("rs/1", START + DAY), { main: 240 * MI });
  assertEquals(floors.read("rs/1", START + 5 * MINUTE + DAY), undefined);
  // A day later it counts anew.
  floors.note(A, { ...kill(0, 50), at: START + 2 * DAY }, START + 2 * DAY);
  floors.note(B, { ...kill(0, 50), at: START + 2 * DAY }, START + 2 * DAY);
  assertEquals(floors.read("rs/1", START + 2 * DAY), { main: 60 * MI });
});

Deno.test("kills that podfit finds at its start raise the floor as those that it sees (L14)", () => {
  const floors = new KillFloors();
  const now = START + 60 * MINUTE;
  floors.note(A, kill(0), now);
  floors.note(B, kill(2), now);
  assertEquals(floors.read("rs/1", now), { main: 120 * MI });
});

Deno.test("pods without a controller, and kills of the day before, raise nothing (L14)", () => {
  const bare = new KillFloors();
  for (const uid of ["a", "b"]) bare.note({ revision: null, uid }, kill(0), START);
  assertEquals(bare.read(null, START), undefined);
  const old = new KillFloors();
  for (const uid of ["a", "b"]) old.note({ ...A, uid }, kill(0), START + DAY + MINUTE);
  assertEquals(old.read("rs/1", START + DAY + MINUTE), undefined);
});

Deno.test("createKillSink() notes each kill at a limit once, and no other end (L14)", () => {
  const seen: [string, number][] = [];
  const floors = new KillFloors();
  floors.note = ({ uid }, { limitBytes }) => void seen.push([uid, limitBytes]);
  const sink = createKillSink(floors);
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
