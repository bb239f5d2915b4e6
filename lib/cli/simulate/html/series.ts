/** Which part of a long run does the report show in full, and how are its steps summed up for a plot? */
import { type Course, WEIGHTS } from "../../../simulate/figures.ts";
import type { ContainerRun } from "../../../simulate/simulate.ts";
import type { TimeRange } from "./report.ts";

const DAY_SECONDS = 86_400;

/** The number of points that a plot can show. */
const MAX_POINTS = 1000;

/** A plot of a longer run shows too little of a day. */
export function isLong(seconds: number): boolean {
  return seconds > 2 * DAY_SECONDS;
}

/** Returns the day, counted from the start, in which CPU cost most under all policies; `null` without series. */
export function findWorstDay(
  containers: readonly ContainerRun[],
  stepSeconds: number,
  seconds: number,
): TimeRange | null {
  const courses = containers.flatMap(({ series }) => series?.cpu ?? []);
  if (courses.length === 0) return null;
  const days = Math.max(1, Math.floor(seconds / DAY_SECONDS));
  const costs = new Float64Array(days);
  for (const { wanted, used, request } of courses) {
    for (const [index, amount] of wanted.entries()) {
      const day = Math.min(days - 1, Math.floor(index * stepSeconds / DAY_SECONDS));
      const lost = amount - (used[index] ?? 0);
      const under = Math.max(0, amount - (request[index] ?? 0));
      costs[day] = (costs[day] ?? 0) + WEIGHTS.throttled * lost + WEIGHTS.under * under;
    }
  }
  const from = costs.indexOf(Math.max(...costs)) * DAY_SECONDS;
  return { from, to: from + DAY_SECONDS };
}

/** Returns at most 1000 points of the range, at equal distances: the highest second of each, and the mean. */
export function sumUp(course: Course | null, stepSeconds: number, { from, to }: TimeRange) {
  if (course === null) return { peaks: [], means: [] };
  const [first, end] = [Math.floor(from / stepSeconds), Math.ceil(to / stepSeconds)];
  const size = Math.max(1, Math.ceil((end - first) / MAX_POINTS));
  const [peaks, means]: [number[], number[]] = [[], []];
  for (let start = first; start < Math.min(end, course.wanted.length); start += size) {
    const wanted = course.wanted.slice(start, Math.min(start + size, end));
    peaks.push(Math.max(...course.peak.slice(start, Math.min(start + size, end))));
    means.push(wanted.reduce((sum, amount) => sum + amount, 0) / wanted.length);
  }
  return { peaks, means };
}
