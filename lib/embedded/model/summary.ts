/**
 * What does `/stats/summary` of a modelled node answer?
 * A young container is shown as it is this second, an older one as cAdvisor read it last. A process that has just
 * exited is shown as zeros. Times are whole seconds; pods and containers have no order.
 */
import type { ContainerStats, CpuStats, MemoryStats, PodStats, PsiStats, Summary } from "../../api/summary.ts";
import { type CpuPressure, getCounterNs, type Meter, NO_PRESSURE, type Sample } from "../../simulate/model/meter.ts";
import { draw, drawBetween } from "../../simulate/model/random.ts";
import { formatTime } from "../../units/time.ts";
import type { ContainerState, NodeState, PodState } from "./state.ts";

/** `now`: not before the state's own time; what passed since is taken to have gone on as before. */
export function computeSummary(state: NodeState, now: number): Summary {
  const { config, meter, startedAt } = state;
  const pods = state.pods.flatMap((pod) => toPodStats(pod, { state, now }));
  const usage = {
    startTime: formatTime(startedAt),
    ...toUsage(meter.sample, { startedAt, limit: config.memoryBytes, psi: null }),
  };
  const node = {
    nodeName: config.name,
    // All pods, which the model does not distinguish from the node.
    systemContainers: [{ name: "pods", ...usage }],
    ...usage,
    memory: { ...usage.memory, pageFaults: NODE_PAGE_FAULTS },
    swap: { time: usage.cpu.time, swapAvailableBytes: 0, swapUsageBytes: 0 },
  };
  return { node, pods: shuffle(pods, ({ podRef }) => [config.seed, now, podRef?.uid ?? ""]) };
}

/** The text that a kubelet sends: a line for each field, indented by one space for each level. */
export function formatSummary(summary: Summary): string {
  return JSON.stringify(summary, null, 1);
}

/** Those of a node (recorded). Its pods' cgroups have none. */
const NODE_PAGE_FAULTS = 49_910;

/** Fields that a kubelet sends and podfit does not read. */
interface UnreadStats {
  readonly memory: MemoryStats & {
    readonly pageFaults: number;
    readonly majorPageFaults: number;
    readonly psi?: PsiStats;
  };
  readonly swap: { readonly time?: string; readonly swapAvailableBytes?: number; readonly swapUsageBytes: number };
}

interface Reading {
  readonly state: NodeState;
  readonly now: number;
}

/** Measured: with polls every 0.5 s, an exited process shows once. */
const ZERO_MS = [300, 700] as const;

/** The kubelet has no rate before its second look. */
const FIRST_RATE_MS = 1000;

/** cAdvisor takes the time before it reads, so its first sample may be stamped before the last fresh one. */
const STAMP_MS = [0, 30] as const;

function toPodStats(pod: PodState, reading: Reading): readonly (PodStats & UnreadStats)[] {
  const { spec, life, meter } = pod;
  const { config } = reading.state;
  const containers = life.containers.flatMap((one) => toContainerStats(pod, one, reading));
  if (containers.length === 0) return [];
  return [{
    podRef: { name: spec.name, namespace: spec.namespace, uid: spec.uid },
    startTime: formatTime(life.seenAt),
    containers: shuffle(containers, ({ name }) => [config.seed, reading.now, spec.uid, name ?? ""]),
    ...toUsage(meter.sample, {
      startedAt: meter.startedAt,
      limit: life.cgroup.memoryLimit,
      psi: config.hasPsi ? meter.sample?.psi ?? null : null,
    }),
  }];
}

function toContainerStats(
  pod: PodState,
  container: ContainerState,
  { state, now }: Reading,
): readonly (ContainerStats & UnreadStats)[] {
  const { name, run, actual, instances } = container;
  const key = [state.config.seed, pod.spec.uid, name, instances];
  if (run.kind === "exited" && !run.isRestart) {
    const { startedAt, finishedAt } = run.ended;
    if (now >= finishedAt + drawBetween(ZERO_MS, [...key, "zero"])) return [];
    return [
      toContainer(name, startedAt, { time: now, ...ZEROS, ...(state.config.hasCadvisor ? {} : { availableBytes: 0 }) }),
    ];
  }
  const meter = pod.meters[name];
  if (run.kind !== "running" || meter === undefined) return [];
  const limit = actual["memory.limits"];
  const { sample } = meter;
  if (sample === null || !state.config.hasCadvisor) {
    const fresh = toFreshReading(meter, { state, now });
    // The runtime's numbers have a zero where cAdvisor's have nothing.
    const availableBytes = limit === null ? 0 : Math.max(0, limit - fresh.workingSetBytes);
    const isFirst = now - meter.startedAt < FIRST_RATE_MS;
    const cpuPsi = state.config.hasPsi ? toPsi(fresh.psi, "ns") : null;
    return [toContainer(name, meter.startedAt, { time: now, ...fresh, availableBytes, isFirst, cpuPsi })];
  }
  const time = sample.at - drawBetween(STAMP_MS, [...key, "stamp", sample.at]);
  const available = limit === null ? {} : { availableBytes: Math.max(0, limit - sample.workingSetBytes) };
  const cpuPsi = toPsi(state.config.hasPsi ? sample.psi : null, "us");
  return [toContainer(name, meter.startedAt, { ...sample, time, ...available, cpuPsi })];
}

