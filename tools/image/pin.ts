// deno-lint-ignore-file no-console
/**
 * `deno task image:pin`: writes tools/image/pins.json for the Deno of .dvmrc and the newest packages of one release of
 * Debian. Needs npm, apt-get, dpkg-deb and the network. apt-get checks Debian's signatures, npm the integrity of its
 * packages.
 */
import { type Architecture, PINS, type Pins, toSha256, toSnapshot } from "./pins.ts";

const TARGET = new URL("./pins.json", import.meta.url);
/** The names of each architecture: on npm, in the paths of Debian, and of the loader. */
const NAMES = {
  amd64: { npm: "linux-x64-glibc", folder: "x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  arm64: { npm: "linux-arm64-glibc", folder: "aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" },
} as const;

/** By package: which of its files the image has. `from` where the package keeps it elsewhere. */
function listFiles(architecture: Architecture): Readonly<Record<string, readonly { path: string; from: string }[]>> {
  const { folder, loader } = NAMES[architecture];
  const library = (name: string) => ({ path: `lib/${folder}/${name}`, from: `lib/${folder}/${name}` });
  const notice = (name: string, from: string) => ({ path: `podfit/notices/${name}`, from: `usr/share/${from}` });
  const libraries = ["libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0"];
  return {
    libc6: [
      // Its place in the image is that which the runtime names. In the package that is a link.
      { path: loader, from: `lib/${folder}/${loader.split("/").at(-1)}` },
      // The runtime for arm64 does not need librt.
      ...(architecture === "amd64" ? [...libraries, "librt.so.1"] : libraries).map(library),
      notice("glibc.txt", "doc/libc6/copyright"),
    ],
    "libgcc-s1": [library("libgcc_s.so.1")],
    "gcc-12-base": [notice("libgcc.txt", "doc/gcc-12-base/copyright")],
    "base-files": ["GPL-2", "GPL-3", "LGPL-2.1"].map((name) => notice(`${name}.txt`, `common-licenses/${name}`)),
  };
}

async function pin(architecture: Architecture, stage: string): Promise<Pins> {
  const version = (await Deno.readTextFile(new URL("../../.dvmrc", import.meta.url))).trim();
  return { runtime: await pinRuntime(architecture, version, stage), ...await pinPackages(architecture, stage) };
}

async function pinRuntime(architecture: Architecture, version: string, stage: string): Promise<Pins["runtime"]> {
  const name = `@deno/${NAMES[architecture].npm}`;
  const [packed] = JSON.parse(await run("npm", ["pack", "--json", `${name}@${version}`], stage));
  await run("tar", ["-xzf", packed.filename], stage);
  const sha256 = toSha256(await Deno.readFile(`${stage}/package/deno`));
  return { package: name, version, integrity: packed.integrity, sha256 };
}

async function pinPackages(architecture: Architecture, stage: string): Promise<Omit<Pins, "runtime">> {
  await Promise.all(
    ["lists/partial", "cache/archives/partial", "root"].map((folder) =>
      Deno.mkdir(`${stage}/${folder}`, { recursive: true })
    ),
  );
  await Deno.writeTextFile(`${stage}/sources.list`, `deb http://deb.debian.org/debian ${PINS.debian} main\n`);
  const settings = {
    "APT::Architecture": architecture,
    "APT::Architectures::": architecture,
    "APT::Sandbox::User": "root",
    "Dir::Etc::sourcelist": `${stage}/sources.list`,
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": `${stage}/lists`,
    "Dir::State::status": "/dev/null",
    "Dir::Cache": `${stage}/cache`,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await run("apt-get", [...options, "update"], stage);
  const wanted = listFiles(architecture);
  const packages: Pins["packages"][number][] = [];
  const files: Pins["files"][number][] = [];
  for (const [name, contents] of Object.entries(wanted)) {
    const printed = await run("apt-get", [...options, "download", "--print-uris", name], stage);
    const [, uri = "", archive = "", sha256 = ""] = /^'([^']+)' (\S+) \d+ SHA256:(\w+)/m.exec(printed) ?? [];
    await run("apt-get", [...options, "download", name], stage);
    if (toSha256(await Deno.readFile(`${stage}/${archive}`)) !== sha256) throw new Error(`Cannot trust "${uri}"`);
    await run("dpkg-deb", ["-x", archive, "root"], stage);
    const version = decodeURIComponent(archive.split("_")[1] ?? "");
    packages.push({ name, version, path: uri.replace(/^.*?\/debian\//, ""), sha256 });
    for (const { path, from } of contents) {
      files.push({ path, from, package: name, sha256: toSha256(await Deno.readFile(`${stage}/root/${from}`)) });
    }
  }
  return { packages, files };
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd }).output();
  if (!success) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout);
}

async function main(): Promise<void> {
  const snapshot = toSnapshot(Date.now());
  const pins: Partial<Record<Architecture, Pins>> = {};
  for (const architecture of ["amd64", "arm64"] as const) {
    const stage = await Deno.makeTempDir();
    try {
      pins[architecture] = await pin(architecture, stage);
    } finally {
      await Deno.remove(stage, { recursive: true });
    }
  }
  await Deno.writeTextFile(TARGET, `${JSON.stringify({ debian: PINS.debian, snapshot, ...pins }, null, 2)}\n`);
  console.log(TARGET.pathname);
}

if (import.meta.main) await main();
