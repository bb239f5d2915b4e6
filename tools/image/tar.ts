/**
 * A tar archive (ustar) of which each byte follows from its entries: sorted, of root, from the beginning of time.
 * deno-std has no tar writer, and that of std leaves order, owners and times to its caller.
 */

/** A file, or with `content: null` a folder. */
export interface TarEntry {
  /** Without a leading slash; at most 100 bytes of ASCII, or 155 of folders before that. */
  readonly path: string;
  /** 0o755 for what is run and for folders, 0o644 otherwise. */
  readonly mode: number;
  readonly content: Uint8Array | null;
}

const BLOCK = 512;

/** Throws where a path is too long, or stands there twice. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const sizes = sorted.map(({ content }) => BLOCK + roundUp(content?.length ?? 0));
  const archive = new Uint8Array(sizes.reduce((sum, size) => sum + size, 2 * BLOCK));
  let offset = 0;
  for (const [index, entry] of sorted.entries()) {
    if (sorted[index - 1]?.path === entry.path) {
      throw new Error(`Cannot archive "${entry.path}": the path is given twice`);
    }
    archive.set(toHeader(entry), offset);
    if (entry.content !== null) archive.set(entry.content, offset + BLOCK);
    offset += sizes[index] ?? 0;
  }
  return archive;
}

/** Names and contents of an archive of writeTar(), whose features it knows and no others. */
export function readTar(archive: Uint8Array): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  const decoder = new TextDecoder();
  for (let at = 0; archive[at] !== 0 && at < archive.length;) {
    const [name = ""] = decoder.decode(archive.subarray(at, at + 100)).split("\0");
    const size = parseInt(decoder.decode(archive.subarray(at + 124, at + 135)), 8);
    found.set(name, archive.slice(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return found;
}

/** The folders that the files are in, which an archive has to name, too, for their modes to be known. */
export function withFolders(files: readonly TarEntry[]): readonly TarEntry[] {
  const folders = new Set(files.flatMap(({ path }) => {
    const parts = path.split("/").slice(0, -1);
    return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
  }));
  return [...[...folders].map((path) => ({ path, mode: 0o755, content: null })), ...files];
}

/** By the order of POSIX.1-1988: name, mode, owner, group, size, time, checksum, type, target, magic, names, prefix. */
function toHeader({ path, mode, content }: TarEntry): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const [prefix, name] = splitPath(path);
  const fields: readonly (readonly [offset: number, text: string])[] = [
    [0, name],
    [100, toOctal(mode, 8)],
    [108, toOctal(0, 8)],
    [116, toOctal(0, 8)],
    [124, toOctal(content?.length ?? 0, 12)],
    [136, toOctal(0, 12)],
    [148, " ".repeat(8)],
    [156, content === null ? "5" : "0"],
    [257, "ustar\x0000"],
    [329, toOctal(0, 8)],
    [337, toOctal(0, 8)],
    [345, prefix],
  ];
  const encoder = new TextEncoder();
  for (const [offset, text] of fields) header.set(encoder.encode(text), offset);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.set(encoder.encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return header;
}

function splitPath(path: string): readonly [prefix: string, name: string] {
  if (!/^[\x20-\x7e]+$/.test(path)) throw new Error(`Cannot archive "${path}": not ASCII`);
  if (path.length <= 100) return ["", path];
  const at = path.indexOf("/", path.length - 101);
  if (at < 0 || at > 155) throw new Error(`Cannot archive "${path}": too long for tar`);
  return [path.slice(0, at), path.slice(at + 1)];
}

function toOctal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

function roundUp(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
