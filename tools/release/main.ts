// deno-lint-ignore-file no-console
/**
 * `deno task release [STEP]... [--dry-run] [OPTIONS]`: the steps of a release, which .github/workflows/release.yml calls.
 * Without a step it does all of them in this order:
 *   check      do tag, versions and CHANGELOG.md agree? Writes notes.md
 *   image      the image of this machine's architecture, with its SBOM
 *   programs   podfit for Linux and macOS on both architectures
 *   index      one image out of those of both architectures
 *   chart      the chart and the manifests, with the image's digest. Needs helm
 *   metadata   krew's manifest, Homebrew's formula, SHA256SUMS
 *   publish    to the registry, and a draft on GitHub. Needs skopeo, cosign, helm and gh, logged in
 *   open       makes the draft public
 *
 * --dry-run publishes nothing and fetches no runtime: it compiles for this machine alone, with Deno in place of the
 * runtime, takes one architecture where there is no other, and prints the commands of the rest.
 * --dist DIRECTORY     where files go (dist/release)
 * --tag vVERSION       the tag that is released
 * --commit HASH        the commit of the sources
 * --repository NAME    OWNER/NAME on GitHub ($GITHUB_REPOSITORY, or podfit/podfit)
 * --registry HOST      of images and charts (ghcr.io)
 */
import { parseArgs } from "node:util";
import { readPath } from "../../tests/e2e/support/kubectl.ts";
import { writeArchive } from "../image/archive.ts";
import { findLibraries } from "../image/fetch.ts";
import { ARCHITECTURE, readLayers, toImage } from "../image/image.ts";
import { toSha256 } from "../image/pins.ts";
import { SBOM_PATH } from "../image/sbom.ts";
import { writeChart } from "./chart.ts";
import { check } from "./check.ts";
import { type Place, TARGETS, toArchiveName, toImageName, VERSION } from "./facts.ts";
import { mergeArchives, writeLayout } from "./index.ts";
import { toChecksumFile, toFormula, toKrewManifest } from "./metadata.ts";
import { compileProgram, toArchive, toCompileArgs } from "./program.ts";
import { open, publish } from "./publish.ts";

interface Options extends Place {
  readonly dist: string;
  readonly tag: string | null;
  readonly commit?: string | undefined;
  readonly isDryRun: boolean;
}

type Step = (options: Options) => Promise<void>;

const STEPS: Readonly<Record<string, Step>> = {
  async check({ dist, tag }) {
    await Deno.writeTextFile(`${dist}/notes.md`, await check(tag));
  },

  async image({ dist, commit }) {
    const stage = await Deno.makeTempDir();
    try {
      const layers = await readLayers({ commit, libraries: await findLibraries(stage) });
      const image = toImage(layers, { tag: `localhost/podfit:${VERSION}` });
      const { content, digest } = await writeArchive(image);
      const sbom = layers.flatMap(({ files }) => files).find(({ path }) => path === SBOM_PATH)?.content;
      await Deno.writeFile(`${dist}/${toImageFile(ARCHITECTURE)}`, content);
      await Deno.writeFile(`${dist}/${toSbomFile(ARCHITECTURE)}`, sbom ?? new Uint8Array());
      console.log(`${toImageFile(ARCHITECTURE)}: ${digest}`);
    } finally {
      await Deno.remove(stage, { recursive: true });
    }
  },

  async programs({ dist, commit, isDryRun }) {
    for (const target of TARGETS) {
      const isOwn = target.os === Deno.build.os && target.architecture === ARCHITECTURE;
      if (isDryRun && !isOwn) {
        console.log(`would run: deno ${toCompileArgs(target, "podfit").join(" ")}`);
        continue;
      }
      const program = await compileProgram({ target, commit, runtime: isDryRun ? Deno.execPath() : undefined });
      await Deno.writeFile(`${dist}/${toArchiveName(target)}`, await toArchive(program, target, commit));
    }
  },

  async index({ dist, isDryRun, ...place }) {
    const found = await listFiles(dist);
    const archives = (["amd64", "arm64"] as const).map(toImageFile)
      .filter((name) => !isDryRun || found.includes(name));
    const index = mergeArchives(await Promise.all(archives.map((name) => Deno.readFile(`${dist}/${name}`))), VERSION);
    await Deno.remove(`${dist}/image`, { recursive: true }).catch(() => {});
    await writeLayout(`${dist}/image`, index);
    const outputs = { image: toImageName(place), digest: index.digest, ...index.manifests };
    await Deno.writeTextFile(`${dist}/image.json`, `${JSON.stringify(outputs, null, 2)}\n`);
    const sboms = Object.keys(index.manifests).map((name) => [`sbom_${name}`, `${dist}/${toSbomFile(name)}`]);
    await writeOutputs({ ...outputs, ...Object.fromEntries(sboms) });
  },

  async chart({ dist, ...place }) {
    console.log((await writeChart(dist, place, (await readImage(dist)).digest)).join("\n"));
  },

  async metadata({ dist, isDryRun, ...place }) {
    const none = "0".repeat(64);
    const archives = TARGETS.map(toArchiveName);
    const found = await listFiles(dist);
    const missing = archives.filter((name) => !found.includes(name));
    if (missing.length > 0 && !isDryRun) throw new Error(`Cannot describe ${missing.join(", ")}: not in ${dist}`);
    const programs = {
      ...Object.fromEntries(missing.map((name) => [name, none])),
      ...await readChecksums(dist, archives.filter((name) => !missing.includes(name))),
    };
    await Deno.writeTextFile(`${dist}/podfit.krew.yaml`, toKrewManifest(place, programs));
    await Deno.writeTextFile(`${dist}/podfit.rb`, toFormula(place, programs));
    const checksums = await readChecksums(dist, (await listFiles(dist)).filter(isPublished));
    await Deno.writeTextFile(`${dist}/SHA256SUMS`, toChecksumFile(checksums));
  },

  async publish({ dist, isDryRun, ...place }) {
    const files = [...(await listFiles(dist)).filter(isPublished), "SHA256SUMS"];
    const { digest } = await readImage(dist);
    await publish({ ...place, dist, digest, files }, isDryRun ? show : run);
  },

  async open({ isDryRun, ...place }) {
    await open(place, isDryRun ? show : run);
  },
};

