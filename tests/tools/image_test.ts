/** What `deno task image` puts into an image, and whether containerd and Docker can read the archive. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "#assert";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { findForbiddenPurpose } from "../../lib/units/address.ts";
import { type Image, writeArchive } from "../../tools/image/archive.ts";
import { bundlePodfit, hideLazyImports, toProgram, withoutNode, writeCommit } from "../../tools/image/bundle.ts";
import {
  COMMANDS,
  ENTRY_POINT,
  ENVIRONMENT,
  LABELS,
  LEFT_OUT,
  PERMISSIONS,
  USER,
  VERSION,
} from "../../tools/image/facts.ts";
import { writeFiles } from "../../tools/image/files.ts";
import { CONFIG, IMAGE_STEPS, readLayers, toImage } from "../../tools/image/image.ts";
import { listLibraries, readLibraries } from "../../tools/image/libraries.ts";
import { describeLicence, listReachedPackages } from "../../tools/image/notices.ts";
import { toSha256 } from "../../tools/image/pins.ts";
import { readTar, type TarEntry, withFolders, writeTar } from "../../tools/image/tar.ts";
import { warmCache } from "../../tools/image/warm_cache.ts";
import project from "../../deno.json" with { type: "json" };
import { readSources } from "../../tools/source_index.ts";
import { QUICK_START } from "../support/manifests.ts";
import { runWithInput } from "../support/podfit_process.ts";

const PROJECT = new URL("../../", import.meta.url).pathname;
const steps: string[] = [];
const layers = await readLayers({ onStep: (step) => steps.push(step) });
const files = layers.flatMap((layer) => layer.files);

Deno.test("each step of an image is told before it is done, so that the task can show how far it is", () => {
  assertEquals<readonly string[]>(["libraries", ...steps, "archive"], IMAGE_STEPS);
});

Deno.test("every file of the image stands in one of three layers, can be read by all and written by none, and has no setuid", () => {
  assertEquals(layers.map(({ comment }) => comment), [`Deno ${Deno.version.deno}`, "glibc and libgcc", "podfit"]);
  assertEquals(files.filter(({ mode }) => mode !== 0o755 && mode !== 0o644).map(({ path }) => path), []);
  const run = files.filter(({ path, mode }) => mode === 0o755 && !path.startsWith("lib")).map(({ path }) => path);
  assertEquals(run.sort(), ["podfit/deno", "podfit/podfit", "podfit/start.js"], "no shell, no other program");
  assertEquals(new Set(files.map(({ path }) => path.split("/")[0])), new Set(["podfit", "etc", "lib", "lib64"]));
});

Deno.test("podfit's layer is the same each time it is made, and names no folder of the machine that made it", async () => {
  const program = toProgram(await bundlePodfit());
  const again = [...program, ...await warmCache(program)];
  assert(again.length > 10);
  for (const { path, content } of again) {
    assertEquals(content, readContent(path), path);
    const text = new TextDecoder("latin1").decode(content ?? new Uint8Array());
    const named = [PROJECT, "/tmp/", "node_modules"].filter((folder) => text.includes(folder));
    assertEquals(named, [], path);
  }
});

Deno.test("a second build in another folder, with another umask and time zone, has the same files", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const sources = ["crds", "deploy/demo", "deno.json", "deno.lock", "lib", "LICENSE", "main.ts", "tools"];
    await execute("cp", ["-r", "--parents", ...sources, directory], PROJECT);
    const build = `umask 077 && exec "${Deno.execPath()}" run -q -P=dev tools/image/main.ts --unpinned --rootfs out`;
    await execute("sh", ["-c", build], directory, { TZ: "Asia/Tokyo" });
    for (const { path, content } of files) {
      assertEquals(
        toSha256(await Deno.readFile(`${directory}/out/${path}`)),
        toSha256(content ?? new Uint8Array()),
        path,
      );
    }
    const { stdout } = await new Deno.Command("find", { args: [`${directory}/out`, "-type", "f"] }).output();
    assertEquals(new TextDecoder().decode(stdout).trim().split("\n").length, files.length, "no other file");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("whatever podfit declares with `using` is put away in its image, too", async () => {
  const { texts } = await readSources(new URL(`file://${PROJECT}`));
  const sources = [...texts].flatMap(([path, text]) => isBundled(path) ? [text] : []);
  const count = (texts: readonly string[]) => texts.join("\n").match(/^ *(?:await )?using \w+ = /gm)?.length ?? 0;
  const bundle = await bundlePodfit();
  assert(count(sources) > 80);
  assertEquals(count([...bundle.values()]), count(sources));
});

/** Packages of tools, of tests and of the embedded cluster, as they are named in paths and in the comments of chunks. */
const LEFT_OUT_PACKAGES =
  /typescript-\d|fast-check|@peculiar.x509|@marcbachmann.cel-js|@cfworker.json-schema|reflect-metadata/;

