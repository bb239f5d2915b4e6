/** Text of an explanation: colours where a terminal shows them, tables, and lines that end where the terminal does. */
import { createStyle } from "../style.ts";
import { TERMINAL, type Text, toLine } from "../terminal/output.ts";

/** `bad`: what waits for something. */
export type Paint = "strong" | "bad";

export interface TextOptions {
  readonly hasColor: boolean;
  /** Characters across; Infinity = lines are as long as they are. */
  readonly columns: number;
}

const [PLAIN, COLORED] = [createStyle(false), createStyle(true)];

export function paint(text: string, paint: Paint, { hasColor }: Pick<TextOptions, "hasColor">): Text {
  const style = hasColor ? COLORED : PLAIN;
  return paint === "strong" ? style.bold(text) : style.yellow(text);
}

/** Broken at spaces; what follows is indented as the first line is, by that much more. */
export function breakLines(
  text: string,
  { columns, hang = 0 }: Pick<TextOptions, "columns"> & { readonly hang?: number },
): string[] {
  const clean = toLine(text);
  const indent = /^ */.exec(clean)?.[0] ?? "";
  const lines: string[] = [];
  let line = indent;
  for (const word of clean.trim().split(" ")) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = `${indent}${" ".repeat(hang)}${word}`;
    } else line = isFirst ? `${line}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Columns as wide as their widest cell, two spaces apart; those of `right` end at the right. */
export function toTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row.map((cell, at) => right.includes(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))
      .join("  ").trimEnd()
  );
}

/** As many lines as a screen has rows, each with what is behind it cleared. */
export function fill(lines: readonly Text[], rows: number): readonly Text[] {
  return Array.from({ length: rows }, (_, row) => [lines[row] ?? "", TERMINAL.clearLineEnd]);
}
