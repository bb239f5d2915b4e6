/**
 * The chart and the manifests of a release: those of deploy/, with the image that was built in place of the local one. The
 * digest decides which image runs, whatever becomes of the tag.
 */
import { CHART, runHelm } from "../helm.ts";
import { MANIFESTS, renderManifest } from "../render.ts";
import { type Place, PROJECT, toImageName, VERSION } from "./facts.ts";

/** The image's name without a tag, and the digest of its index. */
export interface ImageRef {
  readonly name: string;
  readonly digest: string;
}

/** Returns values.yaml with the image as its default. Throws if a line that changes is not there exactly once. */
export function placeImage(values: string, { name, digest }: ImageRef): string {
  return replaceOnce(
    replaceOnce(values, /^ {2}repository: localhost\/podfit$/m, `  repository: ${name}`),
    /^ {2}digest: ""$/m,
    `  digest: ${digest}`,
  );
}

/** Returns Chart.yaml with where the sources and the image are, in Artifact Hub's annotations too. */
export function placeLinks(chart: string, { repository }: Place, { name, digest }: ImageRef): string {
  const url = `https://github.com/${repository}`;
  const added = `annotations:
  artifacthub.io/images: |
    - name: podfit
      image: ${name}:${VERSION}@${digest}
      platforms: [linux/amd64, linux/arm64]
  artifacthub.io/links: |
    - {name: documentation, url: "${url}/tree/v${VERSION}/docs"}
    - {name: changes, url: "${url}/blob/v${VERSION}/CHANGELOG.md"}
`;
  return replaceOnce(chart, /^annotations:\n/m, `home: ${url}\nsources: [${url}]\n${added}`);
}

/** Returns a manifest with the image of the release. Throws if it names no local image. */
export function placeManifestImage(manifest: string, { name, digest }: ImageRef): string {
  const local = /localhost\/podfit:[\w.-]+/g;
  if (!local.test(manifest)) throw new Error("Cannot write the manifest: it names no image localhost/podfit");
  return manifest.replaceAll(local, `${name}:${VERSION}@${digest}`);
}

/** Writes the chart's archive and the manifests into a folder. Needs helm. Returns the names of the files. */
export async function writeChart(dist: string, place: Place, digest: string): Promise<readonly string[]> {
  const image = { name: toImageName(place), digest };
  const stage = await Deno.makeTempDir();
  try {
    await copyFolder(CHART, `${stage}/podfit`);
    await edit(`${stage}/podfit/values.yaml`, (text) => placeImage(text, image));
    await edit(`${stage}/podfit/Chart.yaml`, (text) => placeLinks(text, place, image));
    for (
      const args of [["lint", "--strict", `${stage}/podfit`], ["package", `${stage}/podfit`, "--destination", dist]]
    ) {
      const { code, stdout, stderr } = await runHelm(args);
      if (code !== 0) throw new Error(`Cannot package the chart: ${stdout}${stderr}`);
    }
    const written = [`podfit-${VERSION}.tgz`];
    for (const path of Object.keys(MANIFESTS)) {
      const text = await renderManifest(path, `${stage}/podfit`) ?? "";
      written.push(await write(dist, path.split("/").at(-1) ?? "", text));
    }
    const quickstart = await Deno.readTextFile(`${PROJECT}deploy/quickstart.yaml`);
    written.push(await write(dist, "quickstart.yaml", placeManifestImage(quickstart, image)));
    return written;
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

async function write(dist: string, name: string, text: string): Promise<string> {
  await Deno.writeTextFile(`${dist}/${name}`, text);
  return name;
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

function replaceOnce(text: string, pattern: RegExp, by: string): string {
  const places = [...text.matchAll(new RegExp(pattern, "gm"))].length;
  if (places !== 1) throw new Error(`Cannot prepare the chart: ${pattern} is there ${places} times, not once`);
  return text.replace(pattern, () => by);
}
