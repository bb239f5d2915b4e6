/**
 * Reads the cgroups of tracked containers. Where one lies is found out once for each instance of a container; from then
 * on its files are read by their paths, and a cgroup that has gone is the end of the instance.
 */
import type { PodUsage, Point } from "../../api/usage.ts";
import type { UsageContainer, UsagePod } from "../watch_usage.ts";
import type { CgroupFiles } from "./files.ts";
import { findHierarchy, type Hierarchy, join, listContainerNames, type Mount, toPodPath } from "./hierarchy.ts";
import { parseBytes, parseContainer } from "./parse_files.ts";

/** What one look at the tracked pods gave. */
export type CgroupReading =
  | { readonly kind: "usage"; readonly pods: Map<string, PodUsage>; readonly skipped: number }
  /** `why` ends a sentence and says what to do. */
  | { readonly kind: "failed"; readonly why: string };

/** Remembers where the containers of one node lie; disposal releases their files. */
export class CgroupReader implements Disposable {
  readonly #files: CgroupFiles;
  readonly #now: () => number;
  #hierarchy: Hierarchy | null = null;
  #hasFound = false;
  /** By instance, those that were there at the last look. */
  #places: ReadonlyMap<string, Place> = new Map();

  /** `now` gives the node's own time, epoch ms. */
  constructor(files: CgroupFiles, now: () => number) {
    this.#files = files;
    this.#now = now;
  }

  /** Does not throw. */
  read(tracked: Iterable<UsagePod>): CgroupReading {
    if (this.#hierarchy === null) {
      const found = findHierarchy(this.#files);
      if (typeof found === "string") return { kind: "failed", why: found };
      this.#hierarchy = found;
    }
    const pass: Pass = { hierarchy: this.#hierarchy, places: new Map(), running: 0, skipped: 0 };
    const pods = new Map<string, PodUsage>();
    for (const pod of tracked) {
      const usage = this.#readPod(pod, pass);
      if (usage !== null) pods.set(pod.uid, usage);
    }
    this.#forgetAllBut(pass.places);
    if (pass.places.size > 0) this.#hasFound = true;
    // What was mounted may have changed with the node.
    if (pass.places.size === 0) this.#hierarchy = null;
    return pass.running > 0 && !this.#hasFound
      ? { kind: "failed", why: NONE_FOUND }
      : { kind: "usage", pods, skipped: pass.skipped };
  }

  /** Nothing is kept open. */
  [Symbol.dispose](): void {
    this.#forgetAllBut(new Map());
  }

  #forgetAllBut(kept: ReadonlyMap<string, Place>): void {
    for (const [instance, place] of this.#places) if (!kept.has(instance)) this.#release(place);
    this.#places = kept;
  }

  #release({ podMemory, paths }: Place): void {
    for (const path of [podMemory, ...Object.values(paths)]) if (path !== null) this.#files.release(path);
  }

  #readPod(pod: UsagePod, pass: Pass): PodUsage | null {
    const points: Point[] = [];
    let podPath: string | null = null;
    for (const container of pod.containers) {
      if (container.runningAt !== null) pass.running++;
      const place = container.instance === null ? null : this.#findPlace(pod, container.instance, pass);
      const point = place === null ? null : this.#readContainer(container, place, pass);
      if (point === null || place === null) continue;
      podPath = place.podMemory;
      points.push(point);
    }
    if (podPath === null) return null;
    const text = this.#files.readText(podPath);
    return { usageBytes: text === null ? null : parseBytes(text), points };
  }

  #readContainer(container: UsageContainer, place: Place, pass: Pass): Point | null {
    const { instance, paths } = place;
    const { readText } = this.#files;
    // As near to the counter as can be: a rate divides by the time between two of them.
    const at = this.#now();
    const usage = readText(paths.usage);
    const memory = readText(paths.memory);
    const memoryStat = readText(paths.memoryStat);
    if (usage === null || memory === null || memoryStat === null) {
      // Gone between the files.
      pass.places.delete(instance);
      this.#release(place);
      return null;
    }
    const read = (path: string | null) => path === null ? null : path === paths.usage ? usage : readText(path);
    const numbers = parseContainer({
      usage,
      memory,
      memoryStat,
      throttling: read(paths.throttling),
      pressure: read(paths.pressure),
      events: read(paths.events),
    }, pass.hierarchy.mount.version);
    if (numbers === null) {
      pass.skipped++;
      return null;
    }
    const { counterNs, workingSetBytes, usageBytes, oomKills, pressure } = numbers;
    const cpu = { kind: "counter", counterNs } as const;
    const { name } = container;
    return { container: name, instance, at, resolutionMs: 1, cpu, workingSetBytes, usageBytes, pressure, oomKills };
  }

  #findPlace(pod: UsagePod, instance: string, { hierarchy, places }: Pass): Place | null {
    const place = this.#places.get(instance) ?? findPlace(this.#files, { pod, instance, hierarchy });
    if (place !== null) places.set(instance, place);
    return place;
  }
}

const NONE_FOUND =
  "no running container's cgroup is in it; is it the node of --node, and its runtime containerd, CRI-O " +
  "or Docker?";

interface Pass {
  readonly hierarchy: Hierarchy;
  /** By instance: those that are there. */
  readonly places: Map<string, Place>;
  running: number;
  skipped: number;
}

/** Where the files of an instance are. */
interface Place {
  readonly instance: string;
  readonly podMemory: string;
  readonly paths: Paths;
}

interface Paths {
  readonly usage: string;
  readonly memory: string;
  readonly memoryStat: string;
  /** `null` for those that the cgroup does not have: they are not asked for again. */
  readonly throttling: string | null;
  readonly pressure: string | null;
  readonly events: string | null;
}

function findPlace(
  files: CgroupFiles,
  { pod, instance, hierarchy }: { readonly pod: UsagePod; readonly instance: string; readonly hierarchy: Hierarchy },
): Place | null {
  const { mount, roots } = hierarchy;
  for (const root of roots) {
    const podPath = toPodPath(root, pod);
    if (podPath === null) continue;
    for (const name of listContainerNames(root, instance)) {
      const paths = findPaths(files, mount, `${podPath}/${name}`);
      if (paths !== null) return { instance, podMemory: toMemoryPath(mount, podPath), paths };
    }
  }
  return null;
}

/** `null` unless the cgroup has what no container is without. */
function findPaths(files: CgroupFiles, mount: Mount, path: string): Paths | null {
  const find = (file: string) => files.findKind(file) === "file" ? file : null;
  const inTree = (tree: string, file: string) => find(`${join(tree, path)}/${file}`);
  const [cpu, cpuacct, tree] = mount.version === 1 ? [mount.cpu, mount.cpuacct, mount.memory] : ["", "", ""];
  const usage = inTree(cpuacct, mount.version === 1 ? "cpuacct.usage_percpu" : "cpu.stat");
  const memory = find(toMemoryPath(mount, path));
  const memoryStat = inTree(tree, "memory.stat");
  if (usage === null || memory === null || memoryStat === null) return null;
  return {
    usage,
    memory,
    memoryStat,
    throttling: inTree(cpu, "cpu.stat"),
    pressure: mount.version === 1 ? null : inTree("", "cpu.pressure"),
    events: inTree(tree, mount.version === 1 ? "memory.oom_control" : "memory.events"),
  };
}

function toMemoryPath(mount: Mount, path: string): string {
  return mount.version === 1 ? `${mount.memory}/${path}/memory.usage_in_bytes` : `${path}/memory.current`;
}
