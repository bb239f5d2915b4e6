/**
 * The profiles latency, balanced and thrifty, as policies in the form of `spec.policy`.
 *
 * Fields of the manifest override those of the profile. `status.effectivePolicy` shows the result. A field with a default
 * in the definition, such as `after` or `veto`, is not in a profile: the API server fills it in, so podfit cannot see who
 * set it.
 */
import type { Autoscaler, DirectionPolicy, FieldPolicy, ProfileName } from "../../model/autoscaler.ts";
import { DEFAULT_MAX_UNAVAILABLE, formatMaxUnavailable } from "../../model/disruption.ts";
import { requestOrLimitOf, type ResourceField, resourceOf } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";

/** A policy as in the manifest. */
export type PolicyFields = { readonly [field: string]: string | number | boolean | PolicyFields };

/** Too little memory kills, so memory shrinks only after a whole day of usage, to a limit that holds twice the peak. */
const MEMORY_POLICY: PolicyFields = {
  requests: {
    scaleUpThreshold: 95,
    scaleDownThreshold: 70,
    targetUtilization: 85,
    scaleDown: { window: "24h", cooldown: "5m" },
  },
  limits: {
    scaleUpThreshold: 75,
    scaleDownThreshold: 35,
    targetUtilization: 50,
    scaleDown: { window: "24h", cooldown: "5m" },
  },
};

/**
 * docs/evidence/quality.md has the measurements. A request may be exceeded, so a scale-up waits until usage is near the request
 * and then goes well above it. A scale-down waits for a short window and one cooldown.
 */
export const PROFILES: Readonly<Record<ProfileName, PolicyFields>> = {
  latency: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "90s",
    scaleUp: { cooldown: "0s" },
    cpu: {
      requests: {
        scaleUpThreshold: 93,
        scaleDownThreshold: 58,
        targetUtilization: 62,
        scaleDown: { targetUtilization: 66, window: "3m" },
      },
      limits: { scaleUpThreshold: 60, scaleDownThreshold: 12, targetUtilization: 30, scaleDown: { window: "1h" } },
    },
    memory: MEMORY_POLICY,
  },
  balanced: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "4m",
    scaleUp: { cooldown: "0s" },
    cpu: {
      requests: {
        scaleUpThreshold: 105,
        scaleDownThreshold: 62,
        targetUtilization: 72,
        scaleDown: { targetUtilization: 80, window: "4m" },
      },
      limits: { scaleUpThreshold: 80, scaleDownThreshold: 28, targetUtilization: 40, scaleDown: { window: "30m" } },
    },
    memory: MEMORY_POLICY,
  },
  thrifty: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "1m",
    scaleUp: { cooldown: "0s" },
    cpu: {
      requests: {
        scaleUpThreshold: 115,
        scaleDownThreshold: 69,
        targetUtilization: 88,
        scaleDown: { targetUtilization: 81, window: "2m" },
      },
      limits: { scaleUpThreshold: 80, scaleDownThreshold: 14, targetUtilization: 40, scaleDown: { window: "1h" } },
    },
    memory: {
      requests: {
        scaleUpThreshold: 98,
        scaleDownThreshold: 80,
        targetUtilization: 90,
        scaleDown: { targetUtilization: 92, window: "24h", cooldown: "5m" },
      },
      limits: {
        scaleUpThreshold: 75,
        scaleDownThreshold: 40,
        targetUtilization: 55,
        scaleDown: { window: "24h", cooldown: "5m" },
      },
    },
  },
};

/**
 * Below these sizes rounding by one millicore is more than the noise of a load, and an idle pod would be resized all
 * day. A `min`, or a `max` below it, in the manifest has priority.
 */
export const MIN_PROFILE_MILLICORES: Readonly<Partial<Record<ResourceField, number>>> = {
  "cpu.requests": 10,
  "cpu.limits": 25,
};

export const PROFILE_NAMES: readonly ProfileName[] = ["latency", "balanced", "thrifty"];

/**
 * Returns the policy of a profile with the given fields laid over it, unparsed. A given field that others inherit also
 * overrides the profile's own values for them: `policy.cooldown: 5m` applies to all fields. Null counts as absent, as
 * in Kubernetes. Never throws. Clauses: L50.
 */
export function fillPolicy(profile: ProfileName, given: unknown): unknown {
  if (given !== null && !isRecord(given)) return given;
  return fillGiven(PROFILES[profile], given ?? {}, { either: NO_KEYS, scaleUp: NO_KEYS, scaleDown: NO_KEYS });
}

