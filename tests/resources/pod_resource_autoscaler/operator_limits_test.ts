/**
 * Values that the operator of podfit does not allow in a manifest, and how its author learns of it.
 */
import { assert, assertEquals } from "#assert";
import { applyOperatorLimits, NO_OPERATOR_LIMITS } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { MI, policy, SECOND, side } from "../../support/builders.ts";

const BOUNDS = { min: null, max: null, step: null, stepPercent: null };

Deno.test("applyOperatorLimits() raises a shorter pollInterval, and says so", () => {
  const limits = { ...NO_OPERATOR_LIMITS, minPollIntervalMs: 15 * SECOND };
  const { autoscaler, warnings } = applyOperatorLimits(policy({ pollIntervalMs: 5 * SECOND }), limits);
  assertEquals(autoscaler.pollIntervalMs, 15 * SECOND);
  assertEquals(warnings, [{
    path: "spec.policy.pollInterval",
    message: "5s is raised to podfit's --min-poll-interval 15s",
  }]);
  const slow = policy({ pollIntervalMs: 15 * SECOND });
  assert(applyOperatorLimits(slow, limits).autoscaler === slow, "the same object, as contenders are compared");
  assertEquals(applyOperatorLimits(slow, limits).warnings, []);
});

Deno.test("applyOperatorLimits() is the ceiling of every side of the resource, and warns of bounds above it", () => {
  const sides = [
    side("cpu.requests", { bounds: { ...BOUNDS, max: 2000 } }),
    side("cpu.limits", { bounds: { ...BOUNDS, min: 9000, max: 16_000 } }),
    side("memory.requests", { bounds: BOUNDS }),
    side("memory.limits", { bounds: { ...BOUNDS, min: 64 * MI, max: 1024 * MI } }),
  ];
  const limits = { ...NO_OPERATOR_LIMITS, maxCpuMillicores: 4000, maxMemoryBytes: 512 * MI };
  const { autoscaler, warnings } = applyOperatorLimits(policy({ sides }), limits);
  assertEquals(autoscaler.sides.map(({ bounds: { min, max } }) => [min, max]), [
    [null, 2000],
    [4000, 4000],
    [null, 512 * MI],
    [64 * MI, 512 * MI],
  ]);
  assertEquals(warnings.map(({ path, message }) => `${path}: ${message}`), [
    "spec.bounds.cpu.limits.min: 9 is lowered to podfit's --max-cpu 4",
    "spec.bounds.cpu.limits.max: 16 is lowered to podfit's --max-cpu 4",
    "spec.bounds.memory.limits.max: 1Gi is lowered to podfit's --max-memory 512Mi",
  ]);
});
