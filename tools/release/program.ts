/**
 * podfit as one program for each platform, by `deno compile`, in an archive with its licences and its SBOM. It is bundled
 * first, because otherwise all files of all packages would be in it. Unlike the image it has the demo.
 */
import { gzipSync } from "node:zlib";
import project from "../../deno.json" with { type: "json" };
import { type Bundle, bundleProgram } from "../image/bundle.ts";
import { listPackages, readNotices } from "../image/notices.ts";
import { readIntegrities, toSbom } from "../image/sbom.ts";
import { type TarEntry, withFolders, writeTar } from "../image/tar.ts";
import { PROJECT, type Target } from "./facts.ts";

const V8_FLAGS = /--v8-flags=\S+/.exec(project.tasks.start)?.[0] ?? "";

/** What `deno compile` gets, in the folder of the bundle and its deno.json. */
export function toCompileArgs({ triple }: Pick<Target, "triple">, output: string): readonly string[] {
  return [
    "compile",
    "--quiet",
    "--config=deno.json",
    "--no-check",
    "--no-prompt",
    "-P=program",
    V8_FLAGS,
    `--target=${triple}`,
    // Workers and commands are loaded on request, and a worker is found only if its file is named.
    "--include=.",
    "--exclude=deno.json",
    `--output=${output}`,
    "main.js",
  ];
}

/** The deno.json next to the bundle: the permissions of the program, and nothing else. */
export function toProgramConfig(): string {
  const { program } = project.permissions;
  return `${JSON.stringify({ lock: false, nodeModulesDir: "none", permissions: { program } }, null, 2)}\n`;
}

export async function writeProgramSources(directory: string, bundle: Bundle): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  for (const [name, text] of bundle) await Deno.writeTextFile(`${directory}/${name}`, text);
  await Deno.writeTextFile(`${directory}/deno.json`, toProgramConfig());
}

export interface CompileOptions {
  readonly target: Target;
  readonly commit?: string | undefined;
  /**
   * A program in place of the runtime that `deno compile` fetches, for a dry run without a network. What comes out has
   * everything embedded, and does not run.
   */
  readonly runtime?: string | undefined;
}

/** Resolves to the program. Rejects with Deno's own words where it cannot compile. */
export async function compileProgram({ target, commit, runtime }: CompileOptions): Promise<Uint8Array> {
  const stage = await Deno.makeTempDir();
  try {
    await writeProgramSources(`${stage}/podfit`, await bundleProgram(commit));
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...toCompileArgs(target, `${stage}/program`)],
      cwd: `${stage}/podfit`,
      env: { DENO_NO_UPDATE_CHECK: "1", ...(runtime === undefined ? {} : { DENORT_BIN: runtime }) },
    }).output();
    if (!success) throw new Error(`Cannot compile for ${target.triple}: ${new TextDecoder().decode(stderr).trim()}`);
    return await Deno.readFile(`${stage}/program`);
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

/** The archive that people download: the program, its licences, its SBOM. The same files give the same bytes. */
export async function toArchive(
  program: Uint8Array,
  { os, architecture }: Target,
  commit?: string,
): Promise<Uint8Array> {
  const packages = await listPackages(null);
  const sbom = toSbom({
    commit,
    os,
    architecture,
    pins: null,
    files: [],
    packages,
    integrities: await readIntegrities(),
  });
  const encoder = new TextEncoder();
  const files: readonly TarEntry[] = [
    { path: "podfit", mode: 0o755, content: program },
    { path: "LICENSE", mode: 0o644, content: await Deno.readFile(`${PROJECT}LICENSE`) },
    { path: "sbom.spdx.json", mode: 0o644, content: encoder.encode(sbom) },
    ...(await readNotices(packages)).map((file) => ({ ...file, path: file.path.replace("podfit/", "") })),
  ];
  return new Uint8Array(gzipSync(writeTar(withFolders(files)), { level: 9 }));
}