/** Returns the policy of an autoscaler as plain data. Clauses: L50. */
export function toEffectivePolicy(autoscaler: Autoscaler): PolicyFields {
  const { cpu, memory } = { cpu: toResourcePolicy(autoscaler, "cpu"), memory: toResourcePolicy(autoscaler, "memory") };
  const [first] = autoscaler.sides;
  return {
    pollInterval: formatDuration(autoscaler.pollIntervalMs),
    // Every field has its own value; the policy's value only applies where a field has none.
    consecutiveSamples: first?.up.consecutiveSamples ?? 1,
    cooldown: formatDuration(autoscaler.cooldownMs),
    after: autoscaler.after,
    delay: formatDuration(autoscaler.delayMs),
    veto: autoscaler.veto,
    maxUnavailable: formatMaxUnavailable(autoscaler.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE),
    ...(cpu === null ? {} : { cpu: { ...cpu, throttling: autoscaler.throttling } }),
    ...(memory === null
      ? {}
      : { memory: { ...memory, restartToShrink: autoscaler.restartToShrink, oom: autoscaler.oom } }),
  };
}

/** Fields that a field, or one of its directions, takes from above where it has none. */
const INHERITED_KEYS: ReadonlySet<string> = new Set([
  "targetUtilization",
  "consecutiveSamples",
  "cooldown",
  "window",
  "percentile",
  "halfLife",
]);

const NO_KEYS: ReadonlySet<string> = new Set();

/** Names of fields that the manifest gives further up: for both directions, or for one. */
interface GivenAbove {
  readonly either: ReadonlySet<string>;
  readonly scaleUp: ReadonlySet<string>;
  readonly scaleDown: ReadonlySet<string>;
}

type Given = Readonly<Record<string, unknown>>;

function fillGiven(profile: PolicyFields, given: Given, above: GivenAbove): Given {
  const filled: Record<string, unknown> = { ...given };
  const either = addGivenKeys(above.either, given);
  for (const [key, value] of Object.entries(profile)) {
    const own = findOwnField(given, key);
    if (typeof value !== "object") {
      if (own === null && !above.either.has(key)) filled[key] = value;
    } else if (own === null || isRecord(own)) {
      filled[key] = fillGiven(value, own ?? {}, {
        either: key === "scaleUp" || key === "scaleDown" ? new Set([...either, ...above[key]]) : either,
        scaleUp: addGivenKeys(above.scaleUp, findOwnField(given, "scaleUp")),
        scaleDown: addGivenKeys(above.scaleDown, findOwnField(given, "scaleDown")),
      });
    }
  }
  return filled;
}

function addGivenKeys(names: ReadonlySet<string>, given: unknown): ReadonlySet<string> {
  if (!isRecord(given)) return names;
  return new Set([...names, ...[...INHERITED_KEYS].filter((key) => findOwnField(given, key) !== null)]);
}

/** Returns the value that an object of a manifest has of its own; `null` where it has none, or is not an object. */
export function findOwnField(object: unknown, key: string): unknown {
  return (isRecord(object) && Object.hasOwn(object, key) ? object[key] : null) ?? null;
}

function toResourcePolicy({ sides }: Autoscaler, resource: "cpu" | "memory"): PolicyFields | null {
  const own = sides.filter(({ key }) => resourceOf(key) === resource);
  return own.length === 0
    ? null
    : Object.fromEntries(own.map((rule) => [requestOrLimitOf(rule.key), toFieldPolicy(rule)]));
}

function toFieldPolicy(rule: FieldPolicy): PolicyFields {
  const { up, down, hasOwnCooldowns } = rule;
  return {
    scaleUpThreshold: rule.scaleUpThresholdPercent,
    scaleDownThreshold: rule.scaleDownThresholdPercent,
    targetUtilization: up.targetUtilizationPercent,
    // A cooldown given for one direction changes the time that it counts from.
    ...(hasOwnCooldowns ? {} : { cooldown: formatDuration(up.cooldownMs) }),
    scaleUp: toDirectionPolicy(up, hasOwnCooldowns),
    scaleDown: {
      ...toDirectionPolicy(down, hasOwnCooldowns),
      window: formatDuration(down.windowMs),
      ...(down.percentile === null
        ? {}
        : { percentile: down.percentile.percent, halfLife: formatDuration(down.percentile.halfLifeMs) }),
    },
  };
}

function toDirectionPolicy(direction: DirectionPolicy, hasOwnCooldowns: boolean): PolicyFields {
  return {
    targetUtilization: direction.targetUtilizationPercent,
    consecutiveSamples: direction.consecutiveSamples,
    ...(hasOwnCooldowns ? { cooldown: formatDuration(direction.cooldownMs) } : {}),
  };
}
