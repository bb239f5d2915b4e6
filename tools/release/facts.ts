/** What a release is made of: its version, its platforms, and the names of its files. */
import project from "../../deno.json" with { type: "json" };
import type { Architecture } from "../image/pins.ts";

export const VERSION: string = project.version;
export const PROJECT = new URL("../../", import.meta.url).pathname;

/** A platform of the compiled program. */
export interface Target {
  readonly os: "darwin" | "linux";
  readonly architecture: Architecture;
  /** As `deno compile --target` takes it. */
  readonly triple: string;
}

export const TARGETS: readonly Target[] = [
  { os: "linux", architecture: "amd64", triple: "x86_64-unknown-linux-gnu" },
  { os: "linux", architecture: "arm64", triple: "aarch64-unknown-linux-gnu" },
  { os: "darwin", architecture: "amd64", triple: "x86_64-apple-darwin" },
  { os: "darwin", architecture: "arm64", triple: "aarch64-apple-darwin" },
];

/** Where a release goes. */
export interface Place {
  /** OWNER/NAME on GitHub. */
  readonly repository: string;
  /** The host of the registry of images and charts. */
  readonly registry: string;
}

export function toArchiveName({ os, architecture }: Target): string {
  return `podfit_${VERSION}_${os}_${architecture}.tar.gz`;
}

export function toDownloadUrl({ repository }: Place, file: string): string {
  return `https://github.com/${repository}/releases/download/v${VERSION}/${file}`;
}

/** Without a tag. */
export function toImageName({ registry, repository }: Place): string {
  return `${registry}/${repository.toLowerCase()}`;
}

/** The repository of charts, for `helm push` and, with `/podfit`, for `helm install`. */
export function toChartRepository({ registry, repository }: Place): string {
  return `oci://${registry}/${repository.toLowerCase().split("/")[0]}/charts`;
}
