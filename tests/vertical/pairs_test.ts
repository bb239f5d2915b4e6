/**
 * Guaranteed pods whose requests and limits are both managed: a request and its limit move as one.
 * Clauses: L35.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import * as fc from "fast-check";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import { computeQosClass, RESOURCE_FIELDS, type ResourceField, type Resources } from "../../lib/units/resources.ts";
import { loads, saneSide } from "../support/arbitraries.ts";
import {
  container,
  MI,
  MINUTE,
  pod,
  policy,
  resources,
  SECOND,
  side,
  type SideOverrides,
} from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

const SIZE: Resources = resources({
  "cpu.requests": 100,
  "cpu.limits": 100,
  "memory.requests": 128 * MI,
  "memory.limits": 128 * MI,
});
/** The bands of the document's example. */
const REQUEST: SideOverrides = {
  scaleUpThresholdPercent: 75,
  scaleDownThresholdPercent: 60,
  targetUtilizationPercent: 70,
};
const LIMIT: SideOverrides = {
  scaleUpThresholdPercent: 85,
  scaleDownThresholdPercent: 70,
  targetUtilizationPercent: 75,
};

function guaranteed(spec = SIZE, facts: Partial<PodFacts> = {}): PodFacts {
  return pod({ qosClass: "Guaranteed", containers: [container({ spec })], ...facts });
}

function cpuPair(request: SideOverrides = {}, limit: SideOverrides = {}, more: Partial<Autoscaler> = {}): Autoscaler {
  const sides = [side("cpu.requests", { ...REQUEST, ...request }), side("cpu.limits", { ...LIMIT, ...limit })];
  return policy({ sides, ...more });
}

function tell(contender: Autoscaler, options: StoryOptions): Story {
  return new Story({ pod: guaranteed(), contenders: [contender], ...options });
}

const cpuOf = ({ to }: { readonly to: Resources }) => [to["cpu.requests"], to["cpu.limits"]];
const cpu = (amount: number): Resources => ({ ...SIZE, "cpu.requests": amount, "cpu.limits": amount });

Deno.test("decideSize() moves a request and its limit as one, in one PATCH, and keeps the class (L35, C35)", () => {
  const story = tell(cpuPair(), { load: { cpu: 90 } });
  const { changes, to, action, why } = story.pollToRequest();
  assertEquals([action, changes, cpuOf({ to })], ["scaleUp", ["cpu.requests", "cpu.limits"], [129, 129]]);
  assertEquals(why, "cpu.limits at 90 %; cpu.requests at 90 %");
});

Deno.test("decideSize() takes a pair up when either side wants up, to the larger desired (L35)", () => {
  for (const [cpu, to] of [[77, 110], [84, 120]] as const) {
    const order = tell(cpuPair(), { load: { cpu } }).pollToRequest();
    assertEquals([cpuOf(order), order.why], [
      [to, to],
      `cpu.limits with cpu.requests; cpu.requests at ${cpu} %`,
    ]);
  }
  // The limit wants up, the request is in its band and has the lower target.
  const wide = cpuPair({ scaleUpThresholdPercent: 100, targetUtilizationPercent: 50, scaleDownThresholdPercent: 10 });
  assertEquals(cpuOf(tell(wide, { load: { cpu: 90 } }).pollToRequest()), [180, 180]);
});

Deno.test("decideSize() takes a pair down only when both sides want down, to the larger desired (L35)", () => {
  const story = tell(cpuPair(), { load: { cpu: 65 } });
  story.poll(20);
  const [one] = story.last?.decisions ?? [];
  assertEquals(one?.decision, {
    kind: "hold",
    reason: "InBand",
    message: "cpu.limits would scale down, but cpu.requests is in its band: in a Guaranteed pod both move together",
  });
  assertEquals(cpuOf(tell(cpuPair(), { load: { cpu: 50 } }).pollToRequest()), [72, 72]);
});

Deno.test("decideSize() says that a pair waits for the longer streak on the way down (L35)", () => {
  const story = tell(cpuPair({ consecutiveSamples: 5 }), { load: { cpu: 20 } });
  story.poll(5);
  const [one] = story.last?.decisions ?? [];
  assertEquals(one?.decision.kind === "hold" && [one.decision.reason, one.decision.message], [
    "StreakShort",
    "cpu.limits would scale down, but cpu.requests not yet: in a Guaranteed pod both move together",
  ]);
});

Deno.test("decideSize() never takes a pair to and fro under a constant load: not 133m, 143m, 133m, 143m (L35)", () => {
  const story = new Story({ pod: guaranteed(cpu(133)), contenders: [cpuPair()], load: { cpu: 100 } });
  story.poll(1);
  for (let action = 0; action < 10; action++) story.poll(60);
  assertEquals(story.requests.map(cpuOf), [[143, 143]]);
});

