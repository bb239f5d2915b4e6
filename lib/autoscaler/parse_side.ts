/**
 * Parses one side of a resource: thresholds and targets, and for each direction its own value, the side's, or the
 * policy's, in this order: side.scaleUp.X, side.X, policy.scaleUp.X, policy.X (C36, L3).
 */
import { resourceOf, type SideKey, sideOf } from "../units/resources.ts";
import type { Bounds, DirectionRule, DownRule, Percentile, ProfileName, SideRule } from "./autoscaler.ts";
import type { Fields } from "../units/fields.ts";
import { NO_BOUNDS } from "./parse_bounds.ts";
import { LEAST_MILLICORES } from "./profiles.ts";

/** What `scaleUp` or `scaleDown` says; `null` for what it leaves to others. */
export interface DirectionFields {
  readonly targetUtilization: number | null;
  readonly consecutiveSamples: number | null;
  readonly cooldownMs: number | null;
  /** Of a scale-down alone. */
  readonly windowMs: number | null;
}

/** What a side takes from the policy. */
export interface Inherited {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly up: DirectionFields;
  readonly down: DirectionFields;
}

/** What a side takes from elsewhere in the spec. */
export interface SideContext {
  readonly key: SideKey;
  readonly profile: ProfileName | null;
  readonly isOptional: boolean;
  readonly bounds: Bounds | null;
  readonly inherited: Inherited;
  /** That of the resource. */
  readonly percentile: Percentile | null;
  /** The window where none is given (L2). */
  readonly windowMs: number;
}

/** The longest window and half-life. */
const DAY_MS = 24 * 3_600_000;

/** Gives the rule of a side. Problems are reported to `fields`; never throws. */
export function parseSide(fields: Fields, context: SideContext): SideRule {
  const { key, inherited } = context;
  fields.require(["scaleUpThreshold", "scaleDownThreshold", "targetUtilization"]);
  const own: OwnFields = {
    targetUtilization: fields.integer("targetUtilization", { min: 1, max: 100 }) ?? INVALID,
    consecutiveSamples: fields.integer("consecutiveSamples", { min: 1 }),
    cooldownMs: fields.durationMs("cooldown"),
  };
  const up = readUp(fields.object("scaleUp", UP_FIELDS));
  const down = fields.object("scaleDown", DOWN_FIELDS);
  const downFields = readDown(down);
  return {
    key,
    resource: resourceOf(key),
    side: sideOf(key),
    ...parseThresholds(fields, context),
    up: resolve(own, up, { ...inherited, direction: inherited.up }),
    down: {
      ...resolve(own, downFields, { ...inherited, direction: inherited.down }),
      windowMs: downFields.windowMs ?? inherited.down.windowMs ?? context.windowMs,
      percentile: parsePercentile(down, context),
    },
    hasOwnCooldowns: hasOwnCooldowns(own, [up, downFields], inherited),
    isOptional: context.isOptional,
    bounds: toBounds(context),
  };
}

/** A profile has a least size of its own. */
function toBounds({ key, profile, bounds }: SideContext): Bounds {
  const given = bounds ?? NO_BOUNDS;
  const least = profile === null ? undefined : LEAST_MILLICORES[key];
  const isFree = given.min === null && least !== undefined && least <= (given.max ?? Infinity);
  return isFree ? { ...given, min: least } : given;
}

/** Gives what `scaleUp` says. It has no window, since an up is never held back. */
export function readUp(fields: Fields | null): DirectionFields {
  if (fields?.has("window")) {
    const cause = "only scaleDown has a window, a scale-up needs scaleUp.consecutiveSamples";
    fields.report("window", `Cannot use window of scaleUp: ${cause}`);
  }
  return { ...readEither(fields), windowMs: null };
}

/** Gives what `scaleDown` says. */
export function readDown(fields: Fields | null): DirectionFields {
  return { ...readEither(fields), windowMs: fields?.durationMs("window", { max: DAY_MS }) ?? null };
}