Deno.test("the image has neither the demo nor the embedded cluster nor a package that only they need", () => {
  const chunks = files.filter(({ path }) => /^podfit\/[^/]+\.js$/.test(path)).map(({ path }) => path);
  const sources = chunks.flatMap((path) => readText(path).match(/^\/\/ (?:lib|.*\bnpm)\/\S+/gm) ?? []);
  assert(sources.length > 300, "the comments of chunks say which files they are made of");
  const leftOut = (source: string) =>
    LEFT_OUT_PACKAGES.test(source) || /lib\/(embedded|cli\/demo\/(?!options\.ts))/.test(source);
  assertEquals(sources.filter(leftOut), []);
  assertEquals(files.filter(({ path }) => /demo-|embedded/.test(path)).map(({ path }) => path), []);
});

Deno.test("the image has less than 44.0 MB compressed", async () => {
  const { compressedBytes } = await writeArchive(toImage(layers, { tag: "localhost/podfit:test" }));
  assert(compressedBytes < 44e6, `${compressedBytes} bytes`);
});

Deno.test("the image has the licences of podfit, Deno, the C libraries and each bundled package", () => {
  const notices = new Map(
    files.filter(({ path }) => path.startsWith("podfit/notices/")).map(({ path }) => [path.slice(15), readText(path)]),
  );
  assertMatch(notices.get("podfit.txt") ?? "", /Apache License/);
  assertMatch(notices.get("deno.txt") ?? "", /the Deno authors/);
  assertMatch(notices.get("glibc.txt") ?? "", /GNU C Library/);
  assertMatch(notices.get("LGPL-2.1.txt") ?? "", /LESSER GENERAL PUBLIC LICENSE/);
  assertMatch(notices.get("libgcc.txt") ?? "", /GCC RUNTIME LIBRARY EXCEPTION|Runtime Library Exception/);
  assertMatch(notices.get("GPL-3.txt") ?? "", /GENERAL PUBLIC LICENSE\s+Version 3/);
  const packages = [...notices.keys()].filter((name) => name.startsWith("npm-"));
  const bundled = ["commander", "hono", "yaml", "@logtape-logtape", "openapi-fetch", "valibot"];
  assertEquals(bundled.filter((name) => !packages.some((file) => file.startsWith(`npm-${name}-`))), []);
  assertEquals(packages.filter((name) => LEFT_OUT_PACKAGES.test(name)), [], "packages of tools, tests and the demo");
  assert(packages.length <= 8, packages.join());
  for (const [name, text] of notices) assert(/licen[cs]e|copyright|permission/i.test(text), name);
});

Deno.test("listReachedPackages() follows what packages need, and no package that nothing reaches", () => {
  const newPackage = (name: string, dependencies: readonly string[] = []) => {
    return { name, version: "1.0.0", dependencies, localPath: `/${name}` };
  };
  const npmPackages = {
    "a@1.0.0": newPackage("a", ["@s/b@1.0.0"]),
    "@s/b@1.0.0": newPackage("@s/b", ["a@1.0.0"]),
    "tool@1.0.0": newPackage("tool"),
    "demo@1.0.0": newPackage("demo"),
  };
  const toModule = (specifier: string, imports: Readonly<Record<string, string>> = {}) => {
    return {
      specifier,
      dependencies: Object.entries(imports).map(([specifier, target]) => ({ specifier, code: { specifier: target } })),
    };
  };
  const modules = [
    toModule("file:///main.ts", { "./lib/commands.ts": "file:///lib/commands.ts" }),
    toModule("file:///lib/commands.ts", { a: "npm:a@1", [LEFT_OUT]: "file:///lib/demo/demo.ts" }),
    toModule("npm:/a@1.0.0/part.js"),
    toModule("file:///lib/demo/demo.ts", { demo: "npm:/demo@1.0.0" }),
    toModule("npm:/demo@1.0.0"),
  ];
  const graph = { roots: ["file:///main.ts"], redirects: { "npm:a@1": "npm:/a@1.0.0/part.js" }, modules, npmPackages };
  assertEquals(listReachedPackages(graph).map(({ name }) => name), ["a", "@s/b"]);
  const without = { "a@1.0.0": npmPackages["a@1.0.0"] };
  assertThrows(() => listReachedPackages({ ...graph, npmPackages: without }), Error, '"@s/b@1.0.0"');
});

