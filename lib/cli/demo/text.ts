/** Lines of styled text, cut and filled to a width, with colours of a terminal or without; and amounts as they read. */
import { type Text, toLine, toStyle } from "../terminal/output.ts";

/** What a piece of text stands for; the terminal's colours follow from it. */
export type Style = keyof typeof CODES;

/** A piece of text of one style. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
  /** Drawn on what a bar is filled with. */
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
  down: [1, 34],
  blocked: [33],
  lost: [1, 31],
  trouble: [31],
  good: [1, 32],
} as const;
const OVER_BAR = 46;
const RESET = 0;

/** Exactly that many characters. */
export function fit(line: Line, width: number): Line {
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

/** The one at the left end, the other at the right; where there is no room for both, the left one. */
export function spread(left: Line, right: Line, width: number): Line {
  const gap = width - lengthOf(left) - lengthOf(right);
  return fit(gap < 2 ? left : [...left, { text: " ".repeat(gap) }, ...right], width);
}

/** Characters, whatever their style. */
export function lengthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + [...text].length, 0);
}

/** The line as text, with the sequences of its styles where there is colour. */
export function render(line: Line, hasColor: boolean): Text {
  return line.map(({ text, style = "plain", isOverBar = false }) => {
    const codes = [...CODES[style], ...(isOverBar ? [OVER_BAR] : [])];
    return !hasColor || codes.length === 0 ? text : [toStyle(...codes), text, toStyle(RESET)];
  });
}

/** Without spaces at its end. */
export function trimEnd(line: Line): Line {
  const end = line.findLastIndex(({ text }) => text.trimEnd() !== "");
  return line.slice(0, end + 1).map((span, at) => at === end ? { ...span, text: span.text.trimEnd() } : span);
}

/** Whole millicores: `250m`. */
export function formatCpu(millicores: number): string {
  return `${Math.round(millicores)}m`;
}

/** Bytes as whole mebibytes: `64Mi`. */
export function formatMemory(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}Mi`;
}

/** `07:24`, of the time that passes in the cluster. */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours > 0 ? `${hours}:` : ""}${two(minutes)}:${two(seconds % 60)}`;
}
