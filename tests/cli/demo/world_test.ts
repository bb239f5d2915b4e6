/** Twenty minutes of the demo under virtual time: the story that it is to tell, in numbers. */
import { assert, assertEquals } from "#assert";
import { stringify } from "yaml";
import { getScene } from "../../../lib/cli/demo/scene.ts";
import { withEvaluation, withReplicas, withTrouble } from "../../../lib/cli/demo/evaluations.ts";
import { newStory, nextStory } from "../../../lib/cli/demo/story.ts";
import { computeAverage } from "../../../lib/cli/demo/totals.ts";
import { openWorld, replaceTimes } from "../../../lib/cli/demo/world.ts";
import { SCENES } from "../../../lib/cli/demo/options.ts";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import { formatName } from "../../../lib/daemon/cluster/facts.ts";
import { findAutoscaler } from "../../../lib/daemon/pods/controller.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("in the demo podfit resizes all three, gives back, and loses less than its comparison (C30 C31 C41 C45)", async () => {
  const clock = new VirtualClock();
  let story = newStory(clock.now(), 1_200_000);
  const resized = new Map<string, Set<string>>();
  const world = await openWorld({
    scene: getScene("sizes"),
    clock,
    toWallTime: null,
    onEvaluation(evaluation) {
      story = withEvaluation(story, evaluation);
      const { scaled } = evaluation.outcome;
      if (scaled === null) return;
      const owner = findAutoscaler(evaluation, scaled);
      const name = owner === null ? "" : formatName(owner);
      resized.set(name, (resized.get(name) ?? new Set()).add(scaled.action));
    },
    onPass: () => assert(false, "replicas are none of this scene's"),
    onTrouble: (trouble) => story = withTrouble(story, { at: clock.now(), trouble }),
  });
  for (let second = 0; second < 1200; second += 2) {
    await clock.advance(2000);
    story = nextStory(story, { at: clock.now(), ...world.listUses() });
  }
  await close(world, clock);

  const both = new Set(["scaleDown", "scaleUp"]);
  assertEquals(resized, new Map(["web", "worker", "cache"].map((name) => [`default/${name}`, both])));
  const { podfit, comparison } = story;
  assert(podfit.elapsedMs > 1_190_000 && podfit.elapsedMs === comparison.elapsedMs);
  for (const resource of ["cpu", "memory"] as const) {
    assert(computeAverage(podfit, resource) < 0.8 * computeAverage(comparison, resource), resource);
  }
  assert(podfit.throttledNs < 0.3 * comparison.throttledNs, `${podfit.throttledNs} of ${comparison.throttledNs}`);
  assertEquals([podfit.kills, podfit.downMs], [0, 0]);
  assert(comparison.kills >= 2 && comparison.downMs > 0, `${comparison.kills} kills`);
  assert((story.blocked.Cooldown ?? 0) > 0 && (story.blocked.NodeCapacity ?? 0) > 0, JSON.stringify(story.blocked));
  assertEquals(story.events.filter(({ tone }) => tone === "trouble"), []);
});

Deno.test("in the scene with replicas a pod grows before there are more, and both go back (R83, R86)", async () => {
  const clock = new VirtualClock();
  let story = newStory(clock.now(), 1_200_000, "both");
  const world = await openWorld({
    scene: getScene("both"),
    clock,
    toWallTime: null,
    onEvaluation: (evaluation) => story = withEvaluation(story, evaluation),
    onPass: (pass) => story = withReplicas(story, pass),
    onTrouble: (trouble) => story = withTrouble(story, { at: clock.now(), trouble }),
  });
  const sizes = { firstOut: 0, end: 0 };
  for (let second = 0; second < 1200; second += 2) {
    await clock.advance(2000);
    const look = world.listUses();
    if (story.replicas.changes.out === 0) sizes.firstOut = look.podfit[0]?.size["cpu.requests"] ?? 0;
    sizes.end = look.podfit[0]?.size["cpu.requests"] ?? 0;
    story = nextStory(story, { at: clock.now(), ...look });
  }
  await close(world, clock);

  const { podfit, comparison, replicas } = story;
  const isTold = (reason: string) => story.events.find(({ text }) => text === reason)?.at ?? Infinity;
  const isFirst = (tone: string) => story.events.find((one) => one.tone === tone && /pods?$/.test(one.text))?.at ?? 0;
  assert(isTold("VerticalFirst") < isFirst("up"), "replicas rose first");
  assert(isTold("ScaleInPending") < isFirst("down"), "sizes waited for nothing");
  assert(sizes.firstOut > 1200 && sizes.end < 300, JSON.stringify(sizes));
  assert(replicas.changes.out >= 1 && replicas.changes.in >= 1);
  assertEquals([podfit.mostPods, comparison.mostPods, story.traces["shop.pods"]?.at(-1)?.used], [3, 10, 1]);
  assert(computeAverage(podfit, "cpu") < computeAverage(comparison, "cpu"));
  assert(computeAverage(podfit, "memory") < 0.5 * computeAverage(comparison, "memory"));
  assert(podfit.throttledNs < 1e9, "fewer pods, and core-seconds unserved");
  assertEquals(story.events.filter(({ tone }) => tone === "trouble"), []);
  assertEquals([podfit.kills, comparison.kills], [0, 0]);
});

Deno.test("podfit finds nothing wrong in what the demo applies (C8, R96)", () => {
  const text = SCENES.flatMap((name) => getScene(name).manifests).map((manifest) => stringify(manifest)).join("---\n");
  const { findings, checked } = lintManifests([{ name: "demo", text }]);
  // A day takes minutes there.
  assertEquals(findings.filter(({ rule }) => rule !== "short-memory"), []);
  assertEquals([...checked], [["autoscaler", 4], ["scaled object", 1]]);
});

/** What ends it waits for time to pass. */
async function close(world: AsyncDisposable, clock: VirtualClock): Promise<void> {
  let isOver = false;
  const closing = Promise.resolve(world[Symbol.asyncDispose]()).finally(() => isOver = true);
  for (let second = 0; second < 60 && !isOver; second++) await clock.advance(1000);
  await closing;
}

Deno.test("times of the demo are served as wall times of the same age, in lists, watches and cells, and nothing else changes", async () => {
  const times = ["2030-01-01T00:10:00Z", "2030-01-01T00:10:00.123456Z", "2030-01-01T00:09:59.9Z"];
  const served = times.map((time) => `{"at":"${time}","text":"since ${time}","date":"2030-01-01"}`);
  // A chunk may end within a time.
  const chunks = [`${served[0]}\n${served[1]?.slice(0, 20)}`, `${served[1]?.slice(20)}\n`, served[2] ?? ""];
  const body = ReadableStream.from(chunks).pipeThrough(new TextEncoderStream());
  const headers = { "content-type": "application/json", "content-length": "5" };
  const response = replaceTimes(new Response(body, { status: 201, headers }), (at) => at - 600_000);
  const wall = ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.123000Z", "2029-12-31T23:59:59.9Z"];
  const expected = wall.map((time, index) => `{"at":"${time}","text":"since ${times[index]}","date":"2030-01-01"}`);
  assertEquals((await response.text()).split("\n"), expected);
  assertEquals([response.status, response.headers.get("content-type"), response.headers.get("content-length")], [
    201,
    "application/json",
    null,
  ]);
  assertEquals(replaceTimes(new Response(null, { status: 204 }), () => 0).status, 204);
});
