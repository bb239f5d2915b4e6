/**
 * Parses `spec.policy` and `spec.bounds`.
 *
 * A value of one resource field and direction comes from there, from the field, or from the policy, in this order:
 * field.scaleUp.X, field.X, policy.scaleUp.X, policy.X.
 */
import type {
  Autoscaler,
  Bounds,
  DirectionPolicy,
  FieldPolicy,
  MaxUnavailable,
  Percentile,
  ProfileName,
  ScaleDownPolicy,
} from "../../model/autoscaler.ts";
import type { Fields } from "../../units/fields.ts";
import { compareQuantities } from "../../units/quantity.ts";
import {
  requestOrLimitOf,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
} from "../../units/resources.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import { findOwnField, MIN_PROFILE_MILLICORES } from "./profiles.ts";

/** Returns the policy; `null` if there is none. Problems are reported to `spec`; never throws. Clauses: C36, L3. */
export function parsePolicy(spec: Fields, context: PolicyContext): Policy | null {
  const policy = spec.object("policy", POLICY_FIELDS);
  if (policy === null) return null;
  policy.require(["pollInterval", "consecutiveSamples", "cooldown"]);
  const pollIntervalMs = policy.durationMs("pollInterval");
  if (pollIntervalMs === 0) policy.report("pollInterval", "Cannot use pollInterval 0: must be greater, such as 10s");
  const consecutiveSamples = policy.integer("consecutiveSamples", { min: 1 }) ?? INVALID_VALUE;
  const cooldownMs = policy.durationMs("cooldown") ?? INVALID_VALUE;
  if (!policy.has("cpu") && !policy.has("memory")) {
    const sides = RESOURCE_FIELDS.join(", ");
    policy.reportWhole(`Cannot use policy without a resource field: add at least one of ${sides}`);
  }
  const inherited: InheritedPolicy = {
    consecutiveSamples,
    cooldownMs,
    up: parseScaleUp(policy.object("scaleUp", ["consecutiveSamples", "cooldown"])),
    down: parseScaleDown(policy.object("scaleDown", ["consecutiveSamples", "cooldown", "window"])),
  };
  const resources = { ...context, inherited };
  const cpu = parseCpu(policy, resources);
  const memory = parseMemory(policy, resources);
  return {
    pollIntervalMs: pollIntervalMs ?? INVALID_VALUE,
    cooldownMs,
    after: policy.word("after", ["running", "containerReady", "podReady"]) ?? "containerReady",
    delayMs: policy.durationMs("delay") ?? 15_000,
    veto: policy.word("veto", ["all", "resource"]) ?? "all",
    oom: memory.oom,
    throttling: cpu.throttling,
    restartToShrink: memory.restartToShrink,
    ...parseMaxUnavailableField(policy),
    sides: [...cpu.sides, ...memory.sides],
  };
}

/** Returns the fields that the manifest names. Reports no problems: parsing the policy does. */
export function listNamedFields(spec: Fields): ReadonlySet<ResourceField> {
  const policy = spec.get("policy");
  return new Set(
    RESOURCE_FIELDS.filter((key) =>
      isRecord(findOwnField(findOwnField(policy, resourceOf(key)), requestOrLimitOf(key)))
    ),
  );
}

/** Returns the bounds of the fields that have some. Problems are reported to `spec`; never throws. Clauses: C4, C7. */
export function parseBounds(spec: Fields): ReadonlyMap<ResourceField, Bounds> {
  const found = new Map<ResourceField, Bounds>();
  const bounds = spec.object("bounds", ["cpu", "memory"]);
  if (bounds !== null && !bounds.has("cpu") && !bounds.has("memory")) {
    bounds.reportWhole("Cannot use empty bounds: add cpu and/or memory, or remove bounds");
  }
  for (const resource of ["cpu", "memory"] as const) {
    const sides = bounds?.object(resource, ["requests", "limits"]) ?? null;
    if (sides === null) continue;
    requireRequestsOrLimits(sides, resource);
    for (const key of RESOURCE_FIELDS.filter((each) => resourceOf(each) === resource)) {
      const fields = sides.object(requestOrLimitOf(key), ["min", "max", "step", "stepPercent"]);
      if (fields !== null) found.set(key, parseFieldBounds(fields, resource));
    }
  }
  return found;
}

/** The content of `spec.policy`. */
type Policy = Pick<
  Autoscaler,
  | "pollIntervalMs"
  | "cooldownMs"
  | "after"
  | "delayMs"
  | "veto"
  | "oom"
  | "throttling"
  | "restartToShrink"
  | "maxUnavailable"
  | "sides"
>;

