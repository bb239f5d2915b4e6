/**
 * Kedify's documented example autoscaler on a Burstable pod: it follows a load up and down again and never gets stuck.
 * Clauses: C32, C34.
 */
import { assert, assertEquals } from "#assert";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import { computeQosClass, type ResourceField } from "../../../lib/units/resources.ts";
import { container, MI, MINUTE, pod, policy, SECOND, side } from "../../support/builders.ts";
import { Story } from "../../support/story.ts";

const REQUESTS = { scaleUpThresholdPercent: 75, scaleDownThresholdPercent: 60, targetUtilizationPercent: 70 };
const LIMITS = { scaleUpThresholdPercent: 85, scaleDownThresholdPercent: 70, targetUtilizationPercent: 75 };

function exampleSide(key: ResourceField, min: number, max: number): Autoscaler["sides"][number] {
  const percents = key.endsWith("requests") ? REQUESTS : LIMITS;
  const step = key.startsWith("cpu") ? 100 : 64 * MI;
  return side(key, { ...percents, consecutiveSamples: 3, bounds: { min, max, step, stepPercent: 25 } });
}

const EXAMPLE = policy({
  name: "load-generator",
  cooldownMs: 2 * MINUTE,
  after: "containerReady",
  delayMs: 10 * SECOND,
  sides: [
    exampleSide("cpu.requests", 100, 2000),
    exampleSide("cpu.limits", 100, 3000),
    exampleSide("memory.requests", 96 * MI, 2048 * MI),
    exampleSide("memory.limits", 300 * MI, 3072 * MI),
  ],
});

const SPEC = { "cpu.requests": 100, "cpu.limits": 200, "memory.requests": 128 * MI, "memory.limits": 320 * MI };

function example(spec = SPEC): Story {
  return new Story({ pod: pod({ containers: [container({ spec })] }), contenders: [EXAMPLE] });
}

/** Uses this much until a whole cooldown brings no more orders. */
function settleAt(story: Story, cpu: number, mebibytes: number): Story {
  story.use({ cpu, memory: mebibytes * MI });
  for (let actions = 0; actions < 200; actions++) {
    if (story.poll(40).request === null) return story;
    const [{ to } = { to: SPEC }] = story.requests.slice(-1);
    assert(
      (to["cpu.requests"] ?? 0) <= (to["cpu.limits"] ?? 0) &&
        (to["memory.requests"] ?? 0) <= (to["memory.limits"] ?? 0),
    );
    assertEquals(computeQosClass({ podResources: null, containers: [to] }), "Burstable");
  }
  throw new Error("Cannot settle");
}

/** Utilization of each field in percent. */
function utilization(story: Story): Readonly<Record<string, number>> {
  const assessments = story.assessments();
  return Object.fromEntries(
    assessments.map(({ key, utilizationPercent }) => [key, Math.round(utilizationPercent ?? 0)]),
  );
}

const LOADS = [[90, 240], [400, 500], [900, 900], [1300, 1400], [1000, 900], [400, 500], [120, 190]] as const;

Deno.test("decideSize() with the document's example follows a load up and down (C34)", () => {
  const story = example();
  for (const [cpu, mebibytes] of LOADS) {
    settleAt(story, cpu, mebibytes);
    const now = utilization(story);
    for (const key of ["cpu.limits", "memory.limits"] as const) {
      const percent = now[key] ?? 0;
      assert(percent < 85, `${key} at ${percent} %, using ${cpu}m ${mebibytes}Mi: throttled or near OOM`);
      // A request at its limit wants up at 75 % while the limit is content up to 85 %: it vetoes scale-downs.
      assert(percent > 50 || story.reason() === "AtBound", `${key} at ${percent} %, ${story.reason()}`);
    }
    for (const key of ["cpu.requests", "memory.requests"] as const) {
      const percent = now[key] ?? 0;
      assert(percent >= 60 && percent < 85, `${key} at ${percent} %, using ${cpu}m ${mebibytes}Mi`);
    }
  }
  const vetoes = story.assessments().filter(({ wanted }) => wanted === "up");
  assertEquals(vetoes, []);
});

Deno.test("decideSize() with the document's example caps the request at the limit while both grow, below it by a unit (C34)", () => {
  const story = example({ ...SPEC, "cpu.requests": 190, "memory.requests": 319 * MI });
  settleAt(story, 190, 300);
  const { spec } = story.pod.containers[0] ?? container();
  assert((spec["cpu.requests"] ?? 0) <= (spec["cpu.limits"] ?? 0));
  assert(spec["cpu.requests"] !== spec["cpu.limits"] || spec["memory.requests"] !== spec["memory.limits"]);
});

Deno.test("decideSize() with the document's example stops at its bounds (C33)", () => {
  const top = settleAt(example(), 5000, 4000).pod.containers[0]?.spec;
  assertEquals(top, {
    "cpu.requests": 2000,
    "cpu.limits": 3000,
    "memory.requests": 2048 * MI,
    "memory.limits": 3072 * MI,
  });
  const bottom = settleAt(example(), 1, 1).pod.containers[0]?.spec;
  assertEquals(bottom, {
    "cpu.requests": 100,
    "cpu.limits": 100,
    "memory.requests": 96 * MI,
    "memory.limits": 300 * MI,
  });
});

Deno.test("decideSize() with the document's example steps by 25 % and 100m or 64Mi at most (C33)", () => {
  const story = settleAt(example(), 1300, 1400);
  for (const { from, to, changes } of story.requests) {
    for (const key of changes) {
      const [before, after] = [from[key] ?? 0, to[key] ?? 0];
      const unit = key.startsWith("cpu") ? 1 : MI;
      const most = Math.min(before / 4, 100 * (key.startsWith("cpu") ? 1 : 0.64 * MI));
      assert(after - before < most + unit, `${key} ${before} -> ${after}`);
    }
  }
  assert(story.requests.length > 8, `${story.requests.length} actions`);
});
