/**
 * The pages of the documentation site: README, docs and the files that they link at the root, at the same paths. A README is
 * the index of its folder. A link to a page stays a link to it, and a link to another file leads to the repository.
 */
import { dirname, normalize, relative } from "node:path/posix";

export interface SourcePage {
  /** In the repository. */
  readonly path: string;
  readonly text: string;
}

/** Where a page of the repository is in the site. */
export function toSitePath(path: string): string {
  return path.replace(/(^|\/)README\.md$/, "$1index.md");
}

/**
 * The text of a page with its links as the site needs them. `pages` are the paths of all pages, `files` those of other files
 * that the site has, such as pictures; `source` is the address of the repository's files.
 */
export function toSiteText({ path, text }: SourcePage, { pages, files, source }: {
  readonly pages: ReadonlySet<string>;
  readonly files: ReadonlySet<string>;
  readonly source: string;
}): string {
  const here = dirname(path);
  const toTarget = (target: string): string => {
    if (/^(#|[a-z]+:)/.test(target)) return target;
    const [file = "", anchor] = target.split("#");
    const found = normalize(`${here}/${file}`).replace(/\/$/, "");
    const end = anchor === undefined ? "" : `#${anchor}`;
    const page = [found, `${found}/README.md`].find((one) => pages.has(one));
    if (page !== undefined) {
      const link = relative(dirname(toSitePath(path)), toSitePath(page));
      return `${link.startsWith(".") ? "" : "./"}${link}${end}`;
    }
    return files.has(found) ? target : `${source}/${found}${end}`;
  };
  return splitCode(text).map(({ isCode, part }) => {
    if (isCode) return part;
    const linked = part.replaceAll(/\]\(([^)\s]+)\)/g, (_, target: string) => `](${toTarget(target)})`);
    // Vue would evaluate what stands between two braces.
    return linked.replaceAll("{{", "&#123;&#123;");
  }).join("");
}

/** Blocks and spans of code, which have no links, and what is between them. */
function splitCode(text: string): readonly { readonly isCode: boolean; readonly part: string }[] {
  return text.split(/(^ *```[^]*?^ *```$|^(?: {4}|\t).*$|`[^`\n]+`)/m).map((part, at) => ({
    isCode: at % 2 === 1,
    part,
  }));
}

export interface Section {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The menu: the sections of docs/README.md with their links, in the same order. */
export function toMenu(index: SourcePage): readonly Section[] {
  return index.text.split(/^## /m).slice(1).map((part) => {
    const [text = "", ...lines] = part.split("\n");
    const links = [...lines.join("\n").matchAll(/\[([^\]]+)\]\(([^)#\s]+\.md)\)/g)];
    const items = links.map(([, name = "", target = ""]) => {
      const path = toSitePath(normalize(`${dirname(index.path)}/${target}`));
      return {
        text: name.replaceAll("`", "").replace(/^[a-z]/, (first) => first.toUpperCase()),
        link: `/${path.replace(/(index)?\.md$/, "")}`,
      };
    });
    return { text, items };
  }).filter(({ items }) => items.length > 0);
}