/** What people download; not the parts that other steps need, and not what `publish` adds. */
function isPublished(name: string): boolean {
  return /\.(tar\.gz|tgz|yaml|rb|spdx\.json)$/.test(name) || name === "image.json";
}

function toImageFile(architecture: string): string {
  return `podfit_${VERSION}_image_${architecture}.tar`;
}

function toSbomFile(architecture: string): string {
  return `podfit_${VERSION}_image_${architecture}.spdx.json`;
}

async function listFiles(dist: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(dist));
  return entries.filter(({ isFile }) => isFile).map(({ name }) => name).sort();
}

async function readChecksums(dist: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const sums = await Promise.all(names.map(async (name) => [name, toSha256(await Deno.readFile(`${dist}/${name}`))]));
  return Object.fromEntries(sums);
}

async function readImage(dist: string): Promise<{ readonly digest: string }> {
  return JSON.parse(await Deno.readTextFile(`${dist}/image.json`));
}

/** For later steps of the workflow. */
async function writeOutputs(outputs: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(outputs).map(([name, value]) => `${name}=${value}\n`).join("");
  const file = Deno.env.get("GITHUB_OUTPUT") ?? "";
  if (file !== "") await Deno.writeTextFile(file, lines, { append: true });
  console.log(lines.trim());
}

async function run(program: string, args: readonly string[]): Promise<string> {
  console.log(`${program} ${args.join(" ")}`);
  const { success, stdout } = await new Deno.Command(program, {
    args: [...args],
    stderr: "inherit",
    env: { PATH: readPath() },
  }).output();
  if (!success) throw new Error(`Cannot publish: ${program} ${args[0]} failed`);
  return new TextDecoder().decode(stdout);
}

function show(program: string, args: readonly string[]): Promise<string> {
  console.log(`would run: ${program} ${args.join(" ")}`);
  return Promise.resolve("sha256:DIGEST");
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "dry-run": { type: "boolean", default: false },
    dist: { type: "string", default: "dist/release" },
    tag: { type: "string" },
    commit: { type: "string" },
    repository: { type: "string", default: Deno.env.get("GITHUB_REPOSITORY") || "podfit/podfit" },
    registry: { type: "string", default: "ghcr.io" },
  },
});
const steps = positionals.length === 0 ? Object.keys(STEPS) : positionals;
const unknown = steps.filter((name) => !Object.hasOwn(STEPS, name));
if (unknown.length > 0) throw new Error(`Unknown step ${unknown.join(", ")}: take ${Object.keys(STEPS).join(", ")}`);
await Deno.mkdir(values.dist, { recursive: true });
for (const name of steps) {
  console.log(`== ${name}`);
  await STEPS[name]?.({
    dist: values.dist,
    tag: values.tag ?? null,
    commit: values.commit || undefined,
    repository: values.repository,
    registry: values.registry,
    isDryRun: values["dry-run"],
  });
}
