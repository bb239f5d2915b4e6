/**
 * Reads the parts of a Markdown page that checks need: headings with their anchors, links, fenced blocks and prose.
 *
 * It knows the Markdown that this project writes, not all of it.
 */

/** A page: its path from the project's root, and its text. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** A fenced block. */
export interface Block {
  /** The first word after the fence, such as `sh`; "" where there is none. */
  readonly language: string;
  /** Without the fences, with a line feed at the end. */
  readonly text: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** The text of a comment `<!-- not run: WHY -->` on the line above; `null` where there is none. */
  readonly notRun: string | null;
}

const FENCE = /^( *)(```+)(\w*)[^\n]*\n([\s\S]*?)^\1\2 *$/gm;

/** Returns the fenced blocks in their order. */
export function listBlocks(text: string): readonly Block[] {
  return [...text.matchAll(FENCE)].map(({ 0: _, 1: indent = "", 3: language = "", 4: body = "", index }) => {
    const before = text.slice(0, index);
    return {
      language,
      text: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      line: before.split("\n").length,
      notRun: /<!-- not run: ([^\n]*?) -->\n+ *$/.exec(before)?.[1] ?? null,
    };
  });
}

/** Returns the part of the page below the heading with this title, with the sections below it. Throws where there is none. */
export function getSection(text: string, title: string): string {
  const found = [...withoutBlocks(text).matchAll(/^(#+) (.*)$/gm)].find(([, , name]) => name === title);
  if (found === undefined) throw new Error(`Cannot find section "${title}"`);
  const start = found.index + found[0].length;
  const end = withoutBlocks(text).slice(start).search(new RegExp(`^#{1,${found[1]?.length ?? 1}} `, "m"));
  return text.slice(start, end < 0 ? undefined : start + end);
}

/** Returns the anchors of the headings, as GitHub makes them, and those of `<a id="...">`. */
export function listAnchors(text: string): readonly string[] {
  const seen = new Map<string, number>();
  const headings = [...withoutBlocks(text).matchAll(/^#{1,6} (.*)$/gm)].map(([, title = ""]) => {
    const anchor = toAnchor(title);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return [...headings, ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id)];
}

/** Returns the anchor of a heading, as GitHub makes it. */
export function toAnchor(title: string): string {
  const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
  return text.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
}

/** Returns the targets of links and pictures, without those in code. */
export function listLinks(text: string): readonly string[] {
  const prose = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, "");
  const patterns = [
    /\]\(\s*([^()\s]+)(?:\s+"[^"]*")?\s*\)/g,
    /^ *\[[^\]]+\]: *(\S+)/gm,
    /\b(?:src|srcset|href)="([^"]+)"/g,
  ];
  return patterns.flatMap((pattern) => [...prose.matchAll(pattern)].map(([, target = ""]) => target));
}

/** Returns a link's target as a path from the project's root and an anchor; `null` where it leads out of the project. */
export function resolveLink(page: string, target: string): { readonly path: string; readonly anchor: string } | null {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return null;
  const [file = "", anchor = ""] = target.split("#");
  if (file === "") return { path: page, anchor };
  // A target that begins with a slash begins at the root of the project.
  const { pathname } = new URL(file, `file:///${page}`);
  return { path: decodeURIComponent(pathname.slice(1)), anchor };
}

/** Returns what people read as sentences: no code, no headings; each cell of a table and each item of a list is a paragraph. */
export function toProse(text: string): string {
  return withoutBlocks(text)
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .replaceAll(/^(?: {4}|\t).*$/gm, "")
    .replaceAll(
      /^\|.*$/gm,
      (row) => row.replaceAll(/^\||\|$/g, "").split("|").map((cell) => `\n${cell.trim()}\n`).join("\n"),
    )
    .replaceAll(/^#+ .*$/gm, "")
    .replaceAll(/^ *(?:[-*]|\d+\.) +/gm, "\n")
    .replaceAll(/`[^`]*`/g, "X")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
}

/** The same text with spaces in place of fenced blocks, so that positions stay. */
function withoutBlocks(text: string): string {
  return text.replaceAll(FENCE, (block) => block.replaceAll(/[^\n]/g, " "));
}
