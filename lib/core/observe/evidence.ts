/**
 * What a scale-down rests on beside its streak (L1, L2, L4): for how long usage has been watched without a gap, and per
 * side the peak of its window or a percentile of what was seen. It belongs to the container, not to an instance of it:
 * a restart, another size and a changed spec leave it as it is.
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import { type Histogram, nextHistogram, readPercentile, rebaseHistogram } from "./histogram.ts";
import { nextPeaks, type Peaks, readPeak, rebasePeaks } from "./peaks.ts";

/** The evidence of one contender; plain JSON. */
export interface Evidence {
  /** Since when usage has come without a gap, epoch ms; `null` before the first sample. */
  readonly since: number | null;
  /** When the newest sample was seen, epoch ms. */
  readonly until: number;
  /** Sides whose rule has a window or a percentile. */
  readonly sides: Readonly<Partial<Record<SideKey, Peaks | Histogram>>>;
}

/** Shared, so that a view that has seen nothing costs no memory for it. */
export const NO_EVIDENCE: Evidence = Object.freeze({ since: null, until: 0, sides: Object.freeze({}) });

/** However long a window is, so much of it must have been watched (L2), ms. */
const WATCHED_MS = 15 * 60_000;

/** What came of one sample. */
export interface Seen {
  /** Epoch ms. */
  readonly at: number;
  /** After so long without a sample the time before counts as not watched, ms (C22). */
  readonly silenceMs: number;
  /** Usage of the side, millicores or bytes; `null` = unknown. */
  readonly readUsage: (rule: SideRule) => number | null;
}

/** The evidence after a sample. */
export function nextEvidence(before: Evidence, rules: readonly SideRule[], seen: Seen): Evidence {
  const { at, silenceMs } = seen;
  const isGap = before.since === null || at - before.until > silenceMs;
  return { since: isGap ? at : before.since, until: at, sides: nextSides(before.sides, rules, seen) };
}

/** The evidence after usage that no sample shows, such as the limit at an OOM kill (L10), in bytes. */
export function addPeak(
  before: Evidence,
  rules: readonly SideRule[],
  { at, bytes }: { at: number; bytes: number },
): Evidence {
  const memory = rules.filter(({ resource }) => resource === "memory");
  return { ...before, sides: { ...before.sides, ...nextSides(before.sides, memory, { at, readUsage: () => bytes }) } };
}

/** What a scale-down of the side is sized by; `null` where the streak alone counts. */
export function readEvidence({ sides }: Evidence, { key, down }: SideRule): number | null {
  const side = sides[key];
  if (side === undefined) return null;
  return side.kind === "peaks" ? readPeak(side) : readPercentile(side, down.percentile?.percent ?? 100);
}

/** How long the side must have been watched before it goes down, ms; 0 = its streak is enough. */
export function readWatchMs({ down: { windowMs, percentile } }: SideRule): number {
  return Math.min(percentile === null ? windowMs : percentile.halfLifeMs, WATCHED_MS);
}

/** The evidence after a wall clock stepped back to `now`. */
export function rebaseEvidence(evidence: Evidence, now: number): Evidence {
  if (evidence === NO_EVIDENCE) return evidence;
  const sides: Partial<Record<SideKey, Peaks | Histogram>> = {};
  for (const [key, side] of Object.entries(evidence.sides)) {
    sides[key as SideKey] = side.kind === "peaks" ? rebasePeaks(side, now) : rebaseHistogram(side, now);
  }
  const { since, until } = evidence;
  return { since: since === null ? null : Math.min(since, now), until: Math.min(until, now), sides };
}

const NO_SIDES: Evidence["sides"] = NO_EVIDENCE.sides;

function nextSides(
  before: Evidence["sides"],
  rules: readonly SideRule[],
  { at, readUsage }: Pick<Seen, "at" | "readUsage">,
): Evidence["sides"] {
  let sides: Partial<Record<SideKey, Peaks | Histogram>> | null = null;
  let last: { readonly rule: SideRule; readonly side: Peaks | Histogram } | null = null;
  for (const rule of rules) {
    const { key, down: { windowMs, percentile } } = rule;
    if (windowMs === 0 && percentile === null) continue;
    const usage = readUsage(rule);
    const known = before[key];
    if (usage === null) {
      if (known !== undefined) (sides ??= {})[key] = known;
      continue;
    }
    // Both sides of a resource see the same usage: with the same rule they share what they keep of it.
    const side: Peaks | Histogram = last !== null && isAlike(last.rule, rule) && known === before[last.rule.key]
      ? last.side
      : percentile === null
      ? nextPeaks(known?.kind === "peaks" ? known : undefined, windowMs, { at, usage })
      : nextHistogram(known?.kind === "histogram" ? known : undefined, percentile, { at, usage });
    (sides ??= {})[key] = side;
    last = { rule, side };
  }
  return sides ?? NO_SIDES;
}

function isAlike(a: SideRule, b: SideRule): boolean {
  return a.resource === b.resource && a.down.windowMs === b.down.windowMs &&
    a.down.percentile?.halfLifeMs === b.down.percentile?.halfLifeMs;
}
