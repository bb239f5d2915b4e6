/**
 * Is the documentation whole? Every page of the plan exists, is linked and keeps its size; no link is dead; the English is
 * plain; and the output that a page shows was printed by the command above it.
 */
import { assert, assertEquals } from "#assert";
import { listSteps, listUnprinted, matchSteps, parseTranscript } from "../../tools/docs/commands.ts";
import { CONTRACT_GOALS, DOCS_GOALS, measureEnglish } from "../../tools/docs/english.ts";
import { listAnchors, listBlocks, listLinks, type Page, resolveLink, toProse } from "../../tools/docs/markdown.ts";
import { FOLDERS, PAGES } from "../../tools/docs/pages.ts";
import { TABLES } from "../../tools/docs/tables.ts";
import { TRANSCRIPTS } from "../../tools/docs/transcripts.ts";

const ROOT = new URL("../../", import.meta.url);
const INDEX = "docs/README.md";
/** Pages at the root that the README links. */
const ROOT_PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "tests/README.md"];

const PAGE_LIST: readonly Page[] = await Promise.all(
  [...ROOT_PAGES, ...await listMarkdown("docs")].map(async (path) => ({ path, text: await readText(path) })),
);

Deno.test("every page of the plan exists and keeps its size", () => {
  const sizes = new Map(PAGE_LIST.map(({ path, text }) => [path, new TextEncoder().encode(text).length / 1024]));
  assertEquals(Object.keys(PAGES).filter((path) => !sizes.has(path)), [], "missing");
  const bounds = [...sizes].map(([path, size]) => ({
    path,
    size,
    max: PAGES[path] ?? findFolder(path)?.max ?? Infinity,
  }));
  assertEquals(bounds.filter(({ size, max }) => size > max), [], "larger than the plan allows");
  for (const [folder, { names }] of Object.entries(FOLDERS)) {
    assertEquals(names.filter((name) => !sizes.has(`${folder}/${name}.md`)), [], `missing in ${folder}`);
  }
});

Deno.test("the index links every page, and the README links the index", () => {
  const linked = new Set(listTargets(INDEX).map(({ path }) => path));
  const pages = PAGE_LIST.map(({ path }) => path).filter((path) => path.startsWith("docs/") && path !== INDEX);
  const isPart = (path: string) => /^docs\/(adr|contracts|evidence)\//.test(path) || path in PARTS;
  assertEquals(pages.filter((path) => !linked.has(path) && !isPart(path)), []);
  assert(listTargets("README.md").some(({ path }) => path === INDEX));
  // A page that is a part of another is linked there.
  const reached = listReached("README.md");
  assertEquals(pages.filter((path) => !reached.has(path)), []);
});

Deno.test("the README leads to what people ask first, in one click", () => {
  const links = listTargets("README.md").map(({ path, anchor }) => anchor === "" ? path : `${path}#${anchor}`);
  const questions = {
    "why is this pod this size": "docs/operate/troubleshooting.md",
    "how do I stop it now": "docs/operate/troubleshooting.md#stop-it-now",
    "what happens when podfit is down": "docs/faq.md#what-happens-when-podfit-is-down",
    "how do I go back to template sizes": "docs/install.md#back-to-template-sizes",
    "which rights does it have": "docs/operate/rights.md",
  };
  assertEquals(Object.entries(questions).filter(([, target]) => !links.includes(target)), []);
});

Deno.test("no link in README and docs is dead, and no anchor", async () => {
  const texts = new Map(PAGE_LIST.map(({ path, text }) => [path, text]));
  const dead: string[] = [];
  for (const page of PAGE_LIST) {
    for (const { path, anchor } of listTargets(page.path)) {
      const text = texts.get(path);
      if (text === undefined && !await exists(path)) dead.push(`${page.path}: ${path}`);
      if (anchor !== "" && text !== undefined && !listAnchors(text).includes(anchor)) {
        dead.push(`${page.path}: ${path}#${anchor}`);
      }
    }
  }
  assertEquals(dead, []);
});

