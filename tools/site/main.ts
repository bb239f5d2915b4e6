// deno-lint-ignore-file no-console
/**
 * `deno task site [--repository OWNER/NAME] [--base /PATH/]`: renders the documentation into dist/site with vitepress, with a
 * menu and a search that needs no server. Needs npm. `deno task site --serve` shows it at http://127.0.0.1:4173.
 */
import { parseArgs } from "node:util";
import { dirname } from "node:path";
import { toAnchor } from "../docs/markdown.ts";
import { PROJECT, VERSION } from "../release/facts.ts";
import { type SourcePage, toMenu, toSitePath, toSiteText } from "./pages.ts";

const VITEPRESS = "vitepress@1.6.4";
const ROOT_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
const WORK = `${PROJECT}dist/site-work`;

const { values } = parseArgs({
  options: {
    repository: { type: "string", default: Deno.env.get("GITHUB_REPOSITORY") || "podfit/podfit" },
    base: { type: "string", default: "/" },
    serve: { type: "boolean", default: false },
  },
});

const found = await listFiles("docs");
const paths = [...ROOT_PAGES, ...found.filter((path) => path.endsWith(".md"))];
const pages: readonly SourcePage[] = await Promise.all(
  paths.map(async (path) => ({ path, text: await Deno.readTextFile(`${PROJECT}${path}`) })),
);
const index = pages.find(({ path }) => path === "docs/README.md");
if (index === undefined) throw new Error("Cannot write the menu: there is no docs/README.md");
const files = new Set(found.filter((path) => !path.endsWith(".md")));
const source = `https://github.com/${values.repository}/blob/main`;
const config = {
  title: "podfit",
  description: "Gives running Kubernetes pods the right size",
  base: values.base,
  outDir: "../../site",
  cacheDir: "../cache",
  cleanUrls: false,
  themeConfig: {
    search: { provider: "local" },
    nav: [{ text: "Documentation", link: "/docs/" }, { text: `Changes (${VERSION})`, link: "/CHANGELOG" }],
    sidebar: [{ text: "podfit", link: "/" }, ...toMenu(index)],
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: `https://github.com/${values.repository}` }],
  },
};

await Deno.remove(`${WORK}/pages`, { recursive: true }).catch(() => {});
for (const { path, text } of pages) {
  const page = toSiteText({ path, text }, { pages: new Set(paths), files, source });
  await write(`${WORK}/pages/${toSitePath(path)}`, page);
}
for (const path of files) {
  await Deno.mkdir(dirname(`${WORK}/pages/${path}`), { recursive: true });
  await Deno.copyFile(`${PROJECT}${path}`, `${WORK}/pages/${path}`);
}
// Anchors are those of GitHub, so that a link works in both places.
const anchors = `config.markdown = { anchor: { slugify: ${toAnchor.toString()} } };`;
const lines = [`const config = ${JSON.stringify(config, null, 2)};`, anchors, "export default config;", ""];
await write(`${WORK}/pages/.vitepress/config.mjs`, lines.join("\n"));
await write(`${WORK}/package.json`, `{"private": true, "type": "module"}\n`);
await run("npm", ["install", "--silent", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", VITEPRESS]);
// Ends with an error if a link between pages is dead.
await run("npx", ["--no-install", "vitepress", "build", "pages"]);
console.log(`dist/site: ${pages.length} pages`);
if (values.serve) await run("npx", ["--no-install", "vitepress", "preview", "pages", "--port", "4173"]);

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, text);
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(program, {
    args: [...args],
    cwd: WORK,
    stdout: "inherit",
    stderr: "inherit",
  })
    .output();
  if (!success) throw new Error(`Cannot render the site: ${program} ${args.join(" ")} failed`);
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(`${PROJECT}${folder}`));
  const lists = entries.map(({ name, isDirectory }) =>
    isDirectory ? listFiles(`${folder}/${name}`) : Promise.resolve([`${folder}/${name}`])
  );
  return (await Promise.all(lists)).flat().sort();
}
