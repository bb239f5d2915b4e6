/**
 * What do the containers of this node use, by their cgroups? The place of a container is found once, then its files are
 * read and parsed.
 *
 * This usage is as fresh as the second, where a kubelet's summary is 10 to 19 s old. A value that is not a number of
 * the expected kind is `null`.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html
 * https://docs.kernel.org/admin-guide/cgroup-v1/index.html
 * https://docs.kernel.org/accounting/psi.html
 *
 * Clauses: L61.
 */
import type { PodUsage, Point, Pressure, Reading } from "../../api/usage.ts";
import type { Clock } from "../../runtime/clock.ts";
import {
  readAtInterval,
  type UsageContainer,
  type UsageNode,
  type UsagePod,
  type WatchUsage,
  type WatchUsageOptions,
} from "../source.ts";
import { UsageTable } from "../rows.ts";
import {
  type CgroupFiles,
  findHierarchy,
  type Hierarchy,
  joinPaths,
  listContainerNames,
  type Mount,
  toPodPath,
} from "./files.ts";

/** Reads `files` at the shortest interval in use, at most each second. Other nodes cannot be read. */
export function watchCgroups(files: CgroupFiles, options: WatchCgroupsOptions): WatchUsage {
  const { clock } = options;
  return async function* (node, watch) {
    // A rate divides by the time between two points.
    using reader = new CgroupReader(files, () => clock.steady());
    yield* readAtInterval(() => toReading(node, { ...options, reader, watch }), { ...watch, clock });
  };
}

/** The result of one reading of the tracked pods. */
export type CgroupReading =
  | { readonly kind: "usage"; readonly pods: UsageTable; readonly skipped: number }
  /** `why` ends a sentence and says what to do. */
  | { readonly kind: "failed"; readonly why: string };

/**
 * Keeps the places of the containers of one node; disposal closes their files. A container whose cgroup is gone has
 * ended.
 */
export class CgroupReader implements Disposable {
  readonly #files: CgroupFiles;
  readonly #now: () => number;
  #hierarchy: Hierarchy | null = null;
  #hasFound = false;
  /** By instance, the places of the last reading. */
  #places: ReadonlyMap<string, Place> = new Map();

  /** `now` returns the time of the points, epoch ms. */
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
    const pass: ReadState = { hierarchy: this.#hierarchy, places: new Map(), running: 0, skipped: 0 };
    const pods = new UsageTable();
    for (const pod of tracked) {
      const usage = this.#readPod(pod, pass);
      if (usage !== null) pods.add(pod.uid, usage);
    }
    this.#forgetAllBut(pass.places);
    if (pass.places.size > 0) this.#hasFound = true;
    // What was mounted may have changed with the node.
    if (pass.places.size === 0) this.#hierarchy = null;
    return pass.running > 0 && !this.#hasFound
      ? { kind: "failed", why: NO_CGROUPS }
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

  #readPod(pod: UsagePod, pass: ReadState): PodUsage | null {
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

  #readContainer(container: UsageContainer, place: Place, pass: ReadState): Point | null {
    const { instance, paths } = place;
    const { readText } = this.#files;
    // The time is taken right at the counter, because a rate divides by the time between two points.
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
      memoryPressure: read(paths.memoryPressure),
      events: read(paths.events),
    }, pass.hierarchy.mount.version);
    if (numbers === null) {
      pass.skipped++;
      return null;
    }
    const { counterNs, ...rest } = numbers;
    return { container: container.name, instance, at, resolutionMs: 1, cpu: { kind: "counter", counterNs }, ...rest };
  }

  #findPlace(pod: UsagePod, instance: string, { hierarchy, places }: ReadState): Place | null {
    const place = this.#places.get(instance) ?? findPlace(this.#files, { pod, instance, hierarchy });
    if (place !== null) places.set(instance, place);
    return place;
  }
}

/** Returns `null` if the files of this version hold no usage. */
export function parseContainer(texts: ContainerTexts, version: 1 | 2): ContainerNumbers | null {
  const cpus = version === 1 ? parseCounters(texts.usage) : null;
  const counterNs = version === 1 ? sum(cpus) : toNs(findField(texts.usage, "usage_usec"), US);
  const usageBytes = parseBytes(texts.memory);
  const inactiveBytes = findField(texts.memoryStat, version === 1 ? "total_inactive_file" : "inactive_file");
  if (counterNs === null || usageBytes === null || inactiveBytes === null) return null;
  const memoryStallPercent = findFullPercent(texts.memoryPressure);
  return {
    counterNs,
    // As in cAdvisor, and so in the kubelet.
    workingSetBytes: Math.max(0, usageBytes - inactiveBytes),
    usageBytes,
    pressure: toPressure({
      fullNs: findFullNs(texts.pressure),
      throttledNs: version === 1
        ? toNs(findField(texts.throttling, "throttled_time"), 1)
        : toNs(findField(texts.throttling, "throttled_usec"), US),
      largestCpuNs: cpus === null ? null : Math.max(...cpus),
    }),
    oomKills: findField(texts.events, "oom_kill"),
    ...(memoryStallPercent > 0 && { memoryStallPercent }),
  };
}

/** The node of the cgroups `files`, their mount, and podfit's clock. */
interface WatchCgroupsOptions {
  readonly node: string;
  /** For messages. */
  readonly root: string;
  readonly clock: Clock;
}

interface Context extends WatchCgroupsOptions {
  readonly reader: CgroupReader;
  readonly watch: WatchUsageOptions;
}

