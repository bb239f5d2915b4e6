/** The parts of Markdown that generated pages use. Pure. */
import { toAnchor } from "../docs/markdown.ts";

/** The lines above a page: what it is, and that it is generated. */
export function toPage(title: string, source: string, parts: readonly string[]): string {
  const note = `<!-- Generated from ${source} by \`deno task generate\`. Do not edit. -->`;
  return [`# ${title}`, note, ...parts].map((part) => part.trim()).filter((part) => part !== "").join("\n\n") + "\n";
}

/** A table without columns that are empty in all rows. Cells are Markdown already, of one line. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = head.map((_, at) => at === 0 || rows.some((row) => row[at] !== ""));
  const toLine = (cells: readonly string[]) => `| ${cells.filter((_, at) => used[at]).join(" | ")} |`;
  return [toLine(head), toLine(head.map(() => "---")), ...rows.map(toLine)].join("\n");
}

/** A cell with a text and, on a line of its own, short facts about it. Two columns fit a narrow screen; five do not. */
export function toCell(text: string, facts: readonly string[]): string {
  const line = facts.filter((fact) => fact !== "").join("; ");
  return [text, line === "" ? "" : `*${line}*.`].filter((part) => part !== "").join("<br>");
}

/** A value as code: text without quotes, and objects with blanks, so that they wrap. */
export function toValue(value: unknown): string {
  return toCode(
    JSON.stringify(value, null, 1).replace(/\s+/g, " ").replace(/([[{]) | ([\]}])/g, "$1$2").replace(/^"(.+)"$/, "$1"),
  );
}

/** Text as one line of Markdown that shows the same characters. What is in backquotes stays as it is. */
export function toText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.split(/(`[^`]*`)/).map((part, at) => at % 2 === 1 ? part.replaceAll("|", "\\|") : escapeText(part)).join(
    "",
  );
}

function escapeText(text: string): string {
  return text.replaceAll("<", "&lt;").replaceAll(/[*|]/g, "\\$&").replaceAll(
    /(^|\W)_|_(\W|$)/g,
    (found) => found.replace("_", "\\_"),
  );
}

/** The same with a full stop. */
export function toLine(text: string): string {
  const line = toText(text);
  return line === "" || /[.!?:]$/.test(line) ? line : `${line}.`;
}

/** The same with a capital letter, for texts of --help. */
export function toSentence(text: string): string {
  const line = toLine(text);
  return /^[a-z]+\W/.test(line) ? line.charAt(0).toUpperCase() + line.slice(1) : line;
}

/** Code in a line or in a cell of a table. */
export function toCode(text: string): string {
  return text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``;
}

/** The link to a heading of the same page. */
export function toHeadingLink(heading: string): string {
  return `#${toAnchor(heading)}`;
}
