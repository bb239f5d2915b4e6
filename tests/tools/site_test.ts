/** Do pages of the documentation site lead where those of the repository lead? `deno task site` renders them. */
import { assert, assertEquals } from "#assert";
import { type SourcePage, toMenu, toSitePath, toSiteText } from "../../tools/site/pages.ts";

const ROOT = new URL("../../", import.meta.url);
const SITE = {
  pages: new Set([
    "README.md",
    "SECURITY.md",
    "docs/README.md",
    "docs/faq.md",
    "docs/adr/README.md",
    "docs/adr/0001-a.md",
  ]),
  files: new Set(["docs/pictures/demo.svg"]),
  source: "https://example.org/blob/main",
};

Deno.test("a README is the index of its folder, and every other page stays where it is", () => {
  assertEquals(["README.md", "docs/adr/README.md", "docs/faq.md"].map(toSitePath), [
    "index.md",
    "docs/adr/index.md",
    "docs/faq.md",
  ]);
});

Deno.test("links lead to the same pages, pictures stay, and other files lead to the repository", () => {
  const cases: readonly (readonly [page: string, link: string, expected: string])[] = [
    ["docs/faq.md", "../README.md", "../index.md"],
    ["docs/faq.md", "README.md#begin", "./index.md#begin"],
    ["docs/faq.md", "adr", "./adr/index.md"],
    ["docs/faq.md", "adr/0001-a.md#why", "./adr/0001-a.md#why"],
    ["docs/adr/0001-a.md", "../../SECURITY.md#report", "../../SECURITY.md#report"],
    ["docs/adr/0001-a.md", "#here", "#here"],
    ["docs/adr/0001-a.md", "https://kubernetes.io/docs", "https://kubernetes.io/docs"],
    ["README.md", "docs/pictures/demo.svg", "docs/pictures/demo.svg"],
    ["README.md", "docs/faq.md", "./docs/faq.md"],
    ["docs/faq.md", "../deploy/install.yaml", "https://example.org/blob/main/deploy/install.yaml"],
    ["docs/faq.md", "../lib/", "https://example.org/blob/main/lib"],
  ];
  for (const [path, link, expected] of cases) {
    assertEquals(toSiteText({ path, text: `See [it](${link}).` }, SITE), `See [it](${expected}).`, `${path}: ${link}`);
  }
});

Deno.test("code keeps its links and braces, and braces in the text are no code for Vue", () => {
  const code = "```yaml\na: {{ b }} [c](d.md)\n```\n\n    {{ e }} [f](g.md)\n\nand `{{h}} [i](j.md)`";
  assertEquals(toSiteText({ path: "README.md", text: code }, SITE), code);
  assertEquals(toSiteText({ path: "README.md", text: "a {{ b }}" }, SITE), "a &#123;&#123; b }}");
});

Deno.test("the menu has the sections and links of docs/README.md in their order, and each link is a page", async () => {
  const index: SourcePage = { path: "docs/README.md", text: await Deno.readTextFile(new URL("docs/README.md", ROOT)) };
  const menu = toMenu(index);
  assertEquals(menu.map(({ text }) => text), [...index.text.matchAll(/^## (.*)$/gm)].map(([, title]) => title ?? ""));
  const links = menu.flatMap(({ items }) => items);
  assert(links.length > 40, String(links.length));
  for (const { link } of links) {
    const path = link.endsWith("/") ? `${link}README.md` : `${link}.md`;
    assert((await Deno.stat(new URL(`.${path}`, ROOT))).isFile, link);
  }
  assertEquals(links.filter(({ text }) => /^[a-z`]/.test(text)), [], "names begin with a capital");
});