Deno.test("README and docs are plain English, together and each page", () => {
  const isOther = (path: string) => /^docs\/(contracts|adr)\//.test(path);
  const pages = PAGE_LIST.filter(({ path }) => !isOther(path) && path !== "tests/README.md");
  // SECURITY.md quotes titles of tests.
  const proses = pages.map(({ text }) => toProse(text.replaceAll(/^\d+\. `tests\/.*$/gm, "")));
  assertEquals(measureEnglish(proses, DOCS_GOALS).missed, []);
  const each = pages.filter(({ path }) => path in PAGES || findFolder(path) !== null).flatMap(({ path, text }) =>
    measureEnglish([toProse(text)], DOCS_GOALS, { allowance: 1 }).missed.map((missed) => `${path}: ${missed}`)
  );
  assertEquals(each, []);
  const contracts = PAGE_LIST.filter(({ path }) => path.startsWith("docs/contracts/"));
  assertEquals(measureEnglish(contracts.map(({ text }) => toProse(text)), CONTRACT_GOALS).missed, []);
});

Deno.test("users meet no number of a clause outside of the contracts", () => {
  const forContributors = /^docs\/(contracts|adr|architecture)|^(CONTRIBUTING|CHANGELOG|SECURITY|tests\/README)\.md$/;
  const pages = PAGE_LIST.filter(({ path }) => !forContributors.test(path));
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\b(?:C|L|R)\d{1,3}\b/g)].map(([clause]) => `${path}: ${clause}`)
  );
  assertEquals(named, []);
});

Deno.test("manifests that the README shows are those of deploy", async () => {
  const blocks = listBlocks(await readText("README.md")).filter(({ language }) => language === "yaml");
  const files = await Promise.all(["deploy/quickstart.yaml", "deploy/quickstart-replicas.yaml"].map(readText));
  assertEquals(blocks.filter(({ text }) => !files.some((file) => file.includes(text))), []);
});

for (const [page, path] of Object.entries(TRANSCRIPTS)) {
  Deno.test(`what ${page} shows of each command's output is in the transcript of a run`, async () => {
    const matched = matchSteps(listSteps(await readText(page)), parseTranscript(await readText(path)));
    assert(matched.length > 0);
    for (const [step, run] of matched) assertEquals(listUnprinted(step, run), [], `"${step.command}" in ${path}`);
  });
}

for (const { page, source, fill } of TABLES) {
  Deno.test(`the measurements in ${page} are those of ${source}`, async () => {
    const text = await readText(page);
    assertEquals(fill(text, await readText(source)), text, "run: deno task pages tables");
  });
}

Deno.test("what README and compare say about quality was measured", async () => {
  const [results] = (await readText("tests/verify/results/quality.md")).split("CPU curves that are made up");
  const measured = new Map(listRows(results ?? "").map(([name = "", ...cells]) => [name, cells]));
  for (const page of ["README.md", "docs/compare.md"]) {
    const rows = listRows(await readText(page)).filter(([name = ""]) => name in CONTROLLERS);
    assertEquals(rows.length >= 6, true, page);
    const wrong = rows.flatMap(([name = "", ...cells]) => {
      const numbers = cells.map((cell) => cell.replace(/m$/, "")).filter((cell) => /^[\d.]+$/.test(cell));
      const known = measured.get(CONTROLLERS[name] ?? "") ?? [];
      return numbers.filter((number) => !known.includes(number)).map((number) => `${page}, ${name}: ${number}`);
    });
    assertEquals(wrong, []);
  }
});

Deno.test("a block that is not run says why, and only where it cannot be", () => {
  const blocks = PAGE_LIST.flatMap(({ path, text }) => listBlocks(text).map((block) => ({ path, ...block })));
  const wrong = blocks.filter(({ language, notRun }) => notRun !== null && !["sh", "console"].includes(language));
  assertEquals(wrong, []);
});

/** The rows of quality.md that pages show under other names. */
const CONTROLLERS: Readonly<Record<string, string>> = {
  "podfit, `balanced`": "podfit-balanced",
  "podfit, `latency`": "podfit-latency",
  "podfit, `thrifty`": "podfit-thrifty",
  "podfit, Kedify's documented example": "podfit-example",
  "VPA, defaults": "vpa",
  "VPA, half-life of usage 30 minutes": "vpa-30m",
  "VPA, flags for the fastest reaction": "vpa-fast",
};

/** The cells of all rows of tables. */
function listRows(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/^\|(.*)\|$/gm)].map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
}

/** Pages that belong to another page, which links them. */
const PARTS: Readonly<Record<string, string>> = {
  "docs/reference/explain.md": "docs/reference/cli.md",
  "docs/reference/records.md": "docs/reference/cli.md",
  "docs/reference/simulate.md": "docs/reference/cli.md",
};

function findFolder(path: string): { readonly max: number } | null {
  const folder = Object.keys(FOLDERS).find((folder) => path.startsWith(`${folder}/`));
  return folder === undefined ? null : FOLDERS[folder] ?? null;
}

function listTargets(page: string): readonly { readonly path: string; readonly anchor: string }[] {
  const text = PAGE_LIST.find(({ path }) => path === page)?.text ?? "";
  return listLinks(text).map((target) => resolveLink(page, target)).filter((target) => target !== null);
}

/** Every page that links lead to. */
function listReached(start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const page of reached) for (const { path } of listTargets(page)) reached.add(path);
  return reached;
}

async function listMarkdown(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${folder}/`, ROOT))) {
    if (isDirectory) found.push(...await listMarkdown(`${folder}/${name}`));
    else if (name.endsWith(".md")) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(new URL(path, ROOT)).then(() => true, () => false);
}

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
