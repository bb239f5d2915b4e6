/** A small project of its own, copied, broken and tested there. */
import { assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { TreeCopy } from "../../tools/tree_copy.ts";

const TEST = "next() counts up (C1)";
const MUTANT = { file: "lib/a.ts", text: "export const next = (n: number) => n - 1;\n" };

const FILES: Readonly<Record<string, string>> = {
  "deno.json": '{ "permissions": { "test": { "read": true } } }',
  "tests/support/setup.ts": "export {};\n",
  "lib/a.ts": "export const next = (n: number) => n + 1;\n",
  ".git/HEAD": "x",
  "tests/a_test.ts": `import { next } from "../lib/a.ts";
Deno.test("next() counts up (C1)", () => { if (next(1) !== 2) throw new Error("no"); });
Deno.test("next() hangs", () => new Promise(() => { setInterval(() => {}, 1000); }));`,
};

interface Project extends AsyncDisposable {
  readonly source: string;
  readonly copy: TreeCopy;
  readonly run: (test: string, timeoutSeconds?: number) => ReturnType<TreeCopy["runTests"]>;
}

async function createProject(): Promise<Project> {
  const source = await Deno.makeTempDir();
  for (const [file, text] of Object.entries(FILES)) {
    await Deno.mkdir(`${source}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${source}/${file}`, text);
  }
  const copy = await TreeCopy.create(new URL(`file://${source}/`));
  const { signal } = new AbortController();
  return {
    source,
    copy,
    run: (test, timeoutSeconds = 30) =>
      copy.runTests({ testFile: "a_test.ts", tests: [test], timeoutSeconds, kubeconfig: null, signal }),
    async [Symbol.asyncDispose]() {
      await copy[Symbol.asyncDispose]();
      await Deno.remove(source, { recursive: true });
    },
  };
}

Deno.test("TreeCopy runs one test, which fails only while the mutation stands", async () => {
  await using project = await createProject();
  const outcome = async () => {
    const run = await project.run(TEST);
    return "fault" in run ? run.fault : run.outcomes.get(TEST);
  };
  const seen = [await outcome(), await project.copy.whileChanged(MUTANT, outcome), await outcome()];
  assertEquals(seen, ["passed", "failed", "passed"]);
  assertEquals(await Deno.readTextFile(`${project.source}/lib/a.ts`), FILES["lib/a.ts"], "the source is left alone");
});

Deno.test("TreeCopy puts the file right when what was done meanwhile throws", async () => {
  await using project = await createProject();
  await assertRejects(() => project.copy.whileChanged(MUTANT, () => Promise.reject(new Error("interrupted"))));
  assertEquals(await Deno.readTextFile(`${project.copy.root}/lib/a.ts`), FILES["lib/a.ts"]);
});

Deno.test("TreeCopy takes neither a broken module nor an endless test for a result", async () => {
  await using project = await createProject();
  const broken = { ...MUTANT, text: "export const next = (n: number) => n + ;\n" };
  const run = await project.copy.whileChanged(broken, () => project.run(TEST));
  assertStringIncludes("fault" in run ? run.fault : "", "tests/a_test.ts gave no result, exit code 1: error: ");
  assertEquals(await project.run("next() hangs", 1), { fault: "tests/a_test.ts was not done in 1 seconds" });
});

Deno.test("TreeCopy leaves out what is no part of the project, and is gone when disposed of", async () => {
  const { root } = await (async () => {
    await using project = await createProject();
    assertEquals([...Deno.readDirSync(project.copy.root)].map(({ name }) => name).sort(), [
      "deno.json",
      "lib",
      "tests",
    ]);
    return project.copy;
  })();
  await assertRejects(() => Deno.stat(root), Deno.errors.NotFound);
});
