/**
 * When a cooldown starts, also over a restart of podfit, where managedFields shows it.
 * Clauses: C42.
 */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../lib/model/pod.ts";
import { container, MINUTE, pod, policy, resizeEntry, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const STEPPING = [policy({ sides: [side("cpu.requests", { bounds: { step: 10 } })] })];

/** How long after START a freshly started podfit first resizes; cooldown 2m. */
function firstOrderMs(resizes: PodFacts["resizes"]): number {
  const story = new Story({ pod: pod({ resizes }), contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  return story.now - START;
}

const AT_ONCE = 15 * SECOND;
const own = (at: number) => resizeEntry("podfit.main", at, { main: ["cpu.requests"] });
const kubectl = (at: number) => resizeEntry("kubectl", at, { main: ["cpu.requests"] });
const sibling = (at: number) => resizeEntry("podfit.proxy", at, { proxy: ["cpu.requests"] });
const ago = (ms: number) => START - ms;

const ROWS: readonly [string, PodFacts["resizes"], number][] = [
  ["goes at once where nobody ever resized", [], AT_ONCE],
  ["waits out the cooldown of its own entry", [own(ago(60 * SECOND))], 65 * SECOND],
  ["goes at once when its own entry is old", [own(ago(10 * MINUTE))], AT_ONCE],
  ["goes by another's entry where that is newer", [own(ago(10 * MINUTE)), kubectl(ago(60 * SECOND))], 65 * SECOND],
  ["goes by its own entry where another's is older", [own(ago(60 * SECOND)), kubectl(ago(10 * MINUTE))], 65 * SECOND],
  ["takes another's newer entry about a sibling for none", [
    own(ago(10 * MINUTE)),
    resizeEntry("kubectl", ago(SECOND), { proxy: ["cpu.requests"] }),
  ], AT_ONCE],
  ["goes by the newest of several own entries", [own(ago(10 * MINUTE)), own(ago(60 * SECOND))], 65 * SECOND],
  ["goes by the newest foreign entry where its own is gone", [
    kubectl(ago(60 * SECOND)),
    resizeEntry("vpa", ago(10 * MINUTE)),
  ], 65 * SECOND],
  ["goes by an entry without its fields where there is no other", [resizeEntry("vpa", ago(60 * SECOND))], 65 * SECOND],
  ["takes podfit's entry of another container for none", [sibling(ago(SECOND))], AT_ONCE],
  ["waits one cooldown and no more by an entry of the future", [own(START + 60 * MINUTE)], 125 * SECOND],
];
for (const [sentence, resizes, ms] of ROWS) {
  Deno.test(`decideSize() just started ${sentence} (C42)`, () => assertEquals(firstOrderMs(resizes), ms));
}

Deno.test("decideSize() never ends a cooldown early by the cut-off second of an entry (C42)", () => {
  // The entry says :00, the resize may have been at :00.999; 2m later is not before :00.999.
  const story = new Story({
    pod: pod({ resizes: [own(START - 60 * SECOND)] }),
    contenders: STEPPING,
    load: { cpu: 150 },
  });
  story.poll(12);
  assertEquals([story.now - START, story.reason()], [60 * SECOND, "Cooldown"]);
});

Deno.test("decideSize() runs the cooldown from the accepted PATCH over a restart of podfit (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.restartPodfit();
  story.pollToRequest();
  const waitedMs = story.now - scaledAt;
  assertEquals(waitedMs >= 2 * MINUTE && waitedMs <= 2 * MINUTE + 5 * SECOND, true, `${waitedMs}ms`);
});

Deno.test("decideSize() keeps to its own clock where the API server's is behind (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.change({ resizes: [own(scaledAt - 60 * MINUTE)] });
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

Deno.test("decideSize() does not stretch the cooldown where the API server's clock is ahead (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.change({ resizes: [own(scaledAt + 60 * MINUTE)] });
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

Deno.test("decideSize() runs the cooldown from the accepted PATCH though managedFields never show it (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 }, answer: { kind: "accepted", generation: 2 } });
  const { to } = story.pollToRequest();
  const scaledAt = story.now;
  story.change({ generation: 2, containers: story.pod.containers.map((one) => ({ ...one, spec: to })) });
  story.enact();
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

Deno.test("decideSize() begins the cooldown with a resize that another podfit made (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.poll(2);
  story.change({ resizes: [own(story.now)] });
  story.poll(4);
  assertEquals(story.reason(), "Cooldown");
});

Deno.test("decideSize() does not stretch a cooldown when the wall clock steps back (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  const steppedAt = story.now;
  story.setWall(-60 * MINUTE).pollToRequest();
  const waitedMs = story.now - steppedAt;
  assertEquals(waitedMs >= 2 * MINUTE && waitedMs <= 2 * MINUTE + 15 * SECOND, true, `${waitedMs}ms`);
});

Deno.test("decideSize() starts no cooldown with an answer that left the generation as it was (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 }, answer: { kind: "accepted", generation: 1 } });
  story.pollToRequest();
  assertEquals([story.scaled, story.notified(), story.state.containers["main"]?.resizedAt], [
    [],
    ["ScaleFailed"],
    null,
  ]);
});

Deno.test("decideSize() does not repeat at each poll what the server accepts and undoes (C42, C44)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 }, answer: { kind: "accepted", generation: 1 } });
  story.pollToRequest();
  story.poll(5);
  assertEquals([story.requests.length, story.reason()], [1, "Invalid"]);
});

Deno.test("decideSize() takes an answer without generation for an action: an old server has none (C42)", () => {
  const story = new Story({
    pod: pod({ generation: null, observedGeneration: null }),
    contenders: STEPPING,
    load: { cpu: 150 },
    answer: { kind: "accepted", generation: null },
  });
  story.pollToRequest();
  assertEquals([story.scaled.length, story.state.containers["main"]?.resizedAt], [1, story.now]);
});

Deno.test("decideSize() resizes as often as it wants with a cooldown of 0s", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0, bounds: { step: 10 } })];
  const story = new Story({ contenders: [policy({ sides, cooldownMs: 0 })], load: { cpu: 150 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 10 * SECOND);
});

Deno.test("decideSize() begins the cooldown with another podfit's resize though the API server's clock is far behind (C40, C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.poll(2);
  const spec = { ...SIZE, "cpu.requests": 110 };
  story.change({ generation: 2, containers: [container({ spec })], resizes: [own(ago(60 * MINUTE))] });
  story.enact();
  const seenAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - seenAt, 2 * MINUTE);
});

Deno.test("decideSize() begins a new cooldown with another podfit's resize after its own, by a clock that is behind (C42)", () => {
  const story = new Story({ contenders: STEPPING, load: { cpu: 150 } });
  story.pollToRequest();
  story.poll(12);
  const spec = { ...SIZE, "cpu.requests": 120 };
  story.change({ generation: 3, containers: [container({ spec })], resizes: [own(ago(30 * MINUTE))] });
  story.enact();
  const seenAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - seenAt, 2 * MINUTE);
});

Deno.test("decideSize() goes by the entry's own time where the server counts no generations (C42)", () => {
  const old = pod({ generation: null, observedGeneration: null });
  const story = new Story({ pod: old, contenders: STEPPING, load: { cpu: 150 } });
  story.poll(2);
  story.change({ resizes: [own(ago(60 * SECOND))] });
  story.pollToRequest();
  assertEquals(story.now - START, 65 * SECOND);
});
