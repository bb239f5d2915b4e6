/**
 * Which cgroup files would a modelled node have?
 * https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import type { NodeState, PodState } from "../../../lib/embedded/model/state.ts";
import { type CpuPressure, getCounterNs, type Meter } from "../../../lib/simulate/model/meter.ts";
import type { QosClass } from "../../../lib/units/resources.ts";
import type { CgroupFiles } from "../../../lib/usage/cgroup/files.ts";

/** The node, and how its cgroups are laid out. */
export interface CgroupFilesOptions {
  /** The present state of the model. */
  readonly getState: () => NodeState;
  /** The time of the node's clock. */
  readonly now: () => number;
  readonly version: 1 | 2;
  readonly driver: "cgroupfs" | "systemd";
}

/** Files that follow the model. */
export function createCgroupFiles({ getState, now, ...layout }: CgroupFilesOptions): CgroupFiles {
  let tree: Tree = { at: NaN, texts: new Map(), directories: new Map() };
  // One read of all files takes no time of the model.
  const read = () => {
    const at = now();
    if (tree.at !== at) tree = growTree(getState(), { ...layout, at });
    return tree;
  };
  return {
    release() {},
    readText: (path) => read().texts.get(path) ?? null,
    findKind: (path) => read().texts.has(path) ? "file" : read().directories.has(path) ? "directory" : null,
    listDirectories: (path) => [...read().directories.get(path) ?? []].sort(),
  };
}

interface Layout extends Pick<CgroupFilesOptions, "version" | "driver"> {
  readonly at: number;
}

interface Tree {
  readonly at: number;
  readonly texts: ReadonlyMap<string, string>;
  /** The names of the directories in each directory. */
  readonly directories: ReadonlyMap<string, ReadonlySet<string>>;
}

function growTree(state: NodeState, layout: Layout): Tree {
  const texts = new Map(
    state.pods.flatMap((pod) => listFiles(pod, { state, layout })),
  );
  if (layout.version === 2) texts.set("cgroup.controllers", "cpuset cpu io memory pids\n");
  const directories = new Map<string, Set<string>>([["", new Set()]]);
  // A kubelet makes these before it has any pod.
  const empty = [...texts.keys(), ...TREES[layout.version].map((tree) => `${tree}${toRoot(layout)}/cgroup.procs`)];
  for (const path of empty) {
    const names = path.split("/");
    for (let depth = 1; depth < names.length; depth++) {
      const [above, name] = [names.slice(0, depth - 1).join("/"), names[depth - 1] ?? ""];
      directories.set(above, (directories.get(above) ?? new Set()).add(name));
      const own = names.slice(0, depth).join("/");
      directories.set(own, directories.get(own) ?? new Set());
    }
  }
  return { at: layout.at, texts, directories };
}

const TREES = { 1: ["cpu/", "cpuacct/", "memory/"], 2: [""] } as const;

interface Context {
  readonly state: NodeState;
  readonly layout: Layout;
}

type File = readonly [path: string, text: string];

/** Instances with a process have a cgroup, and so has the pod while any of them has. */
function listFiles(pod: PodState, { state, layout }: Context): readonly File[] {
  const podPath = toPodPath(pod, layout);
  const files: File[] = [];
  let usageBytes = 0;
  for (const { name, run } of pod.life.containers) {
    const meter = pod.meters[name];
    if (run.kind !== "running" || meter === undefined) continue;
    usageBytes += meter.workingSetBytes + meter.cacheBytes;
    const path = `${podPath}/${toContainerName(run.id, layout)}`;
    const counterNs = getCounterNs(meter, Math.max(0, layout.at - state.at));
    const texts = layout.version === 1
      ? toTextsV1(meter, { counterNs, cpus: Math.max(1, Math.floor(state.config.cpuMillicores / 1000)) })
      : toTextsV2(meter, counterNs);
    for (const [file, text] of Object.entries(texts)) files.push([toFilePath(file, path, layout), text]);
  }
  if (files.length === 0) return files;
  const memory = layout.version === 1 ? "memory.usage_in_bytes" : "memory.current";
  return [...files, [toFilePath(memory, podPath, layout), `${usageBytes}\n`]];
}

function toRoot({ driver }: Layout): string {
  return driver === "cgroupfs" ? "kubepods" : "kubepods.slice";
}

function toPodPath({ spec: { uid, qosClass } }: PodState, layout: Layout): string {
  const [root, qos] = [toRoot(layout), QOS_NAMES[qosClass]];
  if (layout.driver === "cgroupfs") return `${root}/${qos === "" ? "" : `${qos}/`}pod${uid}`;
  const prefix = qos === "" ? "kubepods" : `kubepods-${qos}`;
  return `${qos === "" ? root : `${root}/${prefix}.slice`}/${prefix}-pod${uid.replaceAll("-", "_")}.slice`;
}

const QOS_NAMES: Readonly<Record<QosClass, string>> = {
  Guaranteed: "",
  Burstable: "burstable",
  BestEffort: "besteffort",
};

function toContainerName(id: string, { driver }: Layout): string {
  const hex = id.slice("containerd://".length);
  return driver === "cgroupfs" ? hex : `cri-containerd-${hex}.scope`;
}

/** In version 1 each controller has its own tree, and a file begins with its controller's name. */
function toFilePath(file: string, cgroup: string, { version }: Layout): string {
  return version === 1 ? `${file.slice(0, file.indexOf("."))}/${cgroup}/${file}` : `${cgroup}/${file}`;
}

type Texts = Readonly<Record<string, string>>;

function toTextsV1(meter: Meter, { counterNs, cpus }: { readonly counterNs: number; readonly cpus: number }): Texts {
  const largestNs = cpus === 1 ? counterNs : Math.min(counterNs, meter.largestCpuNs);
  // One of them has what does not divide.
  const share = Math.floor((counterNs - largestNs) / Math.max(1, cpus - 1));
  const others = Array.from(
    { length: cpus - 1 },
    (_, at) => at > 0 ? share : counterNs - largestNs - share * (cpus - 2),
  );
  return {
    "cpuacct.usage_percpu": `${[largestNs, ...others].join(" ")} \n`,
    "cpu.stat": `nr_periods 0\nnr_throttled 0\nthrottled_time ${meter.throttledNs}\n`,
    "memory.usage_in_bytes": `${meter.workingSetBytes + meter.cacheBytes}\n`,
    "memory.stat": `cache ${meter.cacheBytes}\nrss ${meter.workingSetBytes}\ntotal_inactive_file ${meter.cacheBytes}\n`,
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
  };
}

function toTextsV2(meter: Meter, counterNs: number): Texts {
  const us = (ns: number) => Math.floor(ns / 1000);
  return {
    "cpu.stat":
      `usage_usec ${us(counterNs)}\nuser_usec ${us(counterNs)}\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\n` +
      `throttled_usec ${us(meter.throttledNs)}\n`,
    "cpu.pressure": toPressure(meter.psi),
    "memory.current": `${meter.workingSetBytes + meter.cacheBytes}\n`,
    "memory.stat": `anon ${meter.workingSetBytes}\nfile ${meter.cacheBytes}\ninactive_file ${meter.cacheBytes}\n`,
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
  };
}

/** Whoever waits for all waits for some. */
function toPressure({ fullNs, avg10, avg60, avg300 }: CpuPressure): string {
  const means = `avg10=${avg10.toFixed(2)} avg60=${avg60.toFixed(2)} avg300=${avg300.toFixed(2)}`;
  const line = `${means} total=${Math.floor(fullNs / 1000)}`;
  return `some ${line}\nfull ${line}\n`;
}
