/**
 * A flat state loses nothing.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { Pressure } from "../../lib/api/usage.ts";
import {
  type Anchor,
  type AutoscalerView,
  type Evidence,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  NO_STREAKS,
  type Peaks,
  type PodState,
  type Sample,
  type Sampling,
} from "../../lib/model/state.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import { copyNumbers, flattenState, ownCounts, toPodState } from "../../lib/model/flat_state.ts";
import { deepFreeze, START } from "../support/builders.ts";
import { VIEW } from "./candidates.ts";

const RUNS = { seed: 20261123, numRuns: 500 };

const at = fc.integer({ min: 0, max: 2 * START });
const count = fc.oneof(fc.nat(3), fc.maxSafeNat());
const amount = fc.oneof(count, fc.double({ min: 0, max: 1e12, noNaN: true }).map((value) => value + 0));
const countOrNull = fc.option(count, { nil: null });
const amountOrNull = fc.option(amount, { nil: null });

const pressures: fc.Arbitrary<Pressure> = fc.record({
  fullNs: countOrNull,
  throttledNs: countOrNull,
  largestCpuNs: countOrNull,
  fullHint: fc.record({ unit: fc.constantFrom("us" as const, "ns" as const), percent: amount }),
}, { requiredKeys: ["fullNs", "throttledNs", "largestCpuNs"] });

const anchors: fc.Arbitrary<Anchor> = fc.record({
  instance: fc.string(),
  at,
  counterNs: count,
  pressure: fc.option(pressures, { nil: null }),
  oomKills: count,
}, { requiredKeys: ["instance", "at", "counterNs", "pressure"] });

const samples: fc.Arbitrary<Sample> = fc.record({
  at,
  from: at,
  seenAt: at,
  cpuMillicores: amount,
  heldBack: amountOrNull,
  isSaturated: fc.boolean(),
  demandMillicores: amount,
  workingSetBytes: count,
  usageBytes: countOrNull,
  podUsageBytes: countOrNull,
  oomKills: count,
}, {
  requiredKeys: [
    "at",
    "from",
    "seenAt",
    "cpuMillicores",
    "heldBack",
    "isSaturated",
    "demandMillicores",
    "workingSetBytes",
    "usageBytes",
    "podUsageBytes",
  ],
});

const samplings: fc.Arbitrary<Sampling> = fc.record({
  anchor: fc.option(anchors, { nil: null }),
  witness: fc.option(anchors, { nil: null }),
  sample: fc.option(samples, { nil: null }),
  newAt: at,
  warming: fc.boolean(),
});

const evidences = fc.record({
  since: fc.option(at, { nil: null }),
  until: at,
  sides: fc.constantFrom(NO_EVIDENCE.sides, {
    "cpu.requests": { kind: "peaks" as const, windowMs: 60_000, pairs: [1] },
  }),
});

const states = fc.record({
  views: fc.array(fc.tuple(fc.constantFrom("one", "two", "three"), samplings, evidences), { maxLength: 3 }),
  shadows: fc.boolean(),
}).map(({ views: drawn, shadows }): PodState => {
  const views = Object.fromEntries(drawn.map(([key, sampling, evidence]) => [key, { ...VIEW, sampling, evidence }]));
  const own: PodState = { ...NEW_POD_STATE, resourceVersion: "7", views };
  return shadows ? { ...own, shadow: { sizes: {}, generation: 2, state: own } } : own;
});

Deno.test("toPodState() gives back what flattenState() was given, whatever was sampled", () => {
  fc.assert(fc.property(states, (state) => assertEquals(toPodState(flattenState(state)), state)), RUNS);
});

Deno.test("toPodState() gives back the last state, whatever was there before, and leaves alone what it gave back earlier", () => {
  fc.assert(
    fc.property(states, states, (before, after) => {
      const flat = flattenState(before);
      const plain = toPodState(flat);
      assertEquals(toPodState(flattenState(after, flat)), after);
      assertEquals(plain, before);
    }),
    RUNS,
  );
});

Deno.test("flattenState() writes over the flat state before, its views and its numbers", () => {
  const toState = (newAt: number): PodState => ({
    ...NEW_POD_STATE,
    views: { one: { ...VIEW, sampling: newSampling(newAt), evidence: NO_EVIDENCE } },
  });
  const flat = flattenState(toState(START));
  const view = flat.views.one;
  const numbers = view?.sampling.numbers;
  const next = flattenState(toState(START + 1), flat);
  assertEquals([next === flat, next.views.one === view, next.views.one?.sampling.numbers === numbers], [
    true,
    true,
    true,
  ]);
  assertEquals(next.views.one?.sampling.newAt, START + 1);
});

Deno.test("flattenState() keeps what can be read of a flat state as it is, and what is shared stays shared", () => {
  const state: PodState = {
    ...NEW_POD_STATE,
    views: { one: { ...VIEW, streaks: NO_STREAKS, sampling: newSampling(START), evidence: NO_EVIDENCE } },
  };
  const flat = flattenState(state);
  assertEquals([flat.views.one?.sampling.newAt, flat.views.one?.dueAt], [START, VIEW.dueAt]);
  const view = toPodState(flat).views.one;
  assertEquals([view?.evidence === NO_EVIDENCE, view?.streaks === NO_STREAKS, view?.shortage === NO_SHORTAGE], [
    true,
    true,
    true,
  ]);
  assertEquals(flattenState(NEW_POD_STATE).containers === NEW_POD_STATE.containers, true);
});

Deno.test("writes into a flat state that owns its counts reach neither the state before nor what was given back", () => {
  const streak = {
    direction: "up",
    count: 3,
    peakUsage: 90,
    olderPeakUsage: null,
    isSaturated: false,
    peakUsageBytes: null,
    olderPeakUsageBytes: null,
  } as const;
  const counted: AutoscalerView = {
    ...VIEW,
    sampling: newSampling(START),
    evidence: NO_EVIDENCE,
    streaks: { "cpu.requests": streak },
    limited: { reason: "AtBound", samples: 3 },
    shortage: { atLimit: { cpu: 1, memory: 0 }, clipped: 1, held: { "cpu.requests": 3 } },
  };
  const state: PodState = { ...NEW_POD_STATE, views: { one: counted } };
  const flat = flattenState(deepFreeze(state));
  const view = flat.views.one;
  assert(view !== undefined && view.limited !== null);
  ownCounts(view);
  const [before, copy] = [toPodState(flat), flattenState(toPodState(flat))];
  const own = view.streaks["cpu.requests"];
  assert(own !== undefined);
  own.count = 4;
  own.peakUsage = 95;
  view.limited.samples = 4;
  view.shortage.clipped = 2;
  view.shortage.atLimit.cpu = 2;
  view.shortage.held["cpu.requests"] = 4;
  view.dueAt = 7;
  view.sampling.numbers[0] = 5;
  assertEquals(before, state);
  assertEquals(toPodState(flat).views.one?.streaks, { "cpu.requests": { ...streak, count: 4, peakUsage: 95 } });
  copyNumbers(flat, copy);
  assertEquals(toPodState(copy), toPodState(flat));
});

Deno.test("flattenState() and copyNumbers() give each flat state peaks of its own, which both fields of a resource share (L2)", () => {
  const [cpu, other] = [peaks([7, 90, 9, 50]), peaks([8, 30])];
  const state = withEvidence({ "cpu.requests": cpu, "cpu.limits": cpu, "memory.requests": other });
  const flat = flattenState(deepFreeze(state));
  const [before, copy] = [toPodState(flat), flattenState(toPodState(flat))];
  const evidence = flat.views.one?.evidence ?? {};
  assert(evidence["cpu.requests"] === evidence["cpu.limits"]);
  assert(before.views.one?.evidence.sides["cpu.requests"] === before.views.one?.evidence.sides["cpu.limits"]);
  const own = evidence["cpu.limits"];
  assert(own?.kind === "peaks");
  own.pairs[1] = 95;
  own.used = 2;
  assertEquals(before, state);
  assertEquals(toPodState(copy), state);
  copyNumbers(flat, copy);
  const written = withEvidence({
    "cpu.requests": peaks([7, 95]),
    "cpu.limits": peaks([7, 95]),
    "memory.requests": other,
  });
  for (const one of [flat, copy]) assertEquals(toPodState(one), written);
  assert(copy.views.one?.evidence["cpu.limits"] !== own);
});

Deno.test("flattenState() writes over peaks, and not over those that another field shares (L2)", () => {
  const [cpu, longer] = [peaks([7, 90]), peaks([7, 90, 8, 50, 9, 20])];
  const flat = flattenState(withEvidence({ "cpu.requests": cpu, "cpu.limits": cpu }));
  const apart = withEvidence({ "cpu.requests": peaks([7, 80]), "cpu.limits": peaks([7, 70]) });
  assertEquals(toPodState(flattenState(apart, flat)), apart);
  const fewer = withEvidence({ "cpu.limits": longer, "memory.limits": cpu });
  assertEquals(toPodState(flattenState(fewer, flat)), fewer);
  const none = withEvidence({});
  assertEquals(toPodState(flattenState(none, flat)), none);
});

function peaks(pairs: readonly number[]): Peaks {
  return { kind: "peaks", windowMs: 300_000, pairs };
}

function withEvidence(sides: Evidence["sides"]): PodState {
  const view: AutoscalerView = {
    ...VIEW,
    sampling: newSampling(START),
    evidence: { since: START, until: START, sides },
  };
  return { ...NEW_POD_STATE, views: { one: view } };
}
