/**
 * There are warnings about limits that keep their requests above the threshold, and about no other limits.
 * Clauses: C32, C34.
 */
import { assertEquals, assertMatch } from "#assert";
import { warnOfDelay, warnOfLimits, warnOfTargets } from "../../../lib/resources/pod_resource_autoscaler/warnings.ts";
import type { Autoscaler, FieldPolicy } from "../../../lib/model/autoscaler.ts";
import { container, MI, pod, policy, SECOND, side, type SideOverrides } from "../../support/builders.ts";
import { Story } from "../../support/story.ts";

interface Case {
  readonly requests?: SideOverrides;
  readonly limits?: SideOverrides;
}

/** Requests up from 75 %, to 70 %; limits up from 90 %, to 80 %. */
function autoscalerOf({ requests, limits }: Case = {}): Autoscaler {
  const memory = side("memory.requests", { cooldownMs: 0 });
  const percents = (up: number, target: number, down: number) => ({
    scaleUpThresholdPercent: up,
    targetUtilizationPercent: target,
    scaleDownThresholdPercent: down,
    cooldownMs: 0,
  });
  return policy({
    cooldownMs: 0,
    sides: [
      side("cpu.requests", { ...percents(75, 70, 60), ...requests }),
      side("cpu.limits", { ...percents(90, 80, 70), ...limits }),
      memory,
    ],
  });
}

const CASES: readonly (readonly [sentence: string, differs: Case, isWarnedOf: boolean])[] = [
  ["a limit that rests where its request wants up", {}, true],
  ["a limit that rests at the very threshold", { limits: { targetUtilizationPercent: 75 } }, true],
  ["a limit that rests below the threshold", { limits: { targetUtilizationPercent: 74 } }, false],
  ["a limit that wants up before its request does", { requests: { scaleUpThresholdPercent: 81 } }, false],
  ["a limit that never rests, of which the parser warns", { limits: { scaleUpThresholdPercent: 80 } }, false],
  [
    "a request whose max is the limit's min",
    { requests: { bounds: { max: 500 } }, limits: { bounds: { min: 500 } } },
    false,
  ],
  ["a request whose max is above the limit's min", {
    requests: { bounds: { max: 501 } },
    limits: { bounds: { min: 500 } },
  }, true],
];

for (const [sentence, differs, isWarnedOf] of CASES) {
  Deno.test(`warnOfLimits() ${isWarnedOf ? "warns of" : "accepts"} ${sentence}`, () => {
    const paths = warnOfLimits(autoscalerOf(differs)).map(({ path }) => path);
    assertEquals(paths, isWarnedOf ? ["spec.policy.cpu.limits.targetUtilization"] : []);
  });
}

Deno.test("warnOfLimits() accepts one side alone, and the requests and limits of two resources", () => {
  const { sides } = autoscalerOf();
  for (const key of ["cpu.requests", "cpu.limits"]) {
    assertEquals(warnOfLimits({ sides: sides.filter((one) => one.key !== key) }), []);
  }
});

Deno.test("warnOfLimits() names the veto that comes of it, and what narrows it (L34)", () => {
  const contender = autoscalerOf();
  const words = (["all", "resource"] as const).map((veto) => warnOfLimits({ ...contender, veto })[0]?.message ?? "");
  assertMatch(
    words[0] ?? "",
    /which holds every scale-down \(with policy\.veto: resource, only those of its own resource\)$/,
  );
  assertMatch(words[1] ?? "", /which holds every scale-down of its resource$/);
});

Deno.test("what warnOfLimits() warns of comes about: idle memory never shrinks under a steady load (C32 C34)", () => {
  const restless = settle(autoscalerOf());
  assertEquals(restless.reason(), "AtBound");
  assertEquals(restless.pod.containers[0]?.spec["memory.requests"], 128 * MI);
  const calm = settle(
    autoscalerOf({
      limits: { targetUtilizationPercent: 70, scaleUpThresholdPercent: 75, scaleDownThresholdPercent: 60 },
    }),
  );
  assertEquals(calm.reason(), "InBand");
  assertEquals((calm.pod.containers[0]?.spec["memory.requests"] ?? 0) < 128 * MI, true);
});

/** 100m of 200m cpu and 128Mi, a load of 190m and 10Mi, until no more resize follows. */
function settle(contender: Autoscaler): Story {
  const story = new Story({ pod: pod({ containers: [container()] }), contenders: [contender] });
  story.use({ cpu: 190, memory: 10 * MI });
  for (let polls = 0; polls < 100; polls++) story.poll();
  return story;
}

Deno.test("warnOfTargets() judges each direction by where its resize ends", () => {
  const warned = (up: number, down: number) => {
    const rule = side("cpu.requests", {
      scaleUpThresholdPercent: 80,
      scaleDownThresholdPercent: 50,
      up: { targetUtilizationPercent: up },
      down: { targetUtilizationPercent: down },
    });
    return warnOfTargets({ sides: [rule] }).map(({ path }) => path.replace("spec.policy.cpu.requests.", ""));
  };
  assertEquals(warned(70, 70), []);
  assertEquals(warned(60, 75), []);
  // An up goes far, and the down that follows settles it.
  assertEquals(warned(45, 75), []);
  assertEquals(warned(80, 80), ["targetUtilization"]);
  assertEquals(warned(50, 50), ["targetUtilization"]);
  assertEquals(warned(80, 70), ["scaleUp.targetUtilization"]);
  assertEquals(warned(70, 80), ["scaleDown.targetUtilization"]);
  assertEquals(warned(70, 50), ["scaleDown.targetUtilization"]);
  assertEquals(warned(90, 40), ["scaleUp.targetUtilization", "scaleDown.targetUtilization"]);
});

Deno.test("warnOfDelay() warns of memory limits that may shrink while the app starts", () => {
  const limits = (windowMs: number) => side("memory.limits", { down: { windowMs } });
  const warned = (delayMs: number, ...sides: readonly FieldPolicy[]) =>
    warnOfDelay({ delayMs, sides }).map(({ path }) => path);
  assertEquals(warned(59 * SECOND, limits(0)), ["spec.policy.delay"]);
  assertEquals(warned(60 * SECOND, limits(0)), []);
  assertEquals(warned(0, limits(1)), []);
  assertEquals(warned(0, side("memory.requests"), side("cpu.limits")), []);
});

Deno.test("warnOfLimits() takes the higher of a limit's two targets", () => {
  const targets = (up: number, down: number) =>
    warnOfLimits(autoscalerOf({
      limits: { up: { targetUtilizationPercent: up }, down: { targetUtilizationPercent: down } },
    })).length;
  assertEquals([targets(74, 80), targets(80, 74), targets(74, 70)], [1, 1, 0]);
});
