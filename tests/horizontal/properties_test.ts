/** What holds of the fold of ScaledObjects whatever it is given, in any order (R45, R51 to R57, R70). */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideReplicas } from "../../lib/horizontal/decide.ts";
import type {
  Blocker,
  ReplicasInput,
  ReplicasObservation,
  ScaleAnswer,
  ScaleWrite,
  TriggerReading,
} from "../../lib/model/replicas_decision.ts";
import { NEW_REPLICAS_STATE, type ReplicasState } from "../../lib/model/replicas_state.ts";
import { toScaledObjectStatus } from "../../lib/horizontal/status.ts";
import {
  DEFAULT_BEHAVIOR,
  FALLBACK_BEHAVIORS,
  type ScaledObject,
  type Trigger,
} from "../../lib/model/scaled_object.ts";
import {
  cpu,
  external,
  factsOf,
  failed,
  formula,
  number,
  pods,
  scaledObject,
  scaleOf,
  value,
} from "../support/replicas_fold.ts";
import { NO_ANNOTATIONS } from "../support/triggers.ts";
import { deepFreeze, START } from "../support/builders.ts";

const RUNS = { numRuns: 400 };

const RARELY = fc.nat(7).map((it) => it === 7);

const FORMULAS = [
  null,
  formula((values) => number(Object.values(values).reduce<number>((sum, one) => sum + (one ?? 0), 0))),
  formula(() => number(NaN)),
  formula(() => number(-1e300), { metricType: "Value" }),
  formula(() => ({ kind: "nil" }), { target: 0.001 }),
  formula(() => ({ kind: "error", message: "no" })),
];

const TRIGGERS: fc.Arbitrary<readonly Trigger[]> = fc.array(
  fc.oneof(
    fc.constant(cpu()),
    fc.constant(cpu({ target: { kind: "AverageValue", milli: 500n } })),
    fc.record({
      name: fc.constantFrom("a", "b", null),
      metricType: fc.constantFrom("AverageValue", "Value"),
      targetMilli: fc.constantFrom(1n, 10_000n, 2n ** 62n),
      activation: fc.constantFrom(0, 5, -1),
    }).map((one) => external(one)),
  ),
  { minLength: 1, maxLength: 3 },
).map((triggers) =>
  triggers.map((one, index) =>
    one.kind === "resource" ? { ...one, index } : external({ ...one, index, metricName: `s${index}-x` })
  )
);

const OBJECTS: fc.Arbitrary<ScaledObject> = fc.record({
  triggers: TRIGGERS,
  formula: fc.constantFrom(...FORMULAS),
  behavior: fc.constantFrom(null, DEFAULT_BEHAVIOR),
  bounds: fc.constantFrom([0, 1, null], [0, 10, null], [1, 10, null], [1, 10, 0], [3, 10, 1], [5, 5, 2], [2, 2, null]),
  fallback: fc.option(
    fc.record({
      failureThreshold: fc.nat(2),
      replicas: fc.constantFrom(0, 6, 2 ** 31 - 1),
      behavior: fc.constantFrom(...FALLBACK_BEHAVIORS),
    }),
    { freq: 1 },
  ),
  restoresReplicas: fc.boolean(),
  annotations: fc.record({
    isPaused: RARELY,
    pausedReplicas: fc.option(fc.nat(20)),
    isScaleInPaused: RARELY,
    isScaleOutPaused: RARELY,
    isForcedActive: RARELY,
  }, { requiredKeys: [] }),
}).map(({ bounds: [min, max, idle], annotations, ...rest }) => {
  // A count is read where the object is paused alone.
  const { isPaused, pausedReplicas } = { ...NO_ANNOTATIONS, ...annotations };
  return scaledObject({
    ...rest,
    minReplicas: min ?? 0,
    maxReplicas: max ?? 1,
    idleReplicas: idle ?? null,
    annotations: { ...annotations, pausedReplicas: isPaused ? pausedReplicas : null },
  });
});

