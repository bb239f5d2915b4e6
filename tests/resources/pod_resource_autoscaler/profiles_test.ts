/**
 * Profiles: which values they fill in, which values override them, and the policy that results.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Autoscaler, ProfileName } from "../../../lib/model/autoscaler.ts";
import { DEFAULT_MAX_UNAVAILABLE } from "../../../lib/model/disruption.ts";
import {
  fillPolicy,
  MIN_PROFILE_MILLICORES,
  PROFILE_NAMES,
  PROFILES,
  toEffectivePolicy,
} from "../../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { GOOD_MANIFESTS } from "../../support/good_manifests.ts";
import { type Edits, type Manifest, SIDE, toManifest } from "../../support/manifests.ts";

const DAY = 24 * 3_600_000;

for (const profile of PROFILE_NAMES) {
  Deno.test(`profile ${profile} and a target are a whole manifest: every container, all four sides (L50)`, () => {
    const { autoscaler, warnings } = accept(toShort(profile));
    const { containerName, isWildcard, key, uid, sides } = autoscaler;
    assertEquals([containerName, isWildcard, key, autoscaler.profile], ["*", true, uid, profile]);
    assertEquals(sides.map((side) => [side.key, side.isOptional]), [
      ["cpu.requests", true],
      ["cpu.limits", true],
      ["memory.requests", true],
      ["memory.limits", true],
    ]);
    assertEquals(sides.map(({ down }) => [down.percentile, down.windowMs > 0, down.windowMs === DAY]), [
      [null, true, false],
      [null, true, false],
      [null, true, true],
      [null, true, true],
    ]);
    assertEquals([autoscaler.throttling, autoscaler.oom], ["measure", "raise"]);
    assertEquals(warnings, []);
  });
}

Deno.test("profiles give no field that the API server fills in, which could not be told from a given one (L50)", () => {
  for (const profile of PROFILE_NAMES) {
    assertEquals(Object.keys(PROFILES[profile]).filter((key) => ["after", "delay"].includes(key)), []);
    const withDefaults = { ...toShort(profile), "spec.policy": { after: "containerReady", delay: "15s" } };
    assertEquals(accept(withDefaults).autoscaler, accept(toShort(profile)).autoscaler);
  }
});

Deno.test("what a manifest gives goes before its profile, field by field (L50)", () => {
  const before = accept(toShort("balanced")).autoscaler;
  const { autoscaler } = accept({
    ...toShort("balanced"),
    "spec.containerName": "app",
    "spec.policy": {
      pollInterval: "9s",
      cpu: { requests: { scaleUpThreshold: 130 } },
      memory: { oom: "ignore", limits: {} },
    },
    "spec.bounds": { cpu: { limits: { max: "2" } } },
  });
  assertEquals([autoscaler.pollIntervalMs, autoscaler.oom, autoscaler.containerName], [9_000, "ignore", "app"]);
  assertEquals([autoscaler.isWildcard, autoscaler.cooldownMs], [false, before.cooldownMs]);
  const [requests, limits, , memoryLimits] = before.sides;
  assertEquals(autoscaler.sides[0], { ...requests, scaleUpThresholdPercent: 130, isOptional: false });
  assertEquals(autoscaler.sides[1]?.bounds.max, 2000);
  assertEquals({ ...autoscaler.sides[1], bounds: limits?.bounds }, { ...limits });
  assertEquals(autoscaler.sides[3], { ...memoryLimits, isOptional: false });
});

Deno.test("a profile resizes no CPU below 10m and 25m, unless the manifest bounds the side there itself (L50)", () => {
  const mins = (bounds: Edits | null, edits: Edits = toShort("thrifty")) =>
    accept({ ...edits, ...(bounds === null ? {} : { "spec.bounds": bounds }) }).autoscaler.sides
      .map((side) => side.bounds.min);
  assertEquals(mins(null), [10, 25, null, null]);
  assertEquals(mins({ cpu: { requests: { min: "2m" }, limits: { max: "1" } } }), [2, 25, null, null]);
  assertEquals(mins({ cpu: { requests: { max: "9m" }, limits: { max: "25m" } } }), [null, 25, null, null]);
  assertEquals(mins({ cpu: { requests: { max: "1" } } }, {}), [null]);
});

Deno.test("a given field that sides inherit goes before the profile's own overrides of it (L50)", () => {
  const base = accept(toShort("balanced")).autoscaler;
  const downs = (policy: Edits) =>
    accept({ ...toShort("balanced"), "spec.policy": policy }).autoscaler.sides.map(({ down }) => down);
  assert(base.sides[3]?.down.cooldownMs !== base.cooldownMs, "the profile has a cooldown of its own for memory");
  assertEquals(downs({ cooldown: "5m" }).map((down) => down.cooldownMs), Array(4).fill(300_000));
  assertEquals(downs({ scaleDown: { cooldown: "5m" } }).map((down) => down.cooldownMs), Array(4).fill(300_000));
  assertEquals(downs({ scaleUp: { cooldown: "5m" } }), base.sides.map(({ down }) => down));
  assertEquals(downs({ scaleDown: { window: "1h" } }).map((down) => down.windowMs), Array(4).fill(DAY / 24));
  const target = downs({ cpu: { requests: { targetUtilization: 80 } } });
  assertEquals(target[0]?.targetUtilizationPercent, 80);
  assertEquals(downs({ cpu: { scaleDown: { percentile: 77 } } }).map((down) => down.percentile?.percent), [
    77,
    77,
    undefined,
    undefined,
  ]);
});

Deno.test("fillPolicy() leaves what is no policy to the parser, and names of an object's prototype alone (L50)", () => {
  assertEquals(fillPolicy("balanced", null), PROFILES.balanced);
  for (const value of [5, "x", [], true]) assertEquals(fillPolicy("balanced", value), value);
  const hostile = JSON.parse(`{"__proto__":{"cooldown":"1h"},"cpu":{"constructor":1},"memory":7}`);
  const filled = fillPolicy("balanced", hostile) as Manifest;
  assertEquals(Object.getPrototypeOf(filled), Object.prototype);
  assertEquals([filled.cooldown, filled.memory], [PROFILES.balanced.cooldown, 7]);
  const parsed = parseAutoscaler(toManifest({ ...toShort("balanced"), "spec.policy": hostile }));
  const paths = parsed.ok ? [] : parsed.problems.map(({ path }) => path);
  assertEquals(paths.sort(), ["spec.policy.__proto__", "spec.policy.cpu.constructor", "spec.policy.memory"]);
});

Deno.test("a threshold that contradicts the profile's other one is a problem that says so (L50)", () => {
  const [problem] = refuse({ ...toShort("balanced"), "spec.policy": { cpu: { requests: { scaleUpThreshold: 60 } } } });
  assertEquals(problem?.path, "spec.policy.cpu.requests.scaleUpThreshold");
  assertStringIncludes(problem?.message ?? "", "give both with profile balanced");
});

Deno.test("a stored autoscaler without policy and profile says that its CRD may be older than podfit (L50)", () => {
  const spec = { target: { kind: "deployment", name: "web" } };
  const stored = refuse({ "metadata.uid": "u-1", spec });
  assertEquals(stored.map(({ path }) => path), ["spec.containerName", "spec.policy"]);
  for (const { message } of stored) assertStringIncludes(message, "CRD older than podfit");
  for (const { message } of refuse({ spec })) {
    assert(message.includes("or a profile") && !message.includes("CRD"), message);
  }
});

Deno.test("the effective policy, written as the policy of a manifest without a profile, means the same but for least sizes (L50)", () => {
  for (const { sentence, manifest } of GOOD_MANIFESTS) {
    const { autoscaler } = acceptWhole(manifest);
    const { profile: _, ...spec } = manifest.spec as Manifest;
    const written = { ...spec, containerName: autoscaler.containerName, policy: toEffectivePolicy(autoscaler) };
    const again = acceptWhole(JSON.parse(JSON.stringify({ ...manifest, spec: written }))).autoscaler;
    const sides = autoscaler.sides.map((side, index) => {
      const isLeast = autoscaler.profile !== null && side.bounds.min === MIN_PROFILE_MILLICORES[side.key];
      const bounds = isLeast ? again.sides[index]?.bounds ?? side.bounds : side.bounds;
      return { ...side, isOptional: false, bounds };
    });
    const { maxUnavailable = DEFAULT_MAX_UNAVAILABLE } = autoscaler;
    assertEquals(again, { ...autoscaler, profile: null, maxUnavailable, sides }, sentence);
  }
});

Deno.test("toEffectivePolicy() writes what the manifest would say (L50)", () => {
  const { autoscaler } = acceptWhole(toManifest({ "spec.policy.memory": { limits: { ...SIDE, cooldown: "1m30s" } } }));
  assertEquals(toEffectivePolicy(autoscaler).memory, {
    limits: {
      scaleUpThreshold: 85,
      scaleDownThreshold: 60,
      targetUtilization: 75,
      cooldown: "1m30s",
      scaleUp: { targetUtilization: 75, consecutiveSamples: 3 },
      scaleDown: { targetUtilization: 75, consecutiveSamples: 3, window: "15m" },
    },
    restartToShrink: false,
    oom: "raise",
  });
});

/** A target and a profile: the shortest useful manifest. */
function toShort(profile: ProfileName): Edits {
  return { "metadata.uid": "u-1", spec: { target: { kind: "deployment", name: "web" }, profile } };
}

function accept(edits: Edits) {
  return acceptWhole(toManifest(edits));
}

function acceptWhole(manifest: Manifest): { autoscaler: Autoscaler; warnings: readonly unknown[] } {
  const parsed = parseAutoscaler(manifest);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed;
}

function refuse(edits: Edits) {
  const parsed = parseAutoscaler(toManifest(edits));
  return parsed.ok ? [] : parsed.problems;
}
