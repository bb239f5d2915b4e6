/** Lines of styled text with a fixed width, and a plot made of characters. */
import { type Text, toLine, toStyle } from "../terminal/output.ts";
import type { Point } from "./story.ts";

/** The meaning of a piece of text. The terminal's colours follow from it. */
type SpanStyle = keyof typeof CODES;

/** A piece of text of one style. */
export interface Span {
  readonly text: string;
  readonly style?: SpanStyle;
  /** Drawn over a bar. */
  readonly isOverBar?: boolean;
}

/** The pieces of one line, from left to right. */
export type Line = readonly Span[];

/** https://en.wikipedia.org/wiki/ANSI_escape_code#SGR */
const CODES = {
  plain: [],
  dim: [2],
  strong: [1],
  used: [36],
  requests: [1, 32],
  limits: [1, 35],
  up: [1, 32],
  // Blue can hardly be seen on black.
  down: [1],
  blocked: [35],
  lost: [1, 31],
  trouble: [31],
  good: [1, 32],
} as const;

const BAR_BACKGROUND = 46;

const RESET = 0;

/** Returns the line with exactly that many characters. */
export function fitWidth(line: Line, width: number): Line {
  const fitted: Span[] = [];
  let left = width;
  for (const span of line) {
    const characters = [...toLine(span.text)];
    const text = characters.slice(0, left).join("");
    left -= Math.min(left, characters.length);
    if (text !== "") fitted.push({ ...span, text });
  }
  return left > 0 ? [...fitted, { text: " ".repeat(left) }] : fitted;
}

/** Returns the line with exactly that many characters. A line that is too long ends after a whole word, with `…`. */
export function fitWords(line: Line, width: number): Line {
  if (lengthOf(trimEnd(line)) <= width) return fitWidth(line, width);
  const text = line.map((span) => toLine(span.text)).join("");
  const characters = [...text].slice(0, width);
  const end = characters.lastIndexOf(" ");
  const kept = end < width / 2 ? width - 1 : characters.slice(0, end).join("").trimEnd().length;
  return fitWidth([...fitWidth(line, kept), { text: "…", style: "dim" }], width);
}

/** The left text at the left end, the right one at the right. If both do not fit, only the left one. */
export function spread(left: Line, right: Line, width: number): Line {
  const gap = width - lengthOf(left) - lengthOf(right);
  return fitWidth(gap < 2 ? left : [...left, { text: " ".repeat(gap) }, ...right], width);
}

/** Returns the number of characters, whatever their style. */
export function lengthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + [...text].length, 0);
}

/** Returns the line as text, with the sequences of its styles where there is colour. */
export function render(line: Line, hasColor: boolean): Text {
  return line.map(({ text, style = "plain", isOverBar = false }) => {
    const codes = [...CODES[style], ...(isOverBar ? [BAR_BACKGROUND] : [])];
    return !hasColor || codes.length === 0 ? text : [toStyle(...codes), text, toStyle(RESET)];
  });
}

/** Returns the line without spaces at its end. */
export function trimEnd(line: Line): Line {
  const end = line.findLastIndex(({ text }) => text.trimEnd() !== "");
  return line.slice(0, end + 1).map((span, at) => at === end ? { ...span, text: span.text.trimEnd() } : span);
}

/** The size in characters, and the time that it spans. */
interface PlotOptions {
  readonly width: number;
  readonly height: number;
  /** The left and the right edge. */
  readonly fromAt: number;
  readonly toAt: number;
}

const BARS = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** What draws a request, a limit, and both at one height. */
export const GLYPHS = { requests: "─", limits: "┄", both: "═" };

/** Returns lines from top to bottom, each as wide as the width. The highest of all values is in the top row. */
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
      // Any usage above zero is visible.
      const least = row === 0 && (column.used ?? 0) > 0 ? 1 : 0;
      const bar = Math.min(8, Math.max(least, eighths));
      const has = { requests: rowOf(column.requests) === row, limits: rowOf(column.limits) === row };
      if (!has.requests && !has.limits) return { text: BARS[bar] ?? " ", style: "used" };
      const text = has.requests && has.limits ? GLYPHS.both : has.requests ? GLYPHS.requests : GLYPHS.limits;
      return { text, style: has.requests ? "requests" : "limits", isOverBar: bar >= 4 };
    });
  });
}

/** One per column: the mean usage in it, and the size at its end. A column without a point repeats the one before. */
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
