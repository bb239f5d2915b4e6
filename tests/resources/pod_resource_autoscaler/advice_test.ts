/**
 * There is advice where a policy could be better, and decisions behave as the advice says.
 */
import { assert, assertEquals } from "#assert";
import { advise } from "../../../lib/resources/pod_resource_autoscaler/warnings.ts";
import { PROFILE_NAMES } from "../../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import type { NamedWarning } from "../../../lib/model/lint_rules.ts";
import { policy, SECOND, side, type SideOverrides } from "../../support/builders.ts";
import { toManifest } from "../../support/manifests.ts";

/** Up from 80 %, down to 40 %, target 60 %, every 5s; without a long cooldown. */
function adviceOn(overrides: SideOverrides, more: Partial<Autoscaler> = {}): readonly string[] {
  const sides = [side("cpu.requests", { cooldownMs: 0, ...overrides })];
  return advise(policy({ cooldownMs: 0, sides, ...more }), {}).map(({ rule, path }) => `${rule} ${path}`);
}

Deno.test("advise() has nothing to say of a policy without a flaw, and of no profile", () => {
  assertEquals(adviceOn({}), []);
  for (const profile of PROFILE_NAMES) {
    const spec = { target: { kind: "deployment", name: "web" }, profile };
    const parsed = parseAutoscaler({ ...toManifest({}), spec });
    assert(parsed.ok);
    assertEquals(advise(parsed.autoscaler, spec), [], profile);
  }
});

Deno.test("advise() speaks against polling more than twice for each sample of the kubelet", () => {
  const path = "fast-poll spec.policy.pollInterval";
  assertEquals(adviceOn({}, { pollIntervalMs: 5 * SECOND - 1 }), [path]);
  assertEquals(adviceOn({}, { pollIntervalMs: 5 * SECOND }), []);
});

/** Of profile balanced with this policy and these bounds of the memory limit. */
function adviceOnMemory(policy: unknown, limits: unknown = { min: "64Mi" }): readonly NamedWarning[] {
  const spec = {
    target: { kind: "deployment", name: "web" },
    profile: "balanced",
    policy,
    bounds: { memory: { limits } },
  };
  const parsed = parseAutoscaler({ ...toManifest({}), spec });
  assert(parsed.ok);
  return advise(parsed.autoscaler, spec).filter(({ rule }) => rule === "short-memory");
}

Deno.test("advise() speaks against a window of a profile's policy that memory inherits, and not against one of CPU", () => {
  const window = { scaleDown: { window: "10m" } };
  const [found, ...others] = adviceOnMemory(window);
  assertEquals([found?.path, others], ["spec.policy.memory.limits.scaleDown.window", []]);
  assertEquals(
    found?.message,
    "the memory limit can fall below what the container used 10m ago, as policy replaces the 24h of profile " +
      "balanced: if the window is for CPU, write it in policy.cpu; if it is for memory too, write it in " +
      "policy.memory.limits as well",
  );
  assertEquals(adviceOnMemory({ cpu: { requests: window, limits: window } }), []);
  assertEquals(adviceOnMemory({ scaleDown: { window: "24h" } }), []);
});

Deno.test("advise() says nothing of a short window that is written for memory, or of a memory limit that cannot fall", () => {
  const window = { scaleDown: { window: "6h" } };
  assertEquals(adviceOnMemory(window).length, 1);
  assertEquals(adviceOnMemory({ ...window, memory: { requests: window } }).length, 1);
  assertEquals(adviceOnMemory({ memory: { limits: window } }), []);
  assertEquals(adviceOnMemory({ ...window, memory: { limits: window } }), []);
  assertEquals(adviceOnMemory({ ...window, memory: { limits: { scaleDownThreshold: 0 } } }), []);
  assertEquals(adviceOnMemory({ scaleDown: { window: "0s" } }), []);
  assertEquals(adviceOnMemory(window, { min: "1Gi", max: "1Gi" }), []);
});

Deno.test("advise() speaks against a scale-up that ends where a scale-down begins, unless a window holds that back", () => {
  const path = "swings spec.policy.cpu.requests.scaleUp.targetUtilization";
  assertEquals(adviceOn({ up: { targetUtilizationPercent: 40 } }), [path]);
  assertEquals(adviceOn({ up: { targetUtilizationPercent: 41 } }).filter((one) => one.startsWith("swings")), []);
  assertEquals(adviceOn({ up: { targetUtilizationPercent: 40 }, down: { windowMs: SECOND } }), []);
});

Deno.test("advise() speaks against a min so small that one unit more is beyond the other threshold", () => {
  // 0.8m of 1m; 2m hold it at 40 %.
  assertEquals(adviceOn({ bounds: { min: 1 } }), ["swings spec.bounds.cpu.requests.min"]);
  assertEquals(adviceOn({ bounds: { min: 1 }, scaleDownThresholdPercent: 39 }), []);
  for (const min of [0, 3, 100, 9e15 - 1]) assertEquals(adviceOn({ bounds: { min } }), [], `${min}`);
});

Deno.test("advise() speaks against a threshold within 5 % of the target, on either side, and once", () => {
  const path = "narrow-band spec.policy.cpu.requests";
  assertEquals(adviceOn({ scaleUpThresholdPercent: 62 }), [`${path}.scaleUpThreshold`]);
  assertEquals(adviceOn({ scaleUpThresholdPercent: 63 }), []);
  assertEquals(adviceOn({ scaleDownThresholdPercent: 58 }), [`${path}.scaleDownThreshold`]);
  assertEquals(adviceOn({ scaleUpThresholdPercent: 62, scaleDownThresholdPercent: 58 }), [`${path}.scaleUpThreshold`]);
});

Deno.test("advise() leaves a target beyond its thresholds to the parser's warning", () => {
  assertEquals(adviceOn({ scaleUpThresholdPercent: 60 }), []);
  assertEquals(adviceOn({ scaleDownThresholdPercent: 60 }), []);
});

Deno.test("advise() speaks against bounds without room, within a side and between request and limit", () => {
  assertEquals(adviceOn({ bounds: { min: 500, max: 500 } }), ["no-room spec.bounds.cpu.requests"]);
  assertEquals(adviceOn({ bounds: { min: 500, max: 501 } }), []);
  const limit = side("cpu.limits", { cooldownMs: 0, bounds: { max: 400 } });
  const both = (min: number) => [side("cpu.requests", { cooldownMs: 0, bounds: { min } }), limit];
  assertEquals(adviceOn({}, { sides: both(401) }), ["no-room spec.bounds.cpu.requests.min"]);
  assertEquals(adviceOn({}, { sides: both(400) }), []);
});

Deno.test("every advice says what to do after what happens", () => {
  const advised = advise(
    policy({
      pollIntervalMs: SECOND,
      sides: [side("cpu.requests", { scaleUpThresholdPercent: 62, bounds: { min: 500, max: 500 } })],
    }),
    {},
  );
  assertEquals(advised.map(({ rule }) => rule), ["fast-poll", "slow-up", "narrow-band", "no-room"]);
  for (const { message } of advised) assert(/: (set|let|raise|lower|widen) /.test(message), message);
});