function toReading({ name }: UsageNode, { node, root, clock, reader, watch }: Context): Reading {
  const startedMs = clock.monotonic();
  const common = { node: name, readAt: clock.steady() };
  const read = name === node
    ? reader.read(watch.pods())
    : { kind: "failed", why: `they are those of node "${node}"` } as const;
  if (read.kind === "failed") {
    const message = `Cannot read usage of node "${name}" in the cgroups at "${root}": ${read.why}`;
    return { ...common, kind: "failed", reason: "unreachable", message };
  }
  const { pods, skipped } = read;
  const durationMs = clock.monotonic() - startedMs;
  return { ...common, kind: "usage", clockOffsetMs: 0, pods, rows: pods, skipped, durationMs };
}

const NO_CGROUPS =
  "no running container's cgroup is in it; is it the node of --node, and its runtime containerd, CRI-O " +
  "or Docker?";

interface ReadState {
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
  /** `null` for files that the cgroup lacks: they are not read again. */
  readonly throttling: string | null;
  readonly pressure: string | null;
  readonly memoryPressure: string | null;
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

/** Returns `null` unless the cgroup has the files that every container has. */
function findPaths(files: CgroupFiles, mount: Mount, path: string): Paths | null {
  const find = (file: string) => files.findKind(file) === "file" ? file : null;
  const inTree = (tree: string, file: string) => find(`${joinPaths(tree, path)}/${file}`);
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
    memoryPressure: mount.version === 1 ? null : inTree("", "memory.pressure"),
    events: inTree(tree, mount.version === 1 ? "memory.oom_control" : "memory.events"),
  };
}

function toMemoryPath(mount: Mount, path: string): string {
  return mount.version === 1 ? `${mount.memory}/${path}/memory.usage_in_bytes` : `${path}/memory.current`;
}

/** The text of a container's files; `null` for a file that its cgroup lacks. */
interface ContainerTexts {
  /** `cpu.stat`; in version 1 `cpuacct.usage_percpu`. */
  readonly usage: string;
  /** `memory.current`, `memory.usage_in_bytes`. */
  readonly memory: string;
  readonly memoryStat: string;
  /** `cpu.stat` of either version. */
  readonly throttling: string | null;
  /** `cpu.pressure`; version 1 and kernels without PSI lack it. */
  readonly pressure: string | null;
  /** `memory.pressure`, where there is a `cpu.pressure`. */
  readonly memoryPressure: string | null;
  /** `memory.events`, `memory.oom_control`. */
  readonly events: string | null;
}

/** A container's numbers since its cgroup was made; ns and bytes, `null` if not measured. */
interface ContainerNumbers {
  readonly counterNs: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
  readonly pressure: Pressure | null;
  readonly oomKills: number | null;
  readonly memoryStallPercent?: number;
}

/** A file that is one number, in bytes. */
function parseBytes(text: string): number | null {
  return parseNumber(text.trim(), MAX_BYTES);
}

/** A microsecond in ns. */
const US = 1000;

/** The maximum of the counters' type (uint64): 584 core-years. */
const MAX_COUNTER = 2 ** 64;

const MAX_BYTES = 2 ** 50;

const MAX_CPUS = 8192;

/** Finds `NAME NUMBER` on one line. */
function findField(text: string | null, name: string): number | null {
  if (text === null) return null;
  const start = text.startsWith(`${name} `) ? 0 : text.indexOf(`\n${name} `) + 1;
  if (start === 0 && !text.startsWith(`${name} `)) return null;
  const end = text.indexOf("\n", start);
  return parseNumber(text.slice(start + name.length + 1, end === -1 ? undefined : end), MAX_COUNTER);
}

/** `full avg10=0.00 avg60=0.00 avg300=0.00 total=0`, in µs; kernels before 5.13 have no `full` for cpu. */
function findFullNs(text: string | null): number | null {
  const total = /^full .{0,200}\btotal=(\d{1,20})$/m.exec(text ?? "")?.[1];
  return total === undefined ? null : toNs(parseNumber(total, MAX_COUNTER), US);
}

/** `full avg10=0.00 ...`, in percent; 0 without it. */
function findFullPercent(text: string | null): number {
  const percent = Number(/^full avg10=(\d{1,3}\.\d{1,4}) /m.exec(text ?? "")?.[1] ?? 0);
  return percent <= 100 ? percent : 0;
}

function toPressure(pressure: Pressure): Pressure | null {
  const { fullNs, throttledNs, largestCpuNs } = pressure;
  return fullNs === null && throttledNs === null && largestCpuNs === null ? null : pressure;
}

/** One number for each CPU, with spaces between and behind them. */
function parseCounters(text: string): readonly number[] | null {
  const counters: number[] = [];
  for (const word of text.trim().split(" ", MAX_CPUS + 1)) {
    const counter = parseNumber(word, MAX_COUNTER);
    if (counter === null) return null;
    counters.push(counter);
  }
  return counters.length <= MAX_CPUS ? counters : null;
}

function sum(counters: readonly number[] | null): number | null {
  return counters === null ? null : toNs(counters.reduce((one, other) => one + other, 0), 1);
}

function toNs(amount: number | null, unitNs: number): number | null {
  return amount === null || amount * unitNs > MAX_COUNTER ? null : amount * unitNs;
}

/** isSafeInteger does not fit: a real counter passes 2^53. */
function parseNumber(text: string, max: number): number | null {
  if (!/^\d{1,20}$/.test(text)) return null;
  const number = Number(text);
  return number <= max ? number : null;
}
