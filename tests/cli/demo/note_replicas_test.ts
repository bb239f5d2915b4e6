/** What the demo makes of passes of a ScaledObject through the fold: the fold's own, none is made up. */
import { assert, assertEquals } from "#assert";
import { newStory, type Story } from "../../../lib/cli/demo/story.ts";
import type { ScaleWrite } from "../../../lib/model/replicas_decision.ts";
import { type Behavior, DEFAULT_BEHAVIOR } from "../../../lib/model/scaled_object.ts";
import { passed } from "../../support/demo_story.ts";
import { cpu, createFold, type Fold, pods, scaledObject, scaleOf } from "../../support/replicas_fold.ts";

/** Born 500m, full-grown 2000m, at 50 %: each as born bears 250m, each full-grown 1000m. */
const REQUESTS = { born: 500n, full: 2000n };

Deno.test("withReplicas() tells once that pods grow first, in the numbers of both yardsticks (R83)", () => {
  const { fold, look, tick } = begin(1);
  look(tick(400n));
  assertEquals(told(look(tick(400n))), [[
    "blocked",
    "VerticalFirst",
    "1 at full size is enough, at initial size it takes 2",
  ]]);
  assertEquals(look().replicas.standing, { reason: "VerticalFirst", since: fold.now - 30_000 });
  assertEquals(look().replicas.asked, { lo: 1, hi: 2 });
});

Deno.test("withReplicas() tells a change of replicas when it is accepted, and counts it", () => {
  const { fold, look, tick, answer } = begin(1);
  look(tick(1900n));
  assertEquals(look().events, []);
  look(answer("accepted"));
  assertEquals(told(look()), [["up", "1 -> 2 pods", "ScaledOut: at full size it takes 2, at initial size 8"]]);
  assertEquals([look().replicas.changes, look().replicas.last?.at], [{ out: 1, in: 0 }, fold.now]);
});

Deno.test("withReplicas() tells nothing of a write that was dropped", () => {
  const { look, tick, answer } = begin(1);
  look(tick(1900n));
  look(answer("dropped"));
  assertEquals([look().events, look().replicas.changes], [[], { out: 0, in: 0 }]);
});

Deno.test("withReplicas() tells since when sizes wait for the number, until it has fallen (R86)", () => {
  const { fold, look, tick, answer } = begin(3);
  const since = fold.now;
  look(tick(100n));
  assertEquals(told(look()), [[
    "blocked",
    "ScaleInPending",
    "2 at initial size are enough: sizes wait for the number",
  ]]);
  assertEquals(look().replicas.pendingSince, since);
  for (let ticks = 0; ticks < 22; ticks++) look(tick(100n));
  assertEquals(told(look()).length, 1);
  look(answer("accepted"));
  assertEquals(told(look()).at(-1), ["down", "3 -> 2 pods", "ScaledIn: 2 at initial size are enough"]);
  assertEquals([look().replicas.pendingSince, look().replicas.changes], [null, { out: 0, in: 1 }]);
});

Deno.test("withReplicas() tells of no wait where the number falls in the same pass", () => {
  const { scaleUp, scaleDown } = DEFAULT_BEHAVIOR;
  const { look, tick, answer } = begin(3, { scaleUp, scaleDown: { ...scaleDown, windowMs: 0 } });
  look(tick(100n));
  assertEquals(look().events, []);
  assert(look().replicas.pendingSince !== null);
  look(answer("accepted"));
  assertEquals(told(look()).map(([, text]) => text), ["3 -> 2 pods"]);
});

function told({ events }: Story) {
  return events.map(({ tone, text, why }) => [tone, text, why]);
}

/** A fold whose writes wait for an answer, and the story of what it is shown. */
function begin(replicas: number, behavior: Behavior | null = null) {
  const fold = createFold(scaledObject({ triggers: [cpu()], behavior }), replicas);
  fold.answer = null;
  let story = newStory(fold.now, 1_200_000, "both");
  const look = (next?: (fold: Fold) => Story) => story = next?.(fold) ?? story;
  const tick = (usedMilli: bigint) => () => {
    const triggers = new Map([[0, pods(fold.scale.replicas, usedMilli, REQUESTS)]]);
    const seen = passed(story, fold, { kind: "tick", scale: fold.scale, triggers, readyPods: fold.scale.replicas });
    fold.now += 15_000;
    return seen;
  };
  const answer = (kind: "accepted" | "dropped") => () => {
    const write: ScaleWrite | undefined = fold.writes.at(-1);
    assert(write !== undefined, "nothing was written");
    const told = kind === "accepted" ? { kind, replicas: write.replicas } : { kind };
    const seen = passed(story, fold, { kind: "answered", write, answer: told });
    if (kind === "accepted") fold.scale = scaleOf(write.replicas);
    return seen;
  };
  return { fold, look, tick, answer };
}
