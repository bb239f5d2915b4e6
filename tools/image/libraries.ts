/**
 * The C libraries of the Deno runtime, which is linked dynamically, with their licences: glibc, its loader and libgcc,
 * under the paths where the loader looks for them. They are the pinned ones (pins.ts), or with `--unpinned` those of this
 * machine.
 */
import { type Pins, readPinned } from "./pins.ts";
import type { TarEntry } from "./tar.ts";

/** Name lookups go by the pod's /etc/hosts first: without a file glibc asks the DNS first. */
const NSSWITCH = "hosts: files dns\n";

/**
 * Where Debian and its kin keep what the libraries are under: the copyright of each, and the licences that it names.
 */
const NOTICES: Readonly<Record<string, string>> = {
  "glibc.txt": "/usr/share/doc/libc6/copyright",
  "libgcc.txt": "/usr/share/doc/libgcc-s1/copyright",
  "GPL-2.txt": "/usr/share/common-licenses/GPL-2",
  "GPL-3.txt": "/usr/share/common-licenses/GPL-3",
  "LGPL-2.1.txt": "/usr/share/common-licenses/LGPL-2.1",
};

/** The pinned libraries, from below a folder. Rejects where one is missing or differs. */
export async function readPinnedLibraries(root: string, pins: Pins): Promise<readonly TarEntry[]> {
  return [...await readPinned(root, pins), toSwitch()];
}

/** Those of this machine. Rejects where the program cannot be asked, or lacks a library. */
export async function readLibraries(program: string): Promise<readonly TarEntry[]> {
  const { success, stdout, stderr } = await new Deno.Command("ldd", { args: [program] }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot read the libraries of "${program}": ${decoder.decode(stderr).trim()}`);
  const files = await Promise.all(listLibraries(decoder.decode(stdout)).map(readLibrary));
  return [...files, ...await Promise.all(Object.entries(NOTICES).map(readNotice)), toSwitch()];
}

function toSwitch(): TarEntry {
  return { path: "etc/nsswitch.conf", mode: 0o644, content: new TextEncoder().encode(NSSWITCH) };
}

async function readNotice([name, path]: readonly [string, string]): Promise<TarEntry> {
  try {
    return { path: `podfit/notices/${name}`, mode: 0o644, content: await Deno.readFile(path) };
  } catch (cause) {
    throw new Error(`Cannot read the licence of the C libraries, "${path}": build on Debian or Ubuntu`, { cause });
  }
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
