/**
 * The profiles (L50): a policy under one word. Each is plain data in the words of `spec.policy`; what the manifest gives
 * is laid over it, and one parser reads the result. `after` and `delay` are left out, since the API server fills them in
 * wherever a manifest has a policy: nobody could tell whose they are.
 */
import { isRecord } from "../units/untrusted.ts";
import type { ProfileName } from "./autoscaler.ts";

/** As the manifest has it. */
export type PolicyFields = { readonly [field: string]: string | number | boolean | PolicyFields };

/** Memory is what kills: it shrinks on what a whole day has shown. */
const MEMORY: PolicyFields = {
  requests: {
    scaleUpThreshold: 90,
    scaleDownThreshold: 60,
    targetUtilization: 75,
    scaleDown: { window: "24h" },
  },
  limits: {
    scaleUpThreshold: 80,
    scaleDownThreshold: 50,
    targetUtilization: 60,
    scaleDown: { window: "24h" },
  },
};

const CPU_LIMITS: PolicyFields = { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 40 };

/**
 * A request may be exceeded, so an up waits until usage is about at the request, and goes well above it; the down that
 * follows aims closer, once the percentile shows what is really used.
 */
export const PROFILES: Readonly<Record<ProfileName, PolicyFields>> = {
  latency: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "30s",
    cpu: {
      requests: {
        scaleUpThreshold: 95,
        scaleDownThreshold: 71,
        targetUtilization: 70,
        scaleDown: { targetUtilization: 75, cooldown: "120s" },
      },
      limits: CPU_LIMITS,
      scaleDown: { percentile: 50, halfLife: "30m" },
    },
    memory: MEMORY,
  },
  balanced: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "30s",
    cpu: {
      requests: {
        scaleUpThreshold: 105,
        scaleDownThreshold: 71,
        targetUtilization: 70,
        scaleDown: { targetUtilization: 95, cooldown: "60s" },
      },
      limits: CPU_LIMITS,
      scaleDown: { percentile: 90, halfLife: "1m" },
    },
    memory: MEMORY,
  },
  thrifty: {
    pollInterval: "5s",
    consecutiveSamples: 1,
    cooldown: "30s",
    cpu: {
      requests: {
        scaleUpThreshold: 115,
        scaleDownThreshold: 72,
        targetUtilization: 70,
        scaleDown: { targetUtilization: 85, cooldown: "60s" },
      },
      limits: CPU_LIMITS,
      scaleDown: { percentile: 50, halfLife: "2m" },
    },
    memory: MEMORY,
  },
};

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