function toFreshReading(meter: Meter, { state, now }: Reading): Sample {
  return {
    at: now,
    cpuNs: getCounterNs(meter, Math.max(0, now - state.at)),
    nanoCores: Math.round(meter.millicores * 1e6),
    psi: meter.psi,
    workingSetBytes: meter.workingSetBytes,
    usageBytes: meter.workingSetBytes + meter.cacheBytes,
  };
}

interface Numbers extends Omit<Sample, "at"> {
  readonly time: number;
  readonly availableBytes?: number;
  readonly isFirst?: boolean;
  readonly cpuPsi?: PsiStats | null;
}

const ZEROS = { cpuNs: 0, nanoCores: 0, psi: NO_PRESSURE, workingSetBytes: 0, usageBytes: 0 };

function toContainer(name: string, startedAt: number, numbers: Numbers): ContainerStats & UnreadStats {
  const time = formatTime(numbers.time);
  const { availableBytes, usageBytes, workingSetBytes } = numbers;
  const hasPsi = numbers.cpuPsi !== undefined && numbers.cpuPsi !== null;
  return {
    name,
    startTime: formatTime(startedAt),
    cpu: {
      time,
      ...(numbers.isFirst === true ? {} : { usageNanoCores: numbers.nanoCores }),
      usageCoreNanoSeconds: numbers.cpuNs,
      ...(hasPsi ? { psi: numbers.cpuPsi } : {}),
    },
    memory: {
      time,
      ...(availableBytes === undefined ? {} : { availableBytes }),
      usageBytes,
      workingSetBytes,
      rssBytes: workingSetBytes,
      pageFaults: workingSetBytes === 0 ? 0 : START_PAGE_FAULTS + Math.ceil(workingSetBytes / PAGE_BYTES),
      majorPageFaults: 0,
      ...(hasPsi ? { psi: NO_PSI } : {}),
    },
    swap: { time, ...(availableBytes === undefined ? {} : { swapAvailableBytes: 0 }), swapUsageBytes: 0 },
  };
}

const PAGE_BYTES = 4096;

/** In addition to one for each page that it holds: 800 to 1,000 were recorded. */
const START_PAGE_FAULTS = 850;

/** The figures of a pod or the node, which are zeros from its start until it is first read. */
function toUsage(
  sample: Sample | null,
  { startedAt, limit, psi }: {
    readonly startedAt: number;
    readonly limit: number | null;
    readonly psi: CpuPressure | null;
  },
): UnreadStats & { readonly cpu: CpuStats } {
  const time = formatTime(sample?.at ?? startedAt);
  const workingSetBytes = sample?.workingSetBytes ?? 0;
  return {
    cpu: {
      time,
      usageNanoCores: sample?.nanoCores ?? 0,
      usageCoreNanoSeconds: sample?.cpuNs ?? 0,
      psi: toPsi(psi, "us"),
    },
    memory: {
      time,
      ...(limit === null ? {} : { availableBytes: Math.max(0, limit - workingSetBytes) }),
      usageBytes: sample?.usageBytes ?? 0,
      workingSetBytes,
      rssBytes: workingSetBytes,
      pageFaults: 0,
      majorPageFaults: 0,
      psi: NO_PSI,
    },
    swap: { time, swapUsageBytes: 0 },
  };
}

function shuffle<T>(list: readonly T[], key: (one: T) => readonly (string | number)[]): readonly T[] {
  return list.map((one) => ({ one, at: draw(key(one)) })).toSorted((a, b) => a.at - b.at).map(({ one }) => one);
}

/** `null` = cgroup v1, of which cAdvisor makes zeros (recorded). */
function toPsi(pressure: CpuPressure | null, unit: "us" | "ns"): PsiStats {
  if (pressure === null) return NO_PSI;
  const { fullNs } = pressure;
  const toTotal = (ns: number) => unit === "us" ? Math.floor(ns / 1000) : ns;
  const data = {
    avg10: toHundredths(pressure.avg10),
    avg60: toHundredths(pressure.avg60),
    avg300: toHundredths(pressure.avg300),
  };
  return { full: { total: toTotal(fullNs), ...data }, some: { total: toTotal(fullNs + START_NS), ...data } };
}

const ZERO_PSI = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

const NO_PSI: PsiStats = { full: ZERO_PSI, some: ZERO_PSI };

/** Every process has waited a little while it started. */
const START_NS = 500_000;

function toHundredths(percent: number): number {
  return Math.round(percent * 100) / 100;
}
