/** What property tests of the law draw from: policies with directions, windows and percentiles, and curves of usage. */
import * as fc from "fast-check";
import type { Autoscaler, FieldPolicy } from "../../lib/model/autoscaler.ts";
import {
  requestOrLimitOf,
  RESIZE_UNIT,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
} from "../../lib/units/resources.ts";
import { MI, MINUTE, policy, SECOND, side } from "./builders.ts";

/** Rests at its targets: up and down each end between the thresholds. Requests may be used beyond their size. */
function lawSide(key: ResourceField): fc.Arbitrary<FieldPolicy> {
  const [resource, isRequest] = [resourceOf(key), requestOrLimitOf(key) === "requests"];
  return fc.record({
    upAt: fc.integer({ min: 70, max: isRequest ? 150 : 95 }),
    upTarget: fc.integer({ min: 45, max: 65 }),
    downTarget: fc.integer({ min: 50, max: 66 }),
    downAt: fc.integer({ min: 15, max: 40 }),
    upSamples: fc.integer({ min: 1, max: 3 }),
    downSamples: fc.integer({ min: 1, max: 4 }),
    upCooldownMs: fc.constantFrom(0, 30 * SECOND, 2 * MINUTE),
    downCooldownMs: fc.constantFrom(0, MINUTE, 5 * MINUTE),
    hasOwnCooldowns: fc.boolean(),
    windowMs: fc.constantFrom(0, MINUTE, 5 * MINUTE, 15 * MINUTE),
    percentile: resource === "cpu"
      ? fc.option(
        fc.record({ percent: fc.integer({ min: 50, max: 100 }), halfLifeMs: fc.constantFrom(MINUTE, 10 * MINUTE) }),
        { nil: null },
      )
      : fc.constant(null),
    min: fc.option(fc.integer({ min: 1, max: 60 }), { nil: null }),
    max: fc.option(fc.integer({ min: 200, max: 2000 }), { nil: null }),
  }).map((drawn) =>
    side(key, {
      scaleUpThresholdPercent: drawn.upAt,
      scaleDownThresholdPercent: drawn.downAt,
      hasOwnCooldowns: drawn.hasOwnCooldowns,
      up: {
        consecutiveSamples: drawn.upSamples,
        cooldownMs: drawn.upCooldownMs,
        targetUtilizationPercent: drawn.upTarget,
      },
      down: {
        consecutiveSamples: drawn.downSamples,
        cooldownMs: drawn.downCooldownMs,
        targetUtilizationPercent: drawn.downTarget,
        windowMs: drawn.windowMs,
        percentile: drawn.percentile,
      },
      bounds: {
        min: drawn.min === null ? null : drawn.min * RESIZE_UNIT[resource],
        max: drawn.max === null ? null : drawn.max * RESIZE_UNIT[resource],
      },
    })
  );
}

export const lawPolicies: fc.Arbitrary<Autoscaler> = fc.subarray([...RESOURCE_FIELDS], { minLength: 1 })
  .chain((keys) => fc.tuple(...keys.map(lawSide)))
  .map((sides) => policy({ sides, cooldownMs: 0 }));

const point = fc.record({
  cpu: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 800 })),
  memory: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 700 })).map((mebibytes) =>
    mebibytes * MI
  ),
});

/** Steps of 15 s each: plateaus of some length, one after the other. */
export const usageCurves = fc.array(fc.tuple(point, fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 12 })
  .map((plateaus) => plateaus.flatMap(([used, length]) => new Array<typeof used>(length).fill(used)));
