/**
 * How do the bytes of `/stats/summary` become usage by pod? A node may be compromised, so every value is checked.
 *
 * https://docs.kernel.org/accounting/psi.html
 */
import type { PodCpu, PodUsage, PodUsages, Point, Pressure, PsiHint, UsageRows } from "../../api/usage.ts";
import { parseTime } from "../../units/time.ts";
import { isRecord } from "../../units/untrusted.ts";
import { NS_PER_UNIT } from "../../units/usage_rows.ts";
import { type Projection, projectJson, recordShape, type Shape } from "../json/projection.ts";

/** The wanted pods, and the node's time. */
export interface SummaryOptions {
  /** UIDs of the pods to read. */
  readonly tracked: ReadonlySet<string> | ((uid: string) => boolean);
  /** The node's time of the reading; points far ahead of it are left out. */
  readonly nodeNow?: number;
}

/** The tracked pods' usage, or why the text is not a summary. */
export type SummaryReading =
  | {
    readonly kind: "summary";
    /** `at`: when the node's numbers were taken, by its clock. */
    readonly node: { readonly name: string | null; readonly at: number | null };
    readonly pods: PodUsages;
    /** The pods in numbers, if they were scanned. */
    readonly rows?: UsageRows;
    readonly skipped: number;
  }
  | { readonly kind: "malformed"; readonly message: string };

