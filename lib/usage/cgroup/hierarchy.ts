/**
 * Where a node keeps the cgroups of its pods. That differs by cgroup version, by the kubelet's and the runtime's cgroup
 * driver (systemd or cgroupfs) and by the kubelet's cgroupRoot:
 *   kubepods/burstable/podUID/ID
 *   kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_WITH_UNDERSCORES.slice/cri-containerd-ID.scope
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cgroup_manager_linux.go
 */
import type { QosClass } from "../../units/qos.ts";
import type { UsagePod } from "../watch_usage.ts";
import type { CgroupFiles } from "./files.ts";

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

/** The cgroup above all pods, relative to the tree: `kubepods`, or `kubelet.slice/kubelet-kubepods.slice`. */
export interface PodRoot {
  readonly path: string;
  readonly driver: "cgroupfs" | "systemd";
  /** What the names of systemd's slices below it begin with: `kubelet-kubepods`. */
  readonly prefix: string;
}

/** The hierarchy, or why there is none, as the end of a sentence. */
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
  const qos = QOS_NAMES[qosClass];
  if (driver === "cgroupfs") return join(join(path, qos ?? ""), `pod${uid}`);
  // A dash stands for a slash in the name of a slice.
  const name = `pod${uid.replaceAll("-", "_")}`;
  return qos === null
    ? `${path}/${prefix}-${name}.slice`
    : `${path}/${prefix}-${qos}.slice/${prefix}-${qos}-${name}.slice`;
}

/** How the cgroup of a container may be called, by the runtimes there are; none when the id is no id. */
export function listContainerNames({ driver }: PodRoot, instance: string): readonly string[] {
  const id = CONTAINER_ID.exec(instance)?.[1];
  if (id === undefined) return [];
  return driver === "cgroupfs" ? [id, `crio-${id}`] : RUNTIMES.map((runtime) => `${runtime}-${id}.scope`);
}

/** Both come from the API server, and become part of a path. */
const UID = /^[\da-zA-Z][\da-zA-Z-]{0,63}$/;
const CONTAINER_ID = /^[a-z][a-z-]{0,30}:\/\/([\da-f]{64})$/;

const RUNTIMES = ["cri-containerd", "crio", "docker"] as const;

const QOS_NAMES: Readonly<Record<QosClass, string | null>> = {
  Guaranteed: null,
  Burstable: "burstable",
  BestEffort: "besteffort",
};

function findMount(files: CgroupFiles): Mount | null {
  if (files.findKind("cgroup.controllers") === "file") return { version: 2 };
  const find = (names: readonly string[]) => names.find((name) => files.findKind(name) === "directory");
  // `cpu` alone is a link where the two are mounted as one.
  const [cpu, cpuacct] = [find([...JOINT, "cpu"]), find([...JOINT, "cpuacct"])];
  const memory = find(["memory"]);
  return cpu === undefined || cpuacct === undefined || memory === undefined
    ? null
    : { version: 1, cpu, cpuacct, memory };
}

const JOINT = ["cpu,cpuacct", "cpuacct,cpu"] as const;

/** At the top, or one below: a kubelet with a cgroupRoot of its own, or one in a container, as kind's. */
function findRoots(files: CgroupFiles, tree: string): readonly PodRoot[] {
  const names = files.listDirectories(tree);
  const below = names.flatMap((name) => files.listDirectories(join(tree, name)).map((one) => `${name}/${one}`));
  return [...names, ...below].flatMap((path) => toRoot(path) ?? []).slice(0, MAX_ROOTS);
}

const MAX_ROOTS = 8;

function toRoot(path: string): PodRoot | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "kubepods") return { path, driver: "cgroupfs", prefix: name };
  const prefix = /^((?:.+-)?kubepods)\.slice$/.exec(name)?.[1];
  return prefix === undefined ? null : { path, driver: "systemd", prefix };
}

/** A path of two parts, of which either may be empty. */
export function join(above: string, below: string): string {
  return above === "" || below === "" ? `${above}${below}` : `${above}/${below}`;
}
