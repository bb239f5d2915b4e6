/**
 * A small plot of characters: usage as bars of eighths, request and limit as lines over them, time from left to right.
 */
import type { Point } from "./story.ts";
import type { Line, Span } from "./text.ts";

/** The size in characters, and the time that it spans. */
export interface PlotOptions {
  readonly width: number;
  readonly height: number;
  /** The left and the right edge. */
  readonly fromAt: number;
  readonly toAt: number;
}

const BARS = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/** What draws a request, a limit, and both at one height. */
export const GLYPHS = { requests: "─", limits: "┄", both: "═" };

/** From the top row to the bottom one, each as wide as asked for. The highest of all values is in the top row. */
export function plot(points: readonly Point[], { width, height, fromAt, toAt }: PlotOptions): readonly Line[] {
  const columns = toColumns(points, { width, fromAt, toAt });
  const top = Math.max(1, ...columns.flatMap((one) => [one?.used ?? 0, one?.requests ?? 0, one?.limits ?? 0]));
  const rowOf = (value: number | null) =>
    value === null ? null : Math.min(height - 1, Math.floor(value / top * height));
  return Array.from({ length: height }, (_, index) => {
    const row = height - 1 - index;
    return columns.map((column): Span => {
      if (column === null) return { text: " " };
      const eighths = Math.round((column.used ?? 0) / top * height * 8) - row * 8;
      // What is used at all is seen.
      const least = row === 0 && (column.used ?? 0) > 0 ? 1 : 0;
      const bar = Math.min(8, Math.max(least, eighths));
      const has = { requests: rowOf(column.requests) === row, limits: rowOf(column.limits) === row };
      if (!has.requests && !has.limits) return { text: BARS[bar] ?? " ", style: "used" };
      const text = has.requests && has.limits ? GLYPHS.both : has.requests ? GLYPHS.requests : GLYPHS.limits;
      return { text, style: has.requests ? "requests" : "limits", isOverBar: bar >= 4 };
    });
  });
}

/** One per column: the mean usage in it, and the size at its end. A column without a point is as the one before. */
function toColumns(
  points: readonly Point[],
  { width, fromAt, toAt }: Omit<PlotOptions, "height">,
): readonly (Point | null)[] {
  const stepMs = (toAt - fromAt) / width;
  const lastAt = points.at(-1)?.at ?? -Infinity;
  const inColumn = Map.groupBy(points, ({ at }) => Math.floor((at - fromAt) / stepMs));
  const columns: (Point | null)[] = [];
  for (let index = 0; index < width; index++) {
    const held = inColumn.get(index) ?? [];
    const last = held.at(-1);
    if (last === undefined) {
      columns.push(fromAt + index * stepMs <= lastAt ? columns.at(-1) ?? null : null);
      continue;
    }
    const used = held.flatMap((point) => point.used ?? []);
    columns.push({
      ...last,
      used: used.length === 0 ? null : used.reduce((sum, value) => sum + value, 0) / used.length,
    });
  }
  return columns;
}
