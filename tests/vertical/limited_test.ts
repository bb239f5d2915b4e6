/**
 * Which scale-ups count as held by a reason that needs an administrator, and for how long.
 * Clauses: L53.
 */
import { assertEquals } from "#assert";
import { LIMIT_REASONS, type LimitReason } from "../../lib/model/reasons.ts";
import { findScaleUpLimit, MIN_LIMITED_SAMPLES } from "../../lib/vertical/outcome.ts";
import type { Answer } from "../../lib/model/resize_request.ts";
import { policy, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

/** Wants up from 100m, and may not. */
const AT_MAX = policy({ sides: [side("cpu.requests", { bounds: { max: 100 } })] });
const QUOTA: Answer = { kind: "refused", reason: "Quota", message: "no", resources: [], waitMs: null };

function limit(story: Story, name = "web"): LimitReason | null {
  const view = story.state.views[`uid-of-${name}`];
  return view === undefined ? null : findScaleUpLimit(view);
}

/** The limit after each of this many polls. */
function follow(story: Story, polls: number): (LimitReason | null)[] {
  return Array.from({ length: polls }, () => {
    story.poll();
    return limit(story);
  });
}

Deno.test("decideSize() counts a pod as limited once its scale-up was held for two samples in a row (L53)", () => {
  const story = new Story({ contenders: [AT_MAX], load: { cpu: 90 } });
  // The first poll warms up, the third fills the streak.
  assertEquals(follow(story, 5), [null, null, null, "AtBound", "AtBound"]);
  assertEquals([MIN_LIMITED_SAMPLES, story.reason()], [2, "AtBound"]);
});

Deno.test("decideSize() counts a pod as limited no longer once nothing is wanted of it (L53)", () => {
  const story = new Story({ contenders: [AT_MAX], load: { cpu: 90 } });
  story.poll(6);
  story.use({ cpu: 60 });
  assertEquals([...follow(story, 2), story.state.views["uid-of-web"]?.limited], [null, null, null]);
  story.use({ cpu: 90 });
  assertEquals(follow(story, 3), [null, null, "AtBound"], "a streak of two, then two that are held");
});

Deno.test("decideSize() counts no pod as limited whose scale-down is held (L53)", () => {
  const contenders = [policy({ sides: [side("cpu.requests", { bounds: { min: 100 } })] })];
  const story = new Story({ contenders, load: { cpu: 10 } });
  assertEquals(follow(story, 6), [null, null, null, null, null, null]);
  assertEquals(story.reason(), "AtBound");
});

Deno.test("decideSize() counts no pod as limited that waits for what passes by itself (L53)", () => {
  const story = new Story({ contenders: [policy({ delayMs: 3600 * SECOND * 24 })], load: { cpu: 90 } });
  assertEquals(follow(story, 8).filter((one) => one !== null), []);
  assertEquals(story.reason(), "Delay");
});

Deno.test("decideSize() goes on counting a refused size over its next tries (L53)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: QUOTA });
  story.pollToRequest();
  const seen = follow(story, 30);
  assertEquals(seen.slice(0, 2), [null, "Quota"]);
  assertEquals([...new Set(seen.slice(1))], ["Quota"], "tried again after 30 s and 60 s");
  assertEquals(story.requests.length, 3);
});

Deno.test("decideSize() counts a pod as limited no longer once a resize is accepted (L53)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: QUOTA });
  story.pollToRequest();
  follow(story, 3);
  assertEquals(limit(story), "Quota");
  story.answer = "enact";
  story.pollToRequest();
  assertEquals(story.state.views["uid-of-web"]?.limited, null);
});

Deno.test("decideSize() counts no pod as limited for an autoscaler that does not own its container (L53)", () => {
  const other = policy({ ...AT_MAX, name: "other", uid: "uid-of-other", key: "uid-of-other" });
  const story = new Story({ contenders: [AT_MAX], load: { cpu: 90 } });
  story.poll(6);
  assertEquals(limit(story), "AtBound");
  story.contend([{ ...AT_MAX, priority: 0 }, { ...other, priority: 1 }]);
  story.poll(6);
  assertEquals([limit(story), limit(story, "other")], [null, "AtBound"]);
});

Deno.test("LIMIT_REASONS are what holds a scale-up until somebody makes room (L53)", () => {
  const expected = "AtBound DisruptionBudget Invalid LimitRange MaxUnavailable NodeCapacity PodResources " +
    "QoSInvariantBlocked Quota " +
    "ResizeDeferred ResizeError ResizeInfeasible Rights Unsupported";
  assertEquals([...LIMIT_REASONS].sort().join(" "), expected);
});
