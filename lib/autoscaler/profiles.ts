/**
 * The profiles (L50): a policy under one word. Each is plain data in the words of `spec.policy`; what the manifest gives
 * is laid over it, and one parser reads the result. `after` and `delay` are left out, since the API server fills them in
 * wherever a manifest has a policy: nobody could tell whose they are.
 */
import type { SideKey } from "../units/resources.ts";
import { isRecord } from "../units/untrusted.ts";
import type { ProfileName } from "./autoscaler.ts";

/** As the manifest has it. */
export type PolicyFields = { readonly [field: string]: string | number | boolean | PolicyFields };

/** Memory is what kills: it shrinks on what a whole day has shown, to a limit that holds a burst of twice the peak. */
const MEMORY: PolicyFields = {
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
 * What the numbers rest on stands in docs/quality.md. A request may be exceeded, so an up waits until usage is about at
 * the request, and goes well above it at once; a down waits for a short window, and for one cooldown.
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
    memory: MEMORY,
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
    memory: MEMORY,
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
 * Below these a millicore of rounding is more than the noise of a load, and an idle pod would be resized all day. Where
 * the manifest bounds the side by a min, or by a max below, its word counts.
 */
export const LEAST_MILLICORES: Readonly<Partial<Record<SideKey, number>>> = { "cpu.requests": 10, "cpu.limits": 25 };

export const PROFILE_NAMES: readonly ProfileName[] = ["latency", "balanced", "thrifty"];

/**
 * Gives the policy that a profile and what the manifest gives under `policy` come to, unparsed: given fields go before
 * those of the profile, each by itself. A given field that others inherit also goes before the profile's own overrides
 * of it: who writes `policy.cooldown: 5m` means all sides. Null is absent, as for Kubernetes; never throws.
 */
export function fillPolicy(profile: ProfileName, given: unknown): unknown {
  if (given !== null && !isRecord(given)) return given;
  return fill(PROFILES[profile], given ?? {}, { either: NONE, scaleUp: NONE, scaleDown: NONE });
}

/** Fields that a side, or one of its directions, takes from above where it has none. */
const INHERITED: ReadonlySet<string> = new Set([
  "targetUtilization",
  "consecutiveSamples",
  "cooldown",
  "window",
  "percentile",
  "halfLife",
]);
const NONE: ReadonlySet<string> = new Set();

/** Names of fields that the manifest gives further up: for both directions, or for one. */
interface GivenAbove {
  readonly either: ReadonlySet<string>;
  readonly scaleUp: ReadonlySet<string>;
  readonly scaleDown: ReadonlySet<string>;
}

type Given = Readonly<Record<string, unknown>>;

function fill(profile: PolicyFields, given: Given, above: GivenAbove): Given {
  const filled: Record<string, unknown> = { ...given };
  const either = union(above.either, given);
  for (const [key, value] of Object.entries(profile)) {
    const own = readOwn(given, key);
    if (typeof value !== "object") {
      if (own === null && !above.either.has(key)) filled[key] = value;
    } else if (own === null || isRecord(own)) {
      filled[key] = fill(value, own ?? {}, {
        either: key === "scaleUp" || key === "scaleDown" ? new Set([...either, ...above[key]]) : either,
        scaleUp: union(above.scaleUp, readOwn(given, "scaleUp")),
        scaleDown: union(above.scaleDown, readOwn(given, "scaleDown")),
      });
    }
  }
  return filled;
}

function union(names: ReadonlySet<string>, given: unknown): ReadonlySet<string> {
  if (!isRecord(given)) return names;
  return new Set([...names, ...[...INHERITED].filter((key) => readOwn(given, key) !== null)]);
}

function readOwn(object: Given, key: string): unknown {
  return (Object.hasOwn(object, key) ? object[key] : null) ?? null;
}