Deno.test("describeLicence() knows the words of MIT alone", () => {
  assertMatch(describeLicence({ name: "a", license: "MIT", author: { name: "Ann" } }), /MIT[^]*\(c\) Ann[^]*WARRANTY/);
  assertThrows(() => describeLicence({ name: "a", license: "GPL-3.0" }), Error, 'package "a": it says "GPL-3.0"');
});

Deno.test("podfit starts from the image's own files and libraries, checks a manifest, and says that it has no demo", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await writeFiles(directory, files);
    assertEquals(await run(directory, ["--version"]), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
    const lint = await run(directory, ["lint", "-f", "-"], QUICK_START);
    assertEquals([lint.code, lint.stderr], [0, "podfit: 1 autoscaler: 0 errors, 1 warning\n"]);
    const demo = await run(directory, ["demo", "--seconds", "1"]);
    assertEquals(demo, {
      code: 2,
      stdout: "",
      stderr: 'podfit: This build of podfit has no demo: run it from the source tree, "deno task demo"\n',
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the scripts lead from the entry point to Deno, which finds podfit and its permissions beside them", () => {
  assertEquals([CONFIG.Entrypoint, CONFIG.Cmd], [[ENTRY_POINT], ["run"]]);
  const lines = readText("podfit/podfit").split("\n");
  assertEquals(lines, ["#!/podfit/start.js", ""]);
  const [first, second, third] = readText("podfit/start.js").split("\n");
  assertEquals(first, "#!/podfit/deno -qP=daemon");
  assertEquals(second, `if (Deno.args[0] === "${ENTRY_POINT}") Deno.args.shift();`);
  assertEquals(third, 'await import("./main.js");');
  assertEquals(JSON.parse(readText("podfit/deno.json")), {
    lock: false,
    nodeModulesDir: "none",
    permissions: PERMISSIONS,
  });
});

Deno.test("no permission set of the image writes, and a program may be run for exec plug-ins alone", () => {
  for (const [name, set] of Object.entries(PERMISSIONS)) {
    const kinds = Object.keys(set).filter((kind) => kind !== "env" && kind !== "read" && kind !== "net");
    assertEquals(kinds, name === "exec" ? ["run"] : [], name);
    assertEquals(
      set.read.filter((path) => !/^\/(var\/run\/secrets|run\/secrets|etc\/podfit|host\/cgroup|podfit)$/.test(path)),
      [],
    );
  }
  // The command line says where to: "--allow-net" names the API server, the node's kubelet and the listener.
  assertEquals(["node-local", "sidecar"].filter((name) => "net" in PERMISSIONS[name as "sidecar"]), []);
  assert(!PERMISSIONS.central.read.includes("/host/cgroup"));
  const { deny } = PERMISSIONS.daemon.net;
  const denied = deny.map((one) => one.replace(/^\[|\]$|\/.*/g, ""));
  assertEquals(denied.filter((address) => findForbiddenPurpose(address) === null), []);
  // The runtime compares mapped addresses as IPv4. It has no ranges of IPv6, so each translated address is named.
  const services = ["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"];
  const translated = services.flatMap((address) => [`64:ff9b::${address}`, `::${address}`]);
  const needed = [...translated, "fd00:ec2::254", "fd20:ce::254"].map((address) =>
    new URL(`http://[${address}]`).hostname
  );
  assertEquals([...needed, "169.254.0.0/16", ...services.slice(1)].filter((one) => !deny.includes(one)), []);
  for (const set of ["daemon", "start", "exec"] as const) assertEquals(project.permissions[set].net.deny, deny, set);
});

Deno.test("the command of each mode runs a program of the image by a set of its permissions, and says where to it may connect", () => {
  for (const [name, [program = "", ...args]] of Object.entries(COMMANDS)) {
    for (const path of [program, args.at(-1) ?? ""]) assert(readContent(path.slice(1)).length > 0);
    const set = PERMISSIONS[name as keyof typeof COMMANDS];
    assert(args.includes(`-P=${name}`), name);
    assertEquals(args.some((arg) => arg.startsWith("--allow-net=")), !("net" in set), name);
  }
  const [net = ""] = COMMANDS["node-local"].filter((arg) => arg.startsWith("--allow-net="));
  const api = "$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)";
  assertEquals(net, `--allow-net=${api},0.0.0.0:8080,0.0.0.0:8081,$(NODE_IP):10250`);
});

Deno.test("Deno's cache in the image knows what a start loads, by the paths of the image, and nothing that it does not", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await writeFiles(directory, files.filter(({ path }) => path.startsWith("podfit/cache/")));
    const cache = `${directory}/podfit/cache`;
    const analysed = readKeys(`${cache}/dep_analysis_cache_v2`, "moduleinfocache");
    assert(analysed.includes("file:///podfit/start.js") && analysed.includes("file:///podfit/main.js"));
    const chunks = files.map(({ path }) => path).filter((path) => /^podfit\/[^/]+\.js$/.test(path));
    assertEquals(analysed.filter((key) => !chunks.includes(key.replace("file:///", ""))), []);
    assertEquals(analysed.filter((key) => /demo|lint|kubeconfig/.test(key)), []);
    // The daemon, which is loaded after the start.
    const holding = chunks.filter((path) => new TextDecoder().decode(readContent(path)).includes(DAEMON_FILE));
    assertEquals(holding.map((path) => analysed.includes(`file:///${path}`)), [true]);
    const compiled = readKeys(`${cache}/v8_code_cache_v2`, "codecache");
    assert(compiled.length > 60, `${compiled.length}`);
    assertEquals(compiled.filter((key) => !/^(ext|node):/.test(key)), []);
    assertEquals(readContent("podfit/cache/v8_code_cache_v2-wal"), new Uint8Array());
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the bundle has the given commit at the one place that the metric reads, and no other text changes", async () => {
  const bundle = await bundlePodfit();
  const commit = "0123456789abcdef0123456789abcdef01234567";
  const [before, after] = [bundle, writeCommit(bundle, commit)].map((one) => [...one.values()].join("\n"));
  assertEquals(after, before?.replace('COMMIT = "unknown"', `COMMIT = "${commit}"`));
  assertEquals(after?.split(commit).length, 2);
  assertThrows(() => writeCommit(bundle, 'x"; boom'), Error, "it is not a hash of Git");
  assertThrows(() => writeCommit(new Map(), commit), Error, "0 places");
});

/** The bundler names each file above its code. */
const DAEMON_FILE = "\n// lib/daemon/daemon.ts\n";

Deno.test("withoutNode() replaces commander's modules of Node alone, and refuses others that it may import one day", () => {
  const imports = ["childProcess", "path", "fs", "process"].map((name) => {
    return `import ${name} from "node:${name === "childProcess" ? "child_process" : name}";\n`;
  });
  const text = ["// npm/commander/lib/command.js\n", ...imports, "class Command {}\n"].join("");
  const rest = withoutNode(text);
  assertEquals(rest.includes('from "node:'), false);
  assert(rest.endsWith("class Command {}\n") && rest.includes("var childProcess, path, fs;"), rest);
  assertThrows(() => withoutNode(`${text}import os from "node:os";\n`), Error, "other imports of Node");
  const own = 'import { join } from "node:path";\n';
  assertEquals(withoutNode(own), own);
});

Deno.test("hideLazyImports() hides what an import() names, and no other import", () => {
  const text = 'import"./a.js";const b=()=>import("./b.js"),c=import("npm:c");export*from"./d.js";';
  const hidden = 'import"./a.js";const b=()=>import(String("./b.js")),c=import("npm:c");export*from"./d.js";';
  assertEquals(hideLazyImports(text), hidden);
});

Deno.test("the Dockerfile says the same of its image as the tool does", async () => {
  const text = (await Deno.readTextFile(`${PROJECT}Dockerfile`)).replaceAll(/ *\\\n */g, " ");
  const stage = /^FROM scratch AS image$([^]*?)^FROM /m.exec(text)?.[1] ?? "";
  const lineOf = (word: string) => new RegExp(`^${word} (.*)$`, "m").exec(stage)?.[1] ?? "";
  const pairsOf = (word: string) =>
    Object.fromEntries(
      [...lineOf(word).matchAll(/(\S+?)=(?:"([^"]*)"|(\S+))/g)].map(([, name, a, b]) => [name, a ?? b]),
    );
  assertEquals(pairsOf("ENV"), { ...ENVIRONMENT });
  assertEquals(pairsOf("LABEL"), { ...LABELS });
  assertEquals([lineOf("USER"), lineOf("WORKDIR")], [USER, CONFIG.WorkingDir]);
  assertEquals([`${lineOf("EXPOSE")}/tcp`], Object.keys(CONFIG.ExposedPorts));
  assertEquals(JSON.parse(lineOf("ENTRYPOINT")), CONFIG.Entrypoint);
  assertEquals(JSON.parse(lineOf("CMD")), CONFIG.Cmd);
  assertEquals(/^(SHELL|VOLUME) /m.test(text), false);
  assertMatch(text, /^FROM image\nCOPY --from=build \/rootfs \/\n*$/m, "the last stage is what is built by default");
  assertMatch(
    text,
    /tools\/image\/fetch\.ts \/libraries .* tools\/image\/main\.ts --libraries \/libraries --rootfs \/rootfs --commit="\$COMMIT"$/m,
  );
  const build = project.tasks.build.replace("--outdir dist", "--outdir bundle").replace("bundle", "bundle --frozen");
  assert(text.includes(build) && build.includes(` --external ${LEFT_OUT} `), build);
});

const SMALL: Image = {
  ...toImage([
    { comment: "one", files: [{ path: "a/b", mode: 0o755, content: new TextEncoder().encode("hello") }] },
    { comment: "two", files: [{ path: "c", mode: 0o644, content: new Uint8Array() }] },
  ], { tag: "localhost/podfit:test" }),
};

Deno.test("the archive is an OCI layout whose digests are right, and a docker-save archive of the same blobs", async () => {
  const { content, digest, compressedBytes } = await writeArchive(SMALL);
  const archive = readTar(content);
  const json = (path: string) => JSON.parse(new TextDecoder().decode(archive.get(path)));
  assertEquals(json("oci-layout"), { imageLayoutVersion: "1.0.0" });
  const [entry] = json("index.json").manifests;
  assertEquals(entry.digest, digest);
  assertEquals(entry.annotations["io.containerd.image.name"], "localhost/podfit:test");
  const manifest = json(`blobs/${digest.replace(":", "/")}`);
  assertEquals(manifest.layers.length, 2);
  for (const { digest, size } of [entry, manifest.config, ...manifest.layers]) {
    const blob = archive.get(`blobs/${digest.replace(":", "/")}`) ?? new Uint8Array();
    assertEquals([blob.length, await toDigest(blob)], [size, digest]);
  }
  const paths = [manifest.config, ...manifest.layers].map((one) => `blobs/${one.digest.replace(":", "/")}`);
  assertEquals(json("manifest.json"), [
    { Config: paths[0], RepoTags: ["localhost/podfit:test"], Layers: paths.slice(1) },
  ]);
  assertEquals(compressedBytes, manifest.layers[0].size + manifest.layers[1].size);
  const config = json(paths[0] ?? "");
  assertEquals(config.config, { ...CONFIG });
  assertEquals([config.os, config.architecture], ["linux", SMALL.architecture]);
  const tars = paths.slice(1).map((path) => gunzipSync(archive.get(path) ?? new Uint8Array()));
  assertEquals(config.rootfs.diff_ids, await Promise.all(tars.map((tar) => toDigest(new Uint8Array(tar)))));
  assertEquals([...readTar(new Uint8Array(tars[0] ?? [])).keys()], ["a/", "a/b"]);
});

Deno.test("the same files give the same digest in whatever order, and another byte gives another", async () => {
  const { digest } = await writeArchive(SMALL);
  const [one, two] = SMALL.layers;
  assert(one !== undefined && two !== undefined);
  const file = { path: "a/a", mode: 0o644, content: new Uint8Array() };
  const both = { ...SMALL, layers: [{ ...one, files: [...one.files, file] }, two] };
  const turned = { ...SMALL, layers: [{ ...one, files: [file, ...one.files] }, two] };
  assertEquals((await writeArchive(SMALL)).digest, digest);
  assertEquals((await writeArchive(both)).digest, (await writeArchive(turned)).digest);
  assert((await writeArchive(both)).digest !== digest);
});

Deno.test("writeTar() writes what tar reads: names of any length that fit, modes, root, no time", async () => {
  const long = `${"d".repeat(90)}/${"f".repeat(60)}`;
  const entries = withFolders([
    { path: long, mode: 0o644, content: new TextEncoder().encode("long") },
    { path: "run", mode: 0o755, content: new Uint8Array(513) },
  ]);
  const path = await Deno.makeTempFile({ suffix: ".tar" });
  try {
    await Deno.writeFile(path, writeTar(entries));
    const env = { TZ: "UTC", LC_ALL: "C" };
    const { code, stdout } = await new Deno.Command("tar", { args: ["tvf", path, "--numeric-owner"], env }).output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.replaceAll(/ +/g, " "));
    assertEquals([code, lines], [0, [
      `drwxr-xr-x 0/0 0 1970-01-01 00:00 ${"d".repeat(90)}/`,
      `-rw-r--r-- 0/0 4 1970-01-01 00:00 ${long}`,
      "-rwxr-xr-x 0/0 513 1970-01-01 00:00 run",
    ]]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("writeTar() refuses a path that tar has no room for, and one that is there twice", () => {
  const at = (path: string): TarEntry => ({ path, mode: 0o644, content: null });
  for (const path of ["x".repeat(101), `${"x".repeat(200)}/y`, "ä"]) {
    assertThrows(() => writeTar([at(path)]), Error, path);
  }
  assertThrows(() => writeTar([at("a"), at("a")]), Error, '"a": the path is given twice');
});

Deno.test("listLibraries() reads what ldd prints, and refuses a program that lacks a library", async () => {
  const ldd =
    "\tlinux-vdso.so.1 (0x00007f)\n\tlibm.so.6 => /lib/x/libm.so.6 (0x00007f)\n\t/lib64/ld-linux.so.2 (0x00007f)\n";
  assertEquals(listLibraries(ldd), ["/lib/x/libm.so.6", "/lib64/ld-linux.so.2"]);
  assertThrows(() => listLibraries("\tlibx.so => not found\n"), Error, '"libx.so"');
  await assertRejects(() => readLibraries(`${PROJECT}deno.json`), Error, "deno.json");
});

async function execute(program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const { success, stderr } = await new Deno.Command(program, { args: [...args], cwd, env }).output();
  assert(success, new TextDecoder().decode(stderr));
}

/** A file of lib that is bundled: not the demo, nor the embedded cluster. */
function isBundled(path: string): boolean {
  return path.startsWith("lib/") && !path.startsWith("lib/embedded/") && !path.startsWith("lib/cli/demo/");
}

function readContent(path: string): Uint8Array {
  const found = files.find((file) => file.path === path)?.content;
  assert(found, `${path} is not in the image`);
  return found;
}

function readText(path: string): string {
  return new TextDecoder().decode(readContent(path));
}

/** By the image's loader and its libraries, from another folder than the image's: that one may be read, too. */
async function run(directory: string, args: readonly string[], stdin = "") {
  const libraries = files.filter(({ path }) => path.startsWith("lib")).map(({ path }) => path);
  const loader = libraries.find((path) => /\/ld-linux/.test(path)) ?? "";
  const folders = new Set(libraries.map((path) => `${directory}/${path.slice(0, path.lastIndexOf("/"))}`));
  return await runWithInput(`${directory}/${loader}`, {
    args: [
      "--library-path",
      [...folders].join(":"),
      `${directory}/podfit/deno`,
      "run",
      "-q",
      "--no-prompt",
      "-P=daemon",
      `--allow-read=${directory}`,
      `${directory}/podfit/start.js`,
      ...args,
    ],
    env: { ...ENVIRONMENT },
    stdin,
  });
}

function readKeys(path: string, table: string): readonly string[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare(`SELECT specifier FROM ${table}`).all().map((row) => String(row["specifier"]));
}

async function toDigest(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex()}`;
}
