/**
 * An image archive that both containerd and Docker load: an OCI layout (`index.json`), in a tar with the manifest of
 * `docker save`, which names the same blobs. Rules: https://github.com/opencontainers/image-spec
 */
import { gzipSync } from "node:zlib";
import { type TarEntry, withFolders, writeTar } from "./tar.ts";

/** What a runtime starts, in the words of the image's config. */
export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly WorkingDir: string;
  readonly ExposedPorts: Readonly<Record<string, Readonly<Record<never, never>>>>;
  readonly Labels: Readonly<Record<string, string>>;
}

/** One of the image's layers: a comment for its history, and its files. */
export interface Layer {
  readonly comment: string;
  readonly files: readonly TarEntry[];
}

export interface Image {
  /** The name that loads with it, with its tag: `localhost/podfit:0.1.0`. */
  readonly tag: string;
  /** Of Go: amd64, arm64. */
  readonly architecture: string;
  readonly config: ImageConfig;
  /** The lowest first. */
  readonly layers: readonly Layer[];
  /** Of gzip, 1 to 9. */
  readonly compression: number;
}

export interface Archive {
  readonly content: Uint8Array<ArrayBuffer>;
  /** Bytes of the compressed layers: what a node downloads. */
  readonly compressedBytes: number;
  /** The digest of the manifest, by which a registry knows the image. */
  readonly digest: string;
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly content: Uint8Array;
}

const OCI = "application/vnd.oci.image";
/** An image has no time: the same input gives the same digest. */
const CREATED = "1970-01-01T00:00:00Z";

export async function writeArchive(image: Image): Promise<Archive> {
  const { tag, architecture, compression } = image;
  const tars = image.layers.map(({ files }) => writeTar(withFolders(files)));
  const layers = await Promise.all(
    tars.map((tar) => toBlob("layer.v1.tar+gzip", new Uint8Array(gzipSync(tar, { level: compression })))),
  );
  const config = await toJsonBlob("config.v1+json", {
    architecture,
    os: "linux",
    created: CREATED,
    config: image.config,
    rootfs: { type: "layers", diff_ids: await Promise.all(tars.map(toDigest)) },
    history: image.layers.map(({ comment }) => ({ created: CREATED, created_by: "deno task image", comment })),
  });
  const manifest = await toJsonBlob("manifest.v1+json", {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: toDescriptor(config),
    layers: layers.map(toDescriptor),
  });
  const names = { "io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag };
  const platform = { architecture, os: "linux" };
  const files = [
    toJsonFile("oci-layout", { imageLayoutVersion: "1.0.0" }),
    toJsonFile("index.json", {
      schemaVersion: 2,
      mediaType: `${OCI}.index.v1+json`,
      manifests: [{ ...toDescriptor(manifest), platform, annotations: names }],
    }),
    toJsonFile("manifest.json", [{ Config: toPath(config), RepoTags: [tag], Layers: layers.map(toPath) }]),
    ...[config, manifest, ...layers].map((blob) => ({ path: toPath(blob), mode: 0o644, content: blob.content })),
  ];
  return {
    content: writeTar(withFolders(files)),
    compressedBytes: layers.reduce((sum, { size }) => sum + size, 0),
    digest: manifest.digest,
  };
}

async function toBlob(type: string, content: Uint8Array<ArrayBuffer>): Promise<Blob> {
  return { mediaType: `${OCI}.${type}`, digest: await toDigest(content), size: content.length, content };
}

function toJsonBlob(type: string, value: unknown): Promise<Blob> {
  return toBlob(type, new TextEncoder().encode(JSON.stringify(value)));
}

function toDescriptor({ mediaType, digest, size }: Blob): Pick<Blob, "mediaType" | "digest" | "size"> {
  return { mediaType, digest, size };
}

function toPath({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function toJsonFile(path: string, value: unknown): TarEntry {
  return { path, mode: 0o644, content: new TextEncoder().encode(JSON.stringify(value)) };
}

async function toDigest(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex()}`;
}
