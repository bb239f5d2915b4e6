/** Runs the demo under virtual time, so that a minute of it takes seconds. */
import { withEvaluation, withReplicas, withTrouble } from "../../lib/cli/demo/evaluations.ts";
import type { SceneName } from "../../lib/cli/demo/options.ts";
import { getScene } from "../../lib/cli/demo/scene.ts";
import { newStory, nextStory, type Story } from "../../lib/cli/demo/story.ts";
import { openWorld } from "../../lib/cli/demo/world.ts";
import { VirtualClock } from "../../tests/support/virtual_clock.ts";

const STEP_MS = 2000;

/** Resolves to the story after so many minutes of the cluster. */
export async function runDemo(scene: SceneName, minutes: number): Promise<Story> {
  const clock = new VirtualClock();
  const durationMs = minutes * 60_000;
  let story = newStory(clock.now(), durationMs, scene);
  const world = await openWorld({
    scene: getScene(scene),
    clock,
    toWallTime: null,
    onEvaluation: (evaluation) => story = withEvaluation(story, evaluation),
    onPass: (pass) => story = withReplicas(story, pass),
    onTrouble: (trouble) => story = withTrouble(story, { at: clock.now(), trouble }),
  });
  for (let passedMs = 0; passedMs < durationMs; passedMs += STEP_MS) {
    await clock.advance(STEP_MS);
    story = nextStory(story, { at: clock.now(), ...world.listUses() });
  }
  let isClosed = false;
  const closing = world[Symbol.asyncDispose]().then(() => isClosed = true);
  // What is under way ends at times of the clock.
  while (!isClosed) await clock.advance(1000);
  await closing;
  return story;
}
