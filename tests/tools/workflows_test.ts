/**
 * Do the workflows keep the project's rules: actions pinned by digest, least rights, all logic in scripts that run here too?
 * `deno task workflows` checks their syntax with actionlint.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { parse } from "../../lib/runtime/yaml.ts";
import project from "../../deno.json" with { type: "json" };
import { findActionlint, toCacheFolder } from "../../tools/workflows.ts";

const ROOT = new URL("../../", import.meta.url);
const FOLDER = new URL(".github/workflows/", ROOT);

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly "timeout-minutes"?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly name: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const names = (await Array.fromAsync(Deno.readDir(FOLDER))).map(({ name }) => name).sort();
const texts = await Promise.all(names.map((name) => Deno.readTextFile(new URL(name, FOLDER))));
const workflows = texts.map((text) => parse(text) as Workflow);
const jobs = workflows.flatMap(({ name, jobs }) =>
  Object.entries(jobs).map(([id, job]) => ({ id: `${name}/${id}`, job }))
);
const steps = jobs.flatMap(({ id, job }) => job.steps.map((step) => ({ id, step })));

Deno.test("there are workflows for the gate, the versions of Kubernetes and the release", () => {
  assertEquals(names, ["gate.yml", "kubernetes.yml", "release.yml"]);
});

Deno.test("each action is pinned by the digest of a commit, with its version next to it", () => {
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => /\buses:/.test(line));
  assert(lines.length > 10);
  assertEquals(lines.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)), []);
  const digests = new Map<string, Set<string>>();
  for (const { step: { uses = "" } } of steps) {
    const [action = "", digest = ""] = uses.split("@");
    digests.set(action, (digests.get(action) ?? new Set()).add(digest));
  }
  assertEquals([...digests].filter(([, found]) => found.size > 1).map(([action]) => action), [], "one version of each");
});

Deno.test("each workflow may only read, each job has a limit of time, and one job alone may publish", () => {
  assertEquals(workflows.filter(({ permissions }) => JSON.stringify(permissions) !== '{"contents":"read"}'), []);
  assertEquals(jobs.filter(({ job }) => !(Number(job["timeout-minutes"]) <= 90)).map(({ id }) => id), []);
  assertEquals(jobs.filter(({ job }) => job.permissions !== undefined).map(({ id }) => id), ["release/publish"]);
});

Deno.test("each step is one command, of a task that exists or a script of the project, and takes nothing from an event", async () => {
  const commands = steps.flatMap(({ id, step: { run } }) => run === undefined ? [] : [{ id, run }]);
  assert(commands.length > 20);
  assertEquals(commands.filter(({ run }) => /\n|\$\{\{/.test(run.trim())), []);
  const known =
    /^(deno (fmt|lint|check|install|task)|tests\/cluster\/|npm install --global "deno@|docker (login|run|buildx)) ?/;
  assertEquals(commands.filter(({ run }) => !known.test(run)), []);
  const tasks = commands.flatMap(({ run }) => /^deno task (\S+)/.exec(run)?.[1] ?? []);
  assertEquals(tasks.filter((name) => !Object.hasOwn(project.tasks, name)), []);
  const scripts = commands.flatMap(({ run }) => /^(tests\/cluster\/\S+)/.exec(run)?.[1] ?? []);
  for (const path of scripts) assert((await Deno.stat(new URL(path, ROOT))).isFile, path);
});

Deno.test("the release takes the steps of tools/release in their order, attests all parts, and opens the draft last", async () => {
  const release = workflows.find(({ name }) => name === "release");
  const asked = Object.values(release?.jobs ?? {}).flatMap((job) => job.steps)
    .flatMap(({ run = "" }) => /^deno task release ((?:[a-z]+ ?)+)/.exec(run)?.[1]?.trim().split(" ") ?? []);
  const source = await Deno.readTextFile(new URL("tools/release/main.ts", ROOT));
  const steps = [...source.matchAll(/^ {2}async (\w+)\(/gm)].map(([, name]) => name ?? "");
  assert(steps.length >= 8);
  assertEquals([...new Set(asked)].sort(), [...steps].sort(), "each step once or more, and no other");
  const last = release?.jobs["publish"]?.steps ?? [];
  assertEquals(last.at(-1)?.run, "deno task release open");
  const attested = last.filter(({ uses }) => uses?.startsWith("actions/attest@")).map((step) => step.with ?? {});
  const subjects = attested.map((one) => one["subject-checksums"] ?? one["subject-digest"]);
  const output = (name: string) => `\${{ steps.parts.outputs.${name} }}`;
  assertEquals(subjects, [output("digest"), output("amd64"), output("arm64"), "dist/release/SHA256SUMS"]);
  assertEquals(attested.filter((one) => "sbom-path" in one).length, 2);
});

Deno.test("the scenarios on kind may not be left out because a node has no image", () => {
  const runs = steps.filter(({ step: { run = "" } }) => run.startsWith("deno task e2e"));
  assertEquals(runs.map(({ id, step: { env = {} } }) => [id, env["E2E_IMAGES"]]), [["kubernetes/e2e", "loaded"]]);
});

Deno.test("tests/cluster/kind starts each version of its list by the digest of its node", async () => {
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await new Deno.Command(new URL("tests/cluster/kind", ROOT).pathname, {
      args: [...args],
      env: { DRY_RUN: "1", CLUSTER_HOME: await folder },
    }).output();
    return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
  };
  const folder = Deno.makeTempDir();
  try {
    const versions: readonly string[] = JSON.parse((await run("list")).stdout);
    assertEquals(versions, ["1.33", "1.34", "1.35", "1.36"]);
    for (const version of versions) {
      const { stdout } = await run("up", version);
      const image = new RegExp(`--image kindest/node:v${version.replace(".", "\\.")}\\.\\d+@sha256:[0-9a-f]{64} `);
      assertMatch(stdout, image);
      assertMatch(stdout, /load image-archive \S+\/podfit\.tar/);
      assertStringIncludes(stdout.trim().split("\n").at(-1) ?? "", "kind.kubeconfig");
    }
    const wrong = await run("up", "1.20");
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, 'no node for Kubernetes "1.20"');
  } finally {
    await Deno.remove(await folder, { recursive: true });
  }
});

Deno.test("docs/status.md names the versions of Kubernetes that the workflow tests, and the chart needs the lowest", async () => {
  const nodes = (await Deno.readTextFile(new URL("tests/cluster/kind-nodes", ROOT))).matchAll(/^(1\.\d+) /gm);
  const versions = [...nodes].map(([, version]) => version ?? "");
  const status = await Deno.readTextFile(new URL("docs/status.md", ROOT));
  assertStringIncludes(status.replaceAll(/\s+/g, " "), `${versions.slice(0, -1).join(", ")} and ${versions.at(-1)}`);
  const chart = await Deno.readTextFile(new URL("deploy/helm/Chart.yaml", ROOT));
  assertStringIncludes(chart, `kubeVersion: ">=${versions[0]}.0-0"`);
});

Deno.test("actionlint is looked for by its version, and is missing where Go is", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const env = (name: string) => ({ HOME: folder, PATH: folder })[name];
    assertMatch(toCacheFolder(env), /\/\.cache\/podfit-tools\/actionlint@v[\d.]+$/);
    assertEquals(await findActionlint(env), null);
    await Deno.mkdir(toCacheFolder(env), { recursive: true });
    await Deno.writeTextFile(`${toCacheFolder(env)}/actionlint`, "");
    assertEquals(await findActionlint(env), `${toCacheFolder(env)}/actionlint`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Renovate's own rules find a version in each file that they name", async () => {
  const { customManagers } = JSON.parse(await Deno.readTextFile(new URL(".github/renovate.json", ROOT)));
  const files = [
    ".dvmrc",
    "Dockerfile",
    "CONTRIBUTING.md",
    "tests/cluster/kind",
    "tests/cluster/kind-nodes",
    "tools/workflows.ts",
  ];
  const contents = await Promise.all(files.map((file) => Deno.readTextFile(new URL(file, ROOT))));
  const found = new Set<string>();
  for (const { managerFilePatterns, matchStrings } of customManagers) {
    for (const [at, file] of files.entries()) {
      const isManaged = managerFilePatterns.some((one: string) => new RegExp(one.slice(1, -1)).test(file));
      if (!isManaged) continue;
      const hits = matchStrings.filter((one: string) => new RegExp(one).test(contents[at] ?? ""));
      if (hits.length > 0) found.add(file);
    }
  }
  assertEquals([...found].sort(), [...files].sort());
});