/** Parses a summary's JSON in UTF-8, and keeps nothing of `bytes`; never throws. */
export function parseSummary(bytes: Uint8Array, options: SummaryOptions): SummaryReading {
  const { tracked } = options;
  const isTracked = typeof tracked === "function" ? tracked : (uid: string) => tracked.has(uid);
  let read: Projection;
  try {
    read = projectJson(bytes, toSummaryShape(isTracked));
  } catch (error) {
    return malformed(`not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const summary = read.value;
  if (!isRecord(summary)) return malformed("not a JSON object");
  // Go writes an empty list as null.
  const entries = summary.pods ?? [];
  if (!Array.isArray(entries)) return malformed(`"pods" is not a list`);

  const node = toNode(summary.node);
  const context: PointContext = { latestAt: toLatestAt(node.at, options.nodeNow), parseTime: memoTime() };
  const pods = new Map<string, PodUsage>();
  let skipped = read.omitted;
  for (const entry of entries) {
    const uid = isRecord(entry) ? parseUid(entry.podRef) : null;
    if (uid === null || pods.has(uid)) skipped++;
    else {
      const parsed = toPodUsage(entry, context);
      pods.set(uid, parsed.usage);
      skipped += parsed.skipped;
    }
  }
  return { kind: "summary", node, pods, skipped };
}

/**
 * `psi` is untrusted; `ageMs`: how long the instance has run. `null` where nothing is measured: some = full = 0 is what
 * a kernel without PSI gives for ever, and one with PSI never, as each process has waited a little (L20).
 */
export function parsePressure(psi: unknown, ageMs: number): Pressure | null {
  if (!isRecord(psi) || !isRecord(psi.full)) return null;
  const { total, avg10, avg60 } = psi.full;
  const someTotal = isRecord(psi.some) ? psi.some.total : 0;
  if (!isTotal(total) || !isTotal(someTotal) || !isPercent(avg10) || !isPercent(avg60)) return null;
  const unit = findPsiUnit(Math.max(total, someTotal), ageMs);
  if (unit === null) return null;
  const fullHint = { unit, percent: Math.max(avg10, avg60) };
  return { fullNs: total * NS_PER_UNIT[unit], fullHint, throttledNs: null, largestCpuNs: null };
}

/**
 * Returns the kernel's mean over the last 10 s of the time in which all processes waited for memory, percent; 0 if it is
 * not measured. Kubelets have it since 1.34, on nodes with cgroup version 2. `psi` is untrusted. Clauses: L15.
 */
export function parseMemoryStall(psi: unknown): number {
  const full = isRecord(psi) ? psi.full : null;
  const percent = isRecord(full) ? full.avg10 : null;
  return isPercent(percent) ? percent : 0;
}

/** Returns the unit of totals of which this is the largest; `null` for 0, and for more than `ageMs` of either unit. */
export function findPsiUnit(largest: number, ageMs: number): PsiHint["unit"] | null {
  if (largest === 0) return null;
  // A process cannot wait longer than it lives: such a number is in nanoseconds.
  const unit = largest * NS_PER_UNIT.us <= toLongestNs(ageMs) ? "us" : "ns";
  return largest * NS_PER_UNIT[unit] > toLongestNs(ageMs) ? null : unit;
}

type Fields = Record<string, unknown>;

/** The search for duplicate names is quadratic, so their number has a bound. */
const MAX_CONTAINERS = 500;

/** A node has 110 pods, seldom 500. Pods that are not tracked are not counted. */
export const MAX_PODS = 5000;

const CPU = recordShape({
  time: "value",
  usageCoreNanoSeconds: "value",
  psi: recordShape({
    full: recordShape({ total: "value", avg10: "value", avg60: "value" }),
    some: recordShape({ total: "value" }),
  }),
});

const CONTAINER = recordShape({
  name: "value",
  startTime: "value",
  cpu: CPU,
  memory: recordShape({
    usageBytes: "value",
    workingSetBytes: "value",
    psi: recordShape({ full: recordShape({ avg10: "value" }) }),
  }),
});

const NODE = recordShape({ nodeName: "value", cpu: recordShape({ time: "value" }) });

const POD = recordShape({
  podRef: recordShape({ uid: "value" }),
  startTime: "value",
  containers: { kind: "list", entry: CONTAINER, maxEntries: MAX_CONTAINERS },
  cpu: CPU,
  memory: recordShape({ usageBytes: "value" }),
});

function toSummaryShape(isTracked: (uid: string) => boolean): Shape {
  const isWanted = (podRef: unknown) => {
    const uid = parseUid(podRef);
    // One without a uid is counted later.
    return uid === null || isTracked(uid);
  };
  const entry: Shape = { ...POD, wanted: { field: "podRef", isWanted } };
  return recordShape({ node: NODE, pods: { kind: "list", entry, maxEntries: MAX_PODS } });
}

function parseUid(podRef: unknown): string | null {
  const uid = isRecord(podRef) ? podRef.uid : null;
  return typeof uid === "string" && uid !== "" ? uid : null;
}

export const SECOND_MS = 1000;

const MAX_LEAD_MS = 3_600_000;

/** The maximum of the counter's type (uint64): 584 core-years. */
export const MAX_COUNTER_NS = 2 ** 64;

export const MAX_BYTES = 2 ** 50;

export const MAX_NAME_LENGTH = 253;

function malformed(cause: string): SummaryReading {
  return { kind: "malformed", message: `Cannot parse the kubelet's summary: ${cause}` };
}

function toNode(node: unknown): { name: string | null; at: number | null } {
  if (!isRecord(node)) return { name: null, at: null };
  const at = isRecord(node.cpu) ? toTime(node.cpu.time) : null;
  return { name: isName(node.nodeName) ? node.nodeName : null, at };
}

/** A point from the far future would make all later points look old; a node's own delay is below a minute. */
export function toLatestAt(nodeAt: number | null, nodeNow: number | undefined): number {
  if (nodeAt === null && nodeNow === undefined) return Infinity;
  return Math.max(nodeAt ?? -Infinity, nodeNow ?? -Infinity) + MAX_LEAD_MS;
}

interface PointContext {
  readonly latestAt: number;
  readonly parseTime: (value: unknown) => number | null;
}

function toPodUsage(pod: Fields, context: PointContext): { usage: PodUsage; skipped: number } {
  const containers = pod.containers ?? [];
  const usageBytes = toUsageBytes(isRecord(pod.memory) ? pod.memory.usageBytes : undefined);
  let skipped = usageBytes === undefined ? 1 : 0;
  const points: Point[] = [];
  const cpu = toPodCpu(pod, context);
  if (!Array.isArray(containers)) return { usage: { usageBytes: usageBytes ?? null, points }, skipped: skipped + 1 };
  for (const container of containers) {
    const point = isRecord(container) ? toPoint(container, context) : null;
    if (point === null || points.some((other) => other.container === point.container)) skipped++;
    else points.push(point);
  }
  // The copy has no spare memory: push() reserves space for 16 more points, and the pod's newest record keeps this
  // array.
  const usage = { usageBytes: usageBytes ?? null, points: points.slice() };
  return { usage: cpu === null ? usage : { ...usage, cpu }, skipped };
}

/** Returns `null` without a value, and for the zeros of a pod's first 12 s; impossible values are left out. */
function toPodCpu({ cpu, startTime }: Fields, { latestAt, parseTime }: PointContext): PodCpu | null {
  if (!isRecord(cpu)) return null;
  const at = parseTime(cpu.time);
  const counterNs = cpu.usageCoreNanoSeconds;
  if (at === null || at > latestAt || !isAmount(counterNs, MAX_COUNTER_NS) || counterNs === 0) return null;
  const pressure = parsePressure(cpu.psi, at - (parseTime(startTime) ?? at));
  return { at, resolutionMs: SECOND_MS, counterNs, pressure };
}

function toPoint(container: Fields, { latestAt, parseTime }: PointContext): Point | null {
  const { name, startTime, cpu, memory } = container;
  if (!isName(name) || !isName(startTime) || !isRecord(cpu) || !isRecord(memory)) return null;
  const at = parseTime(cpu.time);
  const counterNs = cpu.usageCoreNanoSeconds;
  const { workingSetBytes } = memory;
  const usageBytes = toUsageBytes(memory.usageBytes);
  if (at === null || at > latestAt || usageBytes === undefined) return null;
  if (!isAmount(counterNs, MAX_COUNTER_NS) || !isAmount(workingSetBytes, MAX_BYTES)) return null;
  const memoryStallPercent = parseMemoryStall(memory.psi);
  const point: Point = {
    container: name,
    instance: startTime,
    at,
    resolutionMs: SECOND_MS,
    cpu: { kind: "counter", counterNs },
    workingSetBytes,
    usageBytes,
    pressure: parsePressure(cpu.psi, at - (parseTime(startTime) ?? at)),
  };
  return memoryStallPercent > 0 ? { ...point, memoryStallPercent } : point;
}

/** A cgroup shows zero before its first measurement (seen in a pod's first 12 s). */
export function toUsageBytes(value: unknown): number | null | undefined {
  if (value === undefined || value === null || value === 0) return null;
  return isAmount(value, MAX_BYTES) ? value : undefined;
}

/** A summary has few different times and many copies of them. */
function memoTime(): PointContext["parseTime"] {
  const known = new Map<unknown, number | null>();
  return (value) => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const at = toTime(value);
    known.set(value, at);
    return at;
  };
}

/** Go's zero time means that there is none. */
export function toTime(value: unknown): number | null {
  const at = parseTime(value);
  return at !== null && at > 0 ? at : null;
}

/** isSafeInteger does not fit: a real counter passes 2^53. */
export function isAmount(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH;
}

/** The start and the time of a sample are whole seconds, and the kernel starts to count with the cgroup. */
const SLACK_MS = 2000;

/** uint64. */
const MAX_TOTAL = 2 ** 64;

function toLongestNs(ageMs: number): number {
  return (ageMs + SLACK_MS) * 1e6;
}

export function isTotal(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOTAL;
}

export function isPercent(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 100;
}
