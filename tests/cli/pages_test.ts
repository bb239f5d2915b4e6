/** The pages of explain and top, made from literals. The examples in the docs are the same pages. */
import { assert, assertEquals } from "#assert";
import type { PodExplanation } from "../../lib/cli/explanation/explanation.ts";
import { describePod } from "../../lib/cli/explanation/words.ts";
import { toCharacters } from "../../lib/cli/terminal/output.ts";
import { createStyle } from "../../lib/cli/terminal/text.ts";
import { type TopRow, toTopTable } from "../../lib/cli/top/top.ts";
import { readPage, readPageInput } from "../support/pages.ts";

const style = createStyle(false);

Deno.test("explain prints its page", async () => {
  const pod = await readPageInput<PodExplanation>("explain");
  assertEquals(describePod(pod, { style, columns: 120 }).map(toCharacters), await readPage("explain"));
});

Deno.test("top prints its page", async () => {
  const rows = await readPageInput<readonly TopRow[]>("top");
  assertEquals(toTopTable(rows, { style, columns: Infinity }).map(toCharacters), await readPage("top"));
});

Deno.test("the docs show the page of explain, and the README its first sentence", async () => {
  const page = await readPage("explain");
  assertIncludes(await readDoc("docs/commands.md"), page);
  assertIncludes(await readDoc("README.md"), page.slice(0, page.indexOf("")));
});

Deno.test("the docs and the README show the page of top", async () => {
  const page = await readPage("top");
  for (const path of ["docs/commands.md", "README.md"]) assertIncludes(await readDoc(path), page);
});

function readDoc(path: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
}

/** As an indented block. */
function assertIncludes(doc: string, page: readonly string[]): void {
  const block = page.map((line) => line === "" ? "" : `    ${line}`).join("\n");
  assert(doc.includes(`\n${block}\n`), `Expected this block in the document:\n${block}`);
}
