/**
 * What an autoscaler in mode recommend would have: one entry per container in `status.recommendations` (L51). It is written
 * when some amount has moved by a twentieth, so that a status is no time series.
 */
import { formatAmount } from "../units/quantity.ts";
import { resourceOf, type Resources, SIDE_KEYS, sideOf, UNIT } from "../units/resources.ts";

/** The sizes of one container over all pods that were sampled. Each side stands for itself. */
export interface Recommended {
  readonly container: string;
  readonly min: Resources;
  /** The middle one; of an even number the lower. */
  readonly median: Resources;
  readonly max: Resources;
  /** What pods start with; `null` while no pod is seen that nobody has resized. */
  readonly template: Resources | null;
}

/** As the API has it: quantities by side and resource. */
export interface Recommendation {
  readonly container: string;
  readonly min: RecommendedSize;
  readonly median: RecommendedSize;
  readonly max: RecommendedSize;
  readonly template?: RecommendedSize;
}

/** `requests` and `limits` as they stand in a pod. */
export type RecommendedSize = Readonly<Partial<Record<"requests" | "limits", Readonly<Record<string, string>>>>>;

/** An amount that moves by less than this share is no news. */
const LEAST_CHANGE = 0.05;

/** What to publish after `before` was: the same object while nothing has moved by enough. */
export function nextRecommended(
  before: readonly Recommended[] | null,
  now: readonly Recommended[],
): readonly Recommended[] {
  return before !== null && before.length === now.length && now.every((one, index) => isAlike(one, before[index]))
    ? before
    : now;
}

/** The text of each; an amount is rounded up to what a resize would ask for. */
export function toRecommendations(all: readonly Recommended[]): readonly Recommendation[] {
  return all.map(({ container, min, median, max, template }) => ({
    container,
    min: toSize(min),
    median: toSize(median),
    max: toSize(max),
    ...(template !== null && { template: toSize(template) }),
  }));
}

/** The middle one of each side; of an even number the lower. `null` where half of the sizes or more have no such side. */
export function readMedian(sizes: readonly Resources[]): Resources {
  return readRank(sizes, (count) => Math.floor((count - 1) / 2));
}

/** The smallest of each side. */
export function readLeast(sizes: readonly Resources[]): Resources {
  return readRank(sizes, () => 0);
}

/** The largest of each side. */
export function readMost(sizes: readonly Resources[]): Resources {
  return readRank(sizes, (count) => count - 1);
}

function readRank(sizes: readonly Resources[], rank: (count: number) => number): Resources {
  const found: Record<string, number | null> = {};
  for (const key of SIDE_KEYS) {
    const amounts = sizes.flatMap((size) => size[key] ?? []).sort((a, b) => a - b);
    found[key] = amounts.length * 2 <= sizes.length ? null : amounts[rank(amounts.length)] ?? null;
  }
  return found as Resources;
}

function isAlike(now: Recommended, before: Recommended | undefined): boolean {
  if (before?.container !== now.container) return false;
  if ((before.template === null) !== (now.template === null)) return false;
  const pairs = [[now.min, before.min], [now.median, before.median], [now.max, before.max]] as const;
  if (!pairs.every(([a, b]) => SIDE_KEYS.every((key) => isNear(a[key], b[key])))) return false;
  return now.template === null || SIDE_KEYS.every((key) => now.template?.[key] === before.template?.[key]);
}

function isNear(now: number | null, before: number | null): boolean {
  if (now === null || before === null) return now === before;
  return Math.abs(now - before) < LEAST_CHANGE * before || now === before;
}

function toSize(size: Resources): RecommendedSize {
  const sides: Partial<Record<"requests" | "limits", Record<string, string>>> = {};
  for (const key of SIDE_KEYS) {
    const amount = size[key];
    if (amount === null) continue;
    const [side, resource] = [sideOf(key), resourceOf(key)];
    (sides[side] ??= {})[resource] = formatAmount(Math.ceil(amount / UNIT[resource]) * UNIT[resource], resource);
  }
  return sides;
}
