/**
 * A packed state loses nothing.
 */
import { assertEquals } from "#assert";
import * as fc from "fast-check";
import type { Pressure } from "../../lib/api/usage.ts";
import {
  type Anchor,
  NEW_POD_STATE,
  NO_EVIDENCE,
  type PodState,
  type Sample,
  type Sampling,
} from "../../lib/model/state.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import { packState, unpackState } from "../../lib/model/packed_state.ts";
import { START } from "../support/builders.ts";
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

Deno.test("wake() gives back what rest() was given, whatever was sampled", () => {
  fc.assert(fc.property(states, (state) => assertEquals(unpackState(packState(state)), state)), RUNS);
});

Deno.test("wake() gives back what rest() was given last, whatever was there before, and leaves alone who was awake", () => {
  fc.assert(
    fc.property(states, states, (before, after) => {
      const resting = packState(before);
      const awake = unpackState(resting);
      assertEquals(unpackState(packState(after, resting)), after);
      assertEquals(awake, before);
    }),
    RUNS,
  );
});

Deno.test("rest() writes over the state that rested before, its views and its numbers", () => {
  const toState = (newAt: number): PodState => ({
    ...NEW_POD_STATE,
    views: { one: { ...VIEW, sampling: newSampling(newAt), evidence: NO_EVIDENCE } },
  });
  const resting = packState(toState(START));
  const view = resting.views.one;
  const numbers = view?.sampling.numbers;
  const next = packState(toState(START + 1), resting);
  assertEquals([next === resting, next.views.one === view, next.views.one?.sampling.numbers === numbers], [
    true,
    true,
    true,
  ]);
  assertEquals(next.views.one?.sampling.newAt, START + 1);
});

Deno.test("rest() keeps what can be read of a resting state as it is, and what is shared stays shared", () => {
  const state: PodState = {
    ...NEW_POD_STATE,
    views: { one: { ...VIEW, sampling: newSampling(START), evidence: NO_EVIDENCE } },
  };
  const resting = packState(state);
  assertEquals([resting.views.one?.sampling.newAt, resting.views.one?.dueAt], [START, VIEW.dueAt]);
  const view = unpackState(resting).views.one;
  assertEquals([view?.evidence === NO_EVIDENCE, view?.streaks === VIEW.streaks], [true, true]);
  assertEquals(packState(NEW_POD_STATE).containers === NEW_POD_STATE.containers, true);
});
