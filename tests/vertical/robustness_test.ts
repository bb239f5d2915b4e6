/**
 * decideSize() is pure and repeatable, its state is plain JSON, and it never throws on any observation.
 */
import { assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { Observation, SizeInput } from "../../lib/model/decision.ts";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import { BLOCK_REASONS, HOLD_REASONS, NOTICES } from "../../lib/model/reasons.ts";
import { flattenState, toPodState } from "../../lib/model/flat_state.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
import { oddFacts, oddUsage, sanePolicies } from "../support/arbitraries.ts";
import { lawPolicies } from "../support/law_arbitraries.ts";
import { deepFreeze, MINUTE, pod, SECOND, START } from "../support/builders.ts";

const RUNS = { seed: 20261120, numRuns: 200 };

const answers: fc.Arbitrary<Extract<Observation, { kind: "answered" }>["answer"]> = fc.oneof(
  fc.record({ kind: fc.constant("accepted" as const), generation: fc.option(fc.nat(9)) }),
  fc.constant({ kind: "gone" as const }),
  fc.constantFrom({ kind: "conflict" as const }, { kind: "withdrawn" as const }, {
    kind: "unconfirmed" as const,
    message: "",
  }),
  fc.record({
    kind: fc.constant("refused" as const),
    reason: fc.constantFrom("NodeCapacity" as const, "Rights" as const, "Unsupported" as const, "RetryLater" as const),
    message: fc.constant("no"),
    resources: fc.subarray(["cpu" as const, "memory" as const]),
    waitMs: fc.option(fc.nat(MINUTE)),
  }),
);

const contenders = fc.array(fc.oneof(sanePolicies, lawPolicies), { maxLength: 3 }).map((drawn) =>
  drawn.map((one, index) => ({
    ...one,
    name: `p${index}`,
    uid: `uid-${index}`,
    key: `uid-${index}`,
    containerName: index === 1 ? "proxy" : "main",
    after: (["running", "containerReady", "podReady"] as const)[index] ?? "running",
    cooldownMs: index * 30 * SECOND,
  }))
);

const amount = fc.option(fc.integer({ min: -1000, max: 2 ** 31 }), { nil: null });
const ofResources = fc.record({ cpu: amount, memory: amount });
const ofSides = fc.record({
  "cpu.requests": amount,
  "cpu.limits": amount,
  "memory.requests": amount,
  "memory.limits": amount,
});

const surroundings = fc.record({
  room: fc.option(fc.record({ cpuMillicores: fc.integer(), memoryBytes: fc.integer() }), { nil: null }),
  limits: fc.option(
    fc.record({
      ranges: fc.array(
        fc.record({
          name: fc.constant("sizes"),
          type: fc.constantFrom<"Container" | "Pod">("Container", "Pod"),
          min: ofResources,
          max: ofResources,
          maxLimitRequestRatio: ofResources,
          defaults: ofSides,
        }),
        { maxLength: 2 },
      ),
      quota: ofSides,
    }),
    { nil: null },
  ),
  lowersMemoryLimits: fc.boolean(),
  disruption: fc.record({
    pods: fc.option(fc.integer(), { nil: null }),
    unavailable: fc.integer(),
    example: fc.option(fc.string(), { nil: null }),
    budgets: fc.option(fc.array(fc.record({ name: fc.string(), allowed: fc.integer() }), { maxLength: 2 }), {
      nil: null,
    }),
  }),
});

const steps = fc.array(
  fc.record({
    passMs: fc.oneof(fc.nat(20 * SECOND), fc.constantFrom(-60 * MINUTE, 10 * MINUTE)),
    facts: fc.oneof(oddFacts, fc.constant({})),
    contenders: fc.option(contenders, { nil: null, freq: 3 }),
    observation: fc.oneof(
      oddUsage,
      fc.constantFrom<Observation>({ kind: "changed" }, { kind: "tick" }),
    ),
    answer: answers,
  }),
  { maxLength: 25 },
);

Deno.test("decideSize() never throws, changes nothing it was given, answers alike, and keeps plain JSON", () => {
  fc.assert(
    fc.property(contenders, fc.boolean(), surroundings, steps, (first, dryRun, around, drawn) => {
      let state: PodState = deepFreeze(NEW_POD_STATE);
      let [now, facts, matching, version] = [START, pod(), first, 1000];
      const fold = (observation: Observation): ResizeRequest | null => {
        const input: SizeInput = deepFreeze({
          now,
          pod: facts,
          contenders: matching,
          observation,
          siblings: null,
          ...around,
          inFlight: false,
          dryRun,
        });
        const outcome = decideSize(state, input);
        assertEquals(decideSize(state, input), outcome);
        // Facts that were read before are not read again; reading them would change nothing.
        if (observation.kind !== "answered") {
          assertEquals(decideSize({ ...state, resourceVersion: null }, input), outcome);
        }
        assertEquals(JSON.parse(JSON.stringify(outcome.state)), outcome.state);
        assertEquals(toPodState(flattenState(outcome.state)), outcome.state);
        for (const { decision } of outcome.decisions) {
          if (decision.kind === "hold") assertEquals(HOLD_REASONS.includes(decision.reason), true);
          if (decision.kind === "blocked") assertEquals(BLOCK_REASONS.includes(decision.reason), true);
        }
        for (const { name } of outcome.notices) assertEquals(name in NOTICES, true);
        if (dryRun) assertEquals(outcome.request, null);
        state = deepFreeze(outcome.state);
        return outcome.request;
      };
      for (const step of drawn) {
        now += step.passMs;
        // Another pod has another resourceVersion, the same one may come again.
        const resourceVersion = String(version++);
        facts = Object.keys(step.facts).length === 0 ? facts : { ...facts, ...step.facts, resourceVersion };
        matching = step.contenders ?? matching;
        const order = fold(step.observation);
        if (order !== null) fold({ kind: "answered", request: order, answer: step.answer });
      }
    }),
    RUNS,
  );
});