Deno.test("decideSize() keeps a pair within the bounds that its sides share, by the smaller step (L35)", () => {
  const rows: readonly [SideOverrides["bounds"], SideOverrides["bounds"], number, number][] = [
    [{ max: 120 }, { max: 300 }, 90, 120],
    [{ max: 300 }, { max: 115 }, 90, 115],
    [{ min: 70 }, { min: 20 }, 10, 70],
    [{ min: 20 }, { min: 80 }, 10, 80],
    [{ step: 10 }, { step: 50 }, 90, 110],
    [{ stepPercent: 50 }, { stepPercent: 5 }, 10, 95],
    [{ stepPercent: 50 }, { step: 5 }, 90, 105],
  ];
  for (const [request, limit, used, expected] of rows) {
    const story = tell(cpuPair({ bounds: request ?? {} }, { bounds: limit ?? {} }), { load: { cpu: used } });
    assertEquals(cpuOf(story.pollToRequest()), [expected, expected], JSON.stringify([request, limit]));
  }
});

Deno.test("decideSize() holds a pair whose sides' bounds have nothing in common, AtBound (L35)", () => {
  const story = tell(cpuPair({ bounds: { max: 90 } }, { bounds: { min: 110 } }), { load: { cpu: 95 } });
  story.poll(10);
  const decision = story.decision();
  assertEquals([story.requests, story.reason()], [[], "AtBound"]);
  assertMatch(
    decision?.kind === "hold" ? decision.message : "",
    /cpu.requests and cpu.limits move together, .* common/,
  );
});

Deno.test("decideSize() holds a whole pair at the bound of one side, whatever the other would (L35)", () => {
  const story = tell(cpuPair({ bounds: { max: 100 } }), { load: { cpu: 95 } });
  story.poll(10);
  assertEquals([story.requests, story.reason()], [[], "AtBound"]);
});

Deno.test("decideSize() floors a pair at the memory in use, the request with its limit (L35, C46)", () => {
  const sides = [side("memory.requests"), side("memory.limits")];
  const story = tell(policy({ sides }), { load: { memory: 20 * MI, cache: 80 * MI } });
  const { to } = story.pollToRequest();
  assertEquals([to["memory.requests"], to["memory.limits"]], [88 * MI, 88 * MI]);
  const full = tell(policy({ sides }), { load: { memory: 20 * MI, cache: 125 * MI } });
  full.poll(10);
  assertEquals([full.requests, full.reason()], [[], "MemoryInUse"]);
});

Deno.test("decideSize() holds a pair for the longer cooldown of its sides (L35, C36)", () => {
  const sides = [
    side("cpu.requests", { ...REQUEST, cooldownMs: 10 * SECOND, bounds: { step: 10 } }),
    side("cpu.limits", { ...LIMIT, cooldownMs: 2 * MINUTE }),
  ];
  const story = tell(policy({ sides }), { load: { cpu: 200 } });
  story.pollToRequest();
  const scaledAt = story.now;
  story.poll(10);
  assertEquals([story.reason(), story.last?.decisions[0]?.candidates.toSorted()], ["Cooldown", [
    "cpu.limits",
    "cpu.requests",
  ]]);
  story.pollToRequest();
  assertEquals(story.now - scaledAt, 2 * MINUTE);
});

Deno.test("decideSize() holds a pair of which the API server refused one side's size, and moves the other resource (L35, C44)", () => {
  const sides = [side("cpu.requests"), side("cpu.limits"), side("memory.requests"), side("memory.limits")];
  const story = tell(policy({ sides }), {
    load: { cpu: 95, memory: 120 * MI },
    answer: { kind: "refused", reason: "Quota", message: "", resources: ["cpu"], waitMs: null },
  });
  story.pollToRequest();
  story.answer = "enact";
  assertEquals(story.pollToRequest().changes, ["memory.requests", "memory.limits"]);
});

Deno.test("decideSize() pairs only what the class ties: no Burstable pod, no pod with a size of its own (L35)", () => {
  const burstable = pod({ containers: [container({ spec: cpu(100) }), container({ name: "proxy" })] });
  const sized = guaranteed(cpu(100), { podResources: cpu(500) });
  for (const facts of [burstable, sized]) {
    const story = tell(cpuPair({}, { scaleUpThresholdPercent: 95 }), { pod: facts, load: { cpu: 90 } });
    story.poll(10);
    assertEquals(
      [story.requests, story.reason()],
      [[], "AtBound"],
      "the request alone wants up, and its limit is in the way",
    );
    const down = tell(cpuPair({}, { scaleDownThresholdPercent: 10 }), { pod: facts, load: { cpu: 30 } });
    assertEquals(down.pollToRequest().changes, ["cpu.requests"]);
  }
});

