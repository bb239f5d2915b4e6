/**
 * Do the project's files agree with each other? The Deno version, permissions, and that reasons stand
 * in the contract.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { FLAGS, VARIABLES } from "../lib/cli/run/flags.ts";
import { AUTOSCALER_REASONS, BLOCK_REASONS, HOLD_REASONS, NOTICES } from "../lib/model/reasons.ts";
import { REPLICAS_REASONS } from "../lib/model/replicas_decision.ts";
import { listNamedClauses, readClauses } from "../tools/contract.ts";
import { ENVIRONMENT } from "../tools/image/facts.ts";

const ROOT = new URL("../", import.meta.url);
const REASONS = [...new Set([...HOLD_REASONS, ...BLOCK_REASONS, ...AUTOSCALER_REASONS])];
/** Folders that hold what others wrote or what is made. */
const FOREIGN = [".git", "node_modules", "dist", "testdata", "results"];

Deno.test("one Deno version stands everywhere that names one", async () => {
  const version = (await readText(".dvmrc")).trim();
  assert(/^\d+\.\d+\.\d+$/.test(version), version);
  // Not this file, which makes up versions of its own below.
  const texts = (await listTexts()).filter(({ file }) => file !== "tests/project_test.ts");
  const named = texts.flatMap(({ file, text }) => findVersions(text).map((found) => ({ file, version: found })));
  assertEquals(named.filter((one) => one.version !== version), []);
  for (const file of ["README.md", "Dockerfile"]) assert(named.some((one) => one.file === file), file);
  assert((await readText(".ci/run")).includes('"deno@$(cat .dvmrc)"'), ".ci/run reads .dvmrc");
});

Deno.test("findVersions() finds a version in each way of writing it", () => {
  const text = "npx -y deno@1.2.3 task\nFROM denoland/deno:2.3.4\nARG DENO_VERSION=3.4.5\nhono@4.0.0 DENO_DIR=/5.6.7";
  assertEquals(findVersions(text), ["1.2.3", "2.3.4", "3.4.5"]);
});

Deno.test("no permission set allows everything, and the daemon writes no file and sees its own variables only", async () => {
  const { permissions } = await readProject();
  assertEquals(Object.entries(permissions).filter(([, set]) => "all" in set).map(([name]) => name), []);
  const variables = [...Object.values(FLAGS).map(({ variable }) => variable), ...Object.keys(VARIABLES)];
  for (const set of [permissions["daemon"], permissions["start"], permissions["exec"]]) {
    assert(set !== undefined);
    assertEquals(["write", "ffi", "sys", "import"].filter((kind) => kind in set), []);
    const patterns = set["env"];
    assert(Array.isArray(patterns) && !patterns.includes("*"));
    assertEquals(variables.filter((name) => !patterns.some((pattern) => matches(name, pattern))), []);
  }
});

Deno.test("podfit runs programs only where it was started for exec plug-ins, and its image reads named folders only", async () => {
  const { daemon, start, exec, lint } = (await readProject()).permissions;
  assert(daemon !== undefined && start !== undefined && exec !== undefined);
  const { read, ...rest } = daemon;
  assertEquals(read, ["/var/run/secrets", "/run/secrets", "/etc/podfit", "/host/cgroup"]);
  assertEquals(Object.keys(rest), ["net", "env"]);
  assertEquals(start, { ...rest, read: true });
  assertEquals(exec, { ...start, run: true });
  assertEquals(Object.keys(lint ?? {}), ["env", "read"]);
  assertMatch(await readText("Dockerfile"), / --permission-set=daemon /);
});

Deno.test("the demo reaches no other machine, reads and writes no file, and runs nothing", async () => {
  const { demo } = (await readProject()).permissions;
  const colors = ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"];
  // They name the roots that TLS would trust: podfit has none loaded.
  const roots = ["PODFIT_ROOTS", "DENO_TLS_CA_STORE", "DENO_CERT", "NODE_EXTRA_CA_CERTS"];
  // The YAML parser asks for them.
  const yaml = ["LOG_STREAM", "LOG_TOKENS"];
  assertEquals(demo, { net: ["127.0.0.1"], env: [...colors, ...yaml, ...roots] });
});

