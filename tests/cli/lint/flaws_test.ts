/**
 * Does lint find every planted flaw, and nothing else? Each file of lint-flaws says in its first line which one it has:
 * `# flaw: LEVEL RULE PATH`, or `# good`.
 */
import { assert, assertEquals } from "#assert";
import { LEVELS } from "../../../lib/cli/lint/findings.ts";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import type { Source } from "../../../lib/cli/manifests/files.ts";
import { parseYaml } from "../../../lib/cli/manifests/yaml.ts";
import type { Json } from "../../support/api_objects.ts";
import { runPodfit } from "../../support/podfit_process.ts";

const FOLDER = new URL("../../testdata/lint-flaws/", import.meta.url);
const PATH = "tests/testdata/lint-flaws";

Deno.test("lint finds the planted flaw in each file, with its name, and nothing else", async () => {
  for (const source of await readSources()) {
    const found = lintManifests([source]).findings.map(({ level, rule, path }) => `${level} ${rule} ${path}`);
    assertEquals(found, toPlanted(source), source.name);
  }
});

Deno.test("lint finds the same flaws in the whole directory: no file's objects are held against another namespace's", async () => {
  const sources = await readSources();
  const found = lintManifests(sources).findings.map(({ file, level, rule, path }) =>
    `${file} ${level} ${rule} ${path}`
  );
  assertEquals(found, sources.flatMap((source) => toPlanted(source).map((flaw) => `${source.name} ${flaw}`)));
});

Deno.test("lint says of a workload without containers that there is none", () => {
  const text = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {}}}
---
apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata: {name: web}
spec: {target: {kind: Deployment, name: web}, profile: balanced, containerName: app}
`;
  assertEquals(lintManifests([{ name: "web.yaml", text }]).findings.map(({ message }) => message), [
    'no pod of deployment "web" has a container "app", and nothing is resized or measured of it: there is none',
  ]);
});

Deno.test("the planted flaws are of every level, and good files stand beside them", async () => {
  const planted = (await readSources()).map(toPlanted);
  assertEquals(LEVELS.filter((level) => !planted.some(([flaw]) => flaw?.startsWith(`${level} `))), []);
  assert(planted.filter(([flaw]) => flaw === undefined).length >= 5);
  assert(planted.length >= 30, `${planted.length}`);
});

Deno.test("lint prints the planted flaws as text, one line each, and ends with 1", async () => {
  const { code, stdout, complaints } = await lint("text");
  const sources = await readSources();
  const planted = sources.flatMap((source) =>
    toPlanted(source).map((flaw) => [source.name, ...flaw.split(" ")] as const)
  );
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.length, planted.length);
  for (const [index, [file, level, rule, path = ""]] of planted.entries()) {
    const line = lines[index] ?? "";
    assert(line.startsWith(`${PATH}/${file}:`) && line.includes(`: ${level}: `) && line.includes(path), line);
    assertEquals(line.endsWith(` [${rule}]`), rule !== "invalid", line);
  }
  const number = (level: string) => planted.filter((one) => one[1] === level).length;
  const counts = `${number("error")} errors, ${number("warning")} warnings, ${number("advice")} pieces of advice`;
  assert(complaints[0]?.includes(counts), complaints[0]);
  assertEquals(code, 1);
});

Deno.test("lint prints the planted flaws as one JSON document", async () => {
  const { code, stdout } = await lint("json");
  const { version, findings, checked, unchecked, failures }: Json = JSON.parse(stdout);
  assertEquals([code, version, unchecked, failures], [1, 1, [], []]);
  assert(checked.autoscaler > 20 && checked["scaled object"] > 5, JSON.stringify(checked));
  const found = findings.map((one: Json) => `${one.file} ${one.level} ${one.rule} ${one.path}`);
  assertEquals(
    found,
    (await readSources()).flatMap((one) => toPlanted(one).map((flaw) => `${PATH}/${one.name} ${flaw}`)),
  );
  const [first] = findings;
  assertEquals(Object.keys(first), ["level", "rule", "file", "line", "column", "kind", "object", "path", "message"]);
  assertEquals([first.line, first.column, first.kind, first.object], [
    2,
    1,
    "PodResourceAutoscaler",
    "api-version/web",
  ]);
});

Deno.test("lint prints the planted flaws as workflow commands of GitHub", async () => {
  const { code, stdout } = await lint("github");
  const found = stdout.trimEnd().split("\n").map((line) => {
    const [, command, file, title] = /^::(\w+) file=([^,]+),line=\d+,col=\d+,title=([^:]+)::./.exec(line) ?? [];
    return [command, file, title];
  });
  const commands: Readonly<Record<string, string>> = { error: "error", warning: "warning", advice: "notice" };
  const planted = (await readSources()).flatMap((source) =>
    toPlanted(source).map((flaw) => {
      const [level = "", rule] = flaw.split(" ");
      return [commands[level], `${PATH}/${source.name}`, `podfit%3A ${rule}`];
    })
  );
  assertEquals([code, found], [1, planted]);
});

Deno.test("lint never throws, whatever stands in the place of a field of any object", async () => {
  const odd = [null, 5, "x", [], {}, [null], 1e300, "9e15", true];
  let turn = 0;
  for (const { name, text } of await readSources()) {
    if (name === "unreadable.yaml") continue;
    const documents = parseYaml(text).map(({ value }) => value);
    const paths = documents.flatMap((document, index) => listPaths(document, [index]));
    for (const path of paths.flatMap((one) => Array<Path>(TURNS).fill(one))) {
      const changed = structuredClone(documents);
      const last = path.at(-1) ?? 0;
      const parent = path.slice(0, -1).reduce((at: Json, key) => at[key], changed);
      parent[last] = odd[turn++ % odd.length];
      lintManifests([{ name, text: changed.map((one) => JSON.stringify(one)).join("\n---\n") }]);
    }
  }
  assert(turn > 1000, `${turn}`);
});

/** Of as many values each field gets some, and over all files every one. */
const TURNS = 2;

type Path = readonly (string | number)[];

function listPaths(value: unknown, path: Path): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => listPaths(inner, [...path, key]))];
}

/** By name, as lint reads a directory. */
async function readSources(): Promise<readonly Source[]> {
  const names = (await Array.fromAsync(Deno.readDir(FOLDER))).map(({ name }) => name).sort();
  return await Promise.all(names.map(async (name) => ({ name, text: await Deno.readTextFile(new URL(name, FOLDER)) })));
}

/** None, or the one. */
function toPlanted({ name, text }: Source): readonly string[] {
  const [first = ""] = text.split("\n");
  if (first === "# good") return [];
  assert(first.startsWith("# flaw: "), name);
  return [first.slice("# flaw: ".length)];
}

function lint(format: string) {
  return runPodfit({ args: ["lint", "-f", PATH, "-o", format], permissions: "lint" });
}
