/**
 * A PATCH whose answer was lost: reported when the pod shows that it arrived, sent again if it did not.
 * Clauses: C40, C45.
 */
import { assertEquals } from "#assert";
import type { PodFacts } from "../../lib/model/pod.ts";
import { MINUTE, pod, policy, resizeEntry, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

function losing(facts: Partial<PodFacts> = {}): Story {
  const contender = policy({ sides: [side("cpu.requests")] });
  const story = new Story({
    pod: { ...pod(), ...facts },
    contenders: [contender],
    load: { cpu: 90 },
    answer: { kind: "unconfirmed", message: "no answer" },
  });
  story.pollToRequest();
  return story;
}

function arrive(story: Story, which = 0, generation: number | null = 2): void {
  const { to, changes } = story.requests[which] ?? { to: null, changes: [] };
  if (to === null) throw new Error("Nothing was ordered");
  const containers = story.pod.containers.map((one) => ({ ...one, spec: to, reported: to }));
  const resizes = [resizeEntry("podfit.main", story.now, { main: changes })];
  story.change({ containers, resizes, generation, observedGeneration: generation });
}

/** The millicores that each action ended at. */
function sizesOf(story: Story): readonly (number | undefined)[] {
  return story.scaled.map(({ deltas }) => deltas[0]?.to);
}

Deno.test("decideSize() says nothing of a PATCH without an answer until the pod does (C45)", () => {
  const story = losing();
  assertEquals([story.scaled, story.notified(), story.state.unconfirmed.map(({ container }) => container)], [[], [], [
    "main",
  ]]);
  story.wait(2 * SECOND).change();
  assertEquals([story.reason(), story.requests.length], ["RetryLater", 1]);
});

Deno.test("decideSize() notifies of a PATCH whose answer was lost once the pod shows that it arrived (C45)", () => {
  const story = losing();
  const sentAt = story.now;
  story.wait(2 * SECOND);
  arrive(story);
  assertEquals(story.notified(), ["ScaleUp"]);
  assertEquals(story.scaled.map(({ action, at }) => [action, at]), [["scaleUp", sentAt]]);
  assertEquals(sizesOf(story), [150]);
  assertEquals([story.state.unconfirmed, story.state.containers["main"]?.resizedAt], [[], sentAt + 2 * SECOND]);
  story.poll(8);
  assertEquals([story.notified(), story.requests.length], [["ScaleUp"], 1]);
});

Deno.test("decideSize() takes a pod of another size for none that shows it (C45)", () => {
  const story = losing();
  const containers = story.pod.containers.map((one) => {
    const size = { ...one.spec, "cpu.requests": 110 };
    return { ...one, spec: size, reported: size };
  });
  const resizes = [resizeEntry("podfit.main", story.now, { main: ["cpu.requests"] })];
  story.change({ containers, resizes, generation: 2, observedGeneration: 2 });
  assertEquals([story.notified(), story.scaled], [[], []]);
});

Deno.test("decideSize() sends again what never arrived (C45)", () => {
  const story = losing();
  story.answer = "enact";
  story.pollToRequest();
  assertEquals([story.requests.length, story.notified(), story.state.unconfirmed], [2, ["ScaleUp"], []]);
});

Deno.test("decideSize() takes somebody else's resize to the same size for somebody else's (C45)", () => {
  const story = losing();
  const to = story.requests[0]?.to;
  if (to === undefined) throw new Error("Nothing was ordered");
  const containers = story.pod.containers.map((one) => ({ ...one, spec: to, reported: to }));
  const resizes = [resizeEntry("kubectl", story.now, { main: ["cpu.requests"] })];
  story.change({ containers, resizes, generation: 2, observedGeneration: 2 });
  assertEquals(story.notified(), []);
  story.poll(13);
  assertEquals([story.notified(), story.state.unconfirmed], [[], []]);
});

/** Two answers lost on one resourceVersion, the second for a larger size. */
function losingTwo(): Story {
  const story = losing();
  story.use({ cpu: 110 }).pollToRequest();
  assertEquals(story.requests.map(({ resourceVersion, to }) => [resourceVersion, to["cpu.requests"]]), [["100", 150], [
    "100",
    184,
  ]]);
  return story;
}

for (const [which, millicores] of [150, 184].entries()) {
  Deno.test(`decideSize() notifies of the one of two unconfirmed PATCHes that arrived: to ${millicores}m (C40, C45)`, () => {
    const story = losingTwo();
    arrive(story, which);
    assertEquals(sizesOf(story), [millicores]);
    assertEquals([story.notified(), story.state.unconfirmed], [["ScaleUp"], []]);
    story.poll(8);
    assertEquals([story.notified(), story.requests.length], [["ScaleUp"], 2]);
  });
}

Deno.test("decideSize() remembers no unconfirmed PATCH that a newer pod proves never to have arrived (C45)", () => {
  const story = losingTwo();
  story.change();
  story.pollToRequest();
  assertEquals(story.state.unconfirmed.map(({ resourceVersion }) => resourceVersion), ["101"]);
});

Deno.test("decideSize() keeps to the later of when an answer was lost and when the server took it (C42, C45)", () => {
  const story = losing();
  story.answer = "enact";
  story.wait(14 * SECOND);
  const arrivedAt = story.now;
  arrive(story);
  story.use({ cpu: 190 }).pollToRequest();
  assertEquals(story.now - arrivedAt >= 2 * MINUTE, true, `${story.now - arrivedAt}ms`);
});

Deno.test("decideSize() notifies of what arrived after the wall clock stepped back, and dates nothing ahead (C45)", () => {
  const story = losing();
  story.setWall(-10 * SECOND);
  const now = story.now;
  arrive(story);
  assertEquals([story.notified(), story.scaled.map(({ at }) => at)], [["ScaleUp"], [now]]);
  assertEquals([story.state.unconfirmed, story.state.containers["main"]?.resizedAt], [[], now]);
});

Deno.test("decideSize() waits no longer for an unconfirmed PATCH because the wall clock stepped back an hour (C45)", () => {
  const story = losing();
  story.answer = "hold";
  story.setWall(-60 * MINUTE).change();
  assertEquals(story.state.unconfirmed.length, 1);
  story.wait(MINUTE).change();
  assertEquals(story.state.unconfirmed, []);
});

Deno.test("decideSize() notifies of what arrived from a server that counts no generations (C45)", () => {
  const story = losing({ generation: null, observedGeneration: null });
  arrive(story, 0, null);
  assertEquals([story.notified(), sizesOf(story)], [["ScaleUp"], [150]]);
});
