/** Which policies of a sweep are best? */
import type { ReportCandidate } from "../html_report.ts";
import type { Totals } from "./try_policy.ts";

/** A policy that was tried. */
export interface Scored extends Totals {
  readonly name: string;
}

/** Less is better in each. */
const COSTS = ["slack", "throttledSeconds", "oomKills", "resizesPerHour"] as const;
type Cost = typeof COSTS[number];

/** A policy with its place among the others. */
export interface Ranked extends ReportCandidate {
  readonly under: number;
}

/**
 * Fewest OOM kills first, then the lowest sum of places in slack, throttled time and resizes. On the front is who is not
 * beaten: no other is at least as good in all four and better in one.
 */
export function rank(scored: readonly Scored[]): readonly Ranked[] {
  const places = COSTS.map((cost) => toPlaces(scored, cost));
  const sums = new Map(scored.map((one, index) => [one, places.reduce((sum, list) => sum + (list[index] ?? 0), 0)]));
  return scored.toSorted((a, b) => a.oomKills - b.oomKills || (sums.get(a) ?? 0) - (sums.get(b) ?? 0))
    .map((one) => ({ ...one, isOnFront: !scored.some((other) => beats(other, one)) }));
}

function beats(one: Scored, other: Scored): boolean {
  return COSTS.every((cost) => one[cost] <= other[cost]) && COSTS.some((cost) => one[cost] < other[cost]);
}

/** How many are better. */
function toPlaces(scored: readonly Scored[], cost: Cost): readonly number[] {
  const sorted = scored.map((one) => one[cost]).sort((a, b) => a - b);
  return scored.map((one) => sorted.indexOf(one[cost]));
}
