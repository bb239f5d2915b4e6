/**
 * Is podfit one program by `deno compile`? The runtime of such programs cannot be fetched here, so Deno itself takes its
 * place: everything is embedded and the result does not run. What is embedded runs below by `deno run`.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { gunzipSync } from "node:zlib";
import project from "../../../deno.json" with { type: "json" };
import { bundleProgram } from "../../../tools/image/bundle.ts";
import { ARCHITECTURE } from "../../../tools/image/image.ts";
import { readTar } from "../../../tools/image/tar.ts";
import { TARGETS, VERSION } from "../../../tools/release/facts.ts";
import { compileProgram, toArchive, toCompileArgs, writeProgramSources } from "../../../tools/release/program.ts";
import { QUICK_START } from "../../support/manifests.ts";
import { runWithInput } from "../../support/podfit_process.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const bundle = await bundleProgram(COMMIT);
const target = TARGETS.find(({ os, architecture }) => os === Deno.build.os && architecture === ARCHITECTURE);

Deno.test("deno compile gets the permissions and V8 flags of the program, the target, and the whole bundle", () => {
  const args = toCompileArgs({ triple: "x86_64-apple-darwin" }, "out/podfit");
  const flags = project.tasks.start.match(/--v8-flags=\S+/)?.[0] ?? "";
  const needed = [
    "-P=program",
    "--no-prompt",
    flags,
    "--target=x86_64-apple-darwin",
    "--include=.",
    "--output=out/podfit",
  ];
  for (const arg of needed) assert(args.includes(arg), arg);
  assertEquals([args[0], args.at(-1)], ["compile", "main.js"]);
  assertEquals(new Set(TARGETS.map(({ triple }) => triple)).size, 4);
});

Deno.test("the program may do what its commands need and no more: it reaches no metadata service, and loads no library", () => {
  const { program, exec } = project.permissions;
  assertEquals(program, { ...exec, write: true });
});

Deno.test("deno compile embeds every chunk, the commit and the permissions", async () => {
  assert(target !== undefined);
  const program = await compileProgram({ target, commit: COMMIT, runtime: Deno.execPath() });
  // What is embedded comes last: the bundle has 3 MB.
  const text = new TextDecoder("latin1").decode(program.subarray(-8_000_000));
  const missing = [...bundle].filter(([name]) => !text.includes(name)).map(([name]) => name);
  assertEquals(missing, []);
  assertStringIncludes(text, `COMMIT = "${COMMIT}"`);
  const permissions = JSON.parse(/"permissions":(\{"allow_env"[^}]*\})/.exec(text)?.[1] ?? "{}");
  const { net, env } = project.permissions.program;
  assertEquals([permissions.allow_net, permissions.deny_net, permissions.allow_env], [[], net.deny, env]);
  assertEquals([permissions.allow_write, permissions.allow_run, permissions.allow_ffi], [[], [], null]);
  assert(bundle.size > 40, String(bundle.size));
});

Deno.test("the bundle with the program's permissions answers its version, checks a manifest, writes a report and runs the demo", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await writeProgramSources(`${directory}/podfit`, bundle);
    const run = (args: readonly string[], stdin = "") => runBundle(directory, args, stdin);
    assertEquals(await run(["--version"]), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
    const lint = await run(["lint", "-f", "-"], QUICK_START);
    assertEquals([lint.code, lint.stderr], [0, "podfit: 1 autoscaler: 0 errors, 1 warning\n"]);
    await Deno.copyFile(new URL("../../../deploy/quickstart.yaml", import.meta.url), `${directory}/hello.yaml`);
    await Deno.writeTextFile(`${directory}/load.csv`, "seconds,cpu,memory\n0,100m,50Mi\n3600,200m,60Mi\n");
    const files = ["-f", "hello.yaml", "--load", "load.csv", "--html", "report.html"];
    const simulate = await run([
      "simulate",
      ...files,
      "--sweep",
      "cpu.requests.scaleUpThreshold=75,90",
      "--workers",
      "2",
    ]);
    assertEquals([simulate.code, simulate.stderr], [0, ""]);
    assertMatch(await Deno.readTextFile(`${directory}/report.html`), /^<!doctype html>/i);
    const demo = await run(["demo", "--seconds", "1"]);
    assertEquals(demo.code, 0, demo.stderr);
    assertStringIncludes(demo.stdout, "with podfit");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the archive of a program has it with its licences and an SBOM for its platform, the same bytes each time", async () => {
  const [linux, darwin] = [TARGETS[0], TARGETS[3]];
  assert(linux !== undefined && darwin !== undefined);
  const program = new TextEncoder().encode("program");
  const archive = await toArchive(program, darwin, COMMIT);
  assertEquals(archive, await toArchive(program, darwin, COMMIT));
  const files = readTar(new Uint8Array(gunzipSync(archive)));
  assertEquals(files.get("podfit"), program);
  const text = (path: string) => new TextDecoder().decode(files.get(path));
  assertMatch(text("LICENSE"), /Apache License/);
  const sbom = JSON.parse(text("sbom.spdx.json"));
  assertEquals(sbom.name, `podfit-${VERSION}-darwin-arm64`);
  for (const { name, versionInfo } of sbom.packages.slice(2)) {
    assert(files.has(`notices/npm-${name.replace("/", "-")}-${versionInfo}.txt`), `no licence of ${name}`);
  }
  assert(files.has("notices/deno.txt"));
  const other = await toArchive(program, linux, COMMIT);
  const name = (one: Uint8Array) =>
    JSON.parse(new TextDecoder().decode(readTar(new Uint8Array(gunzipSync(one))).get("sbom.spdx.json")))
      .documentNamespace;
  assert(name(archive) !== name(other));
});

async function runBundle(directory: string, args: readonly string[], stdin: string) {
  return await runWithInput(Deno.execPath(), {
    args: ["run", "-q", "--no-prompt", "--config", "podfit/deno.json", "-P=program", "podfit/main.js", ...args],
    cwd: directory,
    env: { DENO_DIR: `${directory}/cache`, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdin,
  });
}
