/**
 * A field's value for a direction: its own, else the field's, else the policy's for the direction, else the policy's.
 */
import { assertEquals } from "#assert";
import type { FieldPolicy } from "../../../lib/model/autoscaler.ts";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { type Edits, SIDE, toManifest } from "../../support/manifests.ts";

const HOUR = 3_600_000;
const QUARTER = HOUR / 4;
const CPU = "spec.policy.cpu.requests";

Deno.test("parseAutoscaler() takes side.scaleUp.X, side.X, policy.scaleUp.X, policy.X, in this order (C36)", () => {
  const policy = { "spec.policy.consecutiveSamples": 1, "spec.policy.cooldown": "1s" };
  const direction = {
    "spec.policy.scaleUp": { consecutiveSamples: 2, cooldown: "2s" },
    "spec.policy.scaleDown": { consecutiveSamples: 3, cooldown: "3s" },
  };
  const side = { [`${CPU}.consecutiveSamples`]: 4, [`${CPU}.cooldown`]: "4s" };
  const own = {
    [`${CPU}.scaleUp`]: { consecutiveSamples: 5, cooldown: "5s", targetUtilization: 55 },
    [`${CPU}.scaleDown`]: { consecutiveSamples: 6, cooldown: "6s", targetUtilization: 66 },
  };
  // consecutiveSamples and cooldown in s of both directions, and whether each direction counts from its own.
  const cases: readonly (readonly [Edits, readonly [number, number], boolean])[] = [
    [policy, [1, 1], false],
    [{ ...policy, ...direction }, [2, 3], true],
    [{ ...policy, ...side }, [4, 4], false],
    [{ ...policy, ...direction, ...side }, [4, 4], false],
    [{ ...policy, ...own }, [5, 6], true],
    [{ ...policy, ...direction, ...side, ...own }, [5, 6], true],
    [{ ...policy, "spec.policy.scaleUp": { cooldown: "2s", consecutiveSamples: 2 } }, [2, 1], true],
    [{ ...policy, [`${CPU}.scaleDown`]: { cooldown: "6s", consecutiveSamples: 6 } }, [1, 6], true],
  ];
  for (const [edits, [up, down], hasOwnCooldowns] of cases) {
    const rule = sideOf(edits);
    assertEquals([rule.up.consecutiveSamples, rule.up.cooldownMs], [up, up * 1000], JSON.stringify(edits));
    assertEquals([rule.down.consecutiveSamples, rule.down.cooldownMs], [down, down * 1000], JSON.stringify(edits));
    assertEquals(rule.hasOwnCooldowns, hasOwnCooldowns, JSON.stringify(edits));
  }
  assertEquals(sideOf({ "spec.policy.scaleUp": { consecutiveSamples: 2 } }).hasOwnCooldowns, false);
  const { up, down } = sideOf(own);
  assertEquals([up.targetUtilizationPercent, down.targetUtilizationPercent], [55, 66]);
  const half = sideOf({ [`${CPU}.scaleDown`]: { targetUtilization: 66 } });
  assertEquals([half.up.targetUtilizationPercent, half.down.targetUtilizationPercent], [70, 66]);
});

Deno.test("parseAutoscaler() gives memory a window of 15m and cpu none, unless the policy or a side says so (C3)", () => {
  const all = { "spec.policy.memory": { requests: SIDE, limits: SIDE } };
  const own = { "spec.policy.memory": { requests: { ...SIDE, scaleDown: { window: "0s" } }, limits: SIDE } };
  const policy = { "spec.policy.scaleDown": { window: "1h" } };
  assertEquals(windowsOf(all), [0, QUARTER, QUARTER]);
  assertEquals(windowsOf({ ...all, ...policy }), [HOUR, HOUR, HOUR]);
  assertEquals(windowsOf(own), [0, 0, QUARTER]);
  assertEquals(windowsOf({ ...own, ...policy }), [HOUR, 0, HOUR]);
  assertEquals(windowsOf({ ...all, "spec.policy.scaleDown": { window: "0" } }), [0, 0, 0]);
});

