/**
 * Colours, aligned tables and line breaks for texts that people read in a terminal.
 *
 * Colour follows `--color`, then NO_COLOR, then whether the output is a terminal.
 */
import { type Text, toLine, toStyle } from "./output.ts";

/** What `--color` may be. */
export const COLOR_WHENS = ["auto", "always", "never"] as const;

export type ColorWhen = typeof COLOR_WHENS[number];

/** The output, as far as it matters for colour. */
interface ColorEnvironment {
  readonly isTerminal: boolean;
  /** NO_COLOR; any text but an empty one asks for none. */
  readonly noColor: string | undefined;
}

/**
 * Texts as they are shown; unchanged without colour. Of the terminal's colours only red and magenta can be read both on
 * white and on black, in the palettes of the usual terminals.
 */
export interface Style {
  readonly isColored: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly magenta: Paint;
}

/** Colours a text that has no colours yet. */
type Paint = (text: Text) => Text;

/** Returns whether to colour: `--color` wins over NO_COLOR, and that over the terminal. https://no-color.org */
export function isColored(when: ColorWhen, { isTerminal, noColor = "" }: ColorEnvironment): boolean {
  if (when !== "auto") return when === "always";
  return isTerminal && noColor === "";
}

/** Returns the style. */
export function createStyle(hasColor: boolean): Style {
  const paint = (on: number, off: number): Paint =>
    hasColor ? (text) => [toStyle(on), text, toStyle(off)] : (text) => text;
  return {
    isColored: hasColor,
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    magenta: paint(35, 39),
  };
}

/** Returns the style for stdout of this process. */
export function getStdoutStyle(when: ColorWhen, noColor: string | undefined): Style {
  return createStyle(isColored(when, { isTerminal: Deno.stdout.isTerminal(), noColor }));
}

/** How a text is laid out. */
export interface TextOptions {
  readonly style: Style;
  /** Characters across; Infinity = lines are as long as they are. */
  readonly columns: number;
}

/** Breaks a text at spaces. Later lines have the indent of the first line, plus `hang`. */
export function breakLines(
  text: string,
  { columns, hang = 0 }: Pick<TextOptions, "columns"> & { readonly hang?: number },
): string[] {
  const clean = toLine(text);
  const indent = /^ */.exec(clean)?.[0] ?? "";
  const lines: string[] = [];
  let line = indent;
  // A number and its % stay together.
  for (const word of clean.trim().split(/ (?!%)/)) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length > columns) {
      lines.push(line.trimEnd());
      line = `${indent}${" ".repeat(hang)}${word}`;
    } else line = isFirst ? `${line}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Returns lines with columns as wide as their widest cell, two spaces apart. `isRight`: the column ends at the right. */
export function formatTable(
  rows: readonly (readonly string[])[],
  isRight: (column: number) => boolean = () => false,
): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => toLine(cell)));
  const widths: number[] = [];
  for (const row of cells) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return cells.map((row) =>
    row.map((cell, at) => isRight(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))
      .join("  ").trimEnd()
  );
}
