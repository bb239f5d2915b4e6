/**
 * The files of a mounted cgroup file system, read synchronously: for a few hundred small files that is four times as
 * fast as to await each (3 ms for 110 pods of 5 files). Nothing outside of the mount is read, and nothing of any length.
 */

/** A mounted cgroup file system. Paths are relative to it, of names that contain no slash; none of it throws. */
export interface CgroupFiles {
  /** The text of a file; `null` when it is not there, or no more; empty when it is longer than any cgroup's. */
  readonly readText: (path: string) => string | null;
  /** What is there itself; `null` for nothing and for anything else, a symbolic link among them. */
  readonly findKind: (path: string) => "directory" | "file" | null;
  /** The names of the directories in a directory, at most MAX_NAMES; none when it cannot be read. */
  readonly listDirectories: (path: string) => readonly string[];
}

/** cpuacct.usage_percpu of a machine of 512 CPUs has 10 kB. */
export const MAX_FILE_BYTES = 64 * 1024;
/** Beside pods, a cgroup has a few dozen children: one for each service of the machine. */
export const MAX_NAMES = 1000;

/** Opens what is mounted at `root`. Throws an error that says what to do when that cannot be read. */
export function openCgroupFiles(root: string): CgroupFiles {
  const real = openRoot(root);
  // Shared by all reads: they are synchronous, so there is only one at a time.
  const buffer = new Uint8Array(MAX_FILE_BYTES);
  const decoder = new TextDecoder();
  return {
    readText(path) {
      try {
        using file = Deno.openSync(`${real}/${path}`);
        const length = readAll(file, buffer);
        return length === null ? "" : decoder.decode(buffer.subarray(0, length));
      } catch {
        // A cgroup that was removed while its file was open answers ENODEV.
        return null;
      }
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
      `(\`${MOUNT}\`; in a pod: a hostPath volume of /sys/fs/cgroup with another mountPath)`;
  }
  if (error instanceof Deno.errors.NotFound) return `it is not there; mount the cgroups there (\`${MOUNT}\`)`;
  return error instanceof Error ? error.message : String(error);
}

const MOUNT = "mount --rbind -o ro /sys/fs/cgroup DIRECTORY";

/** How many bytes; `null` when there are more than the buffer holds. */
function readAll(file: Deno.FsFile, buffer: Uint8Array): number | null {
  let length = 0;
  while (length < buffer.length) {
    const count = file.readSync(buffer.subarray(length));
    if (count === null || count === 0) return length;
    length += count;
  }
  return null;
}
