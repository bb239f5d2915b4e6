/**
 * The files of a mounted cgroup file system. They are read synchronously, as awaiting hundreds of small files takes four
 * times as long, and stay open: Deno looks at each part of a path before it opens it, which costs more than to read.
 * Nothing outside of the mount is read, and nothing of any length.
 */

/** A mounted cgroup file system. Paths are relative to it, of names that contain no slash; none of it throws. */
export interface CgroupFiles {
  /** The text of a file; `null` when it is not there, or no more; empty when it is longer than any cgroup's. */
  readonly readText: (path: string) => string | null;
  /** The file will not be read again soon. */
  readonly release: (path: string) => void;
  /** What is there itself; `null` for nothing and for anything else, a symbolic link among them. */
  readonly findKind: (path: string) => "directory" | "file" | null;
  /** The names of the directories in a directory, at most MAX_NAMES; none when it cannot be read. */
  readonly listDirectories: (path: string) => readonly string[];
}

/** cpuacct.usage_percpu of a machine of 512 CPUs has 10 kB. */
export const MAX_FILE_BYTES = 64 * 1024;
/** Beside pods, a cgroup has a few dozen children: one for each service of the machine. */
export const MAX_NAMES = 1000;
/** 600 pods of one container. What is more is opened for each reading. */
const MAX_OPEN = 4000;
/** Each of the files ends with it. */
const NEWLINE = 10;

/** Opens what is mounted at `root`; disposal closes its files. Throws an error that says what to do. */
export function openCgroupFiles(root: string): CgroupFiles & Disposable {
  const real = openRoot(root);
  const open = new Map<string, Deno.FsFile>();
  // Shared by all reads: they are synchronous, so there is only one at a time.
  const buffer = new Uint8Array(MAX_FILE_BYTES);
  const decoder = new TextDecoder();

  function release(path: string): void {
    open.get(path)?.close();
    open.delete(path);
  }

  function read(path: string): string {
    const known = open.get(path);
    known?.seekSync(0, Deno.SeekMode.Start);
    const file = known ?? Deno.openSync(`${real}/${path}`);
    if (known === undefined) open.set(path, file);
    const length = readAll(file, buffer);
    if (open.size > MAX_OPEN) release(path);
    return length === null ? "" : decoder.decode(buffer.subarray(0, length));
  }

  return {
    readText(path) {
      try {
        return read(path);
      } catch {
        // The file of a cgroup that was removed answers ENODEV.
        release(path);
        return null;
      }
    },
    release,
    [Symbol.dispose]() {
      for (const path of [...open.keys()]) release(path);
    },
    findKind(path) {
      try {
        const full = path === "" ? real : `${real}/${path}`;
        // A link on the way there leads elsewhere.
        if (Deno.realPathSync(full) !== full) return null;
        const { isDirectory, isFile } = Deno.lstatSync(full);
        return isDirectory ? "directory" : isFile ? "file" : null;
      } catch {
        return null;
      }
    },
    listDirectories(path) {
      const names: string[] = [];
      try {
        for (const { name, isDirectory } of Deno.readDirSync(`${real}/${path}`)) {
          if (isDirectory) names.push(name);
          if (names.length === MAX_NAMES) break;
        }
      } catch {
        // Gone meanwhile.
      }
      return names.sort();
    },
  };
}

function openRoot(root: string): string {
  try {
    const real = Deno.realPathSync(root);
    // A directory that may be entered is read by its first name.
    for (const _ of Deno.readDirSync(real)) break;
    return real;
  } catch (error) {
    throw new Error(`Cannot read cgroups in "${root}": ${toCause(error)}`, { cause: error });
  }
}

function toCause(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable) {
    return "Deno lets no program read below /sys; mount the cgroups elsewhere and name that directory " +
      `(\`${MOUNT}\`; in a pod: a hostPath volume of /sys/fs/cgroup with mountPath /host/cgroup)`;
  }
  if (error instanceof Deno.errors.NotFound) return `it is not there; mount the cgroups there (\`${MOUNT}\`)`;
  return error instanceof Error ? error.message : String(error);
}

const MOUNT = "mount --rbind -o ro /sys/fs/cgroup DIRECTORY";

/** How many bytes; `null` when there are more than the buffer holds. The kernel gives a small file in one piece. */
function readAll(file: Deno.FsFile, buffer: Uint8Array): number | null {
  let length = 0;
  while (length < buffer.length) {
    const count = file.readSync(length === 0 ? buffer : buffer.subarray(length)) ?? 0;
    length += count;
    if (count === 0 || (length < buffer.length && buffer[length - 1] === NEWLINE)) return length;
  }
  return null;
}