/** What a policy takes from elsewhere in the spec. */
interface PolicyContext {
  readonly profile: ProfileName | null;
  /** The fields that the manifest itself names: those of a profile are managed where the container has them. */
  readonly named: ReadonlySet<ResourceField>;
  readonly bounds: ReadonlyMap<ResourceField, Bounds>;
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
  "maxUnavailable",
  "cpu",
  "memory",
];

function parseMaxUnavailableField(policy: Fields): Pick<Policy, "maxUnavailable"> {
  if (!policy.has("maxUnavailable")) return {};
  const maxUnavailable = parseMaxUnavailable(policy.get("maxUnavailable"));
  if (maxUnavailable !== null) return { maxUnavailable };
  const written = quote(policy.get("maxUnavailable"));
  policy.report("maxUnavailable", `Cannot use ${written} as maxUnavailable: ${MAX_UNAVAILABLE_RULE}`);
  return {};
}

export const MAX_UNAVAILABLE_RULE = "must be a number of pods such as 2, or a percentage from 0% to 100%";

/** Returns the parsed number or text; `null` if it is neither a number of pods nor a percentage. Never throws. */
export function parseMaxUnavailable(value: unknown): MaxUnavailable | null {
  if (typeof value !== "number" && typeof value !== "string") return null;
  const [, pods, percent] = /^(?:(0|[1-9][0-9]{0,5})|(100|[1-9]?[0-9])%)$/.exec(String(value)) ?? [];
  if (pods !== undefined) return { kind: "pods", pods: Number(pods) };
  return percent === undefined ? null : { kind: "percent", percent: Number(percent) };
}

/** Takes the place of a value with a problem. It is never seen, since an autoscaler with a problem is not returned. */
const INVALID_VALUE = 0;

const QUARTER_HOUR_MS = 15 * 60_000;

interface ResourcePolicyContext extends PolicyContext {
  readonly inherited: InheritedPolicy;
}

function parseCpu(policy: Fields, context: ResourcePolicyContext): Pick<Policy, "sides" | "throttling"> {
  const cpu = policy.object("cpu", ["requests", "limits", "scaleDown", "throttling"]);
  if (cpu === null) return { sides: [], throttling: "measure" };
  const down = cpu.object("scaleDown", ["percentile", "halfLife"]);
  const percentile = down === null ? null : parsePercentileFields(down, null);
  return {
    sides: parseFieldPolicies(cpu, { ...context, resource: "cpu", percentile, windowMs: 0 }),
    throttling: cpu.word("throttling", ["measure", "ignore"]) ?? "measure",
  };
}

function parseMemory(
  policy: Fields,
  context: ResourcePolicyContext,
): Pick<Policy, "sides" | "restartToShrink" | "oom"> {
  const memory = policy.object("memory", ["requests", "limits", "restartToShrink", "oom"]);
  if (memory === null) return { sides: [], restartToShrink: false, oom: "raise" };
  return {
    sides: parseFieldPolicies(memory, { ...context, resource: "memory", percentile: null, windowMs: QUARTER_HOUR_MS }),
    restartToShrink: memory.boolean("restartToShrink") ?? false,
    oom: memory.word("oom", ["raise", "ignore"]) ?? "raise",
  };
}

interface FieldPoliciesContext extends ResourcePolicyContext {
  readonly resource: Resource;
  /** That of the resource; a field may have its own. */
  readonly percentile: Percentile | null;
  /** The window where none is given. */
  readonly windowMs: number;
}

function parseFieldPolicies(
  fields: Fields,
  { resource, named, profile, bounds, ...context }: FieldPoliciesContext,
): FieldPolicy[] {
  requireRequestsOrLimits(fields, resource);
  return RESOURCE_FIELDS.flatMap((key) => {
    if (resourceOf(key) !== resource) return [];
    const side = fields.object(requestOrLimitOf(key), FIELD_POLICY_KEYS);
    if (side === null) return [];
    const isOptional = profile !== null && !named.has(key);
    return [parseFieldPolicy(side, { ...context, key, profile, isOptional, bounds: bounds.get(key) ?? null })];
  });
}

const FIELD_POLICY_KEYS = [
  "scaleUpThreshold",
  "scaleDownThreshold",
  "targetUtilization",
  "consecutiveSamples",
  "cooldown",
  "scaleUp",
  "scaleDown",
];

/** The values in `scaleUp` or `scaleDown`; `null` where another level decides. */
interface DirectionValues {
  readonly targetUtilization: number | null;
  readonly consecutiveSamples: number | null;
  readonly cooldownMs: number | null;
  /** Only for a scale-down. */
  readonly windowMs: number | null;
}

