/** podfit's own files in the image: the bundle in chunks, the scripts that start it, the permissions. */
import { LEFT_OUT, PERMISSIONS, SCRIPTS } from "./facts.ts";
import type { TarEntry } from "./tar.ts";

const PROJECT = new URL("../../", import.meta.url).pathname;

/** The chunks by file name; main.js is the first to load. */
export type Bundle = ReadonlyMap<string, string>;

/**
 * For a browser: packages come then as modules that need no createRequire of Node, which costs memory and time. Not
 * minified: Deno's esbuild drops what a `using` declaration puts away (https://github.com/evanw/esbuild/issues/4482),
 * and a stack trace names its functions.
 */
export async function bundlePodfit(commit?: string): Promise<Bundle> {
  const bundle = await runBundle(["--external", LEFT_OUT]);
  const hidden = new Map(Array.from(bundle, ([name, text]) => [name, hideLazyImports(text)]));
  return commit === undefined ? hidden : writeCommit(hidden, commit);
}

/** The same with the demo, for a program of `deno compile`, which has to find each chunk by the name in its import(). */
export async function bundleProgram(commit?: string): Promise<Bundle> {
  const bundle = await runBundle([]);
  return commit === undefined ? bundle : writeCommit(bundle, commit);
}

async function runBundle(options: readonly string[]): Promise<Bundle> {
  const directory = await Deno.makeTempDir();
  try {
    const args = ["bundle", "--quiet", "--frozen", "--platform", "browser", "--code-splitting"];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...args, ...options, "--outdir", directory, "main.ts"],
      cwd: PROJECT,
    }).output();
    if (!success) throw new Error(`Cannot bundle podfit: ${new TextDecoder().decode(stderr).trim()}`);
    const names = (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).sort();
    const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${directory}/${name}`)));
    return toStableNames(new Map(names.map((name, index) => [name, withoutNode(hideCache(texts[index] ?? ""))])));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The bundler names each file above its code. That of a package is in the cache of this machine. */
function hideCache(text: string): string {
  return text.replace(/^\/\/ (?:\S*\/)?npm\/(?=registry\.npmjs\.org\/)/gm, "// npm/");
}

/**
 * commander imports four modules of Node for what podfit never asks it for: subcommands that are programs of their own,
 * and the arguments of the process. To load them takes a fifth of a start. Its output and its look for colors find the
 * global `process` when they need it. Throws if commander imports something else.
 */
export function withoutNode(text: string): string {
  if (!text.includes("commander/")) return text;
  const rest = text.replace(COMMANDER_IMPORTS, COMMANDER_STUBS);
  if (/^import \w+ from "node:/m.test(rest)) {
    throw new Error("Cannot bundle podfit: commander has other imports of Node");
  }
  return rest;
}

const COMMANDER_IMPORTS = ["child_process", "path", "fs", "process"].map((name) => {
  return `import ${name === "child_process" ? "childProcess" : name} from "node:${name}";\n`;
}).join("");

const COMMANDER_STUBS = `var childProcess, path, fs;
var process = new Proxy({}, { get: (_, name) => globalThis.process[name] });
`;

/**
 * The bundler puts a hash into the name of a chunk, and it depends on the folder of the cache. Here a chunk has a number
 * in its place: that of its first use, from the entry on.
 */
export function toStableNames(bundle: Bundle): Bundle {
  const hashed = /\b([\w.]+)-[A-Z0-9]{8}\.js\b/g;
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const queue = [...bundle.keys()].filter((name) => !new RegExp(hashed.source).test(name));
  for (const name of queue) {
    for (const [found, base = ""] of (bundle.get(name) ?? "").matchAll(hashed)) {
      if (names.has(found) || !bundle.has(found)) continue;
      const number = counts.get(base) ?? 0;
      counts.set(base, number + 1);
      names.set(found, `${base}-${number}.js`);
      queue.push(found);
    }
  }
  const rename = (text: string) => text.replace(hashed, (found) => names.get(found) ?? found);
  return new Map(
    queue.map((name) => [rename(name), rename(bundle.get(name) ?? "")] as const).toSorted(([a], [b]) => a < b ? -1 : 1),
  );
}

/**
 * Deno reads and parses each chunk that an import() names by a plain string, long before it is asked for: the demo's
 * costs each start 24 MiB and 90 ms. The name behind a call it does not see. The name of what was left out is hidden,
 * too.
 */
export function hideLazyImports(text: string): string {
  return text.replaceAll(/\bimport\(("\.\/[^"]+\.[jt]s")\)/g, "import(String($1))");
}

/**
 * Returns the bundle with the commit of the build in place of "unknown" (lib/cli/command/process.ts). Throws if the
 * commit is not a hash of Git, or if the bundle does not have this constant exactly once.
 */
export function writeCommit(bundle: Bundle, commit: string): Bundle {
  if (!/^[0-9a-f]{7,64}$/.test(commit)) throw new Error(`Cannot use commit "${commit}": it is not a hash of Git`);
  const places = [...bundle.values()].reduce((sum, text) => sum + [...text.matchAll(NO_COMMIT)].length, 0);
  if (places !== 1) throw new Error(`Cannot write the commit: the bundle has ${places} places for it, not 1`);
  return new Map(Array.from(bundle, ([name, text]) => [name, text.replace(NO_COMMIT, `COMMIT = "${commit}"`)]));
}

const NO_COMMIT = /\bCOMMIT = "unknown"/g;

export function toProgram(bundle: Bundle): readonly TarEntry[] {
  const encoder = new TextEncoder();
  const config = JSON.stringify({ lock: false, nodeModulesDir: "none", permissions: PERMISSIONS }, null, 2);
  const texts = [
    ...[...bundle].map(([name, text]) => [`podfit/${name}`, text] as const),
    ["podfit/deno.json", `${config}\n`] as const,
  ];
  return [
    ...texts.map(([path, text]) => ({ path, mode: 0o644, content: encoder.encode(text) })),
    ...Object.entries(SCRIPTS).map(([path, text]) => ({ path, mode: 0o755, content: encoder.encode(text) })),
  ];
}
