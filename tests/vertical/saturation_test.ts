/**
 * A sample at its CPU limit: one is enough to go up, none to go down, and both numbers are reported.
 */
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "#assert";
import type { Point, Pressure } from "../../lib/api/usage.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { Observation, SizeOutcome } from "../../lib/model/decision.ts";
import { isStreakFull, NO_EVIDENCE, type Sample } from "../../lib/model/state.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import { findUsage, nextStreaks } from "../../lib/vertical/streaks.ts";
import { parseRecord } from "../../lib/record/parse.ts";
import { type EvaluationRecord, toRecord } from "../../lib/record/record.ts";
import { MI, point, policy, resources, sample, SECOND, side, SIZE, usage } from "../support/builders.ts";
import { Story } from "../support/story.ts";

/** The limit of "main" is 200m, its request 100m. */
const SIDES = [
  side("cpu.requests", { consecutiveSamples: 3 }),
  side("cpu.limits", { consecutiveSamples: 3 }),
];

/** Polls of a container that runs so fast, and is throttled for that share of the time. */
class Held {
  readonly story: Story;
  #counterNs = 1e9;
  #fullNs = 1e9;

  constructor(autoscaler: Partial<Autoscaler> = {}) {
    const contenders = [policy({ sides: SIDES, throttling: "measure", ...autoscaler })];
    this.story = new Story({ contenders });
  }