const VALUES = fc.oneof(
  fc.constantFrom(0, 1, 9.5, 60, 1e9, -3, NaN, Infinity, -Infinity, 1e300, 5e-324),
  fc.double({ min: 0, max: 1000, noNaN: true }),
);
const READINGS: fc.Arbitrary<TriggerReading> = fc.oneof(
  fc.tuple(VALUES, fc.boolean()).map(([it, isCounted]) => value(it, isCounted)),
  fc.boolean().map((isCounted) => failed("timeout", isCounted)),
  fc.tuple(fc.nat(4), fc.nat(3000)).map(([count, milli]) => pods(count, BigInt(milli))),
);
const MAPS = fc.array(fc.option(READINGS), { maxLength: 3 }).map((list) =>
  new Map(list.flatMap((one, index) => one === null ? [] : [[index, one] as const]))
);
const SCALES = fc.tuple(fc.nat(14), fc.nat(14)).map(([replicas, statusReplicas]) =>
  scaleOf(replicas, { statusReplicas })
);
const OBSTACLES: fc.Arbitrary<Blocker> = fc.constantFrom<Blocker>(
  { kind: "invalid" },
  { kind: "check", reason: "TargetNotFound", message: "no target" },
  { kind: "selector", reason: "AmbiguousSelector", message: "both" },
  { kind: "scale", message: "HTTP 500" },
);
const ANSWERS = fc.constantFrom<ScaleAnswer | null>(
  { kind: "dropped" },
  { kind: "refused", code: 403, message: "forbidden" },
  { kind: "unanswered", message: "timeout" },
  null,
);

/** `answer`: what becomes of the write, `null` = it is accepted. */
interface Step {
  readonly afterMs: number;
  readonly object: ScaledObject | null;
  readonly isValid: boolean;
  readonly isDeleting: boolean;
  readonly observation: Exclude<ReplicasObservation, { readonly kind: "answered" }>;
  readonly answer: ScaleAnswer | null;
}

const OBSERVATIONS: fc.Arbitrary<Step["observation"]> = fc.oneof(
  fc.record({ kind: fc.constant("changed"), scale: SCALES }),
  fc.record({ kind: fc.constant("obstructed"), obstacle: OBSTACLES }),
  fc.record({ kind: fc.constant("deleted"), scale: fc.option(SCALES) }),
  {
    arbitrary: fc.record({ kind: fc.constant("poll"), scale: SCALES, triggers: MAPS, readyPods: fc.nat(4) }),
    weight: 4,
  },
  {
    arbitrary: fc.record({ kind: fc.constant("tick"), scale: SCALES, triggers: MAPS, readyPods: fc.nat(4) }),
    weight: 4,
  },
);
const STEPS: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    afterMs: fc.constantFrom(0, 1, 15_000, 30_000, 3_600_000, -60_000),
    object: fc.option(OBJECTS, { freq: 1 }),
    isValid: RARELY.map((it) => !it),
    isDeleting: RARELY,
    observation: OBSERVATIONS,
    answer: ANSWERS,
  }),
  { minLength: 10, maxLength: 30 },
);

interface Passed {
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly after: ReplicasState;
  readonly write: ScaleWrite | null;
}

