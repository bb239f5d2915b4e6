/**
 * Trees of cgroup files, by path: recorded ones of a node of each version, and the container of version 1 as other nodes
 * keep it. Where it is in version 2, the text is that of the kernel's documentation, with numbers that no idle node has:
 * https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import type { CgroupFiles } from "../../lib/usage/cgroup/files.ts";
import type { UsagePod } from "../../lib/usage/source.ts";

/** Text by path. */
export type Tree = Readonly<Record<string, string>>;

export const UID = "5d1c7deb-7e5f-450e-83e5-12af0bd83fc0";
export const ID = "dde0e3ae51fa12172977d0951dc1b2836ea365598c20a750e799692297beece6";

/** The recorded pod. */
export const POD = {
  uid: UID,
  namespace: "default",
  name: "hello",
  qosClass: "Burstable",
  containers: [{ name: "hello", instance: `containerd://${ID}`, runningAt: 1 }],
} as const satisfies UsagePod;

export const RECORDED = readTree("v1_cgroupfs");

/** Of two other pods, each on a node with another cgroup driver. */
export const RECORDED_V2 = {
  cgroupfs: {
    tree: readTree("v2_cgroupfs"),
    pod: toPodV2({
      uid: "df7bc27d-f14c-43f2-87ee-897f0e36e15c",
      id: "7244bdc421a85ab16a8e9611d536aa266fe34d1df22bcef04ad9b6491c63e1f1",
    }),
  },
  systemd: {
    tree: readTree("v2_systemd"),
    pod: toPodV2({
      uid: "ed790189-446d-4eda-858a-37bb05cad35e",
      id: "6f86e6652640a2564b1c029861f83d342dc2350205c41f8481556e17ce9cb9a7",
    }),
  },
};

function toPodV2({ uid, id }: { readonly uid: string; readonly id: string }): UsagePod {
  return { ...POD, uid, containers: [{ ...POD.containers[0], instance: `containerd://${id}` }] };
}

function readTree(name: string): Tree {
  return JSON.parse(Deno.readTextFileSync(new URL(`../testdata/cgroup/${name}.json`, import.meta.url)));
}

/** Where the recorded container is in each controller's tree. */
const RECORDED_POD = `podfit/kubepods/burstable/pod${UID}`;

/** The recorded tree with the pod and its container elsewhere. */
export function movedV1(podPath: string, name: string): Tree {
  return Object.fromEntries(
    Object.entries(RECORDED).map(([path, text]) => [path.replace(RECORDED_POD, podPath).replace(ID, name), text]),
  );
}

/** The same container in version 2, with what that adds. */
export function treeV2(podPath: string, name: string): Tree {
  const path = `${podPath}/${name}`;
  return {
    "cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n",
    [`${path}/cpu.stat`]:
      "usage_usec 776932\nuser_usec 600000\nsystem_usec 176932\nnice_usec 0\ncore_sched.force_idle_usec 0\n" +
      "nr_periods 152\nnr_throttled 11\nthrottled_usec 297552\nnr_bursts 0\nburst_usec 0\n",
    [`${path}/cpu.pressure`]: "some avg10=0.00 avg60=1.25 avg300=0.31 total=301234\n" +
      "full avg10=0.00 avg60=1.20 avg300=0.30 total=298765\n",
    [`${path}/memory.pressure`]: "some avg10=31.40 avg60=1.25 avg300=0.31 total=301234\n" +
      "full avg10=27.15 avg60=1.20 avg300=0.30 total=298765\n",
    [`${path}/memory.current`]: "1757184\n",
    [`${path}/memory.stat`]:
      "anon 921600\nfile 147456\nkernel 688128\nfile_mapped 0\ninactive_anon 917504\nactive_anon 4096\n" +
      "inactive_file 86016\nactive_file 61440\nunevictable 0\nworkingset_refault_file 30\n",
    [`${path}/memory.events`]: "low 0\nhigh 0\nmax 14\noom 3\noom_kill 2\noom_group_kill 1\n",
    [`${podPath}/memory.current`]: "2744320\n",
  };
}

/** The tree without a file system; the listener notes each path that is read, or released. */
export function toFiles(tree: Tree, onRead: (path: string) => void = () => {}, release = onRead): CgroupFiles {
  const paths = () => Object.keys(tree);
  return {
    release,
    readText(path) {
      onRead(path);
      return tree[path] ?? null;
    },
    findKind: (path) =>
      Object.hasOwn(tree, path) ? "file" : paths().some((one) => one.startsWith(`${path}/`)) ? "directory" : null,
    listDirectories(path) {
      const above = path === "" ? "" : `${path}/`;
      const names = paths().filter((one) => one.startsWith(above)).map((one) => one.slice(above.length).split("/"));
      return [...new Set(names.filter(({ length }) => length > 1).map(([name = ""]) => name))].sort();
    },
  };
}

/** Writes the tree below a directory. */
export async function plant(root: string, tree: Tree): Promise<void> {
  for (const [path, text] of Object.entries(tree)) {
    await Deno.mkdir(`${root}/${path.slice(0, Math.max(0, path.lastIndexOf("/")))}`, { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
}