  poll(ran: Ran): SizeOutcome {
    return this.story.observe(this.#pass(ran));
  }

  /** How many samples the streak of memory has. */
  memory(): number | undefined {
    return this.story.state.views["uid-of-web"]?.streaks["memory.requests"]?.count;
  }

  /** As `poll`, with a record of it. */
  record(ran: Ran): { readonly outcome: SizeOutcome; readonly record: EvaluationRecord } {
    const observation = this.#pass(ran);
    const { state: before, now, pod, contenders, surroundings } = this.story;
    const input = {
      now,
      pod,
      contenders,
      observation,
      ...surroundings,
      siblings: null,
      inFlight: false,
      dryRun: false,
    };
    const outcome = decideSize(before, input);
    return { outcome, record: toRecord({ before, input, outcome }) };
  }

  #pass({ cpu, share }: Ran): Extract<Observation, { kind: "usage" }> {
    this.story.wait(15 * SECOND);
    this.#counterNs += cpu * 15e6;
    this.#fullNs += (share ?? 0) * 15e9;
    return usage([toPoint(this.story.now, this.#counterNs, share === null ? null : this.#fullNs)]);
  }
}

/** Millicores that ran in 15 s, and the share of them that was throttled; `null` = not measured. */
interface Ran {
  readonly cpu: number;
  readonly share: number | null;
}

function toPoint(at: number, counterNs: number, fullNs: number | null): Point {
  const pressure: Pressure | null = fullNs === null
    ? null
    : { fullNs, fullHint: { unit: "us", percent: 60 }, throttledNs: null, largestCpuNs: null };
  return point({ at, counterNs, pressure, workingSetBytes: 64 * MI, usageBytes: 70 * MI });
}

Deno.test("decideSize() sizes requests and limits by demand after one saturated sample (L21, L22)", () => {
  const held = new Held();
  held.poll({ cpu: 190, share: 0 });
  const { request } = held.poll({ cpu: 190, share: 0.5 });
  // 380m at targets of 60 %.
  assertEquals(request?.to, { ...SIZE, "cpu.requests": 634, "cpu.limits": 634 });
});

Deno.test("decideSize() waits for the whole streak where usage is below the limit and nothing holds it back (L22)", () => {
  const held = new Held();
  for (let polls = 0; polls < 3; polls++) assertEquals(held.poll({ cpu: 180, share: 0.02 }).request, null);
  assert(held.poll({ cpu: 180, share: 0.02 }).request !== null);
});

Deno.test("decideSize() has one sample at 95 % of the limit for enough, and makes no demand up (L20, L21, L22)", () => {
  const held = new Held();
  held.poll({ cpu: 192, share: null });
  assertEquals(held.poll({ cpu: 192, share: null }).request?.to["cpu.limits"], 320);
});

Deno.test("decideSize() keeps the cooldown of a saturated side (L22)", () => {
  const held = new Held();
  held.poll({ cpu: 190, share: 0 });
  assert(held.poll({ cpu: 190, share: 0.9 }).request !== null);
  held.poll({ cpu: 1200, share: 0.5 });
  const { request, decisions } = held.poll({ cpu: 1200, share: 0.5 });
  assertEquals(request, null);
  const [decision] = decisions;
  assertEquals(decision?.decision.kind === "blocked" && decision.decision.reason, "Cooldown");
});

Deno.test("decideSize() goes by the letter under `throttling: ignore` (L21)", () => {
  const held = new Held({ throttling: "ignore" });
  for (let polls = 0; polls < 3; polls++) assertEquals(held.poll({ cpu: 199, share: 0.5 }).request, null);
  assertEquals(held.poll({ cpu: 199, share: 0.5 }).request?.to["cpu.limits"], 332);
});

Deno.test("isStreakFull() waits for a second sample where a step may have begun within a short one (L22)", () => {
  const sides = [side("cpu.limits", { consecutiveSamples: 3 })];
  const actual = resources({ "cpu.limits": 200 });
  const follow = (one: Sample, streaks = {}) =>
    nextStreaks(sides, streaks, { sample: one, actual, evidence: NO_EVIDENCE });
  const [limits] = sides.map((rule) => (streaks: ReturnType<typeof follow>) => isStreakFull(rule, streaks));
  const at = (ms: number) => ({ from: 0, at: ms, seenAt: ms });
  const begun: Sample = sample({ ...at(SECOND), cpuMillicores: 120, demandMillicores: 240, isSaturated: true });
  assertEquals(limits?.(follow(begun)), false);
  assertEquals(limits?.(follow(begun, follow(begun))), true);
  assertEquals(limits?.(follow({ ...begun, cpuMillicores: 190 })), true, "at the limit all the time");
  assertEquals(limits?.(follow({ ...begun, ...at(10 * SECOND) })), true, "the next one is far");
});

Deno.test("nextStreaks() ends a down streak of cpu at a saturated sample, and none of memory (L20, L22)", () => {
  const sides = [side("cpu.limits"), side("memory.requests", { scaleDownThresholdPercent: 90 })];
  const actual = resources({ "cpu.limits": 1000, "memory.requests": 100 * MI });
  const low = sample({ cpuMillicores: 90, workingSetBytes: 50 * MI });
  const down = nextStreaks(sides, {}, { sample: low, actual, evidence: NO_EVIDENCE });
  assertEquals([down["cpu.limits"]?.direction, down["memory.requests"]?.direction], ["down", "down"]);
  const next = nextStreaks(sides, down, { sample: { ...low, isSaturated: true }, actual, evidence: NO_EVIDENCE });
  assertEquals([next["cpu.limits"], next["memory.requests"]?.count], [undefined, 2]);
});

Deno.test("isStreakFull() has a saturated streak of cpu for full while its newest sample is, and no other (L22)", () => {
  const sides = [side("cpu.limits", { consecutiveSamples: 3 }), side("memory.limits", { consecutiveSamples: 3 })];
  const actual = resources({ "cpu.limits": 100, "memory.limits": 64 * MI });
  const busy: Sample = sample({ cpuMillicores: 100, demandMillicores: 100, isSaturated: true });
  const once = nextStreaks(sides, {}, { sample: busy, actual, evidence: NO_EVIDENCE });
  assertEquals(sides.map((one) => isStreakFull(one, once)), [true, false]);
  const twice = nextStreaks(sides, once, { sample: { ...busy, isSaturated: false }, actual, evidence: NO_EVIDENCE });
  assertEquals(sides.map((one) => isStreakFull(one, twice)), [false, false]);
  assertEquals(twice["cpu.limits"]?.count, 2);
});

Deno.test("readUsage() gives the demand of cpu, which up and down are judged by (L21)", () => {
  const held = sample({ demandMillicores: 300 });
  assertEquals([findUsage(side("cpu.limits"), held), findUsage(side("cpu.requests"), held)], [300, 300]);
});

Deno.test("a request says how much was used and asked for, and so does its record (L21)", () => {
  const held = new Held();
  held.poll({ cpu: 180, share: 0 });
  const { outcome, record } = held.record({ cpu: 180, share: 0.6 });
  assertMatch(outcome.request?.why ?? "", /^cpu.limits at 90 %, held back 60 % of the time: demand 450m/);
  const parsed = parseRecord(JSON.parse(JSON.stringify(record)));
  assert(parsed.ok, JSON.stringify(parsed));
  const { sampling } = parsed.value.outcome.state.views["uid-of-web"] ?? {};
  assertEquals([sampling?.sample?.cpuMillicores, sampling?.sample?.demandMillicores], [180, 450]);
  assertAlmostEquals(sampling?.sample?.heldBack ?? 0, 0.6, 1e-9);
  assertEquals(parsed.value.before.views["uid-of-web"]?.sampling.anchor?.pressure, {
    fullNs: 1e9,
    fullHint: { unit: "us", percent: 60 },
    throttledNs: null,
    largestCpuNs: null,
  });
});

Deno.test("explainHold() says what a limit hides where nothing is wanted (L21)", () => {
  const held = new Held({
    sides: [side("cpu.limits", { scaleUpThresholdPercent: 99, scaleDownThresholdPercent: 10 })],
  });
  held.poll({ cpu: 150, share: 0 });
  const [one] = held.poll({ cpu: 150, share: 0.2 }).decisions;
  assertEquals(one?.decision.kind === "hold" && one.decision, {
    kind: "hold",
    reason: "InBand",
    message: "inside the thresholds; cpu at 150m, held back 20 % of the time: demand 188m",
  });
});

const QUICK = { cooldownMs: SECOND, consecutiveSamples: 3 };
const WITH_MEMORY = [
  side("cpu.requests", QUICK),
  side("cpu.limits", QUICK),
  side("memory.requests", {
    ...QUICK,
    scaleUpThresholdPercent: 45,
    targetUtilizationPercent: 40,
    scaleDownThresholdPercent: 10,
  }),
];

Deno.test("decideSize() keeps memory's streak over the resizes that a saturated CPU brings, and fills it (L3, L22)", () => {
  const held = new Held({ sides: WITH_MEMORY, cooldownMs: SECOND });
  held.poll({ cpu: 190, share: 0 });
  const first = held.poll({ cpu: 190, share: 0.6 });
  assertEquals(first.request?.changes, ["cpu.requests", "cpu.limits"]);
  assertEquals(held.memory(), 1);
  assertEquals(held.story.state.views["uid-of-web"]?.streaks["cpu.limits"], undefined);
  assertEquals(held.poll({ cpu: 700, share: 0.6 }).request?.changes, ["cpu.requests", "cpu.limits"]);
  const third = held.poll({ cpu: 2600, share: 0.6 });
  assert(third.request?.changes.includes("memory.requests"), third.request?.changes.join());
});

Deno.test("decideSize() ends memory's streak with a resize that no saturated sample brought (L22)", () => {
  const held = new Held({
    sides: [side("cpu.requests", { cooldownMs: SECOND, consecutiveSamples: 1 }), ...WITH_MEMORY.slice(2)],
    cooldownMs: SECOND,
  });
  held.poll({ cpu: 150, share: 0 });
  assert(held.poll({ cpu: 150, share: 0 }).request !== null);
  assertEquals(held.story.state.views["uid-of-web"]?.streaks, {});
});

Deno.test("decideSize() ends memory's streak when somebody else changes CPU (L22)", () => {
  const held = new Held({ sides: WITH_MEMORY });
  held.poll({ cpu: 75, share: 0 });
  held.poll({ cpu: 75, share: 0 });
  assertEquals(held.memory(), 1);
  const size = { ...SIZE, "cpu.limits": 300 };
  held.story.changeContainer({ spec: size, reported: size });
  assertEquals(held.memory(), undefined);
});
