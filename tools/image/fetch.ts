// deno-lint-ignore-file no-console
/**
 * `deno task image:fetch DIRECTORY [--arch amd64|arm64] [--mirror URL]...`: fetches the Debian packages of pins.json and
 * unpacks them into a folder, for `deno task image --libraries DIRECTORY`. It takes the first mirror that has a package
 * with the right checksum. Needs dpkg-deb.
 */
import { parseArgs } from "node:util";
import { ARCHITECTURE } from "./image.ts";
import { type Architecture, type PinnedPackage, PINS, readPinned, toSha256 } from "./pins.ts";

/** The second one keeps each version for ever, by the time of its archive. Checksums protect what comes over HTTP. */
export const MIRRORS = ["http://deb.debian.org/debian", `https://snapshot.debian.org/archive/debian/${PINS.snapshot}`];

/** Rejects if no mirror has the package. */
export async function fetchPackage(
  { name, version, path, sha256 }: PinnedPackage,
  mirrors: readonly string[],
): Promise<Uint8Array> {
  const failures: string[] = [];
  for (const mirror of mirrors) {
    const url = `${mirror.replace(/\/+$/, "")}/${path}`;
    try {
      const answer = await fetch(url);
      const content = await answer.bytes();
      if (!answer.ok) failures.push(`${url}: HTTP ${answer.status}`);
      else if (toSha256(content) === sha256) return content;
      else failures.push(`${url}: its SHA-256 is ${toSha256(content)}, not ${sha256}`);
    } catch (error) {
      failures.push(`${url}: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new Error(`Cannot fetch ${name} ${version}: ${failures.join("; ")}`);
}

/** Rejects if a package cannot be had, or if the folder then lacks a pinned file. */
export async function fetchLibraries(
  directory: string,
  architecture: Architecture,
  mirrors: readonly string[] = MIRRORS,
): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  const file = await Deno.makeTempFile({ suffix: ".deb" });
  try {
    for (const one of PINS[architecture].packages) {
      await Deno.writeFile(file, await fetchPackage(one, mirrors));
      await unpack(one.name, { file, directory });
    }
  } finally {
    await Deno.remove(file);
  }
  await readPinned(directory, PINS[architecture]);
}

/** Rejects if the file is no package, or if the program is not installed. */
export async function unpack(
  name: string,
  { file, directory, program = "dpkg-deb" }: {
    readonly file: string;
    readonly directory: string;
    readonly program?: string;
  },
): Promise<void> {
  try {
    const { success, stderr } = await new Deno.Command(program, { args: ["-x", file, directory] }).output();
    if (!success) throw new Error(`Cannot unpack ${name}: ${new TextDecoder().decode(stderr).trim()}`);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new Error(`Cannot find "${program}", which unpacks Debian packages: install your system's package "dpkg"`, {
      cause,
    });
  }
}

/** The root of this machine if it has the pinned files, otherwise `stage` once they are there. */
export async function findLibraries(stage: string): Promise<string> {
  try {
    await readPinned("/", PINS[ARCHITECTURE]);
    return "/";
  } catch {
    await fetchLibraries(stage, ARCHITECTURE);
    return stage;
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      arch: { type: "string", default: ARCHITECTURE },
      mirror: { type: "string", multiple: true, default: MIRRORS },
    },
  });
  const [directory] = positionals;
  if (directory === undefined || !(values.arch === "amd64" || values.arch === "arm64")) {
    throw new Error("Usage: deno task image:fetch DIRECTORY [--arch amd64|arm64] [--mirror URL]...");
  }
  await fetchLibraries(directory, values.arch, values.mirror);
  console.log(`${directory}: the libraries of ${PINS.debian} for ${values.arch}`);
}
