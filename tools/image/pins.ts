/**
 * Which runtime and which C libraries belong into the image: pins.json has the checksum of each, for both architectures.
 * `deno task image:pin` writes that file, `deno task image:fetch` fetches what it names.
 */
import { hash } from "node:crypto";
import pinned from "./pins.json" with { type: "json" };
import type { TarEntry } from "./tar.ts";

/** Of Go: the words of image indexes. */
export type Architecture = "amd64" | "arm64";

/** A Debian package whose files are in the image. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** Below the root of a mirror of Debian. */
  readonly path: string;
  /** SHA-256 of the package, in hexadecimal. */
  readonly sha256: string;
}

export interface Pins {
  readonly runtime: {
    /** On npm. */
    readonly package: string;
    readonly version: string;
    /** Of the package, as npm writes it. */
    readonly integrity: string;
    /** SHA-256 of the program. */
    readonly sha256: string;
  };
  readonly packages: readonly PinnedPackage[];
  /** SHA-256 by path in the image. `package` and `from` say where the file comes from. */
  readonly files: readonly PinnedFile[];
}

export interface PinnedFile {
  /** In the image. */
  readonly path: string;
  /** In the package; the same as `path` unless the image keeps the file elsewhere. */
  readonly from: string;
  readonly package: string;
  readonly sha256: string;
}

/** What pins.json has. */
export interface PinsFile extends Readonly<Record<Architecture, Pins>> {
  /** The release. */
  readonly debian: string;
  /** The time of an archive of Debian that has the packages, as its address writes it. */
  readonly snapshot: string;
}

export const PINS: PinsFile = pinned;

/**
 * The time of an archive that has what mirrors have at that moment. It is a day later, as an archive has a change some
 * hours after the mirrors. Until then the newest archive is given in its place.
 */
export function toSnapshot(nowMs: number): string {
  return new Date(nowMs + 86_400_000).toISOString().replace(/[-:]|\.\d+/g, "");
}

export function toSha256(content: Uint8Array): string {
  return hash("sha256", content, "hex");
}

/** Throws if the runtime is another one than the pinned one. */
export function checkRuntime(content: Uint8Array, { runtime }: Pins): void {
  const found = toSha256(content);
  if (found === runtime.sha256) return;
  throw new Error(
    `Cannot use this Deno as the image's runtime: its SHA-256 is ${found}, and tools/image/pins.json has ` +
      `${runtime.sha256}. Run the task by "npx -y deno@${runtime.version}", or build with --unpinned`,
  );
}

/**
 * Reads the pinned files below a folder: the root of a machine, or what image:fetch wrote. Rejects if a file is missing
 * or is another one.
 */
export async function readPinned(root: string, { files }: Pins): Promise<readonly TarEntry[]> {
  return await Promise.all(files.map(async ({ path, from, sha256 }) => {
    const advice =
      'Fetch the pinned files with "deno task image:fetch DIRECTORY" and build with --libraries DIRECTORY, ' +
      "or build with --unpinned";
    const file = `${root.replace(/\/+$/, "")}/${from}`;
    const content = await Deno.readFile(file).catch((cause) => {
      throw new Error(`Cannot read "${file}". ${advice}`, { cause });
    });
    const found = toSha256(content);
    if (found !== sha256) {
      throw new Error(
        `Cannot use "${file}": its SHA-256 is ${found}, and tools/image/pins.json has ${sha256}. ${advice}`,
      );
    }
    return { path, mode: path.startsWith("lib") ? 0o755 : 0o644, content };
  }));
}