/** Runs a course; `keep` is what lies between two passes of the fold. */
function run(
  first: ScaledObject,
  steps: readonly Step[],
  keep: (state: ReplicasState) => ReplicasState,
): readonly Passed[] {
  const passed: Passed[] = [];
  let [state, object, now] = [NEW_REPLICAS_STATE, first, START];
  const pass = (observation: ReplicasObservation, step: Step) => {
    const problems = step.isValid ? [] : [{ path: "spec", message: "no" }];
    const { isDeleting } = step;
    const facts = factsOf(object, { isDeleting, problems, ...(step.isValid ? {} : { scaledObject: null }) });
    const input: ReplicasInput = { now, object: facts, observation, dryRun: false };
    const before = keep(state);
    const outcome = decideReplicas(deepFreeze(before), input);
    toScaledObjectStatus(facts, outcome.state);
    passed.push({ before, input, after: outcome.state, write: outcome.write });
    state = outcome.state;
    return outcome.write;
  };
  for (const step of steps) {
    now += step.afterMs;
    object = step.object ?? object;
    const write = pass(step.observation, step);
    if (write === null) continue;
    const answer = step.answer ?? { kind: "accepted", replicas: write.replicas };
    pass({ kind: "answered", write, answer }, step);
  }
  return passed;
}

function roundTrip(state: ReplicasState): ReplicasState {
  return JSON.parse(JSON.stringify(state));
}

Deno.test("decideReplicas() never throws, and its state survives JSON, with the same outcomes after it (R45, R90)", () => {
  let writes = 0;
  fc.assert(
    fc.property(OBJECTS, STEPS, (object, steps) => {
      const passed = run(object, steps, (state) => state);
      assertEquals(run(object, steps, roundTrip), passed);
      for (const { after } of passed) assertEquals(roundTrip(after), after);
      writes += passed.filter(({ write }) => write !== null).length;
    }),
    RUNS,
  );
  assert(writes > RUNS.numRuns, `${writes} writes`);
});

Deno.test("decideReplicas() writes within zero and the maximum, but for a paused count and the replicas of before (R32, R52, R53, R55, R57)", () => {
  const halves = new Set<string>();
  fc.assert(
    fc.property(OBJECTS, STEPS, (object, steps) => {
      for (const { before, input, write } of run(object, steps, (state) => state)) {
        if (write === null) continue;
        halves.add(write.half);
        const { scaledObject: current } = input.object;
        if (current === null) throw new Error("an invalid object was written for");
        assert(write.replicas !== write.from.replicas, "it changes nothing");
        if (write.half === "paused") assertEquals(write.replicas, current.annotations.pausedReplicas);
        else if (write.half === "restore") assertEquals(write.replicas, before.originalReplicas);
        else assert(write.replicas >= 0 && write.replicas <= current.maxReplicas, `${write.half} ${write.replicas}`);
      }
    }),
    RUNS,
  );
  assertEquals([...halves].sort(), ["paused", "poll", "restore", "tick"]);
});

Deno.test("decideReplicas() writes nothing for what is paused, obstructed or deleted, but what these ask for (R55, R57)", () => {
  let held = 0;
  fc.assert(
    fc.property(OBJECTS, STEPS, (object, steps) => {
      for (const { input: { object: facts, observation }, write } of run(object, steps, (state) => state)) {
        const isHeld = facts.isPaused || facts.isDeleting || observation.kind === "obstructed";
        if (!isHeld || observation.kind === "answered") continue;
        held += 1;
        assert(write === null || write.half === "paused" || write.half === "restore", write?.half);
      }
    }),
    RUNS,
  );
  assert(held > RUNS.numRuns, `${held} passes`);
});

Deno.test("decideReplicas() takes no replicas away in a poll in which a trigger failed before any fallback (R53)", () => {
  let failures = 0;
  fc.assert(
    fc.property(OBJECTS, STEPS, (object, steps) => {
      for (const { input: { object: facts, observation }, write } of run(object, steps, (state) => state)) {
        const current = facts.scaledObject;
        if (observation.kind !== "poll" || current === null || current.fallback !== null) continue;
        const isFailed = ({ kind, index }: Trigger) =>
          kind === "external" && observation.triggers.get(index)?.kind !== "value";
        if (!current.triggers.some(isFailed)) continue;
        failures += 1;
        assert(write === null || write.replicas > write.from.replicas, `${write?.replicas}`);
      }
    }),
    RUNS,
  );
  assert(failures > RUNS.numRuns, `${failures} polls`);
});