/** What a field takes from the policy. */
interface InheritedPolicy {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly up: DirectionValues;
  readonly down: DirectionValues;
}

/** What a field takes from elsewhere in the spec. */
interface FieldPolicyContext {
  readonly key: ResourceField;
  readonly profile: ProfileName | null;
  readonly isOptional: boolean;
  readonly bounds: Bounds | null;
  readonly inherited: InheritedPolicy;
  /** That of the resource. */
  readonly percentile: Percentile | null;
  /** The window where none is given. */
  readonly windowMs: number;
}

/** The longest window and half-life. */
const DAY_MS = 24 * 3_600_000;

/** Returns the rule of a field. Problems are reported to `fields`; never throws. */
function parseFieldPolicy(fields: Fields, context: FieldPolicyContext): FieldPolicy {
  const { key, inherited } = context;
  fields.require(["scaleUpThreshold", "scaleDownThreshold", "targetUtilization"]);
  const own: OwnFieldValues = {
    targetUtilization: fields.integer("targetUtilization", { min: 1, max: 100 }) ?? INVALID_VALUE,
    consecutiveSamples: fields.integer("consecutiveSamples", { min: 1 }),
    cooldownMs: fields.durationMs("cooldown"),
  };
  const up = parseScaleUp(fields.object("scaleUp", SCALE_UP_KEYS));
  const down = fields.object("scaleDown", SCALE_DOWN_KEYS[resourceOf(key)]);
  const downFields = parseScaleDown(down);
  return {
    key,
    resource: resourceOf(key),
    side: requestOrLimitOf(key),
    ...parseThresholds(fields, context),
    up: resolveDirection(own, up, { ...inherited, direction: inherited.up }),
    down: {
      ...resolveDirection(own, downFields, { ...inherited, direction: inherited.down }),
      windowMs: downFields.windowMs ?? inherited.down.windowMs ?? context.windowMs,
      percentile: parsePercentile(down, context),
    },
    hasOwnCooldowns: hasOwnCooldowns(own, [up, downFields], inherited),
    isOptional: context.isOptional,
    bounds: toFieldBounds(context),
  };
}

/** Returns the bounds of a field. A profile has its own minimum size. */
function toFieldBounds({ key, profile, bounds }: FieldPolicyContext): Bounds {
  const given = bounds ?? NO_BOUNDS;
  const least = profile === null ? undefined : MIN_PROFILE_MILLICORES[key];
  const isFree = given.min === null && least !== undefined && least <= (given.max ?? Infinity);
  return isFree ? { ...given, min: least } : given;
}

/** Returns the values in `scaleUp`. It has no window, since a scale-up never waits for one. */
function parseScaleUp(fields: Fields | null): DirectionValues {
  return { ...parseDirection(fields), windowMs: null };
}

/** Returns the values in `scaleDown`. */
function parseScaleDown(fields: Fields | null): DirectionValues {
  return { ...parseDirection(fields), windowMs: fields?.durationMs("window", { max: DAY_MS }) ?? null };
}

/** Returns the percentile of a CPU `scaleDown`. Its parts may come from `outer`. Clauses: L4. */
function parsePercentileFields(fields: Fields, outer: Percentile | null): Percentile | null {
  const percent = fields.integer("percentile", { min: 50, max: 100 }) ?? outer?.percent ?? null;
  const halfLifeMs = fields.durationMs("halfLife", { min: 60_000, max: DAY_MS }) ?? outer?.halfLifeMs ?? HOUR_MS;
  if (percent !== null) return { percent, halfLifeMs };
  // A percentile with a problem counts as given.
  if (fields.has("halfLife") && !fields.has("percentile")) {
    fields.report("halfLife", "Cannot use halfLife without percentile: add percentile, such as 90, or remove halfLife");
  }
  return null;
}

const SCALE_UP_KEYS = ["targetUtilization", "consecutiveSamples", "cooldown"];

/** Memory has no percentile: a burst of two minutes an hour is invisible to it, and kills. Clauses: L4, L54. */
const SCALE_DOWN_KEYS: Readonly<Record<Resource, readonly string[]>> = {
  cpu: [...SCALE_UP_KEYS, "window", "percentile", "halfLife"],
  memory: [...SCALE_UP_KEYS, "window"],
};

const HOUR_MS = 3_600_000;

interface OwnFieldValues {
  readonly targetUtilization: number;
  readonly consecutiveSamples: number | null;
  readonly cooldownMs: number | null;
}

type Thresholds = Pick<FieldPolicy, "scaleUpThresholdPercent" | "scaleDownThresholdPercent">;

