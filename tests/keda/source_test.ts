/** Is every one of KEDA's tests here, and does the page about KEDA have each of its packages and each difference? */
import { assert, assertEquals } from "#assert";
import { DIFFERENCES } from "./differences.ts";
import { END_TO_END_PACKAGES, UNIT_TESTS } from "./source.ts";

const ROOT = new URL("../../", import.meta.url);
const PAGE = "docs/reference/keda-support.md";

/** Where `tests/cluster/build keda` gets KEDA's source from; `null` where it never ran. */
const SOURCE = await findSource();

Deno.test("as many of KEDA's unit tests are named here as their files have", async () => {
  const places = new Set(Object.values(UNIT_TESTS).map((one) => one.here));
  // webhook_test.ts counts its cases.
  places.delete("webhook_cases.ts");
  for (const here of places) {
    const files = Object.values(UNIT_TESTS).filter((one) => one.here === here);
    const count = files.reduce((sum, one) => sum + one.count, 0);
    const names = listNames(await readText(`tests/keda/${here}`));
    assertEquals(new Set(names).size, count, `${here}: ${[...new Set(names)].join(", ")}`);
  }
});

/** Titles of specs, and names of functions. */
function listNames(text: string): readonly string[] {
  return [...text.matchAll(/KEDA: should [^"(]+|\bTest[A-Z]\w+/g)].map(([name]) => name.trim());
}

Deno.test("the page about KEDA has each difference of the tables, and each is used", async () => {
  const page = (await readText(PAGE)).replaceAll(/\s+/g, " ");
  const missing = Object.entries(DIFFERENCES).filter(([, sentence]) => !page.includes(sentence));
  assertEquals(missing, []);
  const folder = await Promise.all((await listFiles("tests/keda/")).map((name) => readText(`tests/keda/${name}`)));
  const unused = Object.keys(DIFFERENCES).filter((key) =>
    folder.filter((text) => text.includes(`"${key}"`)).length < 2
  );
  assertEquals(unused, []);
});

Deno.test("the page about KEDA says of each of its packages of end-to-end tests what podfit does", async () => {
  const patterns = listPatterns(await readText(PAGE));
  const isNamed = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  assertEquals(END_TO_END_PACKAGES.length, 207);
  assertEquals([...isNamed].filter((name) => !END_TO_END_PACKAGES.includes(name)), [], "not a package of KEDA");
  assertEquals(patterns.length, new Set(patterns).size, "a package is in one row");
  for (const pattern of patterns.filter((one) => one.includes("*"))) {
    assert(END_TO_END_PACKAGES.some((name) => isMatch(name, pattern)), `${pattern} matches nothing`);
  }
  const absent = END_TO_END_PACKAGES.filter((name) =>
    !isNamed.has(name) && patterns.filter((pattern) => isMatch(name, pattern)).length !== 1
  );
  assertEquals(absent, [], "in no row, or in two");
});

Deno.test({
  name: "the names of tests and the packages are those of KEDA's source",
  ignore: SOURCE === null,
  async fn() {
    for (const [file, { count, here }] of Object.entries(UNIT_TESTS)) {
      const text = await Deno.readTextFile(`${SOURCE}/${file}`);
      const names = [...text.matchAll(/^\s*(?:var _ = )?It\("(.*)", func|^func (Test\w+)\(/gm)]
        .map(([, title, name]) => title ?? name ?? "");
      const own = await readText(`tests/keda/${here}`);
      assertEquals([names.length, names.filter((name) => !own.includes(name))], [count, []], file);
    }
    assertEquals((await listPackages(`${SOURCE}/tests`)).toSorted(), END_TO_END_PACKAGES.toSorted());
  },
});

/** The packages in the first cells of the table, `*` for the rest of a name. */
function listPatterns(page: string): readonly string[] {
  const [, section = ""] = page.split("\n## KEDA's end-to-end tests\n");
  const rows = section.split("\n## ")[0]?.split("\n").filter((line) => line.startsWith("| `")) ?? [];
  return rows.flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

/** A pattern ends with `*`. */
function isMatch(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

async function listPackages(folder: string, path = ""): Promise<readonly string[]> {
  const found: string[] = [];
  let hasTest = false;
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${path}`)) {
    if (isDirectory) found.push(...await listPackages(folder, path === "" ? name : `${path}/${name}`));
    hasTest ||= name.endsWith("_test.go");
  }
  return hasTest ? [...found, path] : found;
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(new URL(folder, ROOT))) names.push(name);
  return names;
}

async function findSource(): Promise<string | null> {
  const home = Deno.env.get("HOME") ?? "";
  const path = `${Deno.env.get("GOMODCACHE") ?? `${home}/go/pkg/mod`}/github.com/kedacore/keda/v2@v2.21.0`;
  return await Deno.stat(path).then(() => path, () => null);
}

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
