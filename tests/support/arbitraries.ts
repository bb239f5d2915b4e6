/** What property tests of the core draw from: sane policies and pods, constant loads, and odd observations. */
import * as fc from "fast-check";
import type { Point } from "../../lib/api/usage.ts";
import type { Observation } from "../../lib/model/decision.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import type { Autoscaler, FieldPolicy } from "../../lib/model/autoscaler.ts";
import {
  computeQosClass,
  RESIZE_UNIT,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../../lib/units/resources.ts";
import { container, MI, pod, point, policy, SECOND, side, START, usage } from "./builders.ts";

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 3 });

/** down < target < up, bounds in whole units with min <= max. */
export function saneSide(key: ResourceField): fc.Arbitrary<FieldPolicy> {
  const unit = RESIZE_UNIT[resourceOf(key)];
  return fc.record({
    percents: fc.oneof(
      fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { minLength: 3, maxLength: 3 }),
      fc.integer({ min: 1, max: 90 }).map((down) => [down, down + 1, down + 10]),
    ),
    edges: fc.tuple(optional(fc.integer({ min: 1, max: 500 })), optional(fc.integer({ min: 1, max: 2000 }))),
    step: optional(fc.integer({ min: 20, max: 300 })),
    stepPercent: optional(fc.integer({ min: 5, max: 100 })),
    consecutiveSamples: fc.integer({ min: 1, max: 3 }),
  }).map(({ percents, edges: [min, above], step, stepPercent, consecutiveSamples }) => {
    const [down = 1, target = 2, up = 3] = percents.toSorted((a, b) => a - b);
    return side(key, {
      scaleDownThresholdPercent: down,
      targetUtilizationPercent: target,
      scaleUpThresholdPercent: up,
      consecutiveSamples,
      cooldownMs: 0,
      bounds: {
        min: min === null ? null : min * unit,
        max: above === null ? null : ((min ?? 0) + above) * unit,
        step: step === null ? null : step * unit,
        stepPercent,
      },
    });
  });
}

export const sanePolicies: fc.Arbitrary<Autoscaler> = fc.subarray([...RESOURCE_FIELDS], { minLength: 1 })
  .chain((keys) => fc.tuple(...keys.map(saneSide)))
  .map((sides) => policy({ sides, cooldownMs: 0 }));

/** Requests below or at limits, some absent, in whole units or not. */
export function sizes(isAligned: boolean): fc.Arbitrary<Resources> {
  const amounts = (resource: Resource) =>
    fc.tuple(
      optional(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 2000 }))),
      optional(fc.oneof(fc.nat(12), fc.nat(2000))),
      fc.nat(isAligned ? 0 : MI - 1),
    )
      .map(([request, above, bytes]) => {
        const extra = resource === "cpu" ? 0 : bytes;
        const at = (amount: number | null) => amount === null ? null : amount * RESIZE_UNIT[resource] + extra;
        return [at(request), at(above === null ? null : (request ?? 1) + above)] as const;
      });
  return fc.tuple(amounts("cpu"), amounts("memory")).map(([cpu, memory]) => ({
    "cpu.requests": cpu[0],
    "cpu.limits": cpu[1],
    "memory.requests": memory[0],
    "memory.limits": memory[1],
  }));
}

export function podOf(spec: Resources): PodFacts {
  const qosClass = computeQosClass({ podResources: null, containers: [spec] });
  return pod({ qosClass, containers: [container({ spec })] });
}

export const loads = fc.record({
  cpu: fc.oneof(fc.nat(60), fc.nat(4000)).map((tenths) => tenths / 10),
  memory: fc.integer({ min: 1, max: 1500 * MI }),
  cache: fc.constant(MI),
});

const oddNumber = fc.oneof(
  fc.integer({ min: -10, max: 100_000 }),
  fc.constantFrom(0, -1, NaN, Infinity, -Infinity, Number.MAX_SAFE_INTEGER),
);
const oddPoint: fc.Arbitrary<Point> = fc.record({
  at: oddNumber.map((ms) => START + ms),
  instance: fc.constantFrom("run-1", "run-2", ""),
  container: fc.constantFrom("main", "proxy", "nobody"),
  counterNs: oddNumber,
  workingSetBytes: oddNumber,
  usageBytes: fc.option(oddNumber),
  rate: fc.option(fc.record({ millicores: oddNumber, windowMs: oddNumber }), { nil: undefined }),
}).map(({ rate, ...of }) => rate === undefined ? point(of) : point({ ...of, rate }));

/** Changes of a pod, in any order and combination. */
export const oddFacts: fc.Arbitrary<Partial<PodFacts>> = fc.record({
  generation: fc.option(fc.nat(9)),
  observedGeneration: fc.option(fc.nat(9)),
  qosClass: fc.constantFrom("Burstable" as const, "Guaranteed" as const, "BestEffort" as const, null),
  phase: fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "Unknown", ""),
  startAt: fc.option(fc.constantFrom(0, START, START + 60 * SECOND)),
  ready: fc.option(fc.record({
    status: fc.constantFrom("True" as const, "False" as const, "Unknown" as const),
    at: fc.constantFrom(0, START, START + 60 * SECOND),
  })),
  readyAt: fc.option(fc.constantFrom(0, START, START + 60 * SECOND)),
  pending: fc.option(fc.record({
    reason: fc.constantFrom("Deferred", "Infeasible", "Other", ""),
    message: fc.constant(""),
    since: fc.option(fc.constantFrom(0, START)),
  })),
  inProgress: fc.option(fc.record({
    reason: fc.constantFrom("Error", ""),
    message: fc.constant("no"),
    since: fc.option(fc.constantFrom(0, START)),
  })),
  containers: fc.array(
    fc.record({
      name: fc.constantFrom("main", "proxy"),
      kind: fc.constantFrom("container" as const, "sidecar" as const, "init" as const),
      spec: sizes(false),
      reported: fc.option(sizes(false)),
      allocated: fc.option(sizes(false)),
      runningAt: fc.option(fc.constantFrom(0, START, START + 60 * SECOND)),
      ready: fc.boolean(),
      instance: fc.option(fc.constantFrom("a", "b")),
      terminations: fc.array(
        fc.record({
          id: fc.constantFrom("a", "b", "c"),
          reason: fc.constantFrom("OOMKilled", "Error", ""),
          exitCode: fc.constantFrom(0, 1, 137),
          finishedAt: fc.constantFrom(0, START, START + 60 * SECOND),
        }),
        { maxLength: 2 },
      ),
    }).map((one) => container(one)),
    { maxLength: 3 },
  ),
  memoryLimitBytes: fc.option(fc.constantFrom(0, 64 * MI, 10_000 * MI)),
  resizes: fc.array(
    fc.record({
      manager: fc.constantFrom("podfit.main", "podfit.proxy", "kubectl"),
      at: fc.constantFrom(0, START, START + 60 * SECOND),
      owned: fc.subarray([...RESOURCE_FIELDS]).map((sides) => [{ container: "main", sides }]),
    }),
    { maxLength: 3 },
  ),
}, { requiredKeys: [] });

export const oddUsage: fc.Arbitrary<Extract<Observation, { kind: "usage" }>> = fc.tuple(
  fc.array(oddPoint, { maxLength: 3 }),
  fc.option(oddNumber),
).map(([points, usageBytes]) => usage(points, usageBytes));
