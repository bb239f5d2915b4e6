/**
 * Parses `spec.policy`, which a profile may have filled in: what holds for all sides, and each side with what it takes
 * from here (C36, L3).
 */
import { type Resource, resourceOf, SIDE_KEYS, type SideKey, sideOf } from "../units/resources.ts";
import { isRecord } from "../units/untrusted.ts";
import type { Autoscaler, Bounds, Percentile, ProfileName, SideRule } from "./autoscaler.ts";
import type { Fields } from "../units/fields.ts";
import { requireSide } from "./parse_bounds.ts";
import { type Inherited, parseSide, readDown, readPercentileRule, readUp, refusePercentile } from "./parse_side.ts";

/** What stands under `spec.policy`. */
export type Policy = Pick<
  Autoscaler,
  | "pollIntervalMs"
  | "cooldownMs"
  | "after"
  | "delayMs"
  | "veto"
  | "oom"
  | "throttling"
  | "restartToShrink"
  | "sides"
>;

/** What a policy takes from elsewhere in the spec. */
export interface PolicyContext {
  readonly profile: ProfileName | null;
  /** The sides that the manifest itself names: those of a profile are managed where the container has them. */
  readonly named: ReadonlySet<SideKey>;
  readonly bounds: ReadonlyMap<SideKey, Bounds>;
}

/** Gives the policy; `null` when there is none. Problems are reported to `spec`; never throws. */
export function parsePolicy(spec: Fields, context: PolicyContext): Policy | null {
  const policy = spec.object("policy", POLICY_FIELDS);
  if (policy === null) return null;
  policy.require(["pollInterval", "consecutiveSamples", "cooldown"]);
  const pollIntervalMs = policy.durationMs("pollInterval");
  if (pollIntervalMs === 0) policy.report("pollInterval", "Cannot use pollInterval 0: must be greater, such as 10s");
  const consecutiveSamples = policy.integer("consecutiveSamples", { min: 1 }) ?? INVALID;
  const cooldownMs = policy.durationMs("cooldown") ?? INVALID;
  if (!policy.has("cpu") && !policy.has("memory")) {
    const sides = SIDE_KEYS.join(", ");
    policy.reportWhole(`Cannot use policy without a side: add at least one of ${sides}`);
  }
  const inherited: Inherited = {
    consecutiveSamples,
    cooldownMs,
    up: readUp(policy.object("scaleUp", ["consecutiveSamples", "cooldown", "window"])),
    down: readDown(policy.object("scaleDown", ["consecutiveSamples", "cooldown", "window"])),
  };
  const resources = { ...context, inherited };
  const cpu = parseCpu(policy, resources);
  const memory = parseMemory(policy, resources);
  return {
    pollIntervalMs: pollIntervalMs ?? INVALID,
    cooldownMs,
    after: policy.word("after", ["running", "containerReady", "podReady"]) ?? "containerReady",
    delayMs: policy.durationMs("delay") ?? 15_000,
    veto: policy.word("veto", ["all", "resource"]) ?? "all",
    oom: memory.oom,
    throttling: cpu.throttling,
    restartToShrink: memory.restartToShrink,
    sides: [...cpu.sides, ...memory.sides],
  };
}

/** Gives the sides that the manifest names. Reports nothing: for that the policy is parsed. */
export function listNamedSides(spec: Fields): ReadonlySet<SideKey> {
  const policy = spec.get("policy");
  return new Set(SIDE_KEYS.filter((key) => isRecord(readField(readField(policy, resourceOf(key)), sideOf(key)))));
}

const POLICY_FIELDS = [
  "pollInterval",
  "consecutiveSamples",
  "cooldown",
  "after",
  "delay",
  "scaleUp",
  "scaleDown",
  "veto",
  "cpu",
  "memory",
];

/** Takes the place of a value with a problem. It is never seen, since an autoscaler with a problem is not returned. */
const INVALID = 0;
const QUARTER_HOUR_MS = 15 * 60_000;

function readField(object: unknown, key: string): unknown {
  return isRecord(object) && Object.hasOwn(object, key) ? object[key] : null;
}

interface ResourceContext extends PolicyContext {
  readonly inherited: Inherited;
}

function parseCpu(policy: Fields, context: ResourceContext): Pick<Policy, "sides" | "throttling"> {
  const cpu = policy.object("cpu", ["requests", "limits", "scaleDown", "throttling"]);
  if (cpu === null) return { sides: [], throttling: "measure" };
  const down = cpu.object("scaleDown", ["percentile", "halfLife"]);
  const percentile = down === null ? null : readPercentileRule(down, null);
  return {
    sides: parseSides(cpu, { ...context, resource: "cpu", percentile, windowMs: 0 }),
    throttling: cpu.word("throttling", ["measure", "ignore"]) ?? "measure",
  };
}

function parseMemory(policy: Fields, context: ResourceContext): Pick<Policy, "sides" | "restartToShrink" | "oom"> {
  const memory = policy.object("memory", ["requests", "limits", "scaleDown", "restartToShrink", "oom"]);
  if (memory === null) return { sides: [], restartToShrink: false, oom: "raise" };
  const down = memory.object("scaleDown", ["percentile", "halfLife"]);
  if (down !== null) refusePercentile(down);
  return {
    sides: parseSides(memory, { ...context, resource: "memory", percentile: null, windowMs: QUARTER_HOUR_MS }),
    restartToShrink: memory.boolean("restartToShrink") ?? false,
    oom: memory.word("oom", ["raise", "ignore"]) ?? "raise",
  };
}

interface SidesContext extends ResourceContext {
  readonly resource: Resource;
  /** That of the resource; a side may have its own. */
  readonly percentile: Percentile | null;
  /** The window where none is given (L2). */
  readonly windowMs: number;
}

function parseSides(fields: Fields, { resource, named, profile, bounds, ...context }: SidesContext): SideRule[] {
  requireSide(fields, resource);
  return SIDE_KEYS.flatMap((key) => {
    if (resourceOf(key) !== resource) return [];
    const side = fields.object(sideOf(key), SIDE_FIELDS);
    if (side === null) return [];
    const isOptional = profile !== null && !named.has(key);
    return [parseSide(side, { ...context, key, profile, isOptional, bounds: bounds.get(key) ?? null })];
  });
}

const SIDE_FIELDS = [
  "scaleUpThreshold",
  "scaleDownThreshold",
  "targetUtilization",
  "consecutiveSamples",
  "cooldown",
  "scaleUp",
  "scaleDown",
];