Deno.test("decideSize() pairs each container of a Guaranteed pod by itself, sidecars too (L35)", () => {
  const sidecar = container({ name: "proxy", kind: "sidecar", spec: cpu(50) });
  const story = tell(cpuPair(), {
    pod: guaranteed(SIZE, { containers: [container({ spec: SIZE }), sidecar] }),
    load: { cpu: 90 },
  });
  assertEquals(cpuOf(story.pollToRequest()), [129, 129]);
});

Deno.test("decideSize() names the side in the way where a Guaranteed pod has one side managed (L35, C35)", () => {
  for (const [key, other] of [["cpu.requests", "cpu.limits"], ["cpu.limits", "cpu.requests"]] as const) {
    // A request goes down on its own, a limit up: what keeps requests <= limits.
    const story = tell(policy({ sides: [side(key)] }), { load: { cpu: key === "cpu.requests" ? 20 : 95 } });
    story.poll(10);
    const decision = story.decision();
    assertEquals([story.requests, story.reason()], [[], "QoSInvariantBlocked"]);
    assertMatch(
      decision?.kind === "blocked" ? decision.message : "",
      new RegExp(`${key} would part from ${other}: manage ${other} too`),
    );
  }
});

Deno.test("decideSize() lets a class that one resource would change hold that resource alone (C35)", () => {
  const sides = [side("cpu.requests"), side("memory.requests"), side("memory.limits")];
  const story = tell(policy({ sides }), { load: { cpu: 20, memory: 20 * MI } });
  assertEquals(story.pollToRequest().changes, ["memory.requests", "memory.limits"]);
  story.poll(40);
  assertEquals([story.requests.length, story.reason()], [1, "QoSInvariantBlocked"]);
  assertEquals(story.last?.decisions[0]?.candidates, ["cpu.requests"]);
});

Deno.test("decideSize() tells of a class in the way once, however often the other resource moves meanwhile (C35, C50)", () => {
  const sides = [
    side("cpu.requests", { cooldownMs: 0 }),
    ...(["memory.requests", "memory.limits"] as const).map((key) =>
      side(key, { cooldownMs: 30 * SECOND, bounds: { step: 10 * MI } })
    ),
  ];
  const story = tell(policy({ sides, cooldownMs: 30 * SECOND }), { load: { cpu: 20, memory: 20 * MI } });
  for (let poll = 0; poll < 60; poll++) story.poll();
  assert(story.requests.length > 3);
  assertEquals(story.notified().filter((name) => name === "QoSInvariantBlocked"), ["QoSInvariantBlocked"]);
});

/** Each pair may have its fields' percents, bounds, steps and streaks as it likes. */
const pairedPolicies = fc.constantFrom<readonly ResourceField[]>(
  RESOURCE_FIELDS,
  RESOURCE_FIELDS.slice(0, 2),
  RESOURCE_FIELDS.slice(2),
)
  .chain((keys) => fc.tuple(...keys.map(saneSide)))
  .map((sides) => policy({ sides, cooldownMs: 0 }));
const amounts = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 2000 }));

Deno.test("decideSize() settles a Guaranteed pod under a constant load: no pair ever turns round or parts (L35)", () => {
  let checked = 0;
  fc.assert(
    fc.property(pairedPolicies, amounts, amounts, loads, (contender, cpu, memory, load) => {
      const spec: Resources = {
        "cpu.requests": cpu,
        "cpu.limits": cpu,
        "memory.requests": memory * MI,
        "memory.limits": memory * MI,
      };
      const story = new Story({ pod: guaranteed(spec), contenders: [contender], load });
      for (let actions = 0; story.poll(5).request !== null; actions++) {
        if (actions > 2500) throw new Error(`Cannot settle: still ${story.reason()}`);
      }
      for (const { to } of story.requests) {
        assertEquals(computeQosClass({ podResources: null, containers: [to] }), "Guaranteed");
      }
      for (const { key } of contender.sides) {
        const moves = story.requests.flatMap(({ changes, action }) => changes.includes(key) ? [action] : []);
        assertEquals(new Set(moves).size <= 1, true, `${key}: ${moves}`);
      }
      checked += story.requests.length;
    }),
    { seed: 20261122, numRuns: 300 },
  );
  assert(checked > 300, `${checked} requests`);
});
