/** Twenty minutes of the demo under virtual time: the story that it is to tell, in numbers. */
import { assert, assertEquals } from "@std/assert";
import { readExamples } from "../../../lib/cli/demo/manifests.ts";
import { noteEvaluation, noteTrouble } from "../../../lib/cli/demo/note_evaluation.ts";
import { newStory, nextStory } from "../../../lib/cli/demo/story.ts";
import { readAverage } from "../../../lib/cli/demo/totals.ts";
import { openWorld } from "../../../lib/cli/demo/world.ts";
import { checkManifest } from "../../../lib/cli/lint/autoscaler.ts";
import { formatName } from "../../../lib/daemon/inventory/facts.ts";
import { findOwner } from "../../../lib/daemon/report/sink.ts";
import { VirtualClock } from "../../../lib/runtime/virtual_clock.ts";

Deno.test("in the demo podfit resizes all three, gives back, and loses less than its shadow (C30 C31 C41 C45)", async () => {
  const clock = new VirtualClock();
  let story = newStory(clock.now(), 1_200_000);
  const resized = new Map<string, Set<string>>();
  const world = await openWorld({
    clock,
    isServed: false,
    onEvaluation(evaluation) {
      story = noteEvaluation(story, evaluation);
      const { scaled } = evaluation.outcome;
      if (scaled === null) return;
      const owner = findOwner(evaluation, scaled);
      const name = owner === null ? "" : formatName(owner);
      resized.set(name, (resized.get(name) ?? new Set()).add(scaled.action));
    },
    onTrouble: (trouble) => story = noteTrouble(story, { at: clock.now(), trouble }),
  });
  for (let second = 0; second < 1200; second += 2) {
    await clock.advance(2000);
    story = nextStory(story, { at: clock.now(), ...world.read() });
  }
  await close(world, clock);

  const both = new Set(["scaleDown", "scaleUp"]);
  assertEquals(resized, new Map(["web", "worker", "cache"].map((name) => [`default/${name}`, both])));
  const { podfit, shadow } = story;
  assert(podfit.elapsedMs > 1_190_000 && podfit.elapsedMs === shadow.elapsedMs);
  for (const resource of ["cpu", "memory"] as const) {
    assert(readAverage(podfit, resource) < 0.8 * readAverage(shadow, resource), resource);
  }
  assert(podfit.throttledNs < 0.3 * shadow.throttledNs, `${podfit.throttledNs} of ${shadow.throttledNs}`);
  assertEquals([podfit.kills, podfit.downMs], [0, 0]);
  assert(shadow.kills >= 2 && shadow.downMs > 0, `${shadow.kills} kills`);
  assert((story.blocked.Cooldown ?? 0) > 0 && (story.blocked.NodeCapacity ?? 0) > 0, JSON.stringify(story.blocked));
  assertEquals(story.events.filter(({ tone }) => tone === "trouble"), []);
});

Deno.test("podfit finds nothing wrong in the demo's autoscalers (C8)", () => {
  const autoscalers = readExamples().filter(({ kind }) => kind === "PodResourceAutoscaler");
  assertEquals(autoscalers.length, 3);
  for (const autoscaler of autoscalers) assertEquals(checkManifest(autoscaler), { problems: [], warnings: [] });
});

/** What ends it waits for time to pass. */
async function close(world: AsyncDisposable, clock: VirtualClock): Promise<void> {
  let isOver = false;
  const closing = Promise.resolve(world[Symbol.asyncDispose]()).finally(() => isOver = true);
  for (let second = 0; second < 60 && !isOver; second++) await clock.advance(1000);
  await closing;
}
