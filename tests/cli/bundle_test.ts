/** What ships: the bundle starts without this source tree, is the version it says, and has no demo. */
import { assert, assertEquals } from "#assert";
import { VERSION } from "../../lib/cli/command/process.ts";
import { bundlePodfit } from "../../tools/image/bundle.ts";
import { readSources } from "../../tools/source_index.ts";
import { QUICK_START } from "../support/manifests.ts";
import { autoscaler, DEPLOYMENT, STEP } from "./simulate/files.ts";

/** Texts that only lint and simulate have. */
const COMMANDS = ["only the last one counts", "podfit sweep"];
/** Where the bundler names a file that is loaded once podfit listens. */
const AFTER_START = [
  "\n// lib/daemon/daemon.ts\n",
  "\n// lib/vertical/decide.ts\n",
  "\n// lib/cli/run/open_source.ts\n",
];
/** All modules of Node that a start loads: commander needs them. */
const NODE_MODULES = ["node:events", "node:util"];
/** Texts that only the demo and the embedded cluster have. */
const LEFT_OUT = ["podfit demo: three workloads", "https://embedded.cluster"];

Deno.test("the bundle runs by itself, prints its version, checks manifests, and says that it has no demo", async () => {
  await using bundle = await writeBundle();
  const run = (permissions: readonly string[], ...args: readonly string[]) =>
    deno(["run", "--no-config", "--no-remote", "--no-npm", ...permissions, bundle.main, ...args], bundle.directory);
  const ran = await run(["--allow-env"], "--version");
  assertEquals([ran.code, ran.stdout], [0, `${VERSION}\n`], ran.stderr);
  await Deno.writeTextFile(`${bundle.directory}/pra.yaml`, QUICK_START);
  const linted = await run(["--allow-env", "--allow-read"], "lint", "-f", "pra.yaml");
  assertEquals([linted.code, linted.stderr], [0, "podfit: 1 autoscaler: 0 errors, 1 warning\n"]);
  const reading = `--allow-read=${bundle.directory}`;
  const shown = await run(["--allow-env", "--allow-net=127.0.0.1", reading], "demo", "--seconds", "3");
  assertEquals(shown, {
    code: 2,
    stdout: "",
    stderr: 'podfit: This build of podfit has no demo: run it from the source tree, "deno task demo"\n',
  });
});

Deno.test("the bundle simulates, and sweeps in workers that are in it", async () => {
  await using bundle = await writeBundle();
  await Deno.writeTextFile(`${bundle.directory}/web.yaml`, `${DEPLOYMENT}---\n${autoscaler("profile: balanced")}`);
  await Deno.writeTextFile(`${bundle.directory}/step.csv`, STEP);
  const run = ["run", "--no-config", "--no-remote", "--no-npm", "--allow-env", `--allow-read=${bundle.directory}`];
  const args = ["simulate", "-f", "web.yaml", "--load", "step.csv", "--hours", "0.2", "-o", "json"];
  const sweeps = await Promise.all(["1", "2"].map(async (workers) => {
    const sweep = ["--workers", workers, "--sweep", "profile=latency,thrifty"];
    const { code, stdout, stderr } = await deno([...run, bundle.main, ...args, ...sweep], bundle.directory);
    // A worker that is not found is told of.
    assertEquals([code, stderr], [0, ""]);
    return JSON.parse(stdout).sweep;
  }));
  assertEquals(sweeps[0].length, 3);
  assertEquals(sweeps[0], sweeps[1]);
});

Deno.test("the bundle has neither demo nor embedded cluster, and the daemon's start reads neither lint nor simulate nor the YAML parser nor the daemon", async () => {
  await using bundle = await writeBundle();
  const { code, stdout, stderr } = await deno(["info", "--no-config", "--json", bundle.main], bundle.directory);
  assertEquals(code, 0, stderr);
  const modules: readonly { readonly specifier: string }[] = JSON.parse(stdout).modules;
  const loaded = modules.map(({ specifier }) => specifier.split("/").at(-1) ?? "");
  assert(loaded.includes("main.js"));
  const left = [...bundle.texts.keys()].filter((name) => !loaded.includes(name));
  assertEquals(["lint", "parse_kubeconfig"].filter((name) => !left.some((one) => one.startsWith(name))), []);
  const sources = await readLib();
  for (const text of LEFT_OUT) {
    assert(sources.includes(text), text);
    assertEquals([...bundle.texts.values()].filter((chunk) => chunk.includes(text)).length, 0, text);
  }
  const read = [...bundle.texts].flatMap(([name, chunk]) => loaded.includes(name) ? [chunk] : []).join("\n");
  const ofNode = [...read.matchAll(/^import .* from "(node:[^"]+)";$/gm)].map(([, name]) => name);
  assertEquals([...new Set(ofNode)].sort(), NODE_MODULES);
  for (const text of [...COMMANDS, ...AFTER_START]) {
    const holding = [...bundle.texts].filter(([, chunk]) => chunk.includes(text)).map(([name]) => name);
    assert(holding.length > 0, text);
    assertEquals(holding.filter((name) => loaded.includes(name)), [], text);
  }
});

/** All sources of lib, as one text. */
async function readLib(): Promise<string> {
  const { texts } = await readSources(new URL("../../", import.meta.url));
  return [...texts].flatMap(([path, text]) => path.startsWith("lib/") ? [text] : []).join("\n");
}

async function writeBundle() {
  const texts = await bundlePodfit();
  const directory = await Deno.makeTempDir();
  for (const [name, text] of texts) await Deno.writeTextFile(`${directory}/${name}`, text);
  const remove = () => Deno.remove(directory, { recursive: true });
  return { texts, directory, main: `${directory}/main.js`, [Symbol.asyncDispose]: remove };
}

async function deno(args: readonly string[], cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  // Deno's own look for a newer Deno loads the public roots into the process.
  const env = { DENO_NO_UPDATE_CHECK: "1" };
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd, env }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