Deno.test("parseAutoscaler() gives both cpu sides the resource's percentile, unless a side has its own (C3)", () => {
  const sides = { "spec.policy.cpu": { requests: SIDE, limits: { ...SIDE } }, "spec.policy.memory": { limits: SIDE } };
  const percentiles = (edits: Edits) => sidesOf({ ...sides, ...edits }).map(({ down }) => down.percentile);
  assertEquals(percentiles({}), [null, null, null]);
  const cpu = { "spec.policy.cpu.scaleDown": { percentile: 95, halfLife: "30m" } };
  const given = { percent: 95, halfLifeMs: HOUR / 2 };
  assertEquals(percentiles(cpu), [given, given, null]);
  assertEquals(percentiles({ "spec.policy.cpu.scaleDown": { percentile: 95 } })[0], { percent: 95, halfLifeMs: HOUR });
  const shorter = { ...cpu, "spec.policy.cpu.limits.scaleDown": { halfLife: "2m" } };
  assertEquals(percentiles(shorter), [given, { percent: 95, halfLifeMs: 120_000 }, null]);
  const other = { ...cpu, "spec.policy.cpu.limits.scaleDown": { percentile: 50 } };
  assertEquals(percentiles(other), [given, { percent: 50, halfLifeMs: HOUR / 2 }, null]);
});

Deno.test("parseAutoscaler() reads what the law adds, and gives its defaults without it (C3)", () => {
  const defaults = toWords({ "spec.policy.memory": { limits: SIDE } });
  assertEquals(defaults, ["apply", "template", "all", "raise", "measure", false]);
  const others = toWords({
    "spec.mode": "recommend",
    "spec.newPods": "inherit",
    "spec.policy.veto": "resource",
    "spec.policy.memory": { limits: SIDE, oom: "ignore", restartToShrink: true },
    "spec.policy.cpu.throttling": "ignore",
  });
  assertEquals(others, ["recommend", "inherit", "resource", "ignore", "ignore", true]);
});

Deno.test("parseAutoscaler() says what to write instead of what it refuses (L54)", () => {
  const memory = (scaleDown: unknown) => ({ "spec.policy.memory": { limits: { ...SIDE, scaleDown } } });
  const cases: readonly (readonly [Edits, string])[] = [
    [{ "spec.profile": "fast" }, `Cannot use "fast" as profile: must be one of latency, balanced, thrifty`],
    [
      memory({ percentile: 95 }),
      `Cannot use field "percentile": only targetUtilization, consecutiveSamples, cooldown, window`,
    ],
    [{ "spec.policy.scaleDown": { window: "25h" } }, `Cannot use "25h" as window: must be at most 24h`],
    [
      { "spec.policy.scaleUp": { window: "1h" } },
      `Cannot use field "window": only consecutiveSamples, cooldown are known`,
    ],
    [{ "spec.excludeContainers": ["log"] }, `Cannot use excludeContainers with one container: set containerName "*"`],
    [{ "spec.policy.cpu.scaleDown": { halfLife: "1h" } }, "Cannot use halfLife without percentile: add percentile"],
    [
      { "spec.policy.cpu.scaleDown": { percentile: 90, halfLife: "59s" } },
      `Cannot use "59s" as halfLife: must be 1m to 24h`,
    ],
  ];
  for (const [edits, words] of cases) {
    const parsed = parseAutoscaler(toManifest(edits));
    const messages = parsed.ok ? [] : parsed.problems.map(({ message }) => message);
    assertEquals(messages.map((message) => message.startsWith(words)), [true], `${messages} for ${words}`);
  }
});

function sidesOf(edits: Edits): readonly FieldPolicy[] {
  return accept(edits).sides;
}

function sideOf(edits: Edits): FieldPolicy {
  const [rule] = sidesOf(edits);
  if (rule === undefined) throw new Error("Cannot find a side");
  return rule;
}

function windowsOf(edits: Edits): readonly number[] {
  return sidesOf(edits).map(({ down }) => down.windowMs);
}

function toWords(edits: Edits): readonly unknown[] {
  const { mode, newPods, veto, oom, throttling, restartToShrink } = accept(edits);
  return [mode, newPods, veto, oom, throttling, restartToShrink];
}

function accept(edits: Edits) {
  const parsed = parseAutoscaler(toManifest(edits));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.autoscaler;
}