/** Returns both thresholds. Usage can exceed a request, so a request's thresholds may be above 100 %. Clauses: L50. */
function parseThresholds(fields: Fields, { key, profile }: FieldPolicyContext): Thresholds {
  const max = requestOrLimitOf(key) === "requests" ? 200 : 100;
  const up = fields.integer("scaleUpThreshold", { min: 1, max });
  const down = fields.integer("scaleDownThreshold", { min: 0, max });
  if (up !== null && down !== null && up <= down) {
    const hint = profile === null ? "" : `, give both with profile ${profile}`;
    const cause = `not greater than scaleDownThreshold ${down}${hint}`;
    fields.report("scaleUpThreshold", `Cannot use scaleUpThreshold ${up}: ${cause}`);
  }
  return { scaleUpThresholdPercent: up ?? INVALID_VALUE, scaleDownThresholdPercent: down ?? INVALID_VALUE };
}

function parseDirection(fields: Fields | null): Omit<DirectionValues, "windowMs"> {
  return {
    targetUtilization: fields?.integer("targetUtilization", { min: 1, max: 100 }) ?? null,
    consecutiveSamples: fields?.integer("consecutiveSamples", { min: 1 }) ?? null,
    cooldownMs: fields?.durationMs("cooldown") ?? null,
  };
}

function parsePercentile(down: Fields | null, { key, percentile }: FieldPolicyContext): ScaleDownPolicy["percentile"] {
  return down === null || resourceOf(key) !== "cpu" ? percentile : parsePercentileFields(down, percentile);
}

interface OuterPolicy {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly direction: DirectionValues;
}

function resolveDirection(own: OwnFieldValues, direction: DirectionValues, outer: OuterPolicy): DirectionPolicy {
  return {
    targetUtilizationPercent: direction.targetUtilization ?? own.targetUtilization,
    consecutiveSamples: direction.consecutiveSamples ?? own.consecutiveSamples ?? outer.direction.consecutiveSamples ??
      outer.consecutiveSamples,
    cooldownMs: direction.cooldownMs ?? own.cooldownMs ?? outer.direction.cooldownMs ?? outer.cooldownMs,
  };
}

/**
 * Returns whether the field has its own cooldowns. Its cooldown for both directions has priority over the policy's for
 * each direction. Clauses: L3.
 */
function hasOwnCooldowns(
  own: OwnFieldValues,
  directions: readonly DirectionValues[],
  { up, down }: Pick<InheritedPolicy, "up" | "down">,
): boolean {
  const isGiven = (one: DirectionValues) => one.cooldownMs !== null;
  return directions.some(isGiven) || (own.cooldownMs === null && [up, down].some(isGiven));
}

/** The bounds of a field without any. */
const NO_BOUNDS: Bounds = { min: null, max: null, step: null, stepPercent: null };

/** Reports a resource that has neither requests nor limits. */
function requireRequestsOrLimits(sides: Fields, resource: Resource): void {
  if (sides.has("requests") || sides.has("limits")) return;
  sides.reportWhole(`Cannot use ${resource} without requests and limits: add one of them, or remove ${resource}`);
}

function parseFieldBounds(fields: Fields, resource: Resource): Bounds {
  const min = fields.amount("min", resource);
  const max = fields.amount("max", resource);
  const step = fields.amount("step", resource);
  for (const [key, amount] of Object.entries({ min, max, step })) {
    if (amount !== null && resource === "cpu" && amount >= MAX_MILLICORES) {
      fields.report(key, `Cannot use ${key} ${formatGiven(fields, key)}: must be less than 9T`);
    }
  }
  if (min !== null && min < 0) fields.report("min", `Cannot use negative min ${formatGiven(fields, "min")}`);
  if (max !== null && max < 0) fields.report("max", `Cannot use negative max ${formatGiven(fields, "max")}`);
  if (step !== null && step <= 0) {
    fields.report(
      "step",
      `Cannot use step ${formatGiven(fields, "step")}: must be greater than 0, or left out for no such cap`,
    );
  }
  if (min !== null && max !== null && compareQuantities(fields.get("min"), fields.get("max")) > 0) {
    fields.report(
      "min",
      `Cannot use min ${formatGiven(fields, "min")}: greater than max ${formatGiven(fields, "max")}`,
    );
  }
  return { min, max, step, stepPercent: fields.integer("stepPercent", { min: 1, max: 100 }) };
}

/** The schema's 9T cores. Its 8Pi bytes of memory need no check, since no larger amount is parsed. */
const MAX_MILLICORES = 9e15;

/** Writes a value as the manifest has it. Only for values that were parsed, which are short strings or integers. */
function formatGiven(fields: Fields, key: string): string {
  return JSON.stringify(fields.get(key));
}