/** Gives the percentile that a `scaleDown` of CPU states, whose parts may come from `outer` (L4). */
export function readPercentileRule(fields: Fields, outer: Percentile | null): Percentile | null {
  const percent = fields.integer("percentile", { min: 50, max: 100 }) ?? outer?.percent ?? null;
  const halfLifeMs = fields.durationMs("halfLife", { min: 60_000, max: DAY_MS }) ?? outer?.halfLifeMs ?? HOUR_MS;
  if (percent !== null) return { percent, halfLifeMs };
  // A percentile with a problem of its own is there all the same.
  if (fields.has("halfLife") && !fields.has("percentile")) {
    fields.report("halfLife", "Cannot use halfLife without percentile: add percentile, such as 90, or remove halfLife");
  }
  return null;
}

/** Reports a percentile of memory: a burst of two minutes an hour is invisible to it, and kills (L4, L54). */
export function refusePercentile(fields: Fields): void {
  for (const key of ["percentile", "halfLife"].filter((key) => fields.has(key))) {
    const cause = "it is for CPU alone, memory rests on the peak of a window: set scaleDown.window";
    fields.report(key, `Cannot use ${key} of memory: ${cause}`);
  }
}

const UP_FIELDS = ["targetUtilization", "consecutiveSamples", "cooldown", "window"];
const DOWN_FIELDS = [...UP_FIELDS, "percentile", "halfLife"];
const HOUR_MS = 3_600_000;

/** Takes the place of a value with a problem. It is never seen, since an autoscaler with a problem is not returned. */
const INVALID = 0;

interface OwnFields {
  readonly targetUtilization: number;
  readonly consecutiveSamples: number | null;
  readonly cooldownMs: number | null;
}

type Thresholds = Pick<SideRule, "scaleUpThresholdPercent" | "scaleDownThresholdPercent">;

/** Usage can exceed a request, so a request's thresholds go further (L50). */
function parseThresholds(fields: Fields, { key, profile }: SideContext): Thresholds {
  const max = sideOf(key) === "requests" ? 200 : 100;
  const up = fields.integer("scaleUpThreshold", { min: 1, max });
  const down = fields.integer("scaleDownThreshold", { min: 0, max });
  if (up !== null && down !== null && up <= down) {
    const hint = profile === null ? "" : `, give both beside profile ${profile}`;
    const cause = `not greater than scaleDownThreshold ${down}${hint}`;
    fields.report("scaleUpThreshold", `Cannot use scaleUpThreshold ${up}: ${cause}`);
  }
  return { scaleUpThresholdPercent: up ?? INVALID, scaleDownThresholdPercent: down ?? INVALID };
}

function readEither(fields: Fields | null): Omit<DirectionFields, "windowMs"> {
  return {
    targetUtilization: fields?.integer("targetUtilization", { min: 1, max: 100 }) ?? null,
    consecutiveSamples: fields?.integer("consecutiveSamples", { min: 1 }) ?? null,
    cooldownMs: fields?.durationMs("cooldown") ?? null,
  };
}

function parsePercentile(down: Fields | null, { key, percentile }: SideContext): DownRule["percentile"] {
  if (down === null) return percentile;
  if (resourceOf(key) === "cpu") return readPercentileRule(down, percentile);
  refusePercentile(down);
  return null;
}

interface Outer {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly direction: DirectionFields;
}

function resolve(own: OwnFields, direction: DirectionFields, outer: Outer): DirectionRule {
  return {
    targetUtilizationPercent: direction.targetUtilization ?? own.targetUtilization,
    consecutiveSamples: direction.consecutiveSamples ?? own.consecutiveSamples ?? outer.direction.consecutiveSamples ??
      outer.consecutiveSamples,
    cooldownMs: direction.cooldownMs ?? own.cooldownMs ?? outer.direction.cooldownMs ?? outer.cooldownMs,
  };
}

/** A side's own cooldown for both directions goes before those that the policy has for each (L3). */
function hasOwnCooldowns(
  own: OwnFields,
  directions: readonly DirectionFields[],
  { up, down }: Pick<Inherited, "up" | "down">,
): boolean {
  const isGiven = (one: DirectionFields) => one.cooldownMs !== null;
  return directions.some(isGiven) || (own.cooldownMs === null && [up, down].some(isGiven));
}