Deno.test("every task that runs podfit runs it with the permissions of what it is for", async () => {
  const { tasks } = await readProject();
  const running = Object.entries(tasks).filter(([, command]) => / run .*\smain\.ts/.test(command));
  assert(running.length > 0);
  const sets = running.map(([name, command]) => [name, / -P=(\w+) /.exec(command)?.[1]]);
  assertEquals(Object.fromEntries(sets), { demo: "demo", start: "start", "start:exec": "exec" });
});

Deno.test("podfit is started from what deno.lock names, and loads nothing more while it runs", async () => {
  const { tasks } = await readProject();
  assertMatch(tasks["cache"] ?? "", /^deno install .*--frozen --entrypoint main\.ts$/);
  for (const name of ["start", "start:exec", "demo"]) {
    const task = tasks[name] ?? "";
    assertMatch(task, /^deno task --quiet cache && .*DENO_NO_UPDATE_CHECK=1 deno run --quiet --frozen --cached-only /);
  }
});

Deno.test("every reason and every event stands in the contract's table (C53)", async () => {
  const rows = tableOf(await readText("docs/contracts/sizing.md"), "| reason (closed list) ");
  const words = new Set(rows.flatMap((row) => row.split(/\W+/)));
  // "MetricsUnavailable / recovered" names its second event in the next column.
  assertEquals([...REASONS, ...Object.keys(NOTICES)].filter((word) => !words.has(word)), []);
});

Deno.test("every reason of replicas stands in the contract's table or among those that replicas add to it (C53, R94)", async () => {
  const table = tableOf(await readText("docs/contracts/sizing.md"), "| reason (closed list) ");
  const added = /^### R94 ([^]*?)^### R95 /m.exec(await readText("docs/contracts/replicas.md"))?.[1] ?? "";
  const words = new Set([...table, added].flatMap((text) => text.split(/\W+/)));
  assertEquals(REPLICAS_REASONS.filter((word) => !words.has(word)), []);
});

Deno.test("the project's files name no folder outside of the project", async () => {
  const pattern = /\b(seed[s]|recording[s])\/|\bFINDING[S]\.md/;
  assertEquals((await listTexts()).filter(({ text }) => pattern.test(text)).map(({ file }) => file), []);
});

Deno.test("tests name only clauses that the contract has, each once", async () => {
  const clauses = await readClauses(ROOT);
  assert(clauses.length > 30);
  assertEquals(clauses.filter((id, at) => clauses.indexOf(id) !== at), []);
  const texts = (await listTexts()).filter(({ file }) => /^tests\/.*_test\.ts$/.test(file));
  const named = texts.flatMap(({ file, text }) => listNamedClauses(text).map((id) => ({ file, id })));
  assert(named.length > 0);
  assertEquals(named.filter(({ id }) => !clauses.includes(id)), []);
});

Deno.test("each sentence of what SECURITY.md says is defended names tests by file and title, and these exist", async () => {
  const text = await readText("SECURITY.md");
  const rows = tableOf(text, "| who | what they may try |");
  assert(rows.length > 20, `${rows.length} rows`);
  const cells = rows.map((row) => row.split(" | ").at(-1)?.replace(/ \|$/, "") ?? "");
  const policies = /^## Admission policies\n([^]*?)^## /m.exec(text)?.[1] ?? "";
  const paragraphs = policies.trim().split("\n\n").map((one) =>
    one.replace(/^- \[.*?\]\(.*?\): /, "").replaceAll(/\s+/g, " ")
  );
  assert(paragraphs.length > 3, `${paragraphs.length} paragraphs about policies`);
  const claims = [...cells, ...paragraphs];
  assertEquals(claims.flatMap(listUnmarked), [], "sentences that do not end with the numbers of tests");
  const used = new Set(claims.flatMap((claim) => [...claim.matchAll(MARK)].map(([, number]) => number)));
  const tests = [...text.matchAll(/^(\d+)\. `(tests\/[\w./-]+_test\.ts)`: (.+)$/gm)];
  assertEquals(new Set(tests.map(([, number]) => number)), used, "numbers of the table and of the list of tests");
  for (const [, , file = "", title = ""] of tests) {
    const source = await readText(file);
    assert(
      [`"${title}"`, `\`${title}\``].some((one) => source.includes(`(${one}`) || source.includes(`  ${one},`)),
      title,
    );
  }
  const files = new Set((await listTexts()).map(({ file }) => file));
  const named = text.match(/\btests\/[\w./-]+\.ts\b/g) ?? [];
  assertEquals(named.filter((file) => !files.has(file)), []);
});

