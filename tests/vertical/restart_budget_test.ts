/**
 * Resizes that restart a container wait for their turn, so that a workload keeps most of its pods.
 * Clauses: L70, L71, L72.
 */
import { assertEquals, assertStringIncludes } from "#assert";
import { computeMaxUnavailable, type Disruption } from "../../lib/model/disruption.ts";
import type { Autoscaler, MaxUnavailable } from "../../lib/model/autoscaler.ts";
import type { ContainerFacts, PodFacts } from "../../lib/model/pod.ts";
import { findScaleUpLimit } from "../../lib/vertical/outcome.ts";
import { container, MI, MINUTE, pod, policy, restartsOn, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const FREE: Disruption = { pods: 10, unavailable: 0, example: null, budgets: [] };
const TWO_DOWN: Disruption = { ...FREE, unavailable: 2, example: "web-7" };
const RESTARTING = { restartsOn: { cpu: true, memory: true } };

interface Setting {
  readonly disruption?: Disruption;
  readonly autoscaler?: Partial<Autoscaler>;
  readonly container?: Partial<ContainerFacts>;
  readonly pod?: Partial<PodFacts>;
}

function start(setting: Setting = {}, cpu = 90): Story {
  const containers = [container({ ...RESTARTING, ...setting.container })];
  return new Story({
    pod: pod({ containers, ...setting.pod }),
    contenders: [policy(setting.autoscaler)],
    load: { cpu },
    surroundings: { disruption: setting.disruption ?? FREE },
  });
}

/** What the story does within five polls. */
function outcomeOf(story: Story): string {
  return story.poll(5).request === null ? story.reason() : "resized";
}

const ROWS: Readonly<Record<string, Setting & { readonly expected: string }>> = {
  "no other pod is down": { expected: "resized" },
  "one of ten is down": { disruption: { ...TWO_DOWN, unavailable: 1 }, expected: "resized" },
  "two of ten are down, which are a quarter": { disruption: TWO_DOWN, expected: "MaxUnavailable" },
  "the pod is alone": { disruption: { ...FREE, pods: 1 }, expected: "resized" },
  "one of two is down": { disruption: { ...FREE, pods: 2, unavailable: 1 }, expected: "MaxUnavailable" },
  "two are down, and the policy allows three": {
    disruption: TWO_DOWN,
    autoscaler: { maxUnavailable: { kind: "pods", pods: 3 } },
    expected: "resized",
  },
  "two are down, and the policy allows half": {
    disruption: TWO_DOWN,
    autoscaler: { maxUnavailable: { kind: "percent", percent: 50 } },
    expected: "resized",
  },
  "all are down, and the policy allows all": {
    disruption: { ...FREE, unavailable: 9 },
    autoscaler: { maxUnavailable: { kind: "percent", percent: 100 } },
    expected: "resized",
  },
  "the policy allows none": {
    autoscaler: { maxUnavailable: { kind: "pods", pods: 0 } },
    expected: "MaxUnavailable",
  },
  "podfit does not see all pods": { disruption: { ...FREE, pods: null }, expected: "MaxUnavailable" },
  "podfit does not see all pods, and the policy allows all": {
    disruption: { ...FREE, pods: null },
    autoscaler: { maxUnavailable: { kind: "percent", percent: 100 } },
    expected: "resized",
  },
  "two are down, and cpu changes in place": {
    disruption: TWO_DOWN,
    container: { restartsOn: restartsOn("memory") },
    expected: "resized",
  },
};
for (const [sentence, { expected, ...setting }] of Object.entries(ROWS)) {
  Deno.test(`decideSize() ${expected === "resized" ? "restarts" : "restarts nothing"} where ${sentence} (L70)`, () => {
    assertEquals(outcomeOf(start(setting)), expected);
  });
  Deno.test(`decideSize() does the same on the way down where ${sentence} (L70)`, () => {
    assertEquals(outcomeOf(start(setting, 10)), expected);
  });
}

const LIMITS: readonly [max: MaxUnavailable, pods: number, allowed: number][] = [
  [{ kind: "percent", percent: 25 }, 1, 1],
  [{ kind: "percent", percent: 25 }, 7, 1],
  [{ kind: "percent", percent: 25 }, 8, 2],
  [{ kind: "percent", percent: 25 }, 10, 2],
  [{ kind: "percent", percent: 1 }, 10, 1],
  [{ kind: "percent", percent: 0 }, 10, 0],
  [{ kind: "pods", pods: 3 }, 2, 3],
];
for (const [max, pods, allowed] of LIMITS) {
  Deno.test(`computeMaxUnavailable() allows ${allowed} of ${pods} by ${JSON.stringify(max)} (L70)`, () => {
    assertEquals(computeMaxUnavailable(max, pods), allowed);
  });
}

Deno.test("decideSize() sends what restarts nothing while the rest waits (L70)", () => {
  const story = start({
    disruption: TWO_DOWN,
    container: { restartsOn: restartsOn("memory") },
    autoscaler: { sides: [side("cpu.requests"), side("memory.requests")] },
  }).use({ cpu: 90, memory: 120 * MI });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  assertEquals(story.surroundings.disruption, TWO_DOWN);
});

Deno.test("decideSize() says once that a restart waits, why, and goes on when it may (L70)", () => {
  const story = start({ disruption: TWO_DOWN });
  story.poll(5);
  assertEquals(story.notices.map(({ name, message }) => [name, message]), [[
    "RestartWaiting",
    'scaleUp of container "main" of pod "web-1" is blocked (MaxUnavailable): cpu.requests would restart container ' +
    '"main" (resizePolicy): it waits, since 2 other pods are not Ready or about to restart, such as "web-7"; ' +
    "policy.maxUnavailable 25% allows 2 of 10",
  ]]);
  story.surroundings = { ...story.surroundings, disruption: FREE };
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  assertEquals(story.notified(), ["RestartWaiting", "ResizeMayRestart", "ScaleUp"]);
});

Deno.test("a restart that waits for ten minutes makes the autoscaler Limited, one that waits less does not (L70)", () => {
  const story = start({ disruption: TWO_DOWN });
  const limit = () => {
    const [view] = Object.values(story.state.views);
    return view === undefined ? null : findScaleUpLimit(view);
  };
  const waitedMs = () => story.now - (Object.values(story.state.views)[0]?.wantedSince ?? story.now);
  while (waitedMs() < 10 * MINUTE - 5 * SECOND) {
    story.poll();
    assertEquals(limit(), null);
  }
  story.poll(3);
  assertEquals(limit(), "MaxUnavailable");
});

const BUDGETS: Readonly<Record<string, readonly [Disruption["budgets"], string]>> = {
  "a budget that allows one": [[{ name: "web", allowed: 1 }], "resized"],
  "a budget that allows none": [[{ name: "web", allowed: 0 }], "DisruptionBudget"],
  "two budgets of which one allows none": [
    [{ name: "a", allowed: 3 }, { name: "web", allowed: 0 }],
    "DisruptionBudget",
  ],
  "budgets that are not known": [null, "DisruptionBudget"],
};
for (const [sentence, [budgets, expected]] of Object.entries(BUDGETS)) {
  Deno.test(`decideSize() keeps to ${sentence}, also where the policy allows all (L71)`, () => {
    const maxUnavailable: MaxUnavailable = { kind: "percent", percent: 100 };
    const story = start({ disruption: { ...FREE, budgets }, autoscaler: { maxUnavailable } });
    assertEquals(outcomeOf(story), expected);
    assertEquals(story.notified().includes("RestartWaiting"), expected !== "resized");
  });
}

Deno.test("decideSize() names the budget in its event (L71)", () => {
  const story = start({ disruption: { ...FREE, budgets: [{ name: "web", allowed: 0 }] } });
  story.poll(5);
  assertStringIncludes(story.notices[0]?.message ?? "", 'PodDisruptionBudget "web" allows no disruption now');
});

/** Nothing may be down, and a kill is answered after the container has started again and run for so long. */
function killed(ranMs: number): Story {
  const disruption: Disruption = { ...TWO_DOWN, unavailable: 9, budgets: [{ name: "web", allowed: 0 }] };
  const story = start({ disruption, autoscaler: { oom: "raise", sides: [side("memory.limits")] } });
  story.poll(2);
  // The answer waits for the container to run.
  story.changeContainer({
    runningAt: null,
    ready: false,
    terminations: [{ id: "containerd://1", reason: "OOMKilled", exitCode: 137, finishedAt: story.now }],
  });
  story.inFlight = ranMs > 0;
  story.changeContainer({ instance: "containerd://2", runningAt: story.now, ready: true });
  story.wait(ranMs);
  story.inFlight = false;
  return story;
}

Deno.test("the answer to an OOM kill does not wait: its container was down anyway (L72)", () => {
  const story = killed(0);
  assertEquals(story.requests.map(({ changes }) => changes), [["memory.limits"]]);
  assertEquals(story.notified(), ["ResizeMayRestart", "ScaleUp"]);
});

Deno.test("a late answer to an OOM kill waits like any restart while its pod is Ready (L72)", () => {
  const story = killed(31 * SECOND);
  story.change();
  assertEquals([story.requests.length, story.reason()], [0, "MaxUnavailable"]);
  story.change({ ready: { status: "False", at: story.now } });
  assertEquals(story.requests.map(({ changes }) => changes), [["memory.limits"]]);
});

Deno.test("mode recommend waits for nobody, since it restarts nothing (L70, L51)", () => {
  const story = start({ disruption: TWO_DOWN, autoscaler: { mode: "recommend" } });
  const reasons = Array.from({ length: 5 }, () => {
    story.poll();
    return story.reason();
  });
  assertEquals([reasons.includes("DryRun"), story.notified()], [true, []]);
});
