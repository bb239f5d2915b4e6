/**
 * The C libraries of the Deno runtime, which is linked dynamically: glibc, its loader and libgcc, under the paths where
 * the loader looks for them, which are those of this machine.
 */
import type { TarEntry } from "./tar.ts";

/** Name lookups go by the pod's /etc/hosts first: without a file glibc asks the DNS first. */
const NSSWITCH = "hosts: files dns\n";

/** Rejects where the program cannot be asked, or lacks a library. */
export async function readLibraries(program: string): Promise<readonly TarEntry[]> {
  const { success, stdout, stderr } = await new Deno.Command("ldd", { args: [program] }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot read the libraries of "${program}": ${decoder.decode(stderr).trim()}`);
  const files = await Promise.all(listLibraries(decoder.decode(stdout)).map(readLibrary));
  return [...files, { path: "etc/nsswitch.conf", mode: 0o644, content: new TextEncoder().encode(NSSWITCH) }];
}

/** The paths in what `ldd` prints; throws where it names a library that is not there. */
export function listLibraries(ldd: string): readonly string[] {
  const missing = /^\s*(\S+) => not found$/m.exec(ldd)?.[1];
  if (missing !== undefined) throw new Error(`Cannot find library "${missing}" of the Deno runtime`);
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].flatMap(([, path]) => path ?? []).sort();
}

/** What a link leads to stands under the name of the link. */
async function readLibrary(path: string): Promise<TarEntry> {
  return { path: path.slice(1), mode: 0o755, content: await Deno.readFile(path) };
}