const MARK = /\[(\d+)\]/g;

/** The sentences of a cell that do not end as in `It waits [3] [4].` */
function listUnmarked(cell: string): readonly string[] {
  return cell.split(/(?<=\.)\s+/).filter((sentence) => !/[^\]\s]( \[\d+\])+\.$/.test(sentence));
}

Deno.test("listUnmarked() finds a sentence without tests between others, and an empty cell", () => {
  assertEquals(listUnmarked("A waits [1]. B goes [2] [3]."), []);
  assertEquals(listUnmarked("A waits [1]. B goes. C comes [2]."), ["B goes."]);
  assertEquals(listUnmarked("A waits [1]. [2]."), ["[2]."]);
  assertEquals(listUnmarked(""), [""]);
});

interface Project {
  readonly tasks: Readonly<Record<string, string>>;
  readonly permissions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function readProject(): Promise<Project> {
  return JSON.parse(await readText("deno.json"));
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

interface TextFile {
  readonly file: string;
  readonly text: string;
}

/** The files that people write, but for pictures, archives and the like. */
async function listTexts(): Promise<readonly TextFile[]> {
  const found: TextFile[] = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, isDirectory, isFile } of Deno.readDir(new URL(`./${folder}`, ROOT))) {
      if (FOREIGN.includes(name)) continue;
      if (isDirectory) folders.push(`${folder}${name}/`);
      const isText = /^[^.]+$|\.(ts|md|json|ya?ml|go|sh|mod|html|css|txt|conf|toml)$|^\.\w+$/.test(name);
      if (isFile && isText) found.push({ file: folder + name, text: await readText(folder + name) });
    }
  }
  return found;
}

function findVersions(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:deno@|denoland\/deno:|DENO_VERSION=)(\d+\.\d+\.\d+)/g)].map((match) => match[1] ?? "");
}

/** `PODFIT_*` matches PODFIT_LISTEN. */
function matches(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The rows of the table whose first line begins so. */
function tableOf(markdown: string, start: string): readonly string[] {
  const lines = markdown.split("\n");
  const first = lines.findIndex((line) => line.startsWith(start));
  assert(first >= 0, `no table begins with "${start}"`);
  const length = lines.slice(first).findIndex((line) => !line.startsWith("|"));
  return lines.slice(first + 2, length < 0 ? undefined : first + length);
}

Deno.test("the image's podfit has the flags of V8 and the variables of glibc that `deno task start` has", async () => {
  const [config, dockerfile] = await Promise.all(
    ["deno.json", "Dockerfile"].map((path) => Deno.readTextFile(new URL(path, ROOT))),
  );
  const read = (text = "") => /--v8-flags=(\S+)/.exec(text)?.[1];
  assertMatch(read(config) ?? "", /^--[a-z]/);
  assertEquals(read(dockerfile), read(config));
  const { MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ } = ENVIRONMENT;
  for (const [name, value] of Object.entries({ MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ })) {
    for (const text of [config, dockerfile]) {
      assertEquals([...new Set([...(text ?? "").matchAll(new RegExp(`${name}=(\\d+)`, "g"))].map(([, set]) => set))], [
        value,
      ]);
    }
  }
});
