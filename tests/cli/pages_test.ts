/** The pages of explain and top, made from literals. The examples in the docs are the same pages. */
import { assert, assertEquals } from "#assert";
import type { PodExplanation } from "../../lib/cli/explanation/explanation.ts";
import { describePod } from "../../lib/cli/explanation/words.ts";
import { formatReport } from "../../lib/cli/lint/lint.ts";
import { lintManifests } from "../../lib/cli/lint/lint_files.ts";
import { toCharacters } from "../../lib/cli/terminal/output.ts";
import { createStyle } from "../../lib/cli/terminal/text.ts";
import { type TopRow, toTopTable } from "../../lib/cli/top/top.ts";
import { GATES } from "../../lib/vertical/gates/gates.ts";
import { CAPS } from "../../lib/vertical/sizing/caps.ts";
import { assertScreens, readPage, readPageInput, readScreen, readScreens } from "../support/pages.ts";

const style = createStyle(false);

Deno.test("explain prints its page", async () => {
  const pod = await readPageInput<PodExplanation>("explain");
  assertEquals(describePod(pod, { style, columns: 120 }).map(toCharacters), await readPage("explain"));
});

Deno.test("explain prints no name of a function", async () => {
  const names = [...Object.keys(GATES), ...Object.keys(CAPS)].filter((name) => /[a-z][A-Z]/.test(name));
  assert(names.includes("withRoom") && names.includes("lowForLong"), names.join());
  for (const lines of await readScreens()) {
    const text = lines.join("\n");
    assertEquals(names.filter((name) => text.includes(name)), [], text);
  }
});

Deno.test("top prints its page", async () => {
  const rows = await readPageInput<readonly TopRow[]>("top");
  assertEquals(toTopTable(rows, { style, columns: Infinity }).map(toCharacters), await readPage("top"));
});

Deno.test("the docs show the page of explain", async () => {
  assertIncludes(await readDoc("docs/reference/explain.md"), await readPage("explain"));
});

Deno.test("the docs show what explain prints of a workload", async () => {
  assertIncludes(await readDoc("docs/reference/explain.md"), await readScreen("workload-pods-grow-first", 120));
});

Deno.test("the docs show what explain prints of a workload next to KEDA", async () => {
  const screen = await readScreen("workload-next-to-keda", 120);
  const start = screen.indexOf("Next to KEDA");
  assertIncludes(await readDoc("docs/reference/explain.md"), screen.slice(start, screen.indexOf("", start)));
});

Deno.test("the docs show the page of top", async () => {
  assertIncludes(await readDoc("docs/reference/explain.md"), await readPage("top"));
});

function readDoc(path: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
}

/** As an indented block. */
function assertIncludes(doc: string, page: readonly string[]): void {
  const block = page.map((line) => line === "" ? "" : `    ${line}`).join("\n");
  assert(doc.includes(`\n${block}\n`), `Expected this block in the document:\n${block}`);
}

Deno.test("top fits into 80 and into 120 columns, and has no colour codes without colour", async () => {
  const rows = await readPageInput<readonly TopRow[]>("top");
  await assertScreens("top", (columns) => toTopTable(rows, { style, columns }).map(toCharacters));
});

Deno.test("lint prints a finding on one line at any width, and colours are only added to its text", async () => {
  const report = { ...lintManifests([{ name: "web.yaml", text: BAD_MANIFEST }]), unchecked: [], failures: [] };
  const plain = toCharacters(formatReport(report, { format: "text", style })).trimEnd().split("\n");
  await assertScreens("lint", () => plain);
  const colored = toCharacters(formatReport(report, { format: "text", style: createStyle(true) }));
  // deno-lint-ignore no-control-regex
  assertEquals(colored.replaceAll(/\x1b\[\d+m/g, "").trimEnd().split("\n"), plain);
  // Other colours are unreadable on one of the two backgrounds.
  // deno-lint-ignore no-control-regex
  const codes = new Set([...colored.matchAll(/\x1b\[(\d+)m/g)].map(([, code]) => Number(code)));
  assertEquals([...codes].filter((code) => ![1, 2, 22, 31, 35, 39].includes(code)), []);
});

const BAD_MANIFEST = `apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata: {name: web, namespace: shop}
spec:
  target: {kind: deployment, name: web}
  containerName: app
  profile: balancd
  policy: {pollInterval: 5s, cooldown: 1q}
---
apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata: {name: api, namespace: shop}
spec: {target: {kind: deployment, name: api}, containerName: app, profile: balanced}
---
apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata: {name: api-too, namespace: shop}
spec: {target: {kind: deployment, name: api}, containerName: app, profile: thrifty}
`;
