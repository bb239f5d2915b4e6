/**
 * Where are the cgroups of pods, and how are their files read? The place differs by cgroup version and by driver.
 *
 * Files are read synchronously, because awaiting hundreds of small files takes four times as long. They stay open,
 * because opening costs more than reading. Nothing outside of the mount is read. Examples of places:
 * kubepods/burstable/podUID/ID
 * kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_WITH_UNDERSCORES.slice/cri-containerd-ID.scope
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cgroup_manager_linux.go
 */
import type { QosClass } from "../../units/resources.ts";
import type { UsagePod } from "../source.ts";

/** A mounted cgroup file system. Paths are relative to it, of names that contain no slash; none of it throws. */
export interface CgroupFiles {
  /** Returns the text of a file; `null` if it is not there; empty if it is longer than any cgroup file. */
  readonly readText: (path: string) => string | null;
  /** The file will not be read again soon. */
  readonly release: (path: string) => void;
  /** Returns the kind of the entry itself; `null` for nothing and for everything else, such as a symbolic link. */
  readonly findKind: (path: string) => "directory" | "file" | null;
  /** Returns the names of the directories in a directory, at most MAX_NAMES; none if it cannot be read. */
  readonly listDirectories: (path: string) => readonly string[];
}

/** cpuacct.usage_percpu of a machine of 512 CPUs has 10 kB. */
export const MAX_FILE_BYTES = 64 * 1024;

/** A cgroup has a few dozen children besides pods: one for each service of the machine. */
export const MAX_NAMES = 1000;

/** Opens the mount at `root`; disposal closes its files. Throws an error that says what to do. */
export function openCgroupFiles(root: string): CgroupFiles & Disposable {
  const real = openRootDirectory(root);
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

/** The mounted tree, and the cgroups in it under which pods are. */
export interface Hierarchy {
  readonly mount: Mount;
  /** Several where several kubelets share a machine; never empty. */
  readonly roots: readonly PodRoot[];
}

/** Version 2 has one tree, version 1 one for each controller. */
export type Mount =
  | { readonly version: 2 }
  | { readonly version: 1; readonly cpu: string; readonly cpuacct: string; readonly memory: string };

/** Returns the hierarchy, or why there is none, as the end of a sentence. */
export function findHierarchy(files: CgroupFiles): Hierarchy | string {
  const mount = findMount(files);
  if (mount === null) return "it holds no cgroups; mount /sys/fs/cgroup of the node there";
  const roots = findRoots(files, mount.version === 2 ? "" : mount.memory);
  return roots.length > 0
    ? { mount, roots }
    : "no pods' cgroups (kubepods, kubepods.slice) are in it; mount the whole /sys/fs/cgroup of the node, not a container's";
}

/** The pod's cgroup, relative to its tree; `null` when nothing is known to lie there. */
export function toPodPath({ path, driver, prefix }: PodRoot, { uid, qosClass }: UsagePod): string | null {
  if (qosClass === null || !UID.test(uid)) return null;
  const qos = QOS_DIRECTORIES[qosClass];
  if (driver === "cgroupfs") return joinPaths(joinPaths(path, qos ?? ""), `pod${uid}`);
  // A dash stands for a slash in the name of a slice.
  const name = `pod${uid.replaceAll("-", "_")}`;
  return qos === null
    ? `${path}/${prefix}-${name}.slice`
    : `${path}/${prefix}-${qos}.slice/${prefix}-${qos}-${name}.slice`;
}

/** Returns the possible names of a container's cgroup, by runtime; none for an invalid id. */
export function listContainerNames({ driver }: PodRoot, instance: string): readonly string[] {
  const id = CONTAINER_ID.exec(instance)?.[1];
  if (id === undefined) return [];
  return driver === "cgroupfs" ? [id, `crio-${id}`] : RUNTIMES.map((runtime) => `${runtime}-${id}.scope`);
}

/** A path of two parts, of which either may be empty. */
export function joinPaths(above: string, below: string): string {
  return above === "" || below === "" ? `${above}${below}` : `${above}/${below}`;
}

/** 600 pods of one container. Further files are opened for each reading. */
const MAX_OPEN = 4000;

/** Each of the files ends with it. */
const NEWLINE = 10;

function openRootDirectory(root: string): string {
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

/**
 * Returns how many bytes were read; `null` if there are more than the buffer holds. The kernel returns a small file in
 * one piece.
 */
function readAll(file: Deno.FsFile, buffer: Uint8Array): number | null {
  let length = 0;
  while (length < buffer.length) {
    const count = file.readSync(length === 0 ? buffer : buffer.subarray(length)) ?? 0;
    length += count;
    if (count === 0 || (length < buffer.length && buffer[length - 1] === NEWLINE)) return length;
  }
  return null;
}

/** The cgroup above all pods, relative to the tree: `kubepods`, or `kubelet.slice/kubelet-kubepods.slice`. */
interface PodRoot {
  readonly path: string;
  readonly driver: "cgroupfs" | "systemd";
  /** What the names of systemd's slices below it begin with: `kubelet-kubepods`. */
  readonly prefix: string;
}

/** Both values come from the API server, and become part of a path. */
const UID = /^[\da-zA-Z][\da-zA-Z-]{0,63}$/;

const CONTAINER_ID = /^[a-z][a-z-]{0,30}:\/\/([\da-f]{64})$/;

const RUNTIMES = ["cri-containerd", "crio", "docker"] as const;

const QOS_DIRECTORIES: Readonly<Record<QosClass, string | null>> = {
  Guaranteed: null,
  Burstable: "burstable",
  BestEffort: "besteffort",
};

function findMount(files: CgroupFiles): Mount | null {
  if (files.findKind("cgroup.controllers") === "file") return { version: 2 };
  const find = (names: readonly string[]) => names.find((name) => files.findKind(name) === "directory");
  // `cpu` alone is a link where the two are mounted as one.
  const [cpu, cpuacct] = [find([...SEPARATOR, "cpu"]), find([...SEPARATOR, "cpuacct"])];
  const memory = find(["memory"]);
  return cpu === undefined || cpuacct === undefined || memory === undefined
    ? null
    : { version: 1, cpu, cpuacct, memory };
}

const SEPARATOR = ["cpu,cpuacct", "cpuacct,cpu"] as const;

/** At the top, or one level below, for a kubelet with its own cgroupRoot or a kubelet in a container, as in kind. */
function findRoots(files: CgroupFiles, tree: string): readonly PodRoot[] {
  const names = files.listDirectories(tree);
  const below = names.flatMap((name) => files.listDirectories(joinPaths(tree, name)).map((one) => `${name}/${one}`));
  return [...names, ...below].flatMap((path) => toPodRoot(path) ?? []).slice(0, MAX_ROOTS);
}

const MAX_ROOTS = 8;

function toPodRoot(path: string): PodRoot | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "kubepods") return { path, driver: "cgroupfs", prefix: name };
  const prefix = /^((?:.+-)?kubepods)\.slice$/.exec(name)?.[1];
  return prefix === undefined ? null : { path, driver: "systemd", prefix };
}
