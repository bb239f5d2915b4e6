/**
 * One image for both architectures: an OCI layout with an index, out of the archives that `deno task image` wrote on a
 * machine of each. The blobs stay as they are, so the digests are those of the archives.
 */
import { writeFiles } from "../image/files.ts";
import { readTar, type TarEntry } from "../image/tar.ts";
import { toSha256 } from "../image/pins.ts";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform: { readonly architecture: string; readonly os: string };
}

export interface ImageIndex {
  readonly digest: string;
  /** By architecture: the digest of its manifest. */
  readonly manifests: Readonly<Record<string, string>>;
  /** Of the layout. */
  readonly files: readonly TarEntry[];
}

const INDEX = "application/vnd.oci.image.index.v1+json";

/** Throws where two archives are for one architecture, or a blob is not what its name says. */
export function mergeArchives(archives: readonly Uint8Array[], tag: string): ImageIndex {
  const tars = archives.map(readTar);
  const descriptors = tars.flatMap((tar) => (readJson(tar, "index.json") as { manifests: Descriptor[] }).manifests)
    .map(({ mediaType, digest, size, platform }) => ({ mediaType, digest, size, platform }))
    .sort((a, b) => (a.platform.architecture < b.platform.architecture ? -1 : 1));
  const manifests = Object.fromEntries(descriptors.map(({ platform, digest }) => [platform.architecture, digest]));
  if (Object.keys(manifests).length !== descriptors.length) {
    throw new Error("Cannot merge images: two of them have the same architecture");
  }
  const blobs = new Map(tars.flatMap((tar) => [...tar].filter(([path]) => /^blobs\/sha256\/[0-9a-f]/.test(path))));
  for (const [path, content] of blobs) {
    if (path !== `blobs/sha256/${toSha256(content)}`) {
      throw new Error(`Cannot merge images: "${path}" has another digest`);
    }
  }
  const index = encode({ schemaVersion: 2, mediaType: INDEX, manifests: descriptors });
  const digest = `sha256:${toSha256(index)}`;
  blobs.set(`blobs/${digest.replace(":", "/")}`, index);
  const named = { "org.opencontainers.image.ref.name": tag };
  const top = { mediaType: INDEX, digest, size: index.length, annotations: named };
  const files = new Map([
    ...blobs,
    ["oci-layout", encode({ imageLayoutVersion: "1.0.0" })],
    ["index.json", encode({ schemaVersion: 2, mediaType: INDEX, manifests: [top] })],
  ]);
  return { digest, manifests, files: [...files].map(([path, content]) => ({ path, mode: 0o644, content })) };
}

/** Writes the layout into a folder that is not there yet. */
export async function writeLayout(directory: string, { files }: ImageIndex): Promise<void> {
  await writeFiles(directory, files);
}

function readJson(tar: ReadonlyMap<string, Uint8Array>, path: string): unknown {
  const content = tar.get(path);
  if (content === undefined) throw new Error(`Cannot merge images: an archive has no "${path}"`);
  return JSON.parse(new TextDecoder().decode(content));
}

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
