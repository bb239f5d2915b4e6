/** Text of an explanation: colours where a terminal shows them, tables, and lines that end where the terminal does. */

export type Paint = "strong" | "dim" | "good" | "bad";

export interface TextOptions {
  readonly hasColor: boolean;
  /** Characters across; Infinity = lines are as long as they are. */
  readonly columns: number;
}

const CODES: Readonly<Record<Paint, string>> = { strong: "1", dim: "2", good: "32", bad: "33" };

/** https://en.wikipedia.org/wiki/ANSI_escape_code#SGR */
export function paint(text: string, style: Paint, { hasColor }: Pick<TextOptions, "hasColor">): string {
  return hasColor ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** Broken at spaces; what follows is indented as the first line is, by that much more. */
export function breakLines(
  text: string,
  { columns, hang = 0 }: Pick<TextOptions, "columns"> & { readonly hang?: number },
): string[] {
  const clean = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
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
export function fill(lines: readonly string[], rows: number): readonly string[] {
  return Array.from({ length: rows }, (_, row) => `${lines[row] ?? ""}\x1b[K`);
}
