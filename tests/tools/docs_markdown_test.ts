/** Are links, anchors, sections and prose of a page found, and idioms in it? */
import { assertEquals, assertThrows } from "#assert";
import { CONTRACT_GOALS, DOCS_GOALS, IDIOMS, measureEnglish } from "../../tools/docs/english.ts";
import { getSection, listAnchors, listBlocks, listLinks, resolveLink, toProse } from "../../tools/docs/markdown.ts";

Deno.test("listAnchors() gives those that GitHub makes", () => {
  const text = '# kind, k3d, kubeadm\n## `explain` says why\n## A\n```sh\n# no heading\n```\n## A\n<a id="old"></a>\n';
  assertEquals(listAnchors(text), ["kind-k3d-kubeadm", "explain-says-why", "a", "a-1", "old"]);
});

Deno.test("listLinks() finds links, pictures and references, and none in code", () => {
  const text = '[a](b.md) ![c](d.svg "title") `[e](f)`\n\n```sh\n[g](h)\n```\n\n[i]: j.md\n<img src="k.svg">\n';
  assertEquals(listLinks(text), ["b.md", "d.svg", "j.md", "k.svg"]);
});

Deno.test("resolveLink() gives the path from the root of the project", () => {
  assertEquals(resolveLink("docs/start/demo.md", "../install.md#helm"), { path: "docs/install.md", anchor: "helm" });
  assertEquals(resolveLink("README.md", "#install"), { path: "README.md", anchor: "install" });
  assertEquals(resolveLink("README.md", "https://helm.sh"), null);
});

Deno.test("getSection() ends at the next heading of the same level, and skips comments of shells", () => {
  const text = "# A\n\n## B\n\nb\n\n### C\n\n```sh\n# D\n```\n\n## E\n";
  assertEquals(getSection(text, "B"), "\n\nb\n\n### C\n\n```sh\n# D\n```\n\n");
  assertThrows(() => getSection(text, "D"), Error, 'Cannot find section "D"');
});

Deno.test("listBlocks() gives language, text, line and why a block is not run", () => {
  assertEquals(listBlocks("a\n\n<!-- not run: no registry -->\n```sh\nb\n```\n\n  ```yaml\n  c: d\n  ```\n"), [
    { language: "sh", text: "b\n", line: 4, notRun: "no registry" },
    { language: "yaml", text: "c: d\n", line: 8, notRun: null },
  ]);
});

Deno.test("measureEnglish() counts idioms and long sentences of prose, and takes no code for prose", () => {
  const long = `It ${"and it ".repeat(25)}ends.`;
  const { idioms, longSentences } = measureEnglish([
    toProse(`It is no pod. ${long}\n\n    told whoever\n\n\`nobody\` ends here.`),
  ], DOCS_GOALS);
  assertEquals(idioms.length, 1);
  assertEquals(longSentences.length, 1);
});

Deno.test("toProse() makes a paragraph of each item of a list and each cell of a table", () => {
  const { meanWords, sentences } = measureEnglish(
    [toProse("- one two three\n- four five\n  six\n\n1. seven eight nine\n\n| a b c | d e f |\n|---|---|\n")],
    DOCS_GOALS,
  );
  assertEquals([sentences, meanWords], [5, 3]);
});

Deno.test("measureEnglish() names each goal that is missed, and allows what it is asked to allow", () => {
  const text = toProse("It is no pod that podfit resizes.");
  assertEquals(measureEnglish([text], DOCS_GOALS).missed.length, 1);
  assertEquals(measureEnglish([text], DOCS_GOALS, { allowance: 1 }).missed, []);
  assertEquals(measureEnglish([toProse(`${"word ".repeat(30)}.`)], CONTRACT_GOALS).missed.length, 1);
});

Deno.test("each idiom has plainer words, and none of these is an idiom", () => {
  const words = IDIOMS.map(({ instead }) => instead);
  assertEquals(words.filter((text) => text === "" || IDIOMS.some(({ pattern }) => text.match(pattern) !== null)), []);
});
